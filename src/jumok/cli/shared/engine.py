"""The option --engine, and what commands say about engines."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from jumok.cli.shared.console import say

NAMES = ("auto", "native", "torch")
"""As in `jumok.decoding.engines`, which help must not wait for."""


class EngineChoice(click.Choice[str]):
    """The name of an engine; who knows CTranslate2 as one is told what to use."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "ctranslate2":
            self.fail("jumok does not run CTranslate2: choose native on a CPU", param, ctx)
        return super().convert(value, param, ctx)


ENGINE = click.option(
    "--engine",
    type=EngineChoice(NAMES),
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
