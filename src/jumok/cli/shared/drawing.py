"""Options of answers that are drawn at random, for all commands that search."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.config import DecodingConfig

Command = Callable[..., Any]

OPTIONS = (
    click.option(
        "--mbr",
        type=click.IntRange(0, 256),
        metavar="N",
        help="Draw N answers; give the one that agrees best with all; 0: none.",
    ),
    click.option("--utility", type=click.Choice(["chrf", "rouge1"]), help="What --mbr compares by [chrf]."),
    click.option("--temperature", type=float, metavar="X", help="Below 1 draws more probable pieces."),
    click.option("--top-k", type=click.IntRange(min=0), metavar="N", help="Draw from the N best pieces."),
    click.option("--top-p", type=float, metavar="X", help="Draw from the best pieces with probability X."),
    click.option("--seed", type=int, metavar="N", help="The same seed draws the same answers."),
)


def drawing(command: Command) -> Command:
    """Gives a command the options above, in their order."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def check_drawing(given: Mapping[str, Any], usual: "DecodingConfig", ways: str = "--mbr N") -> None:
    """Refuse what changes nothing in a model whose usual way this is; `ways` are the options that draw."""
    from jumok.decoding.request import make_request

    chosen = make_request(usual, given).decoding
    for name in ("temperature", "top_k", "top_p", "seed"):
        if name in given and not chosen.draws:
            raise ConfigError(
                f"--{name.replace('_', '-')} changes nothing in a search", hint=f"add {ways} to draw answers"
            )
    if "utility" in given and not chosen.mbr:
        raise ConfigError(
            "--utility changes nothing without --mbr", hint="add --mbr N to choose among N draws"
        )
