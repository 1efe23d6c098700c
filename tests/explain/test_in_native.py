"""Explanations by the native engine are those by torch: traces, influence, what-if, sweeps, trees."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.explain.conftest import MODELS, SMALL, Workshop

from jumok.config import ModelConfig
from jumok.decoding.engines import NativeEngine
from jumok.decoding.translator import Translator
from jumok.errors import LimitError
from jumok.explain import in_native, in_torch
from jumok.explain.capture import Step
from jumok.explain.influence import influence, sweep
from jumok.explain.ops import bridge, mask_edge, mask_head, no_scale, positions, scale_head, set_row, uniform
from jumok.explain.trace import Trace
from jumok.explain.watched import watched
from jumok.model import Model
from jumok.native.library import available
from jumok.native.model import NativeModel
from jumok.native.weights import pack_weights

pytestmark = pytest.mark.skipif(not available(), reason="the C library was not built")
TEXT = "a man sees the dog"
NAMES = list(MODELS)


def native(one: Translator) -> Model:
    """The same model in the native engine, which was chosen by name: nothing is left to torch."""
    contents, config = one._engine.contents, one.config.model
    tensors = {name: tensor.detach().numpy() for name, tensor in one.model.state_dict().items()}
    parts = pack_weights(config, tensors, shared=True)
    return Model(NativeEngine(NativeModel(config, parts), contents, strict=True))


def pair(workshop: Workshop, config: ModelConfig | str, **settings: int) -> tuple[Model, Model]:
    torch_model = workshop.model(config, **settings)
    return torch_model, native(torch_model)


def same(ours: Any, theirs: Any, where: str = "") -> None:
    """Equal plain values; numbers within 1e-4, which is what sums of a trace may round by."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for key, value in theirs.items():
            if key != "ms":
                same(ours[key], value, f"{where}.{key}")
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs), where
        for n, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            same(one, other, f"{where}[{n}]")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, abs=1e-4), where
    else:
        assert ours == theirs, where


def near(ours: Any, theirs: Any, what: str = "") -> None:
    """Within 2e-5 of the largest number, where that is above 1: these models have large ones."""
    largest = max(1.0, float(np.abs(theirs).max(initial=0)))
    np.testing.assert_allclose(ours, theirs, atol=2e-5 * largest, rtol=0, err_msg=what)


def same_traces(ours: Trace, theirs: Trace) -> None:
    same(ours.manifest, theirs.manifest)
    for kind, about in theirs.manifest["attention"].items():
        for part in about["stages"]:
            near(ours.tensor(f"{kind}.{part}"), theirs.tensor(f"{kind}.{part}"), part)
    for name in ("rnn.encoder", "rnn.decoder", "rnn.bridge") if theirs.manifest["rnn"] else ():
        near(ours.tensor(name), theirs.tensor(name), name)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_a_trace_its_tree_and_its_influence(workshop: Workshop, name: str, beam: int) -> None:
    theirs, ours = (one.trace(TEXT, beam=beam) for one in pair(workshop, name))
    same_traces(ours, theirs)
    same(ours.beam(), theirs.beam())
    near(ours.influence().values, theirs.influence().values)


def test_a_tree_with_phrases(workshop: Workshop) -> None:
    asked = {"beam": 2, "ban": "a", "require": "dog"}
    theirs, ours = (one.trace(TEXT, **asked).beam() for one in pair(workshop, "transformer"))
    same(ours, theirs)


@pytest.mark.parametrize("beam", [1, 3])
def test_attention_of_a_translation_is_that_of_its_trace(workshop: Workshop, beam: int) -> None:
    theirs, ours = pair(workshop, "transformer")
    texts = [TEXT, "one two", "  "]
    for one, other in zip(
        ours.translate(texts, attention=True, beam=beam),
        theirs.translate(texts, attention=True, beam=beam),
        strict=True,
    ):
        assert one.text == other.text
        if other.made is not None:
            same_traces(one.trace, other.trace)


EDITS = {
    "rnn": [bridge("swap", "one two")],
    "luong": [mask_edge("cross", 0, 0, q=[0, 2], k=[1, 2]), bridge("zero"), scale_head("cross", 0, 0, 0.5)],
    "transformer": [
        mask_head("cross", 1, 0),
        uniform("dec_self", 0, 1),
        no_scale("enc_self"),
        set_row("cross", 0, 1, q=1, weights={0: 1.0, 2: 3.0}),
        positions("shuffle", seed=4),
        positions("shift", side="target", by=2),
    ],
}


