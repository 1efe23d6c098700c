"""`jumok serve`: the explorer and the HTTP API for trained models."""

import json
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, fields, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumok.cli.shared.collector import collector_resting
from jumok.cli.shared.console import print_json, say
from jumok.cli.shared.options import DEVICE, ENGINE, MEAN, command, say_once, several, switch
from jumok.errors import ConfigError, DataError, has_torch
from jumok.seals import unsealed
from jumok.server.settings import PORT

if TYPE_CHECKING:
    from jumok.decoding.translator import Translator
    from jumok.server.gates.limits import Limits
    from jumok.server.reload import LoadModel
    from jumok.server.settings import ModelNotes, ServerSettings

EXAMPLES = """
  jumok serve runs/en-de
  jumok serve rnn=runs/demo/rnn runs/demo/transformer --runs runs --open
  jumok serve runs/one runs/two both=runs/one+runs/two
  jumok serve runs/en-de --memory earlier.tmx --remember corrections.tmx
  jumok serve runs/en-de --host 0.0.0.0 --api-key-file keys.txt --allowed-host mt.example.org
  jumok serve runs/en-de --limit queue=64 --limit document_bytes=8MiB
"""

PORTS = 20  # to try, where any will do
SCREENS = {"/", "/translate", "/documents", "/map", "/attention", "/inside", "/compare", "/beam"}
SCREENS |= {"/training", "/quality", "/learn"}
NAME = re.compile(r"[^/\\\x00-\x1f\x7f]{1,128}")
EXAMPLE_TEXTS = 6
SAMPLES_LINE = 1 << 20  # characters
FOLDER = click.Path(path_type=Path)


@command(EXAMPLES, json="Say where it listens as one JSON object.", quiet="Only the address.")
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@click.option("--runs", type=FOLDER, metavar="DIR", help="Show the training runs in this folder.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: any free one."
)
@click.option(
    "--open", "screen", is_flag=False, flag_value="/", metavar="[/SCREEN]", help="Open the browser."
)
@click.option("--api-key-file", metavar="FILE", help="Ask callers for one of these keys, one per line.")
@several("--allow-origin", "allow_origins", metavar="URL", help="Pages of this origin may call, too.")
@several(
    "--allowed-host", "allowed_hosts", metavar="NAME", help="Another name of this server; 10.0.0.0/8; '*'."
)
@several(
    "--trusted-proxy", "trusted_proxies", metavar="NET", help="Proxies that say on whose behalf they ask."
)
@switch("--insecure", help="Let everyone in who can reach the address.")
@switch("--allow-training", help="Let clients on other machines train models here, too.")
@several("--limit", "limits", metavar="NAME=N", help="Another limit; or in the environment JUMOK_LIMIT_NAME.")
@switch("--limits", "show_limits", help="List the limits, and serve nothing.")
@click.option("--keep", type=FOLDER, metavar="DIR", help="Keep traces here, for short links.")
@click.option("--memory", default="", metavar="FILE", help="Reuse translations: TMX, TSV, PO, XLIFF, …")
@click.option("--remember", type=FOLDER, metavar="FILE", help="Add corrections to this .tsv or .tmx.")
@DEVICE
@ENGINE
@MEAN
@switch("-v", "--verbose", help="One line per request on standard error, without its text.")
def serve(
    models: tuple[str, ...],
    runs: Path | None,
    screen: str | None,
    *,
    api_key_file: str | None,
    limits: tuple[str, ...],
    show_limits: bool,
    keep: Path | None,
    device: str | None,
    engine: str,
    mean: str | None,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    **network: Any,
) -> None:
    """Serve the explorer and the HTTP API for one model or more, on this machine only unless told.

    MODEL is a run or model folder, or NAME=FOLDER to choose the name that clients see; folders with a plus
    between them, A+B, are one model, an ensemble. Without any, the small models that come with the package
    are served: three of dates, and translators from Korean and German.
    """
    if screen is not None and screen not in SCREENS:  # `--open runs/a` names a model, not a screen
        models, screen = (screen, *models), "/"
    from jumok.server.gates.limits import read_limits
    from jumok.server.settings import ServerSettings, read_keys

    bounds = read_limits(limits, os.environ)
    if show_limits:
        list_limits(bounds, as_json=as_json)
        return
    check_folders(runs, keep)
    settings = ServerSettings(
        keys=read_keys(api_key_file) if api_key_file else (),
        runs=runs or (None if models else bundled_runs()),
        train_in=runs or Path("runs"),
        keep=keep,
        limits=bounds,
        **network,
    )
    folders = name_models(models) or bundled_models()
    if verbose:  # method, route, status, time and id of each request, on standard error
        handler, logger = logging.StreamHandler(), logging.getLogger("jumok.access")
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    raise click.exceptions.Exit(
        serve_folders(
            folders,
            settings,
            device=device,
            engine=engine,
            mean=mean or "probabilities",
            screen=screen,
            as_json=as_json,
            quiet=quiet,
            began=time.monotonic() - process_age(),
        )
    )


