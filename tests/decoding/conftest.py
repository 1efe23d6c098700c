"""A model small enough to search exhaustively, and the slow ways to search it."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from jumok.answers import Answer
from jumok.backends.choose import choose_backend
from jumok.checkpoint.model import LoadedModel
from jumok.config import (
    DataConfig,
    DecodingConfig,
    LuongConfig,
    ModelConfig,
    RnnConfig,
    RunConfig,
    TextConfig,
    TransformerConfig,
)
from jumok.decoding.batched import lay_sources, lay_targets
from jumok.decoding.translator import Translator
from jumok.models.build import build_model
from jumok.models.interface import Memory, PlainPrediction, Prediction, Seq2Seq
from jumok.models.sentences import Sentences
from jumok.text.tokenizer import EOS, Tokenizers, train_tokenizer

MOODS = 5


@dataclass(frozen=True)
class Mood:
    mood: Tensor  # (B,)

    def select(self, rows: Tensor) -> "Mood":
        return Mood(self.mood[rows])

    def join(self, other: "Mood") -> "Mood":
        return Mood(torch.cat((self.mood, other.mood)))


class Toy(Seq2Seq):
    """Logits by mood and last token; the mood starts with the source and moves with each token."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = nn.Parameter(table, requires_grad=False)  # (MOODS, V, V)

    def encode(self, source: Sentences) -> Memory:
        mood = source.grid(source.tokens).sum(dim=1) % MOODS
        return Memory(mood[source.row_and_place[0], None].float(), source)

    def start(self, memory: Memory) -> Mood:
        return Mood(memory.source.grid(memory.states)[:, 0, 0].long())

    def step(self, token: Tensor, state: Mood) -> tuple[Tensor, Mood]:
        return self.table[state.mood, token], Mood((state.mood * 2 + token + 1) % MOODS)

    def decode(self, target_in: Sentences, memory: Memory) -> Prediction:
        state, logits = self.start(memory), []
        for token in target_in.grid(target_in.tokens).unbind(dim=1):
            now, state = self.step(token, state)
            logits.append(now)
        return PlainPrediction(target_in.flat(torch.stack(logits, dim=1)))


@dataclass(frozen=True)
class Bench:
    """What the tests of search share."""

    def toy(self, seed: int, vocabulary: int = 7, *, spread: float = 1.5, whole: bool = False) -> Toy:
        """A random model; whole logits make many scores equal."""
        generator = torch.Generator().manual_seed(seed)
        table = torch.randn(MOODS, vocabulary, vocabulary, generator=generator) * spread
        return Toy(table.round() if whole else table)

    def memory(self, model: Seq2Seq, sources: list[list[int]]) -> Memory:
        """Sources with an end each, read by the model."""
        with torch.inference_mode():
            return model.encode(lay_sources(sources, torch.device("cpu")))

    def own_log_probs(self, model: Seq2Seq, memory: Memory, row: int, answer: Answer) -> list[float]:
        """The teacher-forced log-probabilities of an answer."""
        out = [*answer.ids, *([EOS] if answer.finished else [])]
        with torch.inference_mode():
            target_in, written = lay_targets([out], torch.device("cpu"))
            logits = model.decode(target_in, memory.select([row])).logits()
            return logits.log_softmax(-1).gather(1, written[:, None]).squeeze(1).tolist()

    def every_answer(self, model: Toy, memory: Memory, row: int, limit: int) -> Iterator[Answer]:
        """All answers of at most `limit` tokens, over the pieces 4 and up."""
        pieces = range(4, model.table.shape[1])
        for length in range(limit + 1):
            for ids in product(pieces, repeat=length):
                bare = Answer(ids, (), finished=length < limit)
                log_probs = self.own_log_probs(model, memory, row, bare)
                yield Answer(ids, tuple(log_probs), bare.finished)


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench()


LINES = ["a man rides a horse.", "the dog sees a man!", "나는 어제 영화를 봤다.", "one two three four"] * 3
TINY = {
    "rnn": RnnConfig(width=16),
    "luong": LuongConfig(width=16, input_feeding=True),
    "transformer": TransformerConfig(width=16, heads=2, feedforward=32, encoder_layers=1, decoder_layers=2),
}
COPYING = replace(TINY["transformer"], norm="pre", copy=True)


def untrained(model: ModelConfig, **settings: object) -> LoadedModel:
    """A model with random weights that are large enough to have opinions, also about when to end."""
    text = TextConfig(vocabulary=330)
    tokenizer = train_tokenizer(LINES, text)
    torch.manual_seed(1)
    network = build_model(model, tokenizer.size, tokenizer.size, shared=True)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.mul_(1 if name.startswith("copying.") else 2)  # how it points follows from the others
        network.target_embedding.weight[EOS] *= 2
    network.ops = choose_backend("cpu")  # as a model that is loaded has it
    data = DataConfig(max_length=12, source_language="en", target_language="ko")
    usual = {"max_len": 16, "loops": True} | settings  # random weights go round in circles
    config = RunConfig(model=model, text=text, data=data, decoding=DecodingConfig(**usual))
    tokenizers, about = Tokenizers(tokenizer, tokenizer), {"parameters": 7, "step": 3}
    return LoadedModel(tokenizers, config, Path("tiny"), about, model=network.eval())


@pytest.fixture(scope="session", params=[*TINY.values(), COPYING], ids=[*TINY, "copying"])
def translator(request: pytest.FixtureRequest) -> Translator:
    """One small translator for each architecture, and one that copies."""
    return Translator(untrained(request.param))


@pytest.fixture(scope="session")
def luong() -> Translator:
    return Translator(untrained(TINY["luong"]))


class Broken(torch.nn.Module):
    """A model whose logits are no numbers."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def encode(self, *args):
        return self.inner.encode(*args)

    def start(self, memory):
        return self.inner.start(memory)

    def step(self, token, state):
        logits, state = self.inner.step(token, state)
        return logits * torch.nan, state

    def decode(self, *args):
        return PlainPrediction(self.inner.decode(*args).logits() * torch.nan)


@pytest.fixture(scope="session")
def broken() -> Callable[[Translator], Translator]:
    """Makes a translator whose model's logits are no numbers."""

    def make(translator: Translator) -> Translator:
        other = copy.copy(translator)
        other.model = Broken(translator.model)
        return other

    return make
