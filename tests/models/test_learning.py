"""Each architecture learns to copy and to reverse sequences never seen; one points at new words."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from jumok.config import LuongConfig, ModelConfig, RnnConfig, TrainingConfig, TransformerConfig
from jumok.data.batch import lay_pairs
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.models.sentences import Sentences
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
        TrainingConfig(max_steps=300, lr=1e-2, warmup=20, schedule="cosine", label_smoothing=0),
        rows=64,
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
        (3, 5),
        TrainingConfig(max_steps=200, lr=3e-3, warmup=20, schedule="cosine", label_smoothing=0),
        rows=64,
    ),
}
TASKS: dict[str, Callable[[Sequence], Sequence]] = {"copy": lambda x: x, "reverse": lambda x: x[::-1]}


def draw(count: int, lengths: tuple[int, int], random: np.random.Generator) -> list[Sequence]:
    shortest, longest = lengths
    return [
        tuple(random.integers(4, VOCAB, random.integers(shortest, longest + 1)).tolist())
        for _ in range(count)
    ]


def taught(
    lesson: Lesson, examples: Callable[[np.random.Generator], list[tuple[Sequence, Sequence]]], vocab: int
) -> Seq2Seq:
    """The model after its lesson: each step draws the examples, source and target, that it learns from."""
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    model = build_model(lesson.model, vocab, vocab, shared=True)
    config = lesson.training
    optimizers = Optimizers(model, config)
    for step in range(1, config.max_steps + 1):
        sources, targets = zip(*examples(random), strict=True)
        batch = lay_pairs(sources, targets)
        lr = learning_rate(step, step / config.max_steps, config)
        result = train_step(model, optimizers, [batch], config, lr=lr, step=step, seed=1)
        assert not result.read().skipped
    return model.eval()


@torch.inference_mode()
def answers(model: Seq2Seq, sources: list[Sequence], most: int) -> list[Sequence]:
    """The most likely token at each step, fed back until the end."""
    state = model.start(model.encode(Sentences.lay([[*ids, EOS] for ids in sources], torch.device("cpu"))))
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
    hidden = set(draw(HELD_OUT, lesson.lengths, np.random.default_rng(99)))
    held_out = sorted(hidden)

    def examples(random: np.random.Generator) -> list[tuple[Sequence, Sequence]]:
        drawn = draw(lesson.rows, lesson.lengths, random)
        return [(source, function(source)) for source in drawn if source not in hidden]

    model = taught(lesson, examples, VOCAB)
    found = answers(model, held_out, lesson.lengths[1] + 2)
    exact = np.mean([one == function(source) for one, source in zip(found, held_out, strict=True)])
    assert exact >= 0.99


NEW, WORDS = 100, 604
"""Ids below NEW are no subject of a letter that is learned from; letters have ids from 4 to below WORDS."""
LETTERS = TransformerConfig(
    width=32,
    heads=2,
    feedforward=64,
    encoder_layers=1,
    decoder_layers=1,
    dropout=0,
    norm="pre",
    positions="learned",
    max_positions=8,
    tied=False,  # else a word's own vector, carried from the source, is a way to copy it
)


def letters(
    count: int, subjects: tuple[int, int], random: np.random.Generator
) -> list[tuple[Sequence, Sequence]]:
    """Letters of five words; the first is what they are about, and the answer."""
    rows = random.integers(4, WORDS, (count, 5))
    rows[:, 0] = random.integers(*subjects, count)
    return [(tuple(row), (row[0],)) for row in rows.tolist()]


@pytest.mark.slow
@pytest.mark.parametrize("copy", [True, False])
def test_only_a_model_that_copies_writes_words_that_were_never_a_target(copy: bool) -> None:  # noqa: FBT001
    """Every word is in the sources. Those below NEW stand only where nothing asks for them."""
    training = TrainingConfig(max_steps=150, lr=5e-3, warmup=20, schedule="cosine", label_smoothing=0)
    lesson = Lesson(replace(LETTERS, copy=copy), (5, 5), training, rows=64)
    model = taught(lesson, lambda random: letters(lesson.rows, (NEW, WORDS), random), WORDS)
    unseen = letters(HELD_OUT, (4, NEW), np.random.default_rng(99))
    found = answers(model, [source for source, _ in unseen], 3)
    right = np.mean([one == target for one, (_, target) in zip(found, unseen, strict=True)])
    assert right >= 0.8 if copy else right <= 0.05
