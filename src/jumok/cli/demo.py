"""`jumok demo`: trains the three models on dates, shows the difference, and serves the explorer on them."""

import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumok.cli.serve import check_installed, serve_folders
from jumok.cli.shared.console import print_json, progress_display, say, wants_colour
from jumok.cli.shared.interrupts import interruptible
from jumok.cli.shared.options import command, switch, text
from jumok.cli.train import seconds
from jumok.errors import ConfigError
from jumok.progress import duration
from jumok.server.settings import PORT

if TYPE_CHECKING:
    from jumok.run.demo import Contestant

EXAMPLES = """
  jumok demo
  jumok demo --time-limit 20s --out runs/quick-demo
  jumok demo --no-serve
"""

NAMES = {
    "rnn": "RNN, one fixed vector",
    "luong": "RNN + Luong attention",
    "transformer": "Transformer",
}


@command(EXAMPLES, json="The table as JSON on standard output, and no explorer.", quiet="Only the table.")
@click.option("--out", default="runs/demo", show_default=True, help="Folder for the three runs.")
@text("--time-limit", metavar="20s", help="Train each model this long.")
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
    out: str, time_limit: str, *, no_serve: bool, port: int, no_open: bool, as_json: bool, quiet: bool
) -> None:
    """Train the three generations on written dates in 20 languages, and see what attention changes.

    Takes about five minutes on two idle CPU cores, then serves the explorer on the three models and opens it
    in the browser; Ctrl-C ends it. Run again to see the result at once.
    """
    from jumok.cli.shared.panel import Panel
    from jumok.run.demo import look_inside, train_three
    from jumok.run.train import RunCallbacks

    limit = seconds(time_limit) if time_limit else None
    with interruptible() as flag, progress_display(quiet=quiet) as progress, ExitStack() as panels:

        def callbacks_for(arch: str) -> RunCallbacks:
            panel = panels.enter_context(closing(Panel(quiet=quiet)))
            if not quiet:
                say(f"\n{[*NAMES].index(arch) + 1} of {len(NAMES)}: {NAMES[arch]}")
            return RunCallbacks(
                progress=progress,
                on_start=panel.start,
                on_event=panel.event,
                on_step=panel.on_step,
                interrupted=lambda: bool(flag),
            )

        contestants = train_three(Path(out), callbacks_for, seconds=limit, progress=progress)
    if flag:
        say("stopped; run the same command again to go on")
        raise click.exceptions.Exit(128 + flag[0])
    if as_json:
        print_json([row(contestant) for contestant in contestants])
        return
    click.echo(table(contestants))
    if quiet:
        return
    show_sentence([(contestant, *look_inside(contestant)) for contestant in contestants])
    say(f'\nnext: jumok translate -m {Path(out) / "transformer"} "5. März 2024"')
    say(f'      jumok inspect -m {Path(out) / "luong"} --text "den 5 mars 2024 kl. 14:30"')
    if not no_serve:
        say("")
        raise click.exceptions.Exit(explore(contestants, Path(out), port, browse=not no_open))


def explore(contestants: "list[Contestant]", out: Path, port: int, *, browse: bool) -> int:
    """Serve the explorer on the three models and their runs until Ctrl-C, and give the exit code."""
    try:
        check_installed()
    except ConfigError as error:
        say(f"no explorer: {error.message}; {error.hint}")
        return 0
    from jumok.server.settings import ServerSettings

    folders: dict[str, Path] = {one.arch: one.run.folder for one in reversed(contestants)}  # the best first
    settings = ServerSettings(port=port, runs=out)
    return serve_folders(folders, settings, screen="/" if browse else None, another_port=True)


def row(contestant: "Contestant") -> dict[str, Any]:
    exact, groups = contestant.evaluation["metrics"]["exact"], contestant.evaluation["by_length"]["bins"]
    return {
        "arch": contestant.arch,
        "exact": exact["value"],
        "exact_ci95": exact["ci95"],
        "by_length": [{"characters": [part["lo"], part["hi"]], "exact": part["exact"]} for part in groups],
        "parameters": contestant.parameters,
        "training_s": contestant.run.seconds,
        "sentences_per_s": contestant.evaluation["speed"]["sentences_per_s"],
    }


def table(contestants: "list[Contestant]") -> str:
    """Exact match on unseen dates: overall, and by thirds of the source length."""
    from jumok.cli.views.view import columns

    data, groups = contestants[0].evaluation["data"], contestants[0].evaluation["by_length"]["bins"]
    labels = [f"{group['lo']}–{group['hi']}" for group in groups]
    rows = [("", "exact", *labels, "parameters", "training", "sentences/s")]
    for contestant in contestants:
        figures = row(contestant)
        parts = (f"{part['exact']:.1f}" for part in figures["by_length"])
        time, speed = duration(figures["training_s"]), f"{figures['sentences_per_s']:,.0f}"
        exact, size = f"{figures['exact']:.1f}", f"{figures['parameters']:,}"
        rows.append((NAMES[contestant.arch], exact, *parts, size, time, speed))
    title = f"exact match in % on {data['n']:,} unseen dates: all, and by characters of the source"
    return f"{title}\n{columns(rows, right=range(1, len(rows[0])))}"


def show_sentence(looks: "list[tuple[Contestant, str, Any]]") -> None:
    from jumok.run.demo import SENTENCE

    click.echo(f"\n{SENTENCE}")
    for contestant, answer, _ in looks:
        click.echo(f"  {NAMES[contestant.arch]:<22}  {answer}")
    colour = wants_colour(sys.stdout.isatty())
    for contestant, _, attention in looks:
        if attention is not None:
            click.echo(f"\nwhere {NAMES[contestant.arch]} looked, for each token it wrote")
            click.echo(attention.show(style="colour" if colour else "blocks"), color=colour or None)
