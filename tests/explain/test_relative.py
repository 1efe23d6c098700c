"""Relative positions in a trace: a stage of their own, and what a what-if does to them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.explain.conftest import Workshop

from jumok.explain.capture import IN_ORDER
from jumok.explain.ops import positions
from jumok.explain.trace import Trace, make_trace, open_trace
from jumok.model import Model

TEXT = "a man rides a horse."


@pytest.fixture(scope="module")
def relative(workshop: Workshop) -> Model:
    config = replace(
        workshop.small,
        positions="relative",
        buckets=8,
        max_distance=6,
        head_width=5,
        rms_norm=True,
        norm="pre",
    )
    return workshop.model(config)


@pytest.fixture(scope="module")
def trace(relative: Model) -> Trace:
    return relative.trace(TEXT)


@pytest.mark.parametrize("kind", ["enc_self", "dec_self"])
def test_scores_and_bias_make_the_weights(trace: Trace, kind: str) -> None:
    assert trace.manifest["attention"][kind]["stages"] == list(IN_ORDER)
    found = getattr(trace.attention, kind)
    for layer in range(found.weights.shape[0]):
        for head in range(2):
            stages = found.stages(layer, head)
            assert stages.bias.any()
            np.testing.assert_allclose(stages.placed, stages.scaled + stages.bias)
            raised = np.where(stages.mask > 0, np.exp(stages.scaled + stages.bias), 0)
            np.testing.assert_allclose(raised / raised.sum(-1, keepdims=True), stages.weights, atol=1e-6)
            np.testing.assert_allclose(stages.weights.sum(-1), 1, atol=1e-5)
            np.testing.assert_allclose(stages.weights @ stages.v, stages.context, atol=1e-5)


def test_all_layers_of_a_stack_share_one_bias_by_distance(trace: Trace) -> None:
    found = trace.tensor("dec_self.bias")  # [L, H, Q, K]
    assert np.array_equal(found[0], found[1])
    for distance in range(-3, 1):
        assert len(np.unique(np.diagonal(found[0, 0], distance))) == 1
    assert not np.array_equal(trace.tensor("enc_self.bias")[0, 0], trace.tensor("enc_self.bias")[0, 1])


def test_the_look_at_the_source_has_no_bias(trace: Trace) -> None:
    assert "bias" not in trace.manifest["attention"]["cross"]["stages"]
    assert trace.attention.cross is not None
    assert trace.attention.cross.stages(0, 0).bias is None
    assert trace.manifest["model"]["kinds"]["cross"]["d_head"] == 5


def test_a_saved_trace_has_it(trace: Trace, tmp_path: Path) -> None:
    saved = open_trace(trace.save(tmp_path / "one.trace"))
    assert np.array_equal(saved.tensor("enc_self.bias"), trace.tensor("enc_self.bias"))


def test_without_positions_there_is_no_bias_and_a_shift_changes_nothing(
    relative: Model, trace: Trace
) -> None:
    target = trace.manifest["target"]["text"]

    def traced(mode: str, **options: int) -> Trace:
        ops = [positions(mode, side, **options) for side in ("source", "target")]
        return make_trace(relative, TEXT, target=target, ops=ops)

    plain = traced("shift", by=0)
    assert np.allclose(traced("shift", by=7).tensor("enc_self.weights"), plain.tensor("enc_self.weights"))
    none = traced("none")
    assert "bias" not in none.manifest["attention"]["enc_self"]["stages"]
    assert not np.allclose(none.tensor("enc_self.weights"), plain.tensor("enc_self.weights"))
    mixed = traced("shuffle", seed=3)
    assert not np.allclose(mixed.tensor("enc_self.bias"), plain.tensor("enc_self.bias"))


def test_rows_of_positions_say_what_each_head_adds(relative: Model, trace: Trace) -> None:
    rows = trace.positions()
    assert rows is not None
    assert rows.shape == (64, 2)
    bias = trace.tensor("enc_self.bias")[0]  # [H, Q, K]
    np.testing.assert_allclose(rows[:3], bias[:, 2, [2, 1, 0]].T, rtol=1e-6)
