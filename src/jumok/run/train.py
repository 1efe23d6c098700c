"""One run from files to a model folder: plan or resume, prepare, fit, finish."""

import logging
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

from jumok import __version__
from jumok.checkpoint.checkpoints import Checkpoint, Checkpoints, average
from jumok.checkpoint.manifest import checkpoint_folders
from jumok.config import RunConfig
from jumok.explain.model import Model, load
from jumok.models.build import build_model
from jumok.presets import preset
from jumok.progress import Progress, silent
from jumok.run.folder import RunFolder
from jumok.run.machine import Machine, look_at_machine
from jumok.run.plan import Plan, check_given, is_language, make_plan
from jumok.run.prepare import Corpora, Prepared, open_corpora, prepare
from jumok.run.survey import Survey, check_enough, survey
from jumok.run.work import RunWork, samples_log
from jumok.settings import Flat, check_names, config_to_toml, read_toml
from jumok.text.tokenizer import load_tokenizers
from jumok.training.log import JsonLines, Log, TensorBoard, has_tensorboard
from jumok.training.loop import Event, Outcome, fit
from jumok.training.optimizer import Optimizers
from jumok.training.state import Average, Learner, LoopState

logger = logging.getLogger("jumok")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What someone asks of a run; everything else is planned."""

    given: Flat  # settings by full name, as the user gave them
    out: Path
    fresh: bool = False
    allow_data_change: bool = False
    device: str | None = None
    data_folder: Path | None = None  # where tokenizer and stores go; runs on the same text may share one


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Who looks on, and who may interrupt. Every callable may be left out."""

    progress: Progress = silent
    on_plan: Callable[[Plan], None] = lambda plan: None
    on_start: Callable[["Started"], None] = lambda started: None
    on_event: Log = lambda event: None
    interrupted: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class Started:
    """A run that is about to take its first step of this sitting."""

    config: RunConfig
    folder: Path
    machine: Machine
    parameters: int
    prepared: Prepared
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

    @property
    def model(self) -> Model:
        """The best model of the run, ready to translate."""
        return load(self.folder)


def train(  # noqa: PLR0913  each has a default
    config: str | Path | None = None,
    *,
    source: str | Path = "",
    target: str | Path = "",
    data: str = "",
    arch: str = "",
    size: str = "",
    out: str | Path = "",
    overrides: Mapping[str, Any] | None = None,
    fresh: bool = False,
    device: str | None = None,
    watch: Watch | None = None,
) -> TrainedRun:
    """Train, or go on with a run that has stopped. Give two text files, or the name of a built-in set.

    `config` is a TOML file, `size` a preset, `overrides` settings by full name such as {"training.lr": 1e-3}.
    """
    plain = {"data.source": str(source), "data.target": str(target), "data.name": data, "model.arch": arch}
    given: Flat = {key: value for key, value in plain.items() if value}
    given = (read_toml(config) if config else {}) | given | dict(overrides or {})
    sizes = preset(size, given.get("model.arch", "transformer")) if size else {}
    given = sizes | given
    folder = Path(out) if out else default_folder(given)
    request = Request(given=given, out=folder, fresh=fresh, device=device)
    return run(request, watch or Watch())


def default_folder(given: Mapping[str, Any]) -> Path:
    """`runs/` and the set's name, the languages or the source's name; and the architecture, if given."""
    paths = [Path(str(given.get(f"data.{side}", ""))) for side in ("source", "target")]
    sides = [path.name.removesuffix(".gz") for path in paths]
    endings = [name.rpartition(".")[2] for name in sides]
    languages = "-".join(endings) if all(map(is_language, endings)) else ""
    name = given.get("data.name") or languages or sides[0].split(".")[0] or "run"
    return Path("runs") / "-".join(part for part in (name, given.get("model.arch")) if part)


def run(request: Request, watch: Watch) -> TrainedRun:
    """Carry a request out. Runs again, it goes on where it stopped."""
    folder = RunFolder(request.out)
    folder.check_usable()
    check_names(request.given, "your settings")
    # Before the first checkpoint nothing has been learned, so nothing binds the settings.
    begins = request.fresh or not folder.exists or not checkpoint_folders(request.out)
    # Mistakes are found before anything is made or moved.
    corpora, found = open_corpora(check_given(request.given)) if begins else None, None
    if request.fresh and (aside := folder.set_aside()):
        logger.warning("the earlier run is now in %s", aside)
    checkpoints = Checkpoints(request.out)
    with checkpoints.lock():
        machine = look_at_machine(request.device)
        if corpora is None:
            config = folder.read(request.given)
            corpora = open_corpora(config)
            if not request.allow_data_change:
                folder.check_data(corpora.fingerprint)
        else:
            config, found = planned(request, corpora, machine, folder, watch)
        data = request.data_folder or request.out / "data"
        return carry_on(config, corpora, found, checkpoints, machine, watch, data)


def planned(
    request: Request, corpora: Corpora, machine: Machine, folder: RunFolder, watch: Watch
) -> tuple[RunConfig, Survey]:
    """Look at the data, plan, and write down what was decided."""
    found = survey(corpora.train, watch.progress)
    check_enough(found, corpora.train.name)
    plan = make_plan(request.given, found, machine)
    watch.on_plan(plan)
    folder.write(plan.config, corpora.fingerprint, plan.choices)
    return plan.config, found


