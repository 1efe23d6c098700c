"""`jumok train`: words to a request, the plan and the run's events to lines."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from jumok.cli.shared.console import progress_display, say, to_json
from jumok.cli.shared.interrupts import AGAIN, interruptible
from jumok.cli.shared.options import choice, command, several, switch, text

if TYPE_CHECKING:
    from jumok.data.reader import CheckReport
    from jumok.run.plan import Plan
    from jumok.run.train import RunCallbacks, RunRequest, TrainedRun

EXAMPLES = """
  jumok train --source train.en --target train.de --out runs/en-de
  jumok train --data dates --arch luong --time-limit 2m
  jumok train --images photos.zip --source captions.tsv
  jumok train --source pairs.tsv --set training.lr=5e-4 --max-steps 2000
  jumok train --from runs/de-en --source new.tsv --keep old.tsv
  jumok train --data de-en.tsv:de-en:both --data fr-en.tsv:fr-en:both --data news.en:en:copy
"""


# Options that are settings: the parameter's name is the setting's, with two underscores for the dot.
@command(EXAMPLES, json="Events as JSON lines on standard output.", quiet="Say nothing but errors.")
@click.option(
    "--source", "data__source", help="Source lines; or one file with both sides (TSV, JSONL, CSV, TMX, …)."
)
@click.option("--target", "data__target", help="Target lines: line n translates line n of the source.")
@several("--data", "corpora", metavar="NAME|FILE:…", help="A built-in set; or each of several corpora.")
@click.argument("more", nargs=-1, metavar="")
@several("--valid", metavar="FILE:…", help="Validation files of several corpora; else pairs are held out.")
@click.option("--images", "data__images", help="Folder or zip: the source names pictures, with captions.")
@click.option("--columns", "data__columns", metavar="A,B", help="Which columns, keys or languages of it.")
@click.option("--valid-source", "data__valid_source", help="Validation source; else pairs are held out.")
@click.option("--valid-target", "data__valid_target", help="Validation target.")
@choice("--long", "data__long", of=["skip", "cut"], help="Sources above data.max_length [skip].")
@click.option(
    "--from", "start__model", metavar="MODEL", help="Teach this model or run: its weights, tokenizer."
)
@click.option(
    "--keep", "start__keep", metavar="CORPUS", help="With --from: old pairs, so that it forgets less."
)
@click.option("--keep-target", "start__keep_target", help="Target side of --keep, if a file of its own.")
@click.option(
    "--extend-vocabulary", "start__extend_vocabulary", type=int, metavar="N", help="Add so many tokens."
)
@click.option("--freeze", "training__freeze", metavar="PARTS", help="Leave as they are: encoder,embeddings,…")
@click.option(
    "--lora", "training__lora", type=int, metavar="RANK", help="Teach low-rank adapters only, 8 or 16."
)
@click.option("--arch", "model__arch", help="rnn, luong or transformer.")
@text("--preset", "size", help="tiny, small, base, big or fast; else the plan chooses.")
@several("--config", "files", help="TOML file with settings; may be repeated.")
@several("--set", "words", metavar="A.B=V", help="One setting; may be repeated.")
@text("--out", help="Folder of the run; default runs/<data>-<arch>.")
@text("--time-limit", "limit", metavar="10m", help="Train this long: 90s, 10m, 2h.")
@click.option("--max-steps", "training__max_steps", type=int, help="Stop after this many updates.")
@switch("--fresh", help="Start over; the earlier run is kept under another name.")
@switch("--allow-data-change", help="Go on although the files differ from before.")
@switch("--allow-world-change", help="Go on with another number of processes.")
@click.option("--device", help="cpu or cuda; default: the best there is.")
@switch("--print-config", help="Show every setting with its origin, and stop.")
@switch("--dry-run", help="Show the plan, and stop.")
@switch("-v", "--verbose", help="Say more: every choice of the plan.")
def train(  # noqa: PLR0913  as many options as it has
    size: str,
    corpora: tuple[str, ...],
    more: tuple[str, ...],
    valid: tuple[str, ...],
    files: tuple[str, ...],
    words: tuple[str, ...],
    out: str,
    limit: str,
    *,
    print_config: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    **others: Any,
) -> None:
    """Train a model; run the same command again to go on where it stopped.

    Two text files are enough: jumok looks at them and at the machine, chooses everything else, and says what
    it chose and why. With --from it goes on with a trained model, and says what that scores before and after.
    """
    options, device = settings_in(others) | data_in(corpora, more, valid), others["device"]
    if limit:
        options["training.time_limit"] = seconds(limit)
    layers = gather(options, size, files, words)
    given = {key: value for key, (value, _) in layers.items()}
    if print_config:
        click.echo(printed_config(layers, device))
    elif dry_run:
        show_plan(dry_plan(given, device), verbose=True)
    else:
        from jumok.run.train import RunRequest, default_folder, run

        folder = Path(out) if out else default_folder(given)
        request = RunRequest(given=given, out=folder, **others)
        with shown(request, as_json=as_json, quiet=quiet, verbose=verbose) as (callbacks, signals):
            done = run(request, callbacks)
        show_end(done, signals, quiet=quiet)


def settings_in(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options that are settings out of the others; the ones that are given, by full name."""
    found = {key.replace("__", "."): options.pop(key) for key in [*options] if "__" in key}
    return {key: value for key, value in found.items() if value not in (None, "")}


