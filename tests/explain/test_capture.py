"""One pass for a batch shows what the model computes for each sentence, alone and unpadded."""

from typing import Any

import numpy as np
import pytest
import torch

from jumok.backends.recording import RecordingBackend
from jumok.backends.torch import TorchBackend
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.decoding.batched import lay_sources, lay_targets, score_targets
from jumok.decoding.translator import Translator
from jumok.edits import Edits, Kind
from jumok.explain.capture import STAGES, Captured, capture
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.nn.edit import AttentionEdit
from jumok.text.tokenizer import EOS

SMALL = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 2, "decoder_layers": 3}
CONFIGS: dict[str, ModelConfig] = {
    "rnn": RnnConfig(width=8, layers=2, cell="lstm"),
    "luong": LuongConfig(width=8, score="concat"),
    "luong-feeding": LuongConfig(width=8, input_feeding=True, bidirectional=False),
    "transformer": TransformerConfig(**SMALL),
    "transformer-pre-rotary": TransformerConfig(**SMALL, norm="pre", positions="rotary"),
    "transformer-bare": TransformerConfig(**SMALL, norm="none", residual=False, scaled=False),
    "transformer-copy": TransformerConfig(**SMALL, copy=True),
}
SOURCES = [[5, 6, 7, 8], [9], [4, 4, 10, 11, 5, 6]]
TARGETS = [[6, 7], [5, 8, 9, 10, 4], []]


@pytest.fixture(scope="module", params=CONFIGS)
def model(request: pytest.FixtureRequest) -> Seq2Seq:
    torch.manual_seed(3)
    return build_model(CONFIGS[request.param], 13, 13, shared=True).eval()


def transformer(**change: Any) -> Seq2Seq:
    torch.manual_seed(3)
    return build_model(TransformerConfig(**SMALL, **change), 13, 13, shared=True).eval()


def layers_of(one: Captured) -> list[tuple[Kind, int]]:
    return [(kind, layer) for kind, weights in one.weights.items() for layer in range(len(weights))]


def test_the_shapes_are_those_of_each_sentence(model: Seq2Seq) -> None:
    for one, source, target in zip(capture(model, SOURCES, TARGETS), SOURCES, TARGETS, strict=True):
        S, T = len(source) + 1, len(target) + 1
        assert (one.source, one.target) == ((*source, EOS), (*target, EOS))
        assert len(one.steps) == T
        sides = {"enc_self": (S, S), "dec_self": (T, T), "cross": (T, S), "copy": (T, S)}
        for kind, weights in one.weights.items():
            assert weights.dtype == np.float32
            assert weights.shape[2:] == sides[kind]
        if one.states:
            assert one.states["encoder"].shape == (S, 8)
            assert one.states["decoder"].shape == (T, 8)
            assert one.states["bridge"].shape[2:] == (8,)


def test_which_kinds_there_are() -> None:
    (one,) = capture(transformer(), [[5]], [[6]])
    assert {kind: weights.shape[:2] for kind, weights in one.weights.items()} == {
        "enc_self": (2, 2),
        "dec_self": (3, 2),
        "cross": (3, 2),
    }
    assert one.states == {}
    (bare,) = capture(build_model(CONFIGS["rnn"], 13, 13, shared=True).eval(), [[5]], [[6]])
    assert bare.weights == {}
    assert bare.states["bridge"].shape == (2, 2, 8)


class Listening(TorchBackend):
    """Keeps what copying reads: the decoder's states and the encoder's."""

    def copy(self, copying, x, logits, memory, spans, longest):  # type: ignore[no-untyped-def]
        self.x, self.H = x, memory[0]
        return super().copy(copying, x, logits, memory, spans, longest)


