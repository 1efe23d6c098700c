"""`jumok inspect`: what is in a model, what it costs, and what it looks at."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.models.interface import Kind

EXAMPLES = """\b
Examples:
  jumok inspect -m runs/en-de
  jumok inspect -m runs/en-de --text "A man is riding a horse." --words
  jumok inspect -m runs/en-de --shapes "A man is riding a horse."
  jumok inspect -m runs/en-de --cost --lengths 10,100,1000
"""

LENGTHS = "10,50,100,500,1000"
ATTENTION_OPTIONS = ("kind", "layer", "head", "words", "style")


@click.command(epilog=EXAMPLES)
@click.option(
    "-m",
    "--model",
    "path",
    required=True,
    metavar="MODEL",
    type=click.Path(path_type=Path),
    help="Model or run folder.",
)
@click.option("--text", metavar="TEXT", help="Show what the model looks at while it translates this.")
@click.option("--target", metavar="TEXT", help="Take this text instead of the model's own translation.")
@click.option(
    "--kind",
    type=click.Choice(["cross", "enc_self", "dec_self"]),
    default="cross",
    help="From decoder to source, inside the encoder, inside the decoder [cross].",
)
@click.option("--layer", default="last", metavar="N", help="A layer from 1, last, or mean [last].")
@click.option("--head", default="mean", metavar="N", help="A head from 1, or mean [mean].")
@click.option("--words", is_flag=True, help="Join the pieces of words.")
@click.option(
    "--style",
    type=click.Choice(["auto", "colour", "blocks", "digits"]),
    default="auto",
    help="How weights are drawn [auto: colour on a terminal, else blocks].",
)
@click.option("--shapes", metavar="TEXT", help="The shape of every tensor while it translates this.")
@click.option("--cost", is_flag=True, help="Parameters, FLOPs and bytes by formula, and as measured.")
@click.option("--lengths", default=LENGTHS, metavar="N,…", help=f"Sentence lengths for --cost [{LENGTHS}].")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the essential line.")
@click.help_option("-h", "--help")
@click.pass_context
def inspect(
    ctx: click.Context,
    path: Path,
    text: str | None,
    target: str | None,
    kind: str,
    layer: str,
    head: str,
    style: str,
    shapes: str | None,
    lengths: str,
    *,
    words: bool,
    cost: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """A model's card; or its attention (--text), its tensors (--shapes), its cost (--cost)."""
    check_options(ctx)
    sizes = parse_lengths(lengths)

    from jumok.cli import views

    if text is not None:
        which = views.Which(cast("Kind", kind), layer, head, style, words)
        view = views.attention_view(path, text, target, which)
    elif shapes is not None:
        view = views.shapes_view(path, shapes, target)
    elif cost:
        view = views.cost_view(path, sizes)
    else:
        view = views.card_view(path)
    if as_json:
        click.echo(json.dumps(view.plain, ensure_ascii=False))
    else:
        click.echo(view.line if quiet else view.text, color=True)  # coloured only where that was decided


def check_options(ctx: click.Context) -> None:
    """One view at a time, and no option that would be ignored."""
    given = {
        name
        for name in ctx.params
        if ctx.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE
    }
    views = [name for name in ("text", "shapes", "cost") if name in given]
    if len(views) > 1:
        raise ConfigError(f"--{views[0]} and --{views[1]} cannot be shown together", hint="ask one at a time")
    needs = {
        **dict.fromkeys(ATTENTION_OPTIONS, ("text",)),
        "target": ("text", "shapes"),
        "lengths": ("cost",),
    }
    for name, one_of in needs.items():
        if name in given and not given.intersection(one_of):
            raise ConfigError(f"--{name} goes with {' or '.join(f'--{view}' for view in one_of)}")


def parse_lengths(text: str) -> list[int]:
    try:
        lengths = [int(word) for word in text.split(",")]
    except ValueError:
        lengths = []
    if not lengths or min(lengths) < 1:
        raise ConfigError(f"--lengths {text!r} is no list of lengths", hint=f"write it like {LENGTHS}")
    return lengths