def carry_on(
    config: RunConfig,
    corpora: Corpora,
    found: Survey | None,
    checkpoints: Checkpoints,
    machine: Machine,
    watch: Watch,
    data: Path,
) -> TrainedRun:
    """Prepare, train from the newest checkpoint or from nothing, and finish."""
    tune_torch(config)
    folder = checkpoints.run
    checkpoints.keep = max(2, config.training.average)
    newest = checkpoints.newest()
    prepared = prepare(
        data,
        corpora,
        config,
        lambda: found or survey(corpora.train, watch.progress),
        fingerprint=corpora.fingerprint,
        tokenizers=load_tokenizers(newest.folder) if newest else None,
        processes=machine.cores,
        progress=watch.progress,
    )
    device = torch.device(machine.device)
    learner, state = make_learner(config, prepared, device, newest)
    with logs(folder, watch.on_event) as log_to:
        work = RunWork(learner, prepared, config, checkpoints, device, precision(config, machine), log_to)
        parameters = sum(parameter.numel() for parameter in learner.model.parameters())
        watch.on_start(Started(config, folder, machine, parameters, prepared, state))
        work.log(start_event(config, work, machine, parameters, state))
        try:
            outcome = fit(work, config.training, state, clock=time.monotonic, interrupted=watch.interrupted)
        except BaseException as error:
            work.log({"type": "end", "status": "failed", "reason": type(error).__name__})
            raise
        if outcome.reason != "signal":
            outcome = averaged_if_better(work, outcome, folder)
        status = "stopped" if outcome.reason == "signal" else "completed"
        work.log(
            {"type": "end", "status": status, "reason": outcome.reason, "best": outcome.state.best_score}
        )
    ended = outcome.state
    return TrainedRun(folder, config, outcome.reason, ended.step, ended.elapsed, ended.best_score)


def make_learner(
    config: RunConfig, prepared: Prepared, device: torch.device, newest: Checkpoint | None
) -> tuple[Learner, LoopState]:
    """Fresh weights from the seed, or everything as the newest checkpoint has it."""
    torch.manual_seed(config.seed)
    tokenizers = prepared.tokenizers
    model = build_model(
        config.model, tokenizers.source.size, tokenizers.target.size, shared=tokenizers.shared
    ).to(device)
    average = Average(model, config.training.ema) if config.training.ema else None
    learner = Learner(model, Optimizers(model, config.training), average)
    if newest is None:
        return learner, LoopState()
    learner.load(newest.tensors(), newest.optimizer())
    return learner, LoopState.from_dict(newest.state)


def averaged_if_better(work: RunWork, outcome: Outcome, folder: Path) -> Outcome:
    """The mean of the last checkpoints as the run's model, if it validates better than the best of them."""
    count = work.config.training.average
    recent = work.checkpoints.recent(count) if count > 1 else []
    if len(recent) < 2:
        return outcome
    state = outcome.state
    live = work.learner.model_tensors(), work.learner.optimizer_tensors()
    work.learner.model.load_state_dict(average(recent), strict=False)
    look = work.look()
    work.log({**look.event, "type": "valid", "step": state.step, "averaged": len(recent)})
    if state.best_score is None or look.score > state.best_score:
        state = replace(state, best_score=look.score, best_step=state.step)
        tensors = {name: p.detach() for name, p in work.learner.model.named_parameters()}
        work.save_averaged(tensors, state, len(recent))
    work.learner.load(*live)
    return replace(outcome, state=state)


@contextmanager
def logs(folder: Path, on_event: Log) -> Iterator[list[Log]]:
    """Where this sitting's events go, closed at the end."""
    with ExitStack() as stack:
        lines, samples = JsonLines(folder / "metrics.jsonl"), JsonLines(folder / "samples.jsonl")
        stack.callback(forgiving(lines.close))
        stack.callback(forgiving(samples.close))
        log_to: list[Log] = [forgiving(lines), forgiving(samples_log(samples)), on_event]
        if has_tensorboard():
            with suppress(OSError):  # curves are a comfort; a full disk shows when a checkpoint is due
                board = TensorBoard(folder / "tensorboard")
                stack.callback(forgiving(board.close))
                log_to.append(forgiving(board))
        yield log_to


def forgiving(call: Callable[..., None]) -> Callable[..., None]:
    """The same, but a full disk does not end a run over a line of its log: saving has its own rules."""

    def attempt(*args: Any) -> None:
        with suppress(OSError):
            call(*args)

    return attempt


def start_event(
    config: RunConfig, work: RunWork, machine: Machine, parameters: int, state: LoopState
) -> Event:
    prepared = work.prepared
    return {
        "type": "start",
        "run": work.checkpoints.run.name,
        "config_sha256": sha256(config_to_toml(config).encode()).hexdigest(),
        "params": parameters,
        "device": machine.device,
        "dtype": "bfloat16" if work.autocast else "float32",
        "data": {
            "train": len(prepared.train),
            "valid": len(prepared.valid),
            "left_out": prepared.train.left_out,
        },
        "versions": {
            "jumok": __version__,
            "torch": str(torch.__version__),
            "python": platform.python_version(),
        },
        "seed": config.seed,
        "resumed_from": state.step or None,
    }


def precision(config: RunConfig, machine: Machine) -> torch.dtype | None:
    """The type to compute in besides float32, if any."""
    wanted = config.training.precision
    return torch.bfloat16 if wanted == "bf16" or (wanted == "auto" and machine.bf16) else None


@cache
def _default_threads() -> int:
    return torch.get_num_threads()


def tune_torch(config: RunConfig) -> None:
    torch.set_num_threads(config.training.threads or _default_threads())
    # cuDNN's attention makes a plan for each new shape, 0.4 s each, and padded batches have many shapes.
    torch.backends.cuda.enable_cudnn_sdp(enabled=False)
