"""`jumok verify`: is a model folder, a checkpoint or a whole run whole and unchanged? Needs no torch."""

from pathlib import Path

import click

from jumok.checkpoint.manifest import verify as check_folders
from jumok.cli.shared.console import print_json
from jumok.cli.shared.options import command

EXAMPLES = """
  jumok verify runs/en-de
  jumok verify runs/en-de/checkpoints/step-00001200
  jumok verify --json runs/en-de
"""


@command(
    EXAMPLES, json="One JSON object on standard output.", quiet="Print only the folders that are damaged."
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.pass_context
def verify(ctx: click.Context, folder: Path, *, as_json: bool, quiet: bool) -> None:
    """Is a model folder, a checkpoint or a whole run whole and unchanged?

    Every file is compared with the size and the SHA-256 that were written down when it was saved; settings
    that no model can have are named. Nothing is loaded. Exit code 0: whole; 3: damaged or not a model folder.
    """
    faults_of = check_folders(folder)
    if as_json:
        folders = [
            {"folder": str(path), "whole": not faults, "faults": faults} for path, faults in faults_of.items()
        ]
        print_json({"whole": not any(faults_of.values()), "folders": folders})
    else:
        for path, faults in faults_of.items():
            if faults or not quiet:
                click.echo(f"damaged  {path}: {'; '.join(faults)}" if faults else f"whole    {path}")
    ctx.exit(3 if any(faults_of.values()) else 0)