def list_limits(limits: "Limits", *, as_json: bool) -> None:
    """Each limit as it now is, with what lies beyond it."""
    if as_json:
        print_json(asdict(limits))
        return
    for one in fields(limits):
        click.echo(f"{one.name:<16} {getattr(limits, one.name):>12,.10g}  {one.metadata['about']}")


def process_age() -> float:
    """Seconds since this process began, Python's own start included."""
    try:
        ticks = int(Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):  # not Linux: what it has computed so far
        return time.process_time()
    return max(age, time.process_time())


def warm_up() -> None:
    """Import torch, if it is there, while somebody begins to read: a few screens of the page ask for it."""
    if has_torch():
        threading.Thread(target=import_for_good, args=("torch",), name="warm-up", daemon=True).start()


def import_for_good(name: str) -> None:
    """Import a module, and never look through it for garbage: that would hold up answers."""
    with collector_resting() as loaded:
        import_module(name)
        loaded()


def serve_folders(
    folders: dict[str, Path],
    settings: "ServerSettings",
    *,
    device: str | None = None,
    engine: str = "auto",
    mean: str = "probabilities",
    screen: str | None = None,
    another_port: bool = False,
    as_json: bool = False,
    quiet: bool = False,
    began: float | None = None,
) -> int:
    """Serve models by name until a signal comes, and give the exit code; `screen` opens the browser there.

    With `another_port`, one that is taken makes way for the next. `began` is when someone began to wait.
    """
    began = time.monotonic() if began is None else began
    with ExitStack() as stack:
        wake = stack.enter_context(collector_resting())
        from jumok.decoding.translator import load as load_model
        from jumok.server.app import build_app
        from jumok.server.reload import Reloader
        from jumok.server.serve import address_of
        from jumok.server.serve import serve as run_server

        # Before the models are loaded: a port that is taken shows at once.
        sock = stack.enter_context(listen_near(settings, PORTS if another_port else 1))
        note = say_once(quiet=quiet)
        load = partial(load_model, device=device, engine=engine, mean=mean, note=note)
        loads = {name: partial(load_one, folder, load, settings.runs) for name, folder in folders.items()}
        loaded, about = load_models(loads)
        load_run = partial(load_one, load=load, runs=settings.train_in)
        settings = replace(settings, about=about, load=load_run, opened=cache(warm_up))
        app = build_app(loaded, settings=settings)
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        address = address_of(sock, settings)

        def started() -> None:
            engines = {name: " ".join(model.engine.values()) for name, model in loaded.items()}
            greet(address, engines, time.monotonic() - began, as_json=as_json, quiet=quiet)
            wake()
            if screen is not None:  # in a thread: a browser in this terminal would hold up the server
                page = address.rstrip("/") + screen
                threading.Thread(target=open_browser, args=(page,), name="browser", daemon=True).start()

        reloader = Reloader(app.state.services, loads, say)
        return run_server(app, settings, sock, started, reloader)


def listen_near(settings: "ServerSettings", tries: int) -> socket.socket:
    """A socket on the port, or on the first of the next ones that is free."""
    from jumok.server.serve import listen

    try:
        return listen(settings)
    except ConfigError as error:
        if error.code != "port_taken" or tries <= 1 or settings.port >= 65535:
            raise
    return listen_near(replace(settings, port=settings.port + 1), tries - 1)


def name_models(given: Sequence[str]) -> dict[str, Path]:
    """Folders by the names that clients see: NAME=FOLDER, or the folder's own name."""
    from jumok.decoding.ensembles import PLUS, member_folders

    folders: dict[str, Path] = {}
    for word in given:
        name, equals, rest = word.partition("=")
        if not equals or Path(word).exists():
            name, rest = PLUS.join(Path(one).resolve().name for one in member_folders(word)), word
        if not NAME.fullmatch(name):
            raise ConfigError(f"{name!r} cannot be a model's name", hint="choose one without / : NAME=FOLDER")
        if name in folders:
            raise ConfigError(
                f"two models are called {name!r}: {folders[name]} and {rest}",
                hint=f"give one of them another name: other-{name}={rest}",
            )
        folders[name] = Path(rest)
    return folders