def data_in(corpora: tuple[str, ...], more: tuple[str, ...], valid: tuple[str, ...]) -> dict[str, Any]:
    """The settings that --data and --valid stand for; behind --data several may stand."""
    if more and not corpora:
        from jumok.errors import ConfigError

        raise ConfigError(
            f"{more[0]} belongs to no option",
            hint="give pairs as --source FILE --target FILE, or corpora as --data FILE FILE",
        )
    if not corpora and not valid:
        return {}
    from jumok.run.corpora import named_data

    return {key: value for key, value in named_data((*corpora, *more), valid).items() if value}


@contextmanager
def shown(
    request: "RunRequest", *, as_json: bool, quiet: bool, verbose: bool
) -> "Iterator[tuple[RunCallbacks, list[int]]]":
    """Callbacks that show a run to a person or a program, and the signals that came while it ran.

    Of several processes the first one speaks; also when all of them end with the same error.
    """
    from jumok.cli.shared.panel import Panel
    from jumok.errors import Error
    from jumok.run.train import RunCallbacks
    from jumok.training.distributed import is_first_here, is_told
    from jumok.training.log import to_json as event_json

    quiet, as_json = quiet or not is_first_here(), as_json and is_first_here()
    panel, started = Panel(quiet=quiet), threading.Event()
    with (
        interruptible(
            lambda: last_checkpoint(request.out), speaks=is_first_here(), begun=started.is_set
        ) as signals,
        progress_display(quiet=quiet) as progress,
        closing(panel),
    ):

        def on_event(event: Any) -> None:
            panel.event(event)
            if as_json:
                click.echo(event_json(event))

        def on_start(start: Any) -> None:
            if not quiet:
                say(f"dashboard: jumok serve --runs {quote(str(request.out.parent))}")
            panel.start(start)

        def interrupted() -> bool:
            started.set()  # every process asks before its first update
            return bool(signals)

        callbacks = RunCallbacks(
            progress=progress,
            on_data=lambda report: None if quiet else show_data(report, request.given),
            on_plan=lambda plan: None if quiet else show_plan(plan, verbose=verbose),
            on_start=on_start,
            on_event=on_event,
            on_step=panel.on_step,
            interrupted=interrupted,
        )
        try:
            yield callbacks, signals
        except Error as error:
            if is_told(error) and not is_first_here():
                raise click.exceptions.Exit(error.exit_code) from error
            raise


def last_checkpoint(run: Path) -> str:
    """What a run that had to end at once is left with."""
    from jumok.checkpoint.manifest import checkpoint_folders

    steps = checkpoint_folders(run)
    where = f"at the last checkpoint, step {max(steps):,}" if steps else "before the first checkpoint"
    return f"ended {where}; {AGAIN}"


