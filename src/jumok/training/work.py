"""How the loop's decisions are carried out: the training parts around one model, its data and its folder."""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import exp
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from jumok.checkpoint.card import model_files
from jumok.checkpoint.checkpoints import Checkpoints
from jumok.checkpoint.manifest import AVERAGED
from jumok.checkpoint.model import LoadedModel, save_model
from jumok.config import FALLING
from jumok.data.aligner import Aligner
from jumok.data.batch import lay_rows
from jumok.data.sampler import epoch_batches
from jumok.data.store import Store
from jumok.decoding.heads import KEY
from jumok.decoding.results import Translation
from jumok.decoding.translator import Translator
from jumok.errors import RunError
from jumok.evaluation.metrics import bleu_tokenizer, measure
from jumok.models.interface import Seq2Seq
from jumok.text.frame import Direction
from jumok.text.marks import is_question
from jumok.training.best_head import HeadAgreement, best_head
from jumok.training.by_direction import facing, losses_by, scores_by, translated_by
from jumok.training.log import Log
from jumok.training.loop import Event, Validation, notice
from jumok.training.state import LoopState
from jumok.training.step import is_out_of_memory, sides_of, to_learn
from jumok.training.updates import TrainingStores, Updates

T = TypeVar("T")
Tensors = dict[str, Tensor]
SCORES = ("bleu", "chrf", "exact")  # always measured in validation, beside the metric that decides
HEAD_SAMPLE = 5_000  # training pairs from which is learned which head aligns best
SAMPLES = 3  # validation sentences shown each time
LOSS_TOKENS = (8192, 1024)  # in one batch of the validation loss; the second where memory is short
SEARCH_TOKENS = 1024  # in one batch of the validation search where memory is short


