"""jumok export: a model for another program, with a certificate of how well it agrees with ours."""

from typing import Any

import click

from jumok.cli.shared.console import print_json, progress_display, say
from jumok.cli.shared.options import choice, command, count, several, switch, text

FORMATS = ["native", "ctranslate2", "huggingface", "onnx", "argos"]
TYPES = ["float32", "int8"]

EXAMPLES = """
  jumok export native -m runs/en-de -o en-de-int8 --type int8 -s test.en -t test.de
  jumok export native -m runs/en-de -o en-de-int8 --shortlist
  jumok export ctranslate2 -m runs/en-de -o en-de-ct2
  jumok export argos -m runs/en-de -o en_de.argosmodel --from en=English --to de=German
  jumok export onnx -m demo/luong -o luong-onnx --json
"""


@command(EXAMPLES, json="Print the certificate as JSON.", quiet="No progress, and no line at the end.")
@click.argument("format", type=click.Choice(FORMATS), metavar="FORMAT")
@click.option("-m", "--model", required=True, metavar="MODEL", help="Run folder, checkpoint or model folder.")
@click.option("-o", "--output", required=True, metavar="OUT", help="New folder; of argos, a new file.")
@text("-s", "--source", metavar="FILE", help="Sentences to compare with [validation].")
@text("-t", "--target", metavar="FILE", help="Their references, for BLEU and chrF.")
@count("--sentences", default=1000, help="At most [1000].")
@choice("--type", "kind", of=TYPES, help="Of the weights [float32; of native int8].")
@switch("--shortlist", help="Of native: learn one from the model's training data.")
@several(
    "--shortlist-from",
    "learned",
    metavar="FILE",
    help="Learn it from this TSV or JSONL; repeat for source and target.",
)
@several(
    "--threshold",
    "thresholds",
    metavar="NAME=VALUE",
    help="equal, score, agreement or bleu: what must agree; none asks nothing.",
)
@text("--from", "read", metavar="CODE=NAME", help="Source language, for argos [the model's].")
@text("--to", "written", metavar="CODE=NAME", help="Target language, for argos.")
@switch("--overwrite", help="Replace an earlier export.")
def export(
    format: str,  # noqa: A002
    model: str,
    output: str,
    kind: str | None,
    thresholds: tuple[str, ...],
    learned: tuple[str, ...],
    *,
    shortlist: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """A model for another program, with proof that it gives the same answers.

    FORMAT is native (jumok's own engine for CPUs, in int8), ctranslate2, huggingface (transformers), onnx or
    argos (Argos Translate, LibreTranslate). What was written is opened by the program that it is for; both
    answer the same sentences, and certificate.json says how well they agree. Exit code 4: not well enough.
    """
    from jumok.export.model import export_model

    with progress_display(quiet=quiet) as progress:
        result = export_model(
            model,
            format,
            output,
            type=kind or "",
            source=options["source"],
            target=options["target"],
            sentences=options["sentences"],
            thresholds=dict(word.partition("=")[::2] for word in thresholds),
            languages=(options["read"], options["written"]),
            shortlist=learned or shortlist,
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
    greedy, beam, count = result["greedy"], result["beam"], result["sentences"]
    lines = [
        f"{output}  {result['format']} {result['type']}",
        f"equal text     greedy {greedy['equal']:,}, beam {beam['width']} {beam['equal']:,}, of {count:,}",
        f"equal tokens   greedy {greedy['token_agreement']:.2%}, beam {beam['token_agreement']:.2%}",
        f"scores         differ by up to {result['largest_score_difference']:.1e} per token",
    ]
    for name, title in (("bleu", "BLEU"), ("chrf", "chrF++")):
        if name in result:
            score = result[name]
            change = f"{score['reference']:.2f} -> {score['exported']:.2f} ({score['difference']:+.2f}"
            lines.append(f"{title:<14} {change}; 95 %: {score['low']:+.2f} to {score['high']:+.2f})")
    lines += [f"not decided    {fault}" for fault in result["undecided"]]
    if own := result.get("argos"):
        lines.append(f"Argos itself   {own['equal']:,} of {own['sentences']:,} texts equal ({own['by']})")
    if part := result.get("shortlist"):
        lengths = f"{part['mean_length']:,.0f} of {part['vocabulary']:,} tokens"
        lines.append(f"shortlist      {lengths}, equal tokens greedy {part['greedy']['token_agreement']:.2%}")
        if "bleu" in part:
            lines.append(f"  BLEU         {part['bleu']['exported']:.2f} ({part['bleu']['difference']:+.2f})")
    return lines