def test_where_a_model_points_and_how_much_it_copies() -> None:
    model = build_model(CONFIGS["transformer-copy"], 13, 13, shared=True).eval()
    found = capture(model, SOURCES, TARGETS)
    cpu = torch.device("cpu")
    for one, source, target in zip(found, SOURCES, TARGETS, strict=True):
        copying, seen = model.copying, Listening()
        with torch.inference_mode():
            model.using(seen)(lay_sources([source], cpu), lay_targets([[*target, EOS]], cpu)[0])
            x, H = seen.x, seen.H  # (T, D), (S, D)
            a = (copying.query(x) @ copying.key(H).mT / x.shape[1] ** 0.5).softmax(-1)
            g = copying.gate(torch.cat((x, a @ H), dim=-1)).sigmoid()
        assert one.weights["copy"].shape == (1, 1, len(target) + 1, len(source) + 1)
        np.testing.assert_allclose(one.weights["copy"][0, 0], a, atol=1e-5)
        np.testing.assert_allclose([step.copied for step in one.steps], (1 - g).flatten(), atol=1e-5)
    (plain,) = capture(transformer(), SOURCES[:1], TARGETS[:1])
    assert "copy" not in plain.weights
    assert all(step.copied is None for step in plain.steps)


def test_rows_sum_to_one_and_the_decoder_never_looks_ahead(model: Seq2Seq) -> None:
    for one in capture(model, SOURCES, TARGETS):
        for kind, weights in one.weights.items():
            np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
            if kind == "dec_self":
                assert not np.triu(weights, k=1).any()


def test_neighbours_and_padding_change_nothing(model: Seq2Seq) -> None:
    together = capture(model, SOURCES, TARGETS)
    for one, source, target in zip(together, SOURCES, TARGETS, strict=True):
        (alone,) = capture(model, [source], [target])
        for kind, weights in one.weights.items():
            np.testing.assert_allclose(weights, alone.weights[kind], atol=1e-5)
        for name, state in one.states.items():
            np.testing.assert_allclose(state, alone.states[name], atol=1e-5)
        np.testing.assert_allclose(
            [step.logprob for step in one.steps], [step.logprob for step in alone.steps], atol=1e-5
        )


def test_the_explicit_path_agrees_with_the_fused_one(model: Seq2Seq) -> None:
    fused = score_targets(model, SOURCES, TARGETS)
    for one, log_probs in zip(capture(model, SOURCES, TARGETS), fused, strict=True):
        np.testing.assert_allclose([step.logprob for step in one.steps], log_probs, atol=1e-5)


def test_steps_know_the_best_candidates_and_the_entropy_in_bits(model: Seq2Seq) -> None:
    source, target = SOURCES[0], TARGETS[0]
    with torch.inference_mode():
        cpu = torch.device("cpu")
        read, written = lay_sources([source], cpu), lay_targets([[*target, EOS]], cpu)[0]
        log_probs = model(read, written).logits().log_softmax(-1).double()
    (one,) = capture(model, [source], [target])
    for step, expected, id in zip(one.steps, log_probs, [*target, EOS], strict=True):
        assert step.id == id
        assert step.logprob == pytest.approx(float(expected[id]), abs=1e-5)
        assert step.entropy == pytest.approx(float(-(expected.exp() * expected).sum()) / np.log(2), abs=1e-4)
        assert len(step.top) == 5
        assert [id for id, _ in step.top] == expected.topk(5).indices.tolist()
        assert step.top[0][1] == pytest.approx(float(expected.max()), abs=1e-5)


def test_a_target_without_its_end_has_a_step_less(model: Seq2Seq) -> None:
    whole, cut = capture(model, [[5, 6]] * 2, [[7, 8]] * 2, ended=[True, False])
    assert cut.target == (7, 8)
    assert cut.steps == whole.steps[:2]
    for kind in set(cut.weights) - {"enc_self"}:
        np.testing.assert_array_equal(
            cut.weights[kind], whole.weights[kind][..., :2, : cut.weights[kind].shape[-1]]
        )


