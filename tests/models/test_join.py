"""Continuous batching: rows join a running batch and leave it, and none of them notices."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.backends.recording import RecordingBackend
from jumok.config import LuongConfig, RnnConfig, TransformerConfig
from jumok.edits import Edits
from jumok.models.cache import TransformerState
from jumok.models.interface import Seq2Seq

SIZES = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 1, "decoder_layers": 2}
ALL = {
    "rnn": RnnConfig(width=8, cell="lstm", layers=2),
    "luong": LuongConfig(width=8, score="concat"),
    "luong-feeding": LuongConfig(width=8, input_feeding=True),
    "sinusoidal": TransformerConfig(**SIZES),
    "learned": TransformerConfig(**SIZES, positions="learned", max_positions=64),
    "rotary": TransformerConfig(**SIZES, positions="rotary", projection="split"),
    "none": TransformerConfig(**SIZES, positions="none", norm="pre"),
    "copy": TransformerConfig(**SIZES, norm="pre", copy=True),
}
TRANSFORMERS = [name for name, config in ALL.items() if isinstance(config, TransformerConfig)]


@dataclass
class Group:
    """Rows that are stepped together, and each of them alone."""

    together: Any
    alone: list[Any]

    def step(self, model: Seq2Seq, tokens: list[int]) -> None:
        logits, self.together = model.step(torch.tensor(tokens), self.together)
        for row, token in enumerate(tokens):
            own, self.alone[row] = model.step(torch.tensor([token]), self.alone[row])
            torch.testing.assert_close(logits[row], own[0], atol=1e-5, rtol=1e-4)

    def select(self, rows: list[int]) -> None:
        self.together = self.together.select(torch.tensor(rows, dtype=torch.long))
        self.alone = [self.alone[row] for row in rows]

    def join(self, other: "Group") -> "Group":
        return Group(self.together.join(other.together), self.alone + other.alone)


def start(bench: Any, model: Seq2Seq, lengths: list[int], seed: int = 0) -> Group:
    batch = bench.batch(lengths, 1, seed)
    alone = [model.start(model.encode(batch.alone(row).source)) for row in range(len(lengths))]
    return Group(model.start(model.encode(batch.source)), alone)


def some_tokens(group: Group, data: st.DataObject) -> list[int]:
    size = len(group.alone)
    return data.draw(st.lists(st.integers(0, 12), min_size=size, max_size=size))


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_batch_that_rows_join_and_leave_equals_each_row_alone(
    bench: Any, name: str, data: st.DataObject
) -> None:
    """Any walk of steps, joins, selections and fresh starts, with the same edits or none."""
    model = bench.model(ALL[name])
    if data.draw(st.booleans()):
        model = model.using(RecordingBackend(data.draw(st.just(Edits()) | bench.edits(ALL[name]))))
    lengths = st.lists(st.integers(1, 6), min_size=1, max_size=3)
    with torch.inference_mode():
        groups = [start(bench, model, data.draw(lengths), seed) for seed in range(2)]
        for move in data.draw(st.lists(st.sampled_from("sssjxn"), min_size=3, max_size=14)):
            group = groups[data.draw(st.integers(0, len(groups) - 1))]
            match move:
                case "s":
                    group.step(model, some_tokens(group, data))
                case "x":
                    row = st.integers(0, len(group.alone) - 1)
                    group.select(data.draw(st.lists(row, min_size=1, max_size=4)))
                case "n":
                    groups.append(start(bench, model, data.draw(lengths), len(groups)))
                case "j":
                    other = groups[data.draw(st.integers(0, len(groups) - 1))]
                    groups.append(group.join(other))
        for group in groups:
            group.step(model, some_tokens(group, data))


@pytest.mark.parametrize("name", ALL)
def test_a_short_sentence_joins_a_long_one_and_both_go_on_past_a_full_buffer(bench: Any, name: str) -> None:
    model = bench.model(ALL[name])
    with torch.inference_mode():
        running = start(bench, model, [9, 3])
        for t in range(20):
            running.step(model, [t % 9, t % 5])
        both = start(bench, model, [2], seed=1).join(running)
        for t in range(15):
            both.step(model, [t % 7, t % 3, t % 11])
        both.select([2, 0])
        for t in range(3):
            both.step(model, [t, t + 1])


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_the_fast_path_returns_when_the_earlier_rows_have_left(bench: Any, name: str) -> None:
    model = bench.model(ALL[name])
    with torch.inference_mode():
        running, late = start(bench, model, [9]), start(bench, model, [2, 4], seed=1)
        for t in range(5):
            running.step(model, [t])
        both = running.join(late)
        state: TransformerState = both.together
        assert state.begin.tolist() == [0, 5, 5]
        assert state.mask.shape == (3, 1, 1, 9)
        both.step(model, [1, 2, 3])
        both.select([1, 2])
        state = both.together
        assert state.begin is None
        assert state.past[0].length == 1
        assert state.mask.shape == (2, 1, 1, 4)  # padding for the long source is gone
        assert state.source[0][0].shape[2] == 4
        both.step(model, [4, 5])


def test_rows_at_the_same_place_need_no_mask(bench: Any) -> None:
    model = bench.model(ALL["sinusoidal"])
    with torch.inference_mode():
        one, other = start(bench, model, [3]), start(bench, model, [5], seed=1)
        assert one.join(other).together.begin is None


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_row_that_begins_latest_may_join_first_and_the_left_is_cut_as_far_as_all_allow(
    bench: Any, name: str
) -> None:
    model = bench.model(ALL[name])
    with torch.inference_mode():
        group = start(bench, model, [3])
        for seed in range(1, 4):
            group.step(model, [seed] * len(group.alone))
            group = start(bench, model, [2 + seed], seed).join(group)
        assert group.together.begin.tolist() == [3, 2, 1, 0]
        group.select([0, 2])
        assert group.together.begin.tolist() == [2, 0]
        assert group.together.past[0].length == 2
        group.step(model, [7, 8])


@pytest.mark.parametrize("name", ALL)
def test_joining_changes_neither_state(bench: Any, name: str) -> None:
    model = bench.model(ALL[name])
    with torch.inference_mode():
        one, other = start(bench, model, [4]), start(bench, model, [2, 6], seed=1)
        one.step(model, [5])
        for _ in range(2):
            one.join(other).step(model, [1, 2, 3])
        one.step(model, [6])
        other.step(model, [7, 8])


@pytest.mark.parametrize("name", ALL)
def test_no_rows_at_all_can_be_joined(bench: Any, name: str) -> None:
    model = bench.model(ALL[name])
    with torch.inference_mode():
        empty, full = start(bench, model, [4]), start(bench, model, [2, 6], seed=1)
        empty.step(model, [5])
        empty.select([])
        empty.join(full).step(model, [1, 2])
        full.join(empty).step(model, [1, 2])
