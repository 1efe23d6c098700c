"""`jumok average`: the mean of several models' weights as one model. Needs no torch."""

import click

from jumok.cli.shared.console import print_json, progress_display, say
from jumok.cli.shared.options import command, switch

EXAMPLES = """
  jumok average runs/tuned-1 runs/tuned-2 runs/tuned-3 -o tuned
  jumok average runs/en-de/checkpoints/step-* -o en-de-mean
"""


@command(
    EXAMPLES, json="What was averaged, as one JSON object.", quiet="No progress, and no line at the end."
)
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("-o", "--output", required=True, metavar="DIR", help="New model folder.")
@switch("--overwrite", help="Replace a model folder that is there.")
def average(models: tuple[str, ...], output: str, *, overwrite: bool, as_json: bool, quiet: bool) -> None:
    """The mean of several models' weights, as one model that is as fast as each of them.

    For checkpoints of one run, or models fine-tuned from one: with the same settings and vocabulary.
    Models that were trained apart are an ensemble instead: jumok translate -m A+B.
    """
    from jumok.checkpoint.averaging import average_models

    with progress_display(quiet=quiet) as progress:
        found = average_models(models, output, overwrite=overwrite, progress=progress)
    if as_json:
        print_json(found.to_dict())
    elif not quiet:
        click.echo(f"{found.folder}: the mean of {len(found.members)} models, {found.numbers:,} numbers")
    if not found.alike and not quiet:
        say(
            f"warning: these models have little in common (cosine of their weights {found.likeness:.2f}): "
            "the mean of models that were trained apart is no model; evaluate it, or use them as an ensemble"
        )
