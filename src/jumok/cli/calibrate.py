"""`jumok calibrate`: learn what a model's scores say about errors, so that --confidence can tell."""

from typing import TYPE_CHECKING, Any

import click

from jumok.cli.shared.console import print_json, progress_display, say
from jumok.cli.shared.options import (
    DEVICE,
    ENGINE,
    LANGUAGES,
    MODEL,
    choice,
    command,
    count,
    given_options,
    say_once,
    several,
    switch,
    text,
)

if TYPE_CHECKING:
    from jumok.evaluation.calibrate import CalibrationReport

EXAMPLES = """
  jumok calibrate -m runs/en-de -s val.en -t val.de
  jumok calibrate -m runs/en-de -s val.tsv --columns 1,3 --json
  jumok calibrate -m brought/en-de -s train.en -t train.de --align
"""


@command(EXAMPLES, json="Print what was found as JSON.", quiet="No progress, and no words about it.")
@MODEL
@text("-s", "--source", metavar="FILE", help="Source lines; or TSV, JSONL with both sides.")
@several("-t", "--target", "targets", metavar="FILE", help="Reference lines; repeat for several.")
@text("--columns", metavar="LIST", help="Of a TSV 1,3, of JSONL keys; more are references.")
@text("--images", metavar="PATH", help="Folder or zip: sources are names of pictures.")
@text("--data", metavar="NAME", help="A built-in data set instead of files.")
@choice("--split", of=["train", "valid", "test"], default="valid", help="Part of --data [valid].")
@count("--beam", help="Hypotheses per text [as the model's folder says].")
@switch("--align", help="Find the head that aligns best, not what scores say.")
@LANGUAGES
@DEVICE
@ENGINE
def calibrate(
    model: str,
    *,
    beam: int | None,
    align: bool,
    device: str | None,
    engine: str,
    as_json: bool,
    quiet: bool,
    **places: Any,
) -> None:
    """Learn from sentences and their translations what a model's scores say about errors.

    What it learns is kept in the model's folder as confidence.json. A run does this by itself at its end,
    with its validation set; sentences that the model was trained on would make it look too sure.

    With --align it looks for the head of a Transformer that says best which word comes from which, and keeps
    that as alignment.json: for models that were brought in. Its sentences may be those of the training.
    """
    from jumok.cli.evaluate import read_test_set
    from jumok.decoding.translator import load
    from jumok.evaluation.calibrate import calibrate as calibrate_translator

    said = {name: places.pop(name) for name in ("to", "from_language")}
    test = read_test_set({**places, "lang": ""}, need=True)
    translator = load(model, device, engine=engine, note=say_once(quiet=quiet))
    if align:
        from jumok.training.best_head import find_head

        head, file = find_head(translator, test.sources or [], [one[0] for one in test.references])
        if as_json:
            return print_json({**head.to_dict(), "file": str(file)})
        if not quiet:
            click.echo(head.describe())
            say(f"kept in {file}")
        return None
    with progress_display(quiet=quiet) as progress:
        search = given_options({"beam": beam} | said)
        found = calibrate_translator(
            translator, test.sources or [], test.references, progress=progress, **search
        )
    if as_json:
        print_json(found.to_dict())
    elif not quiet:
        click.echo(describe(found))
        say(f"kept in {found.file}")
    return None


def describe(found: "CalibrationReport") -> str:
    """What a person wants to know of a calibration."""
    words, fitted = found.words, found.calibration.fitted
    most = f"(at most {words.most:.1%} can be)"
    return "\n".join(
        [
            f"calibrated on {fitted['words']:,} words in {fitted['sentences']:,} sentences",
            "of the half that the other half had not seen:",
            f"  {words.changed:.1%} of the words are not as in the reference",
            f"  {words.found:.1%} of these are among the most doubtful fifth {most}",
            f"  probabilities are off by {words.error:.1%} on average (expected calibration error)",
        ]
    )