def bundled_models() -> dict[str, Path]:
    """The small models that come with the package, the one first that clients get by default."""
    from jumok.checkpoint.bundled import bundled, translators

    return dict(reversed(bundled().items())) | translators()


def bundled_runs() -> Path | None:
    """How those models were trained, if the package has that, too."""
    from jumok.checkpoint.bundled import RECORDS

    return RECORDS if RECORDS.is_dir() else None


def record_of(folder: Path) -> Path:
    """The run that a model comes from: its folder; the record of a bundled one lies apart from it."""
    from jumok.checkpoint.bundled import RECORDS, TRAINED, named_folder

    place = named_folder(folder)
    return RECORDS / place.name if place.parent == TRAINED else folder


def load_models(
    loads: "Mapping[str, LoadModel]",
) -> "tuple[dict[str, Translator], dict[str, ModelNotes]]":
    """The models, and what else is known about each."""
    found = {name: load() for name, load in loads.items()}
    return {name: model for name, (model, _) in found.items()}, {
        name: notes for name, (_, notes) in found.items()
    }


def load_one(
    folder: Path, load: "Callable[[Path], Translator]", runs: Path | None
) -> "tuple[Translator, ModelNotes]":
    """The model in a folder, and what else is known about it."""
    from jumok.checkpoint.bundled import aliases_of
    from jumok.server.runs.catalog import Runs
    from jumok.server.settings import ModelNotes

    began = time.monotonic()
    model = load(folder)
    return model, ModelNotes(
        run=Runs(runs).name_of(record_of(folder)),
        examples=examples_for(model, folder),
        aliases=aliases_of(folder),
        load_s=time.monotonic() - began,
    )


def examples_for(model: "Translator", folder: Path) -> tuple[str, ...]:
    """A few texts to try: of the built-in test set, else the validation sentences that its run shows."""
    from jumok.checkpoint.bundled import SENTENCES
    from jumok.data.builtin import BUILTIN, builtin_corpus

    name = model.config.data.name
    if name not in BUILTIN:
        return pictures_in(model, samples_of(record_of(folder)))
    sources = [source for source, _ in builtin_corpus(name, "test").pairs()]
    spread = sources[:: max(len(sources) // EXAMPLE_TEXTS, 1)]
    return pictures_in(model, (*SENTENCES.get(name, ()), *spread)[:EXAMPLE_TEXTS])


def pictures_in(model: "Translator", sources: tuple[str, ...]) -> tuple[str, ...]:
    """The sources; of a model that reads pictures the pictures themselves, those that can be read."""
    reader, pictures = model.tokenizers.pictures, []
    if reader is None:
        return sources
    for source in sources:
        with suppress(DataError):
            pictures.append(reader.decode(reader.encode(source)))
    return tuple(pictures)


def samples_of(run: Path) -> tuple[str, ...]:
    """The sources of a run's first validation samples; none where they cannot be read."""
    try:
        with (run / "samples.jsonl").open(encoding="utf-8") as file:
            samples = unsealed(json.loads(file.readline(SAMPLES_LINE)))["samples"]
        return tuple(str(sample["src"]) for sample in samples)[:EXAMPLE_TEXTS]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ()


def check_folders(runs: Path | None, keep: Path | None) -> None:
    """Refuse a folder of runs that is not there; make the one for traces."""
    if runs is not None and not runs.is_dir():
        raise ConfigError(f"--runs {runs}: there is no such folder", hint="name a folder that exists")
    try:
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"--keep {keep}: {error.strerror}", hint="name a folder that you may write to", code="unwritable"
        ) from None


def greet(address: str, engines: dict[str, str], seconds: float, *, as_json: bool, quiet: bool) -> None:
    """Where it listens, on stdout; the rest on stderr. `engines` says what computes each model."""
    names = list(engines)
    if as_json:
        ready = round(seconds, 3)
        print_json({"address": address, "models": names, "engines": engines, "ready_s": ready})
    elif quiet:
        click.echo(address)
    else:
        click.echo(f"explorer   {address}")
        say("translate  POST /translate (LibreTranslate form) · POST /v1/translate · docs /docs")
        say(f"engine     {' · '.join(dict.fromkeys(engines.values()))}")
        say(f"models     {' · '.join(names)}     ready in {seconds:.1f} s      Ctrl-C to stop")


def open_browser(address: str) -> None:
    """Open the page; a machine without a browser is no reason to stop."""
    import webbrowser

    if not webbrowser.open(address):
        say("no browser was found: open the address above")
