"""`jumok score`: how probable a model finds given translations."""

from itertools import islice
from typing import Literal

import click

from jumok.cli.shared.console import progress_display
from jumok.cli.shared.options import COLUMNS, DEVICE, ERRORS, LANGUAGES, MEAN, MODEL, command, text
from jumok.cli.shared.output import open_output

BLOCK = 1024  # pairs that are sorted by length together

EXAMPLES = """
  jumok score -m runs/en-de -s test.en -t test.de
  jumok score -m runs/en-de -s pairs.tsv --json
  printf 'Hello.\\tHallo.\\n' | jumok score -m runs/en-de
"""


@command(EXAMPLES, json="An object per pair, with every token.", quiet="No progress.")
@MODEL
@click.option(
    "-s", "--source", default="-", metavar="FILE", help="Source lines; or TSV, JSONL [TSV on stdin]."
)
@text("-t", "--target", metavar="FILE", help="Target lines.")
@COLUMNS
@click.option("-o", "--output", default="-", metavar="FILE", help="Write here; .gz is packed [stdout].")
@LANGUAGES
@ERRORS
@DEVICE
@MEAN
def score(
    model: str,
    source: str,
    target: str,
    columns: str,
    output: str,
    *,
    as_json: bool,
    errors: Literal["strict", "replace"],
    device: str | None,
    mean: str | None,
    quiet: bool,
    to: str | None,
    from_language: str | None,
) -> None:
    """Log-probabilities of given translations, one number per pair, the end of the sentence included."""
    from jumok.data.corpus import open_corpus
    from jumok.decoding.translator import load

    pairs = open_corpus(source, target, encoding_errors=errors, columns=columns).pairs()
    translator = load(model, device, mean=mean or "probabilities").towards(to or "", from_language or "")
    done = 0
    with open_output(output) as file, progress_display(quiet=quiet) as report:
        while block := list(islice(pairs, BLOCK)):
            sources, targets = zip(*block, strict=True)
            for result in translator.score(sources, targets):
                line = result.to_json() if as_json else f"{result.score:.6f}"
                file.write(line.encode() + b"\n")
            file.flush()
            done += len(block)
            report("scoring", done, None)
