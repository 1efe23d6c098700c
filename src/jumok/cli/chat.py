"""`jumok chat`: talk to a model. Every message is answered by itself; nothing is remembered between them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumok.cli.shared.console import say, to_json
from jumok.cli.shared.options import (
    DEVICE,
    DRAWING,
    DRAWS,
    LONG,
    MODEL,
    command,
    count,
    flag,
    given_options,
    switch,
    text,
)
from jumok.errors import ConfigError, Error

if TYPE_CHECKING:
    from jumok.cli.shared.conversation import Conversation

EXAMPLES = """
  jumok chat -m runs/chat
  jumok chat -m runs/chat --temperature 0.5 --top-k 20 --seed 7
  jumok chat -m runs/answers --context "The lamp is on. The door is shut."
  echo "How are you?" | jumok chat -m runs/chat --greedy
  echo "How are you?" | jumok chat -m runs/chat --json
"""


@command(EXAMPLES, json="An object per line, with the seed that drew it.", quiet="No greeting.")
@MODEL
@text("--context", metavar="FILE_OR_TEXT", help="What questions are about.")
@switch("--greedy", help="The most probable token each time: no chance.")
@DRAWS
@count("--max-len", help="Most tokens of an answer.")
@LONG
@DEVICE
def chat(*, model: str, context: str, as_json: bool, device: str | None, quiet: bool, **options: Any) -> None:
    """Talk to a model: one message in, one answer out, drawn at random from what it finds probable.

    The temperature is 0.8, top-p 0.9 and the first seed 1 unless told; a message too long for the model is an
    error. On a terminal /help lists what else can be asked: attention, a context, settings, the seed. From a
    pipe, every line is a message and gets one line.
    """
    chosen = choose(options)
    from jumok.cli.shared.conversation import Conversation, read_context, warn_context
    from jumok.model import load

    told = read_context(context)
    conversation = Conversation(load(model, device), chosen, told)
    if not quiet:
        warn_context(conversation.model, told)
    if sys.stdin.isatty() and sys.stdout.isatty() and not as_json:
        from jumok.cli.shared.conversation import Prompt

        Prompt(conversation).run(name=Path(model).name, quiet=quiet)  # of a run, not its checkpoint
    else:
        if sys.stdin.isatty() and not quiet:
            say("reading standard input; Ctrl-D ends it")
        answer_lines(conversation, as_json=as_json)


def choose(options: dict[str, Any]) -> dict[str, Any]:
    """The options of every answer: chance, unless --greedy says otherwise."""
    given = given_options(options)
    if not given.pop("greedy", False):
        return {"sample": True, "temperature": 0.8, "top_p": 0.9, "seed": 1, "long": "error"} | given
    for name in DRAWING:
        if name in given:
            raise ConfigError(f"{flag(name)} changes nothing with --greedy", hint="leave out one of them")
    return {"sample": False, "beam": 1, "long": "error"} | given


def answer_lines(conversation: "Conversation", *, as_json: bool) -> None:
    """One answer for each line of standard input, as it comes; a blank line gets a blank one.

    In JSON it has the fields of `jumok translate --json`, and what it takes to draw it again.
    """
    from jumok.cli.translate import answer_fields
    from jumok.data.corpus import read_lines

    for number, line in enumerate(read_lines("-"), start=1):
        try:
            turn = conversation.ask(line)
        except Error as error:
            error.where = error.where or f"line {number} of standard input"
            raise
        asked = {"line": number, "message": turn.message}
        asked |= {"context": turn.context} if turn.context else {}
        answer = {"src": turn.answer.source, **answer_fields(turn.answer), "seed": turn.options.get("seed")}
        click.echo(to_json(asked | answer) if as_json else turn.answer.text)
        sys.stdout.flush()
