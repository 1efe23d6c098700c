"""One run from files to a model folder: plan or resume, prepare, fit, finish."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from jumok.checkpoint.checkpoints import Checkpoint, Checkpoints
from jumok.checkpoint.manifest import checkpoint_folders
from jumok.config import RunConfig
from jumok.data.reader import CheckReport
from jumok.formats.files import split_packing
from jumok.model import Model, load
from jumok.presets import preset as sizes_of
from jumok.progress import Progress, silent
from jumok.run.averaged import averaged_if_better
from jumok.run.calibrated import calibrate_run
from jumok.run.compute import (
    check_possible,
    check_same_data,
    lacks_bf16,
    make_learner,
    make_model,
    precision,
    tune_torch,
)
from jumok.run.corpora import Corpora, named_data, open_corpora, read_corpora
from jumok.run.events import logs, start_event
from jumok.run.folder import RunFolder
from jumok.run.forecast import SecondForecast
from jumok.run.machine import Machine, look_at_machine
from jumok.run.novelty import keep_novelty
from jumok.run.plan import Plan, is_language, make_plan
from jumok.run.prepare import Prepared, prepare, reopen
from jumok.run.probes import write_probe
from jumok.run.rejudge import judged_anew, judged_by, set_average_aside
from jumok.run.report import end_line, printing, write_line
from jumok.run.start import StartModel, kept_descent, kept_start, read_start, write_start
from jumok.run.tuning import plan_from
from jumok.run.warm import load_meanwhile
from jumok.settings import Flat, check_given, check_names, config_to_dict, parse_config, read_toml
from jumok.text.tokenizer import Tokenizers, load_tokenizers
from jumok.training.distributed import World, is_first_here, join, shared_clock
from jumok.training.log import Log
from jumok.training.loop import OnStep, fit, look_first, notice
from jumok.training.state import LoopState
from jumok.training.work import PreparedData, RunWork

logger = logging.getLogger("jumok")


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What to train, where to and how; everything that it does not say is planned."""

    given: Flat  # settings by full name, as the user gave them
    out: Path
    fresh: bool = False
    allow_data_change: bool = False
    allow_world_change: bool = False  # go on with another number of processes
    device: str | None = None
    data_folder: Path | None = None  # where tokenizer and stores go; runs on the same text may share one
    data_seed: int | None = None  # of what is held out; the run's own when not given


@dataclass(frozen=True, kw_only=True)
class RunCallbacks:
    """Functions that a run calls as it goes. Every one may be left out.

    `on_event` is called with every event of the log, `on_step` after every update; `interrupted` before every
    update, and may stop the run.
    """

    progress: Progress = silent
    on_data: Callable[[CheckReport], None] = lambda report: None
    on_plan: Callable[[Plan], None] = lambda plan: None
    on_start: Callable[["RunStart"], None] = lambda start: None
    on_event: Log = lambda event: None
    on_step: OnStep = lambda state, tokens: None
    interrupted: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class RunStart:
    """What is known when a run is about to take its first step, or its first after it was stopped."""

    config: RunConfig
    folder: Path
    machine: Machine
    parameters: int
    prepared: PreparedData
    state: LoopState


@dataclass(frozen=True)
class TrainedRun:
    """A run that has ended."""

    folder: Path
    config: RunConfig
    reason: str
    steps: int
    seconds: float
    score: float | None
    start_score: float | None = None  # of the model that it started from, on the same validation set

    @property
    def model(self) -> Model:
        """The best model of the run, ready to translate."""
        return load(self.folder)


def train(  # noqa: PLR0913  each has a default
    config: str | Path | None = None,
    *,
    source: str | Path = "",
    target: str | Path = "",
    data: str | Sequence[str] = "",
    valid: Sequence[str] = (),
    valid_source: str | Path = "",
    valid_target: str | Path = "",
    arch: str = "",
    preset: str = "",
    start_from: str | Path = "",
    keep: str | Path = "",
    time_limit: float = 0.0,
    out: str | Path = "",
    overrides: Mapping[str, Any] | None = None,
    fresh: bool = False,
    device: str | None = None,
    quiet: bool = False,
    callbacks: RunCallbacks | None = None,
) -> TrainedRun:
    """Train, or go on with a run that has stopped. Give two text files, or the name of a built-in set.

    `data` may also be a list of several corpora, such as `["de-en.tsv:de-en:3", "news.en.txt:en:copy"]`, and
    `valid` one of their validation files: see docs/directions.md.

    `start_from` is a model or run whose weights and tokenizer it goes on with; `keep` are pairs of what that
    model knows, mixed with the new ones. `config` is a TOML file, `time_limit` in seconds, `overrides` are
    settings by full name such as {"training.lr": 1e-3}. How it goes is written to standard error, unless it
    is to be `quiet` or `callbacks` hear of it.
    """
    plain = {
        "data.source": str(source),
        "data.target": str(target),
        **named_data(data, valid),
        "data.valid_source": str(valid_source),
        "data.valid_target": str(valid_target),
        "model.arch": arch,
        "start.model": str(start_from),
        "start.keep": str(keep),
        "training.time_limit": float(time_limit),
    }
    given: Flat = {key: value for key, value in plain.items() if value}
    given = (read_toml(config) if config else {}) | given | dict(overrides or {})
    given = (sizes_of(preset, given.get("model.arch", "transformer")) if preset else {}) | given
    folder = Path(out) if out else default_folder(given)
    request = RunRequest(given=given, out=folder, fresh=fresh, device=device)
    shown = not quiet and callbacks is None and is_first_here()
    done = run(request, callbacks or (printing(given) if shown else RunCallbacks()))
    if shown:
        write_line(end_line(done))
    return done


