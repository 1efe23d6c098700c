"""A conversation with a model, and its prompt on a terminal with the commands that begin with a slash."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from os.path import expanduser, isfile
from typing import TYPE_CHECKING, Any

import click

from jumok.cli.shared.console import say
from jumok.cli.shared.explained import growing
from jumok.cli.shared.options import DRAWING
from jumok.data.corpus import read_lines
from jumok.data.questions import join_question
from jumok.decoding.jobs import make_request
from jumok.errors import ConfigError, Error, nearest
from jumok.settings import parse_config, plain_word, read_words
from jumok.text.normalize import tidy

if TYPE_CHECKING:
    from jumok.cli.views.attention import AttentionChoice
    from jumok.decoding.results import Translation
    from jumok.decoding.translator import Translator
    from jumok.explain.traced import TracedTranslation
    from jumok.model import Model

SETTINGS = (
    *("sample", *DRAWING, "beam", "length_penalty"),
    *("max_len", "min_len", "no_repeat_ngram", "long"),
)
"""What may be changed while it goes on."""
NAME = re.compile(r"\S+\.\w{1,6}|\S*/\S*")
"""One word that looks like a file."""


@dataclass(frozen=True)
class Turn:
    """One message and its answer, with the options that give the same answer again."""

    message: str
    context: str
    answer: "Translation"
    options: dict[str, Any]
    model: "Model" = field(repr=False, compare=False)

    @cached_property
    def traced(self) -> "TracedTranslation":
        """The same answer once more, with its attention."""
        traced: TracedTranslation = self.model.translate(self.answer.source, attention=True, **self.options)
        return traced


@dataclass
class Conversation:
    """Turns with one model. Each takes the next seed: who asks again may be answered otherwise."""

    model: "Model"
    options: dict[str, Any]
    context: str = ""
    turns: list[Turn] = field(default_factory=list)
    drawn: int = 0
    """Answers since the seed was set."""

    def __post_init__(self) -> None:
        if self.model.tokenizers.pictures is not None:
            raise ConfigError(
                "this model describes pictures and reads no messages",
                hint="jumok translate -m MODEL picture.png",
            )
        self.check(self.options)  # a bad option is found before the first turn

    def check(self, options: dict[str, Any]) -> None:
        """Refuse options that are wrong, or that no engine of this install has."""
        self.model.engine_of(make_request(self.model.config.decoding, options))

    @property
    def seed(self) -> int:
        """Of the next answer."""
        return int(self.options.get("seed", 0)) + self.drawn

    def ask(self, message: str) -> Turn:
        """The answer to a message."""
        *_, turn = self.stream(message)
        assert isinstance(turn, Turn)
        return turn

    def stream(self, message: str) -> Iterator[str | Turn]:
        """The answer as it grows, in parts, and then the whole turn."""
        options = dict(self.options)
        if options["sample"]:
            options["seed"] = self.seed
        blank = not tidy(message)
        source = join_question(message, self.context) if self.context and not blank else message
        for part in growing(self.model, source, options):
            if isinstance(part, str):
                yield part
            else:
                turn = Turn(message, self.context, part, options, self.model)
                self.turns.append(turn)
                self.drawn += 1
                yield turn

    def change(self, word: str) -> None:
        """Take one `name=value`; nothing changes if it is wrong."""
        name, equals, text = (part.strip() for part in word.partition("="))
        if not equals:
            raise ConfigError(f"/set takes name=value, not {word!r}", hint="for example /set temperature=0.8")
        if name not in SETTINGS:
            raise ConfigError(f"no setting is called {name!r}", hint=nearest(name, SETTINGS))
        value: Any = text
        if name != "long":
            value = read_words([f"decoding.{name}={text}"])[f"decoding.{name}"]
            parse_config({"decoding": {name: value}}, "given by /set")  # its type
        changed = {**self.options, name: value}
        self.check(changed)
        self.options = changed
        if name == "seed":
            self.drawn = 0


def read_context(given: str) -> str:
    """The context that a file holds, or the text itself where no file has this name."""
    if not given:
        return ""
    place = expanduser(given)
    text = " ".join(read_lines(place)) if isfile(place) else given
    if text is given and NAME.fullmatch(given):
        raise ConfigError(f"there is no file {given}", hint="check the path, or write a sentence")
    if not tidy(text):
        raise ConfigError("the context is blank", hint="name a file that has text, or write it")
    return tidy(text)


def warn_context(model: "Translator", context: str) -> None:
    """Say that a context means nothing to this model, or that it has none and needs one."""
    if context and not model.tokenizers.reads_context:
        say("warning: this model was not trained on questions with a context")
    if not context and model.tokenizers.reads_context:
        say("warning: this model answers questions about a context, and has none: --context or /context")


HELP = {
    "/attention [words] [layer=N] [head=N]": "where the last answer looked",
    "/attention FILE.html": "the same as a page to keep, or FILE.trace",
    "/context FILE_OR_TEXT": "what the next questions are about; off forgets it",
    "/set temperature=0.8": f"change a setting: {', '.join(SETTINGS)}",
    "/seed 7": "draw from here on with this seed",
    "/help": "this list",
    "/quit": "the end, as Ctrl-D",
}
COMMANDS = sorted({line.split()[0] for line in HELP})
SHOWN = 200  # characters of a context


@dataclass
class Prompt:
    """Reads lines until the end; a mistake is told and the conversation goes on."""

    conversation: Conversation

    def run(self, *, name: str = "", quiet: bool = False) -> None:
        """`name`: what the model is called, if not as its folder."""
        edit_lines()
        if not quiet:
            info = self.conversation.model.info
            say(f"{name or info['name']} · {info['arch']} · {info['parameters']:,} parameters · /help, /quit")
        while True:
            try:
                line = input("> ").strip()
            except EOFError:
                say("")
                return
            except KeyboardInterrupt:
                say("\n/quit or Ctrl-D ends it")
                continue
            if line == "/quit":
                return
            try:
                self.take(line)
            except Error as error:
                say(f"error: {error}")
            except KeyboardInterrupt:
                say(" …stopped")

    def take(self, line: str) -> None:
        """One line: a command, or a message and its answer as it grows."""
        if not line:
            return
        if not line.startswith("/"):
            for part in self.conversation.stream(line):
                click.echo(part if isinstance(part, str) else "\n", nl=False)
                sys.stdout.flush()
            return
        name, _, rest = line.partition(" ")
        if name not in COMMANDS or name == "/quit":
            raise ConfigError(f"there is no command {name}", hint=nearest(name, COMMANDS))
        getattr(self, name.removeprefix("/"))(rest.strip())

    def help(self, _: str) -> None:
        width = max(map(len, HELP)) + 2
        for name, text in HELP.items():
            say(f"{name:{width}}{text}")

    def attention(self, words: str) -> None:
        """The heat map of the last answer, or a file with it."""
        from jumok.cli.shared.explained import check_place, keep_attention
        from jumok.cli.views.attention import heat_view
        from jumok.cli.views.view import harmless

        if not self.conversation.turns:
            raise ConfigError("nothing has been answered yet", hint="write a message first")
        turn = self.conversation.turns[-1]
        if words.endswith((".html", ".trace")):
            check_place(words)
            keep_attention(words, 1, turn.traced, quiet=False)
            return
        view = heat_view(turn.traced.trace, choice_of(words.split()))
        click.echo(harmless(view.text), color=True)  # coloured only where that was decided

    def context(self, given: str) -> None:
        if given == "off":
            self.conversation.context = ""
        elif given:
            self.conversation.context = read_context(given)
            warn_context(self.conversation.model, given)
        text = self.conversation.context
        say(f"context: {text[:SHOWN]}{'…' * (len(text) > SHOWN)}" if text else "no context")

    def set(self, words: str) -> None:
        for word in words.split():
            self.conversation.change(word)
        options = self.conversation.options
        say(" ".join(f"{name}={plain_word(options[name])}" for name in SETTINGS if name in options))

    def seed(self, number: str) -> None:
        if number:
            self.conversation.change(f"seed={number}")
        said = f"the next answer is drawn with seed {self.conversation.seed}"
        say(said if self.conversation.options["sample"] else "answers are not drawn: /set sample=true")


def choice_of(words: list[str]) -> "AttentionChoice":
    """The attention that is asked for: `words layer=1 head=2`."""
    from jumok.cli.views.attention import AttentionChoice

    chosen: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name not in (("layer", "head") if equals else ("words",)):
            raise ConfigError(
                f"/attention does not know {name!r}", hint="it takes words, layer=N, head=N, or a file.html"
            )
        chosen[name] = value if equals else True
    return AttentionChoice(**chosen)


def edit_lines() -> None:
    """Arrow keys, the history of this conversation, and Tab for commands, where the system has them."""
    try:
        import readline
    except ImportError:
        return
    readline.set_completer_delims(" ")
    readline.set_completer(complete)
    apple = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if apple else "tab: complete")


def complete(text: str, state: int) -> str | None:
    """The command number `state` that begins with the text."""
    names = [name for name in COMMANDS if text.startswith("/") and name.startswith(text)]
    return names[state] if state < len(names) else None
