"""Models as other toolkits write them, in C: far distances, rows that are only copies, forced beginnings."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.native.making import CONFIGS, VOCABULARY, make

from jumok.answers import NotFiniteError
from jumok.architectures import ModelConfig, TransformerConfig
from jumok.decoding.batched import score_targets
from jumok.errors import ModelError
from jumok.native.folder import dump_parts, parse_parts
from jumok.native.library import available, why_not
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.structs import c_config, c_tensors
from jumok.native.tensors import parse_tensors
from jumok.native.weights import PackedWeights, Type, pack_weights, unpack_weights

pytestmark = pytest.mark.skipif(not available(), reason=why_not())

FAMILIES = ("t5", "bart")
TYPES: tuple[Type, ...] = ("float32", "int8")
NEVER = -1e9
"""The logits bias of a row that is only a copy of another."""


@lru_cache(maxsize=8)
def parts_of(name: str, kind: Type) -> dict[str, PackedWeights]:
    _, arrays = make(CONFIGS[name])
    return pack_weights(CONFIGS[name], arrays, shared=True, type=kind)


def natively(config: ModelConfig, arrays: dict[str, Any], kind: Type = "float32") -> NativeModel:
    return NativeModel(config, pack_weights(config, arrays, shared=True, type=kind))


@pytest.mark.parametrize(("buckets", "most"), [(4, 3), (8, 20), (32, 128), (64, 100), (32, 1000)])
def test_far_distances_have_the_buckets_of_pytorch(buckets: int, most: int) -> None:
    """Past the last bucket on both sides, and past the first room of the caches."""
    config = TransformerConfig(
        width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=1, positions="relative",
        buckets=buckets, max_distance=most,
    )  # fmt: skip
    model, arrays = make(config)
    for side in ("encoder", "decoder"):  # large: a token in a wrong bucket is seen
        table = getattr(model, f"{side}_bias").weight
        with torch.no_grad():
            table.copy_(torch.randn(table.shape, generator=torch.Generator().manual_seed(5)) * 2)
        arrays[f"{side}_bias.weight"] = table.detach().numpy().copy()
    draw = np.random.default_rng(0)
    sources = [draw.integers(4, VOCABULARY, size).tolist() for size in (230, 1, 40)]
    targets = [draw.integers(4, VOCABULARY, size).tolist() for size in (210, 150, 3)]
    mine, right = natively(config, arrays).score(sources, targets), score_targets(model, sources, targets)
    for one, other in zip(mine, right, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=3e-5)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", FAMILIES)
def test_neighbours_threads_and_steps_change_no_bit(name: str, kind: Type) -> None:
    native = NativeModel(CONFIGS[name], parts_of(name, kind))
    sources = [[260, 261, 262, 263], [264], [], [265] * 25, [266, 267]]
    limits, options = [9, 12, 5, 20, 7], SearchOptions(beam=3)
    together = native.search(sources, limits, options, threads=2)
    for source, limit, answers in zip(sources, limits, together, strict=True):
        assert native.search([source], [limit], options, threads=1) == [answers]
    [[best]] = native.search([[260, 261]], [12], SearchOptions(beam=1, min_len=11, keep=1))
    [score] = native.score([[260, 261]], [best.ids])
    assert tuple(score[: len(best.log_probs)]) == best.log_probs


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("never", [NEVER, -3e38])
@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=min(10, settings().max_examples))
@given(copies=st.sets(st.integers(260, VOCABULARY - 1), max_size=12), short=st.booleans())
def test_copies_have_no_share_of_the_probability(
    name: str, never: float, kind: Type, *, copies: set[int], short: bool
) -> None:
    """As if the softmax went over the others alone, with a shortlist too."""
    config, ids = CONFIGS[name], sorted(copies)
    usual = parts_of(name, kind)
    bias = np.array(usual["output"].bias)
    bias[ids] = never
    native = NativeModel(config, {**usual, "output": replace(usual["output"], bias=bias)})
    lists = [[2, *range(100, VOCABULARY)]] if short else None
    sources, options = [[260, 262, 261]], SearchOptions(beam=4, min_len=7)
    answers = native.search(sources, [8], options, shortlists=lists)[0]
    assert not copies & {i for answer in answers for i in answer.ids}
    free = [i for i in (lists[0] if lists else range(VOCABULARY)) if i not in copies]
    others = NativeModel(config, usual).search(sources, [8], options, shortlists=[free])[0]
    if lists:
        assert [one.ids for one in answers] == [one.ids for one in others]
    for one, other in zip(answers, others, strict=True):
        assert np.isfinite(one.log_probs).all()
        if one.ids == other.ids:
            np.testing.assert_allclose(one.log_probs, other.log_probs, atol=1e-5)


@pytest.mark.parametrize("kind", TYPES)
def test_a_stripe_of_copies_does_no_harm(kind: Type) -> None:
    """The vocabulary comes in stripes of 512: one that has only copies, and the whole but for one piece."""
    config = replace(CONFIGS["bart"], positions="sinusoidal")
    random, arrays = np.random.default_rng(0), make(config)[1]
    for name in ("source_embedding.weight", "target_embedding.weight", "output.weight"):
        arrays[name] = random.normal(size=(1700, 12)).astype(np.float32)
    arrays["source_embedding.weight"] = arrays["target_embedding.weight"]
    for free in (range(700), range(1600, 1700), [900]):
        arrays["logits_bias"] = np.full(1700, NEVER, np.float32)
        arrays["logits_bias"][list(free)] = 0
        native = NativeModel(config, pack_weights(config, arrays, shared=True, type=kind))
        [answers] = native.search([[5, 6]], [6], SearchOptions(beam=2, min_len=6))
        best = answers[0]
        assert set(best.ids) <= {*free}
        assert np.isfinite(best.log_probs).all()
        assert len(free) > 1 or all(abs(one) < 1e-6 for one in best.log_probs)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("name", FAMILIES)
def test_an_answer_begins_as_it_is_told(name: str, beam: int, kind: Type) -> None:
    """Language tokens: each sentence its own, however improbable, with its log P as the model has it."""
    native = NativeModel(CONFIGS[name], parts_of(name, kind))
    sources, begins = [[260, 261], [262], [263, 264]], [[270], [], [271, 272]]
    lists = [[2, *range(260, VOCABULARY)]] * 3
    for shortlists in (None, lists):
        found = native.search(
            sources, [8] * 3, SearchOptions(beam=beam), prefixes=begins, shortlists=shortlists
        )
        for answers, begin in zip(found, begins, strict=True):
            assert answers
            assert all(list(one.ids[: len(begin)]) == begin for one in answers)
    best, *_ = native.search(sources[:1], [8], SearchOptions(beam=beam), prefixes=begins[:1])[0]
    [score] = native.score(sources[:1], [best.ids])
    np.testing.assert_allclose(best.log_probs, score[: len(best.log_probs)], atol=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_int8_is_near(name: str) -> None:
    """Codes of inputs are all that differs from PyTorch with the weights that the codes stand for."""
    sizes = {"width": 64, "heads": 4, "feedforward": 128, "decoder_layers": 2}
    wide = {"head_width": 24, "scaled": True} if name == "t5" else {}
    config = replace(CONFIGS[name], **sizes, **wide)
    model, arrays = make(config)
    parts = pack_weights(config, arrays, shared=True, type="int8")
    plain = unpack_weights(config, parts, shared=True)
    model.load_state_dict({name: torch.from_numpy(array) for name, array in plain.items()})
    sources, targets = [[265, 269, 260, 212], [268]], [[270, 31, 90, 140]] * 2
    mine = np.concatenate(NativeModel(config, parts).score(sources, targets))
    apart = np.abs(mine - np.concatenate(score_targets(model, sources, targets))).max()
    assert 0 < apart < 0.15


@pytest.mark.parametrize("name", FAMILIES)
def test_a_bias_of_tied_logits_is_all_that_the_file_adds(name: str) -> None:
    parts, tied = parts_of(name, "int8"), CONFIGS[name].tied
    data = dump_parts(parts, "f" * 64)
    arrays, _ = parse_tensors(data, "")
    assert ("output.codes" in arrays) == (not tied)
    assert "output.bias" in arrays
    assert (parts["output"].data is parts["target_embedding"].data) == tied
    assert parts["target_embedding"].bias is None
    found, _ = parse_parts(data, CONFIGS[name], (VOCABULARY, VOCABULARY), "here", shared=True)
    assert found["target_embedding"].bias is None
    sources, options = [(260, 261), (262,)], SearchOptions(beam=2)
    one, two = (NativeModel(CONFIGS[name], some) for some in (parts, found))
    assert one.search(sources, [6, 6], options) == two.search(sources, [6, 6], options)


BROKEN = {
    "t5": ["encoder_bias", "decoder_bias", "encoder.0.norm1.weight", "decoder.norm.weight"],
    "bart": ["source_norm.weight", "target_norm.bias", "target_positions"],
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("name", "part"), [(name, part) for name, parts in BROKEN.items() for part in parts])
def test_numbers_that_are_not_finite_are_told(name: str, part: str, kind: Type) -> None:
    parts = parts_of(name, kind)
    for bad in (np.nan, np.inf):
        broken = np.full_like(parts[part].data, bad)
        native = NativeModel(CONFIGS[name], {**parts, part: replace(parts[part], data=broken)})
        with pytest.raises(NotFiniteError, match="sentence 0 of the batch"):
            native.search([[260, 261], [262]], [4, 4], SearchOptions(beam=2))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=min(15, settings().max_examples))
@given(seed=st.integers(0, 99), size=st.sampled_from([1e-30, 1e4, 1e15, 1e37]))
def test_extreme_weights_are_answered_or_told(name: str, kind: Type, seed: int, size: float) -> None:
    """Whatever the numbers, nothing is read or written elsewhere (the sanitizers look), and a search ends."""
    random, arrays = np.random.default_rng(seed), dict(make(CONFIGS[name])[1])
    for key in random.choice(sorted(arrays), 3):
        arrays[key] = (random.normal(size=arrays[key].shape).clip(-3, 3) * size).astype(np.float32)
    native = natively(CONFIGS[name], arrays, kind)
    try:
        answers = native.search([[260, 261, 262], [263]], [6, 6], SearchOptions(beam=2))
    except NotFiniteError:
        return
    assert all(np.isfinite(one.log_probs).all() for some in answers for one in some)


WRONG: dict[str, tuple[dict[str, float], str]] = {
    "activation": ({"activation": 4}, "activation = 4 is unknown"),
    "epsilon": ({"norm_epsilon": -1.0}, "norm_epsilon = -1"),
    "no epsilon": ({"norm_epsilon": float("nan")}, "norm_epsilon = "),
    "heads": ({"heads": 0}, "heads = 0 is not in 1 ... 65536"),
    "narrow heads": ({"head_width": 0}, "head_width = 0 of 2 heads"),
    "wide heads": ({"head_width": 1 << 20}, "head_width = 1048576 of 2 heads"),
    "buckets": ({"buckets": 3}, "buckets = 3 is not in 4 ... 1048576"),
    "distance": ({"max_distance": 4}, "max_distance = 4 is not above half of the 8 buckets"),
    "other heads": ({"head_width": 6}, r"encoder\.0\.qkv is 30 x 12, and 36 x 12 was expected"),
    "no gate": ({"gated": 0}, r"encoder\.0\.gate is no part of this model"),
    "no bias": ({"logits_bias": 0}, "output has a bias, and none was expected"),
    "a mean": ({"rms_norm": 0}, r"encoder\.0\.norm1\.bias is missing"),
    "embedding norm": ({"embedding_norm": 1}, r"source_norm\.weight is missing"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_settings_that_do_not_fit_are_refused(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changes, message = WRONG[fault]
    shape = c_config(CONFIGS["t5"], VOCABULARY, VOCABULARY)
    for field, value in changes.items():
        setattr(shape, field, value)
    monkeypatch.setattr("jumok.native.model.c_config", lambda *_: shape)
    with pytest.raises(ModelError, match=f"the native engine cannot run this model: {message}"):
        NativeModel(CONFIGS["t5"], parts_of("t5", "float32"))


def test_a_tied_output_shares_its_memory() -> None:
    tensors = {one.name: one for one in c_tensors(parts_of("t5", "int8"))}
    assert tensors[b"output"].data == tensors[b"target_embedding"].data
    assert tensors[b"output"].bias is not None
    assert tensors[b"target_embedding"].bias is None