def default_folder(given: Mapping[str, Any]) -> Path:
    """`runs/` and the set's name, the languages or the source's name; the architecture, if given; and what it
    starts from."""
    paths = [Path(str(given.get(f"data.{side}", ""))) for side in ("source", "target")]
    sides = [split_packing(path.name)[0] for path in paths]
    endings = [name.rpartition(".")[2] for name in sides]
    languages = "-".join(endings) if all(map(is_language, endings)) else ""
    first = [Path(str(one).split(":")[0].split("+")[0]).name for one in given.get("data.corpora", ())[:1]]
    name = given.get("data.name") or languages or (*sides[:1], *first)[-1].split(".")[0] or "run"
    start = Path(str(given.get("start.model", ""))).name
    parts = (name, given.get("model.arch"), f"from-{start}" if start else "")
    return Path("runs") / "-".join(part for part in parts if part)


def run(request: RunRequest, callbacks: RunCallbacks) -> TrainedRun:
    """Carry a request out. Runs again, it goes on where it stopped. Under torchrun, with all processes."""
    with join(request.device) as world, ExitStack() as held:
        if not world.is_first:
            callbacks = RunCallbacks(interrupted=callbacks.interrupted)
        setup = RunSetup(request, callbacks, world, held)
        work, state = setup.begin()
        config = work.config
        clock, interrupted = shared_clock(world, time.monotonic, callbacks.interrupted)
        try:
            if setup.looks_first:
                state = look_first(work, state, clock, is_start=bool(config.start.model))
            outcome = fit(
                work,
                config.training,
                state,
                clock=clock,
                interrupted=interrupted,
                on_step=setup.on_step(work),
            )
            if outcome.reason != "signal":
                outcome = averaged_if_better(work, outcome)
                calibrate_run(work, outcome.state.step)
                keep_novelty(work, outcome.state.step)
        except BaseException as error:
            ended = isinstance(error, SystemExit | KeyboardInterrupt)  # by a second signal
            status, reason = ("stopped", "signal") if ended else ("failed", type(error).__name__)
            work.log({"type": "end", "status": status, "reason": reason})
            raise
        status, end = "stopped" if outcome.reason == "signal" else "completed", outcome.state
        work.log({"type": "end", "status": status, "reason": outcome.reason, "best": end.best_score})
        scores = end.best_score, end.start_score
        return TrainedRun(request.out, config, outcome.reason, end.step, end.elapsed, *scores)


