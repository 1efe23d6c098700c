"""The option --engine, and what commands say about engines."""

from collections.abc import Callable, Mapping

import click

from jumok.cli.shared.console import say

NAMES = ("auto", "native", "torch", "ctranslate2")
"""As in `jumok.decoding.engines`, which help must not wait for."""

ENGINE = click.option(
    "--engine",
    type=click.Choice(NAMES),
    default="auto",
    help="What computes [auto: native on a CPU, else torch].",
)


SHORTLIST = click.option(
    "--shortlist",
    is_flag=True,
    default=None,
    help="Compute only likely words: faster. Of jumok export native --shortlist.",
)


def noted(*, quiet: bool) -> Callable[[str], None]:
    """Says each line once, or nothing at all."""
    said: set[str] = set()

    def note(line: str) -> None:
        if not quiet and line not in said:
            say(f"note: {line}")
        said.add(line)

    return note


def engine_words(about: Mapping[str, str]) -> str:
    """`native float32 vnni`, `torch float32 cpu`."""
    return " ".join(about.values())
