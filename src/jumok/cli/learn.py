"""`jumok learn`: the notes on attention as notebooks that run."""

import os
from pathlib import Path

import click

from jumok.cli.shared.console import print_json, say
from jumok.cli.shared.options import command, switch
from jumok.errors import DataError, has_torch
from jumok.learn.book import Language, names, notebook

EXAMPLES = """
  jumok learn
  jumok learn --language ko -o notes
"""


@command(EXAMPLES, json="One JSON object on standard output.", quiet="Only the names of the files.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default="notebooks", help="Folder [notebooks]."
)
@click.option("--language", type=click.Choice(["en", "ko"]), help="en or ko [as the machine speaks].")
@switch("--overwrite", help="Write over notebooks that are there.")
def learn(*, output: Path, language: Language | None, overwrite: bool, as_json: bool, quiet: bool) -> None:
    """Five notebooks, from ids to the loss, from one fixed vector to the whole Transformer.

    Each number in them is computed from the weights of real models and compared with what the models compute.
    They need jumok with PyTorch and Jupyter, and run in a minute or two.
    """
    books = {output / f"{name}.ipynb": notebook(name, language or spoken()) for name in names()}
    there = [path for path in books if path.exists()]
    if there and not overwrite:
        raise DataError(
            f"{there[0]} is already there, and may hold your own work",
            hint="choose another folder with -o, or write over it with --overwrite",
        )
    try:
        output.mkdir(parents=True, exist_ok=True)
        for path, text in books.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"cannot write to {output}: {error.strerror}", hint="choose a folder with -o"
        ) from None
    if as_json:
        print_json({"files": [str(path) for path in books]})
    elif quiet:
        click.echo("\n".join(map(str, books)))
    else:
        say(f"{len(books)} notebooks in {output}")
        say(f"open them with: jupyter lab {output}   (pip install jupyterlab)")
        if not has_torch():
            say("they compute with PyTorch, which is not here: pip install 'jumok[train]'")


def spoken() -> Language:
    """The language of the machine's messages, if it is one of ours."""
    words = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return "ko" if words.lower().startswith("ko") else "en"