@dataclass
class RunSetup:
    """What comes before the first step: plan or resume, and prepare. The first process does it for all."""

    request: RunRequest
    callbacks: RunCallbacks
    world: World
    held: ExitStack  # what stays open until the run ends: its lock
    prepared: Prepared | None = None
    planned: Plan | None = None
    looks_first: bool = False  # the weights are validated as they are, before the first step

    @cached_property
    def checkpoints(self) -> Checkpoints:
        return Checkpoints(self.request.out)

    @cached_property
    def machine(self) -> Machine:
        return replace(look_at_machine(self.world.device), processes=self.world.size)

    @property
    def data(self) -> Path:
        return self.request.data_folder or self.request.out / "data"

    def begin(self) -> tuple[RunWork, LoopState]:
        """All that training needs, and where it goes on from; the log says that it starts."""
        world, callbacks = self.world, self.callbacks
        shared = world.first(self.open)
        config = parse_config(shared["config"], "the first process's settings")
        machine = world.every(lambda: self.machine)
        autocast = world.every(lambda: precision(config, machine))
        prepared = world.every(lambda: self.prepared or reopen(self.data))
        check_same_data(world, prepared)
        newest = Checkpoint(Path(shared["newest"]), shared["state"]["step"]) if shared["newest"] else None
        stored, out = LoopState.from_dict(shared["state"]), self.request.out
        state, anew = stored.judged(judged_by(prepared, config), other=shared["other_data"])
        begins = not state.step and (bool(config.start.model) or config.training.early_looks)
        self.looks_first = anew or begins
        start = world.every(lambda: kept_start(out) if config.start.model else None)
        learner = world.every(lambda: make_learner(config, prepared, machine.device, newest, world, start))
        self.checkpoints.keep = max(2, config.training.average)
        device = torch.device(machine.device)
        log_to = self.held.enter_context(logs(out, callbacks.on_event)) if world.is_first else []
        copies = config.training.shard and world.is_first
        copy = world.every(lambda: make_model(config, prepared).to(device) if copies else None)
        work = RunWork(
            learner=learner,
            prepared=prepared,
            config=config,
            checkpoints=self.checkpoints,
            device=device,
            autocast=autocast,
            log_to=log_to,
            world=world,
            copy=copy,
            write_probe=write_probe,
            descent=kept_descent(out),
        )
        tune_torch(config)
        parameters = sum(parameter.numel() for parameter in learner.model.parameters())
        callbacks.on_start(RunStart(config, out, machine, parameters, prepared, state))
        work.log(start_event(work, machine, parameters, state))
        if anew:
            world.first(lambda: set_average_aside(out, state.step))
            work.log(notice(state.step, "warning", "judged_anew", judged_anew(stored, config)))
        if lacks_bf16(config, machine):
            text = f"{machine.name} does not compute bf16: training in fp32, which is slower"
            work.log(notice(state.step, "info", "no_bf16", text))
        return work, state

    def on_step(self, work: RunWork) -> OnStep:
        """What hears of every update: the caller, and in the first minute of a new run the forecast."""
        told, plan = self.callbacks.on_step, self.planned
        if plan is None or plan.config.training.time_limit:
            return told
        look = SecondForecast(
            plan.seconds,
            plan.config.training.max_steps,
            lambda step, text: work.log(notice(step, "info", "forecast", text)),
        )

        def both(state: LoopState, tokens: int) -> None:
            told(state, tokens)
            look.on_step(state.step, state.elapsed, tokens)

        return both

    def open(self) -> dict[str, Any]:
        """Lock, plan or read back, and prepare; what the other processes must know of it."""
        request, folder = self.request, RunFolder(self.request.out)
        folder.check_usable()
        check_names(request.given, "your settings")
        fresh = request.fresh and not self.world.restarts  # torchrun restarts to go on, not to start over
        # Before the first checkpoint nothing has been learned, so nothing binds the settings.
        begins = fresh or not folder.exists or not any(checkpoint_folders(request.out))
        # Mistakes are found before anything is made or moved.
        corpora, found = open_corpora(check_given(request.given)) if begins else None, None
        asked, other = str(request.given.get("start.model", "")), False
        start = read_start(asked) if begins and asked else None
        machine = self.machine
        if fresh and (aside := folder.set_aside()):
            logger.warning("the earlier run is now in %s", aside)
        self.held.enter_context(self.checkpoints.lock())
        if corpora is None:
            config = folder.read(request.given)
            corpora = open_corpora(config)
            other = folder.has_other_data(corpora.fingerprint, allowed=request.allow_data_change)
            check_possible(config, machine, self.world)
        else:
            self.checkpoints.clear()  # a run that has taken no step may have looked at its start
            config, found = self.plan(corpora, folder, start)
        newest, state = self.checkpoints.newest(), LoopState(world=self.world.size)
        if newest is not None:
            stored = LoopState.from_dict(newest.state)
            state = stored.within(self.world.size, allow_change=request.allow_world_change)
        tokenizers = load_tokenizers(newest.folder) if newest else start.tokenizers if start else None
        self.prepare(config, corpora, found, tokenizers, start)
        where = None if newest is None else str(newest.folder)
        told = {"newest": where, "state": state.to_dict(), "other_data": other}
        return {"config": config_to_dict(config), **told}

    def plan(
        self, corpora: Corpora, folder: RunFolder, start: StartModel | None
    ) -> tuple[RunConfig, CheckReport]:
        """Look at the data, plan, and write down what was decided."""
        found = read_corpora(corpora, self.callbacks.progress)
        self.callbacks.on_data(found)
        given, machine = self.request.given, self.machine
        plan = plan_from(given, found, machine, start) if start else make_plan(given, found.train, machine)
        self.planned = plan
        check_possible(plan.config, self.machine, self.world)
        self.callbacks.on_plan(plan)
        folder.write(plan.config, corpora.fingerprint, plan.choices)
        return plan.config, found

    def prepare(
        self,
        config: RunConfig,
        corpora: Corpora,
        found: CheckReport | None,
        tokenizers: Tokenizers | None,
        start: StartModel | None,
    ) -> None:
        tune_torch(config)
        load_meanwhile()
        seed, out = (
            config.seed if self.request.data_seed is None else self.request.data_seed,
            self.request.out,
        )
        parent = start.descent if start else kept_descent(out)
        self.prepared = prepared = prepare(
            self.data,
            corpora,
            replace(config, seed=seed),
            lambda: found or read_corpora(corpora, self.callbacks.progress),
            fingerprint=corpora.fingerprint,
            tokenizers=tokenizers,
            add=config.start.extend_vocabulary if start else 0,
            start=parent[0]["sha256"] if parent else "",
            processes=self.machine.cores,
            progress=self.callbacks.progress,
            background=self.world.size == 1,  # the others read what is there
        )
        self.held.callback(lambda: len(prepared.variants))  # nothing is written once the lock is gone
        if start is not None:
            write_start(out, start, config, prepared.tokenizers)
