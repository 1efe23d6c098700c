"""The demo: the three generations on the same dates, one after the other, and what each can and cannot do."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumok.checkpoint.folder import replace_file
from jumok.config import ARCHS, Arch
from jumok.data.builtin import builtin_corpus
from jumok.decoding.translator import Translator, load
from jumok.evaluation.evaluate import evaluate
from jumok.explain.attention import Attention, attention_of
from jumok.progress import Progress, silent
from jumok.run.train import RunCallbacks, RunRequest, TrainedRun, run
from jumok.seals import sealed, unsealed

# What two CPU cores teach in about a minute each. Steps, not seconds: another machine comes close.
COMMON: dict[str, Any] = {
    "data.name": "dates",
    "data.max_length": 96,
    "text.vocabulary": 1700,
    "model.dropout": 0.0,
    "training.batch_tokens": 1000,
    "training.label_smoothing": 0.0,
    "training.schedule": "constant",
    "training.cooldown": 1.0,
    "training.warmup": 100,
    "training.metric": "exact",
    "training.valid_sentences": 200,
    "training.validate_every": 500,
    "training.save_every": 500,
    "training.log_every": 50,
    "training.patience": 0,
    "training.threads": 1,  # the matrices are small: more threads would only wait for each other
    "decoding.beam": 1,
}

SETTINGS: Mapping[Arch, dict[str, Any]] = {
    "rnn": {"model.width": 128, "training.lr": 4e-3, "training.max_steps": 1000},
    "luong": {"model.width": 128, "training.lr": 5e-3, "training.max_steps": 2200},
    "transformer": {
        "model.encoder_layers": 2,
        "model.decoder_layers": 2,
        "model.width": 64,
        "model.heads": 4,
        "model.feedforward": 256,
        # Rotary positions learn to copy digits about twice as fast as sinusoidal ones do.
        "model.positions": "rotary",
        "training.lr": 3e-3,
        "training.max_steps": 2400,
    },
}

# Long, with a weekday and a time: what the fixed vector has to squeeze in.
SENTENCE = "1998년 3월 24일 화요일 오후 8시 35분부터 1998년 11월 9일 월요일 오전 7시 12분까지"


@dataclass(frozen=True)
class Contestant:
    """One architecture after its minute of training."""

    arch: Arch
    run: TrainedRun
    model: Translator
    evaluation: Mapping[str, Any]  # schema eval/1

    @property
    def parameters(self) -> int:
        return int(self.model.info["parameters"])


def train_three(
    out: Path,
    callbacks_for: Callable[[Arch], RunCallbacks],
    *,
    seconds: float | None = None,
    progress: Progress = silent,
) -> list[Contestant]:
    """Train rnn, luong and transformer into `out`, and test each on dates that none of them has seen.

    Run again, it goes on where it stopped. `seconds` shortens each training. Who interrupts one ends the
    list early.
    """
    pairs = list(builtin_corpus("dates", "test").pairs())
    contestants: list[Contestant] = []
    for arch in ARCHS:
        given = COMMON | SETTINGS[arch] | {"model.arch": arch}
        if seconds is not None:
            given["training.time_limit"] = seconds
        callbacks = callbacks_for(arch)
        done = run(RunRequest(given=given, out=out / arch, data_folder=out / "data"), callbacks)
        if done.reason == "signal":
            return contestants
        model = load(done.folder)
        contestants.append(Contestant(arch, done, model, tested(model, done.folder, pairs, progress)))
    return contestants


def tested(
    model: Translator, folder: Path, pairs: Sequence[tuple[str, str]], progress: Progress
) -> Mapping[str, Any]:
    """How a run's model does on the test dates; kept in its folder, so that the same model is tested once."""
    file = folder / "eval" / "dates-test.json"
    fingerprint = model.info["fingerprint"]
    with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):  # then it is tested again
        kept: dict[str, Any] = unsealed(json.loads(file.read_bytes()))
        if kept["fingerprint"] == fingerprint:
            return kept
    found = evaluate(
        model,
        [source for source, _ in pairs],
        [target for _, target in pairs],
        metrics=("exact",),
        bins="thirds",
        name=folder.name,
        data="dates test",
        progress=progress,
    )
    record = {**found.to_dict(), "fingerprint": fingerprint}
    file.parent.mkdir(exist_ok=True)
    replace_file(file, json.dumps(sealed(record), ensure_ascii=False).encode())
    return record


def look_inside(contestant: Contestant, sentence: str = SENTENCE) -> tuple[str, Attention | None]:
    """What a model makes of a sentence, and where it looked; None for the one that cannot look."""
    answer = contestant.model.translate(sentence)
    translator = contestant.model
    return answer.text, attention_of(translator.model, translator.tokenizers, sentence, answer.text)