def test_stages_are_copied_for_the_layers_asked_for(model: Seq2Seq) -> None:
    (plain,) = capture(model, SOURCES[:1], TARGETS[:1])
    assert plain.stages == {}
    every = layers_of(plain)
    (one,) = capture(model, SOURCES[:1], TARGETS[:1], stages=every)
    assert sorted(one.stages) == sorted(every)
    for (kind, layer), stages in one.stages.items():
        assert set(stages) == set(STAGES)
        weights, mask = stages["weights"], stages["mask"]
        np.testing.assert_array_equal(weights, one.weights[kind][layer])
        np.testing.assert_allclose(weights @ stages["v"], stages["context"], atol=1e-5)
        shown = np.where(mask == 1, stages["scaled"], -np.inf)
        powers = np.exp(shown - shown.max(axis=-1, keepdims=True))
        np.testing.assert_allclose(powers / powers.sum(axis=-1, keepdims=True), weights, atol=1e-5)
        assert mask.dtype == np.uint8
        assert stages["out"].shape == (weights.shape[1], 1 if kind == "copy" else 8)


def test_multi_head_scores_are_products_over_the_root_of_the_width() -> None:
    (one,) = capture(transformer(), SOURCES[:1], TARGETS[:1], stages=[("cross", 1)])
    (stages,) = one.stages.values()
    np.testing.assert_allclose(stages["q"] @ stages["k"].transpose(0, 2, 1), stages["scores"], atol=1e-5)
    np.testing.assert_allclose(stages["scores"] / 2, stages["scaled"], atol=1e-6)  # heads are 4 wide


@pytest.mark.parametrize("norm", ["post", "pre", "none"])
@pytest.mark.parametrize("residual", [True, False])
def test_scores_that_are_not_divided_are_seen_as_they_are(norm: str, *, residual: bool) -> None:
    model = transformer(norm=norm, residual=residual, scaled=False)
    every = [("enc_self", 0), ("dec_self", 1), ("cross", 1)]
    (one,) = capture(model, SOURCES[:1], TARGETS[:1], stages=every)
    for stages in one.stages.values():
        np.testing.assert_array_equal(stages["scaled"], stages["scores"])
        np.testing.assert_allclose(stages["q"] @ stages["k"].transpose(0, 2, 1), stages["scores"], atol=1e-5)


def test_numbers_cannot_be_overwritten(model: Seq2Seq) -> None:
    (one,) = capture(model, SOURCES[:1], TARGETS[:1], stages=[("cross", 0)])
    arrays = [*one.weights.values(), *one.states.values()]
    arrays += [array for stages in one.stages.values() for array in stages.values()]
    assert not any(array.flags.writeable for array in arrays)


def test_an_edited_model_shows_its_edits() -> None:
    model = transformer()
    edited = model.using(RecordingBackend(Edits({("cross", 1): AttentionEdit(uniform=(0,))})))
    (before,), (after,) = capture(model, [[5, 6, 7]], [[8]]), capture(edited, [[5, 6, 7]], [[8]])
    np.testing.assert_allclose(after.weights["cross"][1, 0], 1 / 4)
    np.testing.assert_array_equal(after.weights["cross"][0], before.weights["cross"][0])
    assert after.steps != before.steps


def test_the_bridge_is_what_the_decoder_starts_from() -> None:
    model = build_model(CONFIGS["luong"], 13, 13, shared=True).eval()
    other = np.full((1, 1, 8), 0.5, np.float32)
    (one,) = capture(model.using(RecordingBackend(Edits(bridge=other))), [[5, 6]], [[7]])
    np.testing.assert_array_equal(one.states["bridge"], other)


def test_the_search_and_the_trace_agree_on_every_token(translator: Translator) -> None:
    answers = translator.translate(["a man rides a horse.", "나는", "the dog sees two men!"])
    pairs = [
        (translator.tokenizers.source.encode(one.source), [t.id for t in one.tokens if t.id != EOS])
        for one in answers
    ]
    ended = [one.finished for one in answers]
    captured = capture(translator.model, *zip(*pairs, strict=True), ended=ended)
    for answer, one in zip(answers, captured, strict=True):
        assert [token.id for token in answer.tokens] == list(one.target)
        np.testing.assert_allclose(
            [token.logprob for token in answer.tokens], [step.logprob for step in one.steps], atol=1e-4
        )