@pytest.mark.parametrize("name", NAMES)
def test_what_if(workshop: Workshop, name: str) -> None:
    theirs, ours = (one.what_if(TEXT, EDITS[name], beam=2) for one in pair(workshop, name))
    same(ours.to_dict(), theirs.to_dict())
    same_traces(ours.edited_trace, theirs.edited_trace)


def test_a_sweep_masks_each_head_on_top_of_the_edits(workshop: Workshop) -> None:
    for given in ([], [mask_head("cross", 0, 1)]):
        theirs, ours = (
            list(sweep(one.edit(*given), TEXT, "the dog")) for one in pair(workshop, "transformer")
        )
        assert [(row.kind, row.layer) for row in ours] == [(row.kind, row.layer) for row in theirs]
        for one, other in zip(ours, theirs, strict=True):
            near(one.values, other.values)


@pytest.mark.parametrize("placing", ["sinusoidal", "learned", "rotary", "relative", "none"])
def test_position_rows(workshop: Workshop, placing: Any) -> None:
    config = replace(SMALL, positions=placing, max_positions=40, buckets=8, max_distance=20)
    theirs, ours = pair(workshop, config)
    rows = in_torch.position_rows(theirs.model, 64)
    found = in_native.position_rows(ours._engine, 64)  # type: ignore[arg-type]
    assert (rows is None) is (found is None) is (placing == "none")
    if rows is not None and found is not None:
        np.testing.assert_allclose(found, rows, atol=1e-5)


def test_a_text_of_no_written_token_has_no_steps(workshop: Workshop) -> None:
    theirs, ours = pair(workshop, "transformer")
    stages = [("cross", 0), ("dec_self", 0)]
    [one] = in_native.captured(ours._engine, [[260]], [[]], stages)  # type: ignore[arg-type, list-item]
    assert one.steps == ()
    assert one.weights["cross"].shape == (2, 2, 0, 2)
    assert one.weights["dec_self"].shape == (2, 2, 0, 0)
    [other] = in_torch.captured(theirs.model, [[260]], [[]], stages)  # type: ignore[list-item]
    for place in stages:
        shapes = [{part: array.shape for part, array in each.stages[place].items()} for each in (one, other)]  # type: ignore[index]
        assert shapes[0] == shapes[1]
        assert shapes[0]["q"] == shapes[0]["context"] == (2, 0, 8)


def test_of_a_small_vocabulary_there_are_fewer_candidates() -> None:
    parts = {
        "log_prob": np.array([-0.5, -0.25], np.float32),
        "entropy": np.array([np.log(2), 0], np.float64),
        "top_id": np.array([[3, 1, -1], [1, 3, -1]]),
        "top_log_prob": np.array([[-0.5, -1.0, 0.0], [-0.25, -2.0, 0.0]], np.float32),
    }
    assert in_native.steps_of([3, 1], parts) == (
        Step(3, -0.5, 1.0, ((3, -0.5), (1, -1.0))),
        Step(1, -0.25, 0.0, ((1, -0.25), (3, -2.0))),
    )


def test_whoever_watches_is_told_before_every_pass(workshop: Workshop) -> None:
    _, ours = pair(workshop, "transformer")
    seen: list[int] = []
    with watched(ours, lambda: seen.append(1), 30) as own:
        influence(own, TEXT, "dog")
    assert len(seen) == 2  # the source, the target
    influence(own, TEXT, "dog")
    assert len(seen) == 2
    with watched(ours, lambda: None, 6) as own:  # as many as the source has with its end
        influence(own, TEXT, "dog")
    with watched(ours, lambda: None, 5) as own, pytest.raises(LimitError, match="the source has 6 tokens"):
        own.trace(TEXT)


WITHOUT = """
import sys
sys.modules["torch"] = None
import jumok
from jumok.explain.ops import bridge, mask_head
mask = mask_head("cross", 0, 0)
for name, op in (("rnn", bridge("zero")), ("luong", mask), ("transformer", mask)):
    model = jumok.load(f"demo/{name}")
    found = model.translate("den 5 mars 2024", attention=True, record_beam=True)
    assert found.beam["nodes"] and found.influence().size and found.trace.positions() is not False
    assert model.what_if("den 5 mars 2024", [op]).edited.text
"""


def test_the_bundled_models_are_looked_into_without_torch() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
