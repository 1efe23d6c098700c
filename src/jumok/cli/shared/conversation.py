"""A conversation with a model: its options, its context, its seed, and the turns so far."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from os.path import expanduser, isfile
from typing import TYPE_CHECKING, Any

from jumok.cli.shared.console import say
from jumok.cli.shared.explained import growing
from jumok.data.corpus import read_lines
from jumok.data.questions import join_question
from jumok.decoding.jobs import make_request
from jumok.errors import ConfigError, nearest
from jumok.settings import parse_config, read_words
from jumok.text.normalize import tidy

if TYPE_CHECKING:
    from jumok.decoding.results import Translation
    from jumok.decoding.translator import Translator
    from jumok.explain.traced import TracedTranslation
    from jumok.model import Model

SETTINGS = (
    "sample",
    "temperature",
    "top_k",
    "top_p",
    "seed",
    "beam",
    "length_penalty",
    "max_len",
    "min_len",
    "no_repeat_ngram",
    "long",
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
        make_request(self.model.config.decoding, self.options)  # a bad option is found before the first turn

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
        make_request(self.model.config.decoding, changed)
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
