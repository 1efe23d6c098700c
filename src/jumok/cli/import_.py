"""jumok import: another program's model as a model folder, with a certificate of how well the two agree."""

from typing import Any

import click

from jumok.cli.shared.console import print_json, progress_display, say
from jumok.cli.shared.options import command, count, several, switch, text

EXAMPLES = """
  jumok import opus-mt-en-de -o en-de -s test.en
  jumok import translate-en_de.argosmodel -o en-de
  jumok import nllb-200-distilled-600M -o nllb -s test.en --from eng_Latn --to deu_Latn
  jumok import ct2-folder -o en-de --tokenizer opus-mt-en-de --json
"""


@command(EXAMPLES, json="Print the certificate as JSON.", quiet="No progress, and no line at the end.")
@click.argument("path", metavar="SOURCE")
@click.option("-o", "--output", required=True, metavar="FOLDER", help="New model folder.")
@text("-s", "--source", metavar="FILE", help="Sentences to compare on [nothing is compared].")
@count("--sentences", default=100, help="At most [100].")
@several(
    "--threshold",
    "thresholds",
    metavar="NAME=VALUE",
    help="logits, score, equal or tokens: what must agree; none asks nothing.",
)
@text("--from", "read", metavar="CODE", help="Source language, for the card and the comparison.")
@text("--to", "written", metavar="CODE", help="Target language.")
@text("--tokenizer", metavar="FOLDER", help="Where its tokenizer lies, if not beside the weights.")
@switch("--overwrite", help="Replace a model folder.")
def import_(
    path: str, output: str, thresholds: tuple[str, ...], *, as_json: bool, quiet: bool, **options: Any
) -> None:
    """A model of another program as a model folder.

    SOURCE is a folder of transformers (Marian/OPUS-MT, M2M100, NLLB, BART, mBART, Pegasus, T5, mT5) or of
    CTranslate2, an .argosmodel, or Marian's .npz. Nothing in it is executed. With -s the original's own
    library computes the same sentences, and certificate.json says how far the two are apart. Exit code 4:
    too far.
    """
    from jumok.importing.model import import_model

    with progress_display(quiet=quiet) as progress:
        result = import_model(
            path,
            output,
            source=options["source"],
            sentences=options["sentences"],
            thresholds=dict(word.partition("=")[::2] for word in thresholds),
            languages=(options["read"], options["written"]),
            tokenizer=options["tokenizer"],
            overwrite=options["overwrite"],
            progress=progress,
            told=(lambda line: None) if quiet else say,
        )
    if as_json:
        print_json(result)
    elif not quiet:
        for line in summary(result, output):
            click.echo(line)


def summary(result: dict[str, Any], output: str) -> list[str]:
    """What a person wants to know of a certificate."""
    origin = result["origin"]
    lines = [f"{output}  from {origin['family']} of {origin['program']}"]
    if result["checked"]:
        return [*lines, f"original       {result['checked']}"]
    count = result["sentences"]
    lines.append(
        f"original       {result['compared_with']}, on {count:,} sentences of {result['data']['name']}"
    )
    if "same_tokens" in result:
        lines.append(f"equal tokens   {result['same_tokens']:,} of {count:,} sentences")
    if "largest_logit_difference" in result:
        lines.append(f"logits         differ by up to {result['largest_logit_difference']:.1e}")
    lines.append(f"scores         differ by up to {result['largest_score_difference']:.1e} per token")
    lines.append(f"equal answers  {result['equal']:,} of {count:,}, greedy")
    return lines
