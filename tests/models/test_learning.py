"""Each architecture learns to copy and to reverse sequences that it has never seen."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from jumok.config import LuongConfig, ModelConfig, RnnConfig, TrainingConfig, TransformerConfig
from jumok.data.batch import pad_pairs, pad_sources
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.text.tokenizer import BOS, EOS
from jumok.training.optimizer import Optimizers
from jumok.training.schedule import learning_rate
from jumok.training.step import train_step

SYMBOLS = 8
VOCAB = 4 + SYMBOLS
HELD_OUT = 400

Sequence = tuple[int, ...]


@dataclass(frozen=True)
class Lesson:
    """A small model and how long it is taught. Without attention a sequence must fit into one vector."""

    model: ModelConfig
    lengths: tuple[int, int]
    training: TrainingConfig
    rows: int = 128


LESSONS = {
    "rnn": Lesson(
        RnnConfig(width=96, dropout=0),
        (2, 4),
        TrainingConfig(max_steps=400, lr=1e-2, warmup=20, schedule="cosine", label_smoothing=0),
    ),
    "luong": Lesson(
        LuongConfig(width=64, dropout=0),
        (3, 6),
        TrainingConfig(max_steps=150, lr=1e-2, warmup=20, schedule="cosine", label_smoothing=0),
    ),
    "transformer": Lesson(
        TransformerConfig(
            width=64, heads=4, feedforward=128, encoder_layers=1, decoder_layers=2, dropout=0, norm="pre"
        ),
        (3, 6),
        TrainingConfig(max_steps=220, lr=3e-3, warmup=20, schedule="cosine", label_smoothing=0),
    ),
}
TASKS: dict[str, Callable[[Sequence], Sequence]] = {"copy": lambda x: x, "reverse": lambda x: x[::-1]}


def draw(count: int, lengths: tuple[int, int], random: np.random.Generator) -> list[Sequence]:
    shortest, longest = lengths
    return [
        tuple(random.integers(4, VOCAB, random.integers(shortest, longest + 1)).tolist())
        for _ in range(count)
    ]


def taught(lesson: Lesson, task: Callable[[Sequence], Sequence], hidden: set[Sequence]) -> Seq2Seq:
    """The model after its lesson, in which no hidden sequence ever appears."""
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    model = build_model(lesson.model, VOCAB, VOCAB, shared=True)
    config = lesson.training
    optimizers = Optimizers(model, config)
    for step in range(1, config.max_steps + 1):
        sources = [x for x in draw(lesson.rows, lesson.lengths, random) if x not in hidden]
        batch = pad_pairs(sources, [task(x) for x in sources])
        lr = learning_rate(step, step / config.max_steps, config)
        result = train_step(model, optimizers, [batch], config, lr=lr, step=step, seed=1)
        assert not result.read().skipped
    return model.eval()


@torch.inference_mode()
def answers(model: Seq2Seq, sources: list[Sequence], most: int) -> list[Sequence]:
    """The most likely token at each step, fed back until the end."""
    state = model.start(model.encode(*pad_sources(sources)))
    token, steps = torch.full((len(sources),), BOS), []
    for _ in range(most):
        logits, state = model.step(token, state)
        token = logits.argmax(dim=-1)
        steps.append(token)
    rows = torch.stack(steps, dim=1).tolist()
    return [tuple(row[: row.index(EOS)] if EOS in row else row) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("arch", LESSONS)
def test_learns_to_copy_and_to_reverse(arch: str, task: str) -> None:
    lesson, function = LESSONS[arch], TASKS[task]
    held_out = sorted(set(draw(HELD_OUT, lesson.lengths, np.random.default_rng(99))))
    model = taught(lesson, function, set(held_out))
    found = answers(model, held_out, lesson.lengths[1] + 2)
    exact = np.mean([one == function(source) for one, source in zip(found, held_out, strict=True)])
    assert exact >= 0.99
