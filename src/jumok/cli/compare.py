"""`jumok compare`: the three generations, and variants of them, as one experiment with one report."""

import shlex
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumok.cli.shared.console import print_json, progress_display, say
from jumok.cli.shared.interrupts import interruptible
from jumok.cli.shared.options import command, several, switch, text
from jumok.cli.train import gather, seconds, settings_in
from jumok.errors import RunError

if TYPE_CHECKING:
    from jumok.comparison.experiment import ComparisonRequest, Experiment

EXAMPLES = """
  jumok compare --data dates
  jumok compare --source a.en --target a.de --archs rnn,luong,transformer --time-limit 10m
  jumok compare --source pairs.tsv --seeds 1,2,3 --max-steps 5000 --out runs/seeds
  jumok compare --data dates --archs transformer --ablate no-scale,no-residual,positions
"""


@command(EXAMPLES, json="The report as JSON on standard output.", quiet="Only the table.")
@click.option(
    "--source", "data__source", help="Source lines; or one file with both sides (TSV, CSV, TMX, …)."
)
@click.option("--target", "data__target", help="Target lines: line n translates line n of the source.")
@click.option("--data", "data__name", help="A data set that comes with jumok, such as dates.")
@click.option("--columns", "data__columns", metavar="A,B", help="Which columns, keys or languages of it.")
@click.option("--valid-source", "data__valid_source", help="Validation source; else pairs are held out.")
@click.option("--valid-target", "data__valid_target", help="Validation target.")
@text("--test-source", metavar="FILE", help="What all are tested on.")
@text("--test-target", metavar="FILE", help="Its references.")
@click.option("--archs", default="rnn,luong,transformer", show_default=True, help="What to compare.")
@text("--seeds", metavar="1,2,3", help="Train each with these seeds.")
@text(
    "--ablate",
    metavar="NAMES",
    help="Also train without a part: no-scale, no-residual, no-norm, one-head, positions, forcing.",
)
@text("--time-limit", "limit", metavar="10m", help="Train each this long [10m].")
@click.option("--max-steps", "steps", type=click.IntRange(min=1), help="Or train each for so many updates.")
@click.option("--flops", type=float, metavar="1e15", help="Or for so many operations, by formula.")
@text("--metric", metavar="NAMES", help="What the report speaks of, such as bleu,chrf.")
@several("--config", "files", help="TOML file with settings; may be repeated.")
@several("--set", "words", metavar="A.B=V", help="One setting; may be repeated.")
@switch("--no-match", help="Leave the sizes as they are, whatever their parameters.")
@click.option("--out", default="runs/compare", show_default=True, help="Folder of the experiment.")
@click.option("--device", help="cpu or cuda; default: the best there is.")
def compare(
    files: tuple[str, ...],
    words: tuple[str, ...],
    out: str,
    limit: str,
    steps: int | None,
    flops: float | None,
    *,
    no_match: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Train several architectures on the same data with the same budget, and see where they differ.

    Sizes are matched: each gets the width that gives it about as many parameters as the others. Writes
    report.json and report.html into the folder. Run the same command again to go on where it stopped.
    """
    from jumok.comparison.compare import read_request

    given = gather(settings_in(options), "", files, words)
    request = read_request(
        {key: value for key, (value, _) in given.items()},
        budgets={
            "--time-limit": seconds(limit) if limit else None,
            "--max-steps": steps,
            "--flops": flops,
        },
        match=not no_match,
        out=Path(out),
        **options,
    )
    carry_out(request, as_json=as_json, quiet=quiet)


def carry_out(request: "ComparisonRequest", *, as_json: bool, quiet: bool) -> None:
    """Open the experiment, conduct it under the eyes of a person or a program, and report."""
    from jumok.cli.shared.panel import Follow
    from jumok.comparison.conduct import conduct
    from jumok.comparison.experiment import open_experiment
    from jumok.comparison.publish import publish

    with interruptible() as flag, progress_display(quiet=quiet) as progress:
        experiment = open_experiment(request, progress)
        if not quiet:
            introduce(experiment)
        follow = Follow(experiment.entries, request.budget, progress, flag, quiet=quiet)
        with closing(follow):
            measured = conduct(experiment, follow.callbacks)
        if measured is None:
            say("stopped; run the same command again to go on")
            raise click.exceptions.Exit(128 + flag[0])
        progress("report", 0, 1)
        report = publish(experiment, measured, shlex.join(["jumok", *sys.argv[1:]]))
        progress("report", 1, 1)
    show(report, request.out, as_json=as_json, quiet=quiet)
    refuse_failed(report)


def introduce(experiment: "Experiment") -> None:
    """What is compared on what, and what each may spend."""
    from jumok.comparison.publish import budget_facts, data_facts, parameter_counts
    from jumok.comparison.summary import allowance, encoders

    data, budget = data_facts(experiment), budget_facts(experiment)
    say(
        f"data     {data['name']} · train {data['train']:,} · valid {data['valid']:,} · "
        f"test {data['test']:,} ({data['test_name']}) · vocabulary {data['vocabulary']:,}"
    )
    sizes = " · ".join(f"{arch} {count:,}" for arch, count in parameter_counts(experiment).items())
    matched = "matched" if budget["matched"] else f"not matched: {budget['spread']:.0%} apart"
    say(f"models   {sizes} parameters ({matched})")
    say(f"each     {allowance(budget)} · the same data and tokens")
    if said := encoders(experiment.bases):
        say(f"encoder  {said}")
    say(f"entries  {', '.join(entry.name for entry in experiment.entries)}")
    for note in experiment.notes:
        say(f"note     {note}")


def show(report: dict[str, Any], out: Path, *, as_json: bool, quiet: bool) -> None:
    from jumok.cli.views.comparison import comparison_text
    from jumok.comparison.publish import PAGE

    if as_json:
        print_json(report)
        return
    click.echo(comparison_text(report))
    if not quiet:
        say(f"\nreport: {out / PAGE}")
        say(f"next:   jumok serve --runs {shlex.quote(str(out))}")


def refuse_failed(report: dict[str, Any]) -> None:
    """End with an error when an entry did, after everything has been shown."""
    failed = [entry for entry in report["entries"] if entry["status"] != "completed"]
    if failed:
        reasons = [f"{entry['name']}: {entry['error']['message']}" for entry in failed]
        raise RunError(
            f"{len(failed)} of {len(report['entries'])} entries did not end well",
            where="\n  ".join(reasons),
            hint="the report has the others; run the same command again to try these again",
            code="entries_failed",
        )
