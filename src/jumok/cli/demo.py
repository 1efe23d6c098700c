"""`jumok demo`: trains the three models on dates, shows the difference, and serves the explorer on them."""

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumok.cli.compare import introduce, refuse_failed
from jumok.cli.serve import serve_folders
from jumok.cli.shared.console import print_json, progress_display, say, wants_colour
from jumok.cli.shared.interrupts import interruptible
from jumok.cli.shared.options import command, switch, text
from jumok.cli.train import seconds
from jumok.progress import duration
from jumok.server.settings import PORT

if TYPE_CHECKING:
    from jumok.comparison.demo import ThirdsResult
    from jumok.comparison.experiment import Experiment
    from jumok.config import Arch

EXAMPLES = """
  jumok demo
  jumok demo --time-limit 20s --out runs/quick-demo
  jumok demo --seed 1 --out runs/demo-1 --no-serve
"""

NAMES: "dict[Arch, str]" = {
    "rnn": "RNN, one fixed vector",
    "luong": "RNN + Luong attention",
    "transformer": "Transformer",
}
TOGETHER = "all train at once, one thread each, so each takes longer than it would alone"


@command(EXAMPLES, json="The table as JSON on standard output, and no explorer.", quiet="Only the table.")
@click.option("--out", default="runs/demo", show_default=True, help="Folder for the three runs.")
@text("--time-limit", metavar="20s", help="Train each model this long, instead of for the same updates.")
@click.option("--seed", type=int, help="Draw other first weights and another order of the pairs.")
@switch("--no-serve", help="End after the tables, without the explorer.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Of the explorer, or the next that is free.",
)
@switch("--no-open", help="Serve, and open no browser.")
def demo(
    out: str,
    time_limit: str,
    seed: int | None,
    *,
    no_serve: bool,
    port: int,
    no_open: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train the three generations on written dates, and see what attention changes.

    All three get the same: the Chinese, Japanese and Korean dates of the built-in set, updates and size, and
    the recurrent two the same encoder. Takes about three minutes on two idle CPU cores, then serves the
    explorer on the three models and opens it in the browser; Ctrl-C ends it. Run again to see the result at
    once.
    """
    from jumok.comparison.demo import verdict

    limit = seconds(time_limit) if time_limit else None
    experiment, report, results = train_three(Path(out), quiet=quiet, seconds=limit, seed=seed)
    refuse_failed(report)
    entries = {entry["arch"]: entry for entry in report["entries"]}
    rows = [row(one, entries[one.arch]) for one in results]
    if as_json:
        print_json(rows)
        return
    click.echo(table(rows, results))
    if quiet:
        return
    click.echo("\n" + "\n".join(verdict(results, NAMES)))
    folders: dict[str, Path] = {one.arch: experiment.out / one.folder for one in experiment.entries}
    show_sentence(folders)
    say(f"\nreport: {experiment.out / 'report.html'}")
    say(f'next:   jumok translate -m {folders["transformer"]} "2024년 3월 5일"')
    say(f'        jumok inspect -m {folders["luong"]} --text "2024年3月5日火曜日 14時30分"')
    if not no_serve:
        say("")
        raise click.exceptions.Exit(explore(folders, experiment.out, port, browse=not no_open))


def train_three(
    out: Path, *, quiet: bool, **wanted: Any
) -> "tuple[Experiment, dict[str, Any], list[ThirdsResult]]":
    """The experiment, its report, and how each model does by thirds of length."""
    from jumok.cli.shared.panel import Follow
    from jumok.comparison.conduct import conduct
    from jumok.comparison.demo import AT_ONCE, by_thirds, open_demo
    from jumok.comparison.publish import publish

    with interruptible() as flag, progress_display(quiet=quiet) as progress:
        experiment = open_demo(out, progress=progress, **wanted)
        if not quiet:
            introduce(experiment)
            say(f"note     {TOGETHER}")
        budget = experiment.request.budget
        options: dict[str, Any] = {"quiet": quiet, "at_once": AT_ONCE, "names": NAMES}
        follow = Follow(experiment.entries, budget, progress, flag, **options)
        with closing(follow):
            measured = conduct(experiment, follow.callbacks, at_once=AT_ONCE)
        if measured is None:
            say("stopped; run the same command again to go on")
            raise click.exceptions.Exit(128 + flag[0])
        report = publish(experiment, measured, "jumok demo")
    trained = [entry for entry in experiment.entries if measured[entry.name].get("quality")]
    return experiment, report, [by_thirds(out, entry) for entry in trained]


def explore(folders: dict[str, Path], out: Path, port: int, *, browse: bool) -> int:
    """Serve the explorer on the three models and their runs until Ctrl-C, and give the exit code."""
    from jumok.server.settings import ServerSettings

    best_first = dict(reversed(folders.items()))
    settings = ServerSettings(port=port, runs=out, train_in=out)
    return serve_folders(best_first, settings, screen="/" if browse else None, another_port=True)


def row(one: "ThirdsResult", entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "arch": one.arch,
        "exact": one.exact,
        "exact_ci95": one.ci95,
        "by_length": [
            {"characters": [part["lo"], part["hi"]], "exact": part["value"], "ci95": part["ci95"]}
            for part in one.thirds
        ],
        "falls": one.falls,
        "updates": entry["steps"],
        "training_s": entry["train_s"],
        "parameters": entry["parameters"],
    }


def table(rows: list[dict[str, Any]], results: "list[ThirdsResult]") -> str:
    """Exact match on unseen dates: overall, and by thirds of the source length; and what each model got."""
    from jumok.cli.views.view import columns

    labels = [f"{part['lo']}–{part['hi']}" for part in results[0].thirds]
    cells = [("", "exact", *labels, "updates", "training", "parameters")]
    for one in rows:
        parts = (f"{part['exact']:.1f}" for part in one["by_length"])
        got = f"{one['updates']:,}", duration(one["training_s"]), f"{one['parameters']:,}"
        cells.append((NAMES[one["arch"]], f"{one['exact']:.1f}", *parts, *got))
    title = f"exact match in % on {results[0].n:,} unseen dates: all, and by characters of the source"
    return f"{title}\n{columns(cells, right=range(1, len(cells[0])))}"


def show_sentence(folders: dict[str, Path]) -> None:
    from jumok.comparison.demo import SENTENCE, look_inside
    from jumok.decoding.translator import load

    looks = {NAMES[arch]: look_inside(load(folder)) for arch, folder in folders.items() if arch in NAMES}
    click.echo(f"\n{SENTENCE}")
    for name, (answer, _) in looks.items():
        click.echo(f"  {name:<22}  {answer}")
    colour = wants_colour(sys.stdout.isatty())
    for name, (_, attention) in looks.items():
        if attention is not None:
            click.echo(f"\nwhere {name} looked, for each token it wrote")
            click.echo(attention.show(style="colour" if colour else "blocks"), color=colour or None)