def gather(
    options: dict[str, Any], size: str, files: tuple[str, ...], words: tuple[str, ...]
) -> dict[str, tuple[Any, str]]:
    """Every given setting with its origin; later layers win: preset, files, environment, options, --set."""
    from jumok.presets import preset
    from jumok.settings import read_environment, read_toml, read_words

    layers = [(path, read_toml(path)) for path in files]
    layers += [("environment", read_environment()), ("option", options), ("--set", read_words(words))]
    if size:
        archs = [flat["model.arch"] for _, flat in layers if flat.get("model.arch")]
        layers.insert(0, (f"--preset {size}", preset(size, archs[-1] if archs else "transformer")))
    return {key: (value, origin) for origin, flat in layers for key, value in flat.items()}


def printed_config(layers: dict[str, tuple[Any, str]], device: str | None) -> str:
    """Every setting, its value and where it comes from, as TOML; without data there is no plan yet."""
    from jumok.settings import config_to_dict, flatten, nest, parse_config

    given = {key: value for key, (value, _) in layers.items()}
    origins = {key: origin for key, (_, origin) in layers.items()}
    if given.keys() & {"data.source", "data.name", "data.corpora"}:
        plan = dry_plan(given, device)
        config = plan.config
        origins |= {choice.key: f"plan: {choice.reason}" for choice in plan.choices}
    else:
        config = parse_config(nest(given), "your settings")
    return "\n".join(
        f"{key} = {to_json(value)}  # {origins.get(key, 'default')}"
        for key, value in flatten(config_to_dict(config)).items()
    )


def dry_plan(given: dict[str, Any], device: str | None) -> "Plan":
    from jumok.run.corpora import open_corpora, read_corpora
    from jumok.run.machine import look_at_machine
    from jumok.run.plan import make_plan
    from jumok.settings import check_given

    start = given.get("start.model")
    report = read_corpora(open_corpora(check_given(given)), keep=bool(start))
    show_data(report, given)
    if not start:
        return make_plan(given, report.train, look_at_machine(device))
    from jumok.run.start import read_start
    from jumok.run.tuning import plan_from

    return plan_from(given, report, look_at_machine(device), read_start(start))


def show_data(report: "CheckReport", given: Mapping[str, Any]) -> None:
    from jumok.run.report import data_lines

    for line in data_lines(report, given):
        say(line)


def show_plan(plan: "Plan", *, verbose: bool) -> None:
    from jumok.run.report import plan_lines

    for line in plan_lines(plan, verbose=verbose):
        say(line)


def show_end(done: "TrainedRun", signals: list[int], *, quiet: bool) -> None:
    """How the run ended and what to do next; a run that a signal has stopped exits as the signal asks."""
    from jumok.data.builtin import reads_pictures
    from jumok.run.report import end_line
    from jumok.training.distributed import is_first_here

    if signals:
        if is_first_here():
            say(f"stopped at step {done.steps:,}; {AGAIN}")
        raise click.exceptions.Exit(128 + signals[0])
    if quiet or not is_first_here():
        return
    say(end_line(done))
    source = "picture.png" if reads_pictures(done.config.data) else '"…"'
    say(f"next: jumok translate -m {done.folder} {also_said(done)}{source}")


def also_said(done: "TrainedRun") -> str:
    """What the model must be told with every text: a language where it has several, the words before."""
    data = done.config.data
    if not (".json" in data.source or data.corpora or done.config.start.model):
        return ""
    tokenizers = done.model.tokenizers
    words = ['--context "…"'] if ".json" in data.source and tokenizers.reads_context else []
    for slot, option in (("{source}", "--from"), ("{target}", "--to")):
        if slot in tokenizers.frame.slots:
            words.append(f"{option} {getattr(tokenizers.frame.directions[0], slot[1:-1])}")
    return "".join(f"{word} " for word in words)


def seconds(text: str) -> float:
    """`90`, `90s`, `10m`, `2h` as seconds."""
    from jumok.errors import ConfigError

    units = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
    number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "s")
    try:
        value = float(number) * units[unit]
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ConfigError(f"--time-limit={text} is no time", hint="give for example 90s, 10m or 2h")
    return value