class PreparedData(TrainingStores, Protocol):
    """What a run may ask of the prepared data."""

    @property
    def valid(self) -> Store: ...
    @property
    def valid_pairs(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def lengths(self) -> Any: ...
    @property
    def kept(self) -> "HeldBack | None": ...
    @property
    def ways(self) -> tuple[Direction, ...]: ...


class HeldBack(Protocol):
    """Old pairs that show what is forgotten."""

    @property
    def valid(self) -> Store: ...
    @property
    def valid_pairs(self) -> tuple[tuple[str, str], ...]: ...


@dataclass(kw_only=True)
class RunWork(Updates):
    """Implements the loop's `Work` for one run: updates, validation, checkpoints and the log."""

    prepared: PreparedData
    checkpoints: Checkpoints
    log_to: Sequence[Log]
    write_probe: Callable[[Path, int, Translator, Sequence[Translation]], str | None]
    copy: Seq2Seq | None = None  # for the first process to validate with, if the weights are shared out
    descent: Sequence[Mapping[str, Any]] = ()  # the models that this one comes from, the nearest first
    on_halved: Callable[[int, int], None] = field(init=False)
    directions: dict[str, Any] = field(default_factory=dict, init=False)  # what each scored in the last look

    def __post_init__(self) -> None:
        super().__post_init__()
        self.on_halved = self.halved

    def log(self, event: Event) -> None:
        if event["type"] == "train":
            event = {**event, "ppl": safe_exp(event["nll"]), "mem_bytes": memory_used(self.device)}
        for log in self.log_to:
            log(event)

    def halved(self, step: int, parts: int) -> None:
        self.release()
        message = f"out of memory: each update now runs in {parts} parts"
        self.log(notice(step, "warning", "out_of_memory", message))

    def validate(self, state: LoopState) -> Validation:
        """What the first process sees, for all."""
        with self.shown():
            look = self.world.first(lambda: asdict(self.look(state.step)))
        return Validation(**look)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Inside, `model` carries the weights to validate: the moving average where there is one."""
        if not self.config.training.shard:
            with self.learner.averaged():
                yield
            return
        tensors = self.learner.model_tensors()  # every process gives its share, the first has them all
        if self.copy is not None:
            self.copy.load_state_dict(tensors, strict=False)
        yield

    @property
    def model(self) -> Seq2Seq:
        """The model to look at."""
        return self.copy or self.learner.model

    def look(self, step: int | None = None) -> Validation:
        """Loss, scores and samples of the model as it is; with a step, also a probe of its attention."""
        self.model.eval()
        metric = self.config.training.metric
        loss = self.in_memory(lambda short: self.valid_loss(LOSS_TOKENS[short]))
        figures: dict[str, Any] = {"loss": loss, "ppl": safe_exp(loss), **self.look_at_kept()}
        losses = losses_by(self.prepared.valid, self.prepared.ways, self.loss_of)
        if metric == "loss":
            figures |= {"directions": {way: {"loss": one} for way, one in losses.items()}} if losses else {}
            self.directions = figures.get("directions", {})
            return Validation(turned(metric, loss), loss, figures)
        pairs = self.prepared.valid_pairs[: self.config.training.valid_sentences]
        sources, references = [source for source, _ in pairs], [target for _, target in pairs]
        ways = self.ways(len(pairs))
        answers = self.in_memory(lambda short: self.translated(sources, ways, short=short))
        names, language = list(dict.fromkeys((*SCORES, metric))), self.config.data.target_language
        figures |= scores_by(names, [answer.text for answer in answers], references, ways, language)
        for way, one in losses.items():
            figures.get("directions", {}).get(way, {})["loss"] = one
        self.directions = figures.get("directions", {})
        figures["samples"] = [
            {"src": source, "ref": reference, "hyp": answer.text, "score": answer.score}
            for source, reference, answer in list(zip(sources, references, answers, strict=True))[:SAMPLES]
        ]
        same = [answer for answer, way in zip(answers, ways, strict=True) if way == ways[0]][:SAMPLES]
        if step is not None and (probe := self.probe(step, facing(self.translator, ways[0]), same)):
            figures["probe"] = probe
        return Validation(turned(metric, figures[metric]), loss, figures)

    def look_at_kept(self) -> dict[str, float]:
        """What the model still knows of old pairs, if any are mixed in: loss and metric."""
        old, metric = self.prepared.kept, self.config.training.metric
        if old is None:
            return {}
        figures = {"kept_loss": self.in_memory(lambda short: self.valid_loss(LOSS_TOKENS[short], old.valid))}
        if metric != "loss":
            sources, references = zip(*old.valid_pairs, strict=True)
            ways = self.ways(1) * len(sources)
            answers = self.in_memory(lambda short: self.translated(sources, ways, short=short))
            tokenize, _ = bleu_tokenizer(self.config.data.target_language)
            found = measure(metric, [answer.text for answer in answers], references, tokenize=tokenize)
            figures[f"kept_{metric}"] = found.value
        return figures

    def probe(self, step: int, translator: Translator, answers: Sequence[Translation]) -> str | None:
        """Keep where the model looked; what goes wrong with that is a notice, and training goes on."""
        try:
            return self.write_probe(self.checkpoints.run, step, translator, answers)
        except RunError as error:
            self.log(notice(step, "warning", error.code, error.message))
            return None

    def in_memory(self, call: Callable[[bool], T]) -> T:
        """`call(False)`; or, if that runs out of memory, `call(True)`, which is to take less of it."""
        reason = ""
        for short in (False, True):
            try:
                return call(short)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                reason = str(error).splitlines()[0]
            self.release()  # not before the error and all that it holds are gone
        raise RunError(
            "out of memory while validating",
            where=reason,
            hint="raise training.accumulate for a new run, so that training leaves more, or choose a smaller "
            "model (--preset tiny)",
            code="out_of_memory",
        )

    def release(self) -> None:
        """Give back the memory that only validation uses."""
        self.__dict__.pop("translator", None)
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def valid_loss(self, budget: int = LOSS_TOKENS[0], store: Store | None = None) -> float:
        """Negative log-likelihood per target token over the whole validation set, or another store."""
        store = store or self.prepared.valid
        rows = epoch_batches(store.source_lengths, store.target_lengths, budget=budget, seed=0, epoch=0)
        total, tokens = 0.0, 0
        with torch.inference_mode():
            for piece in rows:
                batch = lay_rows(store, piece).to(self.device)
                source, target_in = sides_of(batch)
                _, nll = self.model(source, target_in).loss(to_learn(batch), 0.0)
                total += nll.item()
                tokens += batch.tokens
        return total / tokens

    def loss_of(self, store: Store) -> float:
        """`valid_loss` of another store, in as much memory as there is."""
        return self.in_memory(lambda short: self.valid_loss(LOSS_TOKENS[short], store))

    def ways(self, count: int) -> tuple[Direction, ...]:
        """The directions of the first validation pairs; one without languages where nobody says."""
        return self.prepared.ways[:count] or (Direction(),) * count

    def translated(
        self, sources: Sequence[str], ways: Sequence[Direction], *, short: bool
    ) -> list[Translation]:
        """The validation search: greedy, and if memory is short a few sentences at a time."""
        budget: dict[str, Any] = {"sentences": "as-is", **({"batch_tokens": SEARCH_TOKENS} if short else {})}
        if any(map(is_question, sources)):  # which cannot be split: the end of a long context is not read
            budget["long"] = "cut"

        def greedy(translator: Translator, some: list[str]) -> list[Translation]:
            return translator.translate(some, beam=1, n_best=1, **budget)

        return translated_by(self.translator, sources, ways, greedy)

    @cached_property
    def translator(self) -> Translator:
        """One for all looks: on a GPU it records graphs, and reads the weights anew at each call."""
        tokenizers, folder = self.prepared.tokenizers, self.checkpoints.run
        return Translator(LoadedModel(tokenizers, self.config, folder, {}, model=self.model))

    def save(self, state: LoopState, *, best: bool) -> None:
        model, optimizer = self.learner.model_tensors(), self.learner.optimizer_tensors()
        self.world.first(lambda: self.write(model, optimizer, state, best=best))

    def write(self, model: Tensors, optimizer: Tensors, state: LoopState, *, best: bool) -> None:
        path = self.checkpoints.save(
            state.step,
            model=model,
            optimizer=optimizer,
            state=state.to_dict(),
            files=model_files(self.config, self.prepared.tokenizers, self.info(state, best=best)),
            best=best,
            score=state.best_score if best else None,
        )
        where = path.relative_to(self.checkpoints.run)
        score = state.best_score if best else None
        self.log(
            {"type": "checkpoint", "step": state.step, "path": str(where), "best": best, "metric": score}
        )

    def save_averaged(self, weights: Tensors, state: LoopState, count: int) -> None:
        """The mean of the last checkpoints as a model folder of its own, which the run then stands for."""
        info = self.info(state, best=True) | {"averaged_checkpoints": count}
        folder = self.checkpoints.run / AVERAGED
        save_model(folder, weights, self.config, self.prepared.tokenizers, info)
        path, score = AVERAGED, state.best_score
        self.log({"type": "checkpoint", "step": state.step, "path": path, "best": True, "metric": score})

    def info(self, state: LoopState, *, best: bool) -> dict[str, Any]:
        """What a model folder says about its training."""
        metric, found = self.config.training.metric, state.best_score
        score = {"score": found if found is None else turned(metric, found)} if best else {}
        lengths = self.prepared.lengths
        known: dict[str, Any] = {"train_lengths": lengths.to_dict()} if lengths else {}
        if best and self.directions:
            known["directions"] = self.directions
        if best and (found_head := self.found_head()):
            known[KEY] = found_head.to_dict()
        if self.descent:
            known["descends_from"] = list(self.descent)
            if state.start_score is not None:
                known["start_score"] = turned(metric, state.start_score)
        return {"step": state.step, "epoch": state.epoch, "metric": metric, **score, **known}

    def found_head(self) -> HeadAgreement | None:
        """The head that aligns best, of a model with several that no one teaches to align."""
        _, heads = self.config.model.attention.get("cross", (0, 0))
        if heads < 2 or self.config.training.align or self.prepared.tokenizers.pictures is not None:
            return None
        self.model.eval()
        return best_head(self.model, self.prepared.valid, self.small_aligner)

    @cached_property
    def small_aligner(self) -> Aligner:
        """One that is good enough to tell heads apart."""
        return self.learned_aligner(HEAD_SAMPLE)


def turned(metric: str, value: float) -> float:
    """A metric's value as a score of which more is better, and such a score as the value again."""
    return -value if metric in FALLING else value


def safe_exp(x: float) -> float:
    return exp(min(x, 700.0))


def memory_used(device: torch.device) -> int:
    """Peak bytes: of the GPU, or of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
