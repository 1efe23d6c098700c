"""What each intervention does to a model, seen in its weights, its scores or its text."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from tests.explain.seeing import picture, seeing

from jumok.backends.recording import RecordingBackend
from jumok.decoding.translator import Translator
from jumok.edits import Edits, Kind, PositionEdit
from jumok.explain import ops
from jumok.explain.capture import Captured, capture
from jumok.explain.edits import compile_ops
from jumok.explain.forced import log_probs
from jumok.explain.ops import Op
from jumok.nn.edit import AttentionEdit

TEXT, OTHER, TARGET = "the dog sees a horse.", "one two three", "나는 어제 봤다."


def seen(translator: Translator, *given: Op, text: str = TEXT) -> Captured:
    """What the model computes with interventions, all stages of all layers."""
    changed = translator.edited(compile_ops(given, translator, text).edits)
    source, target = translator.tokenizers.source.encode(text), translator.tokenizers.target.encode(TARGET)
    every = [(kind, layer) for kind in ("enc_self", "dec_self", "cross", "copy") for layer in range(2)]
    return capture(changed.model, [source], [target], stages=every)[0]  # type: ignore[arg-type]


def scores(translator: Translator, *given: Op, text: str = TEXT) -> np.ndarray:
    changed = copy.copy(translator)  # also without edits on the explicit path, for one rounding
    changed.model = translator.model.using(RecordingBackend(compile_ops(given, translator, text).edits))
    target = translator.tokenizers.target.encode(TARGET)
    return log_probs(changed, [translator.tokenizers.source.encode(text)], target)[0]


@pytest.fixture(params=["luong", "transformer"])
def attentive(request: pytest.FixtureRequest, workshop) -> Translator:  # type: ignore[no-untyped-def]
    return workshop.translator(request.param)  # type: ignore[no-any-return]


def test_a_masked_head_adds_nothing(transformer: Translator) -> None:
    before, after = seen(transformer), seen(transformer, ops.mask_head("cross", 0, 1))
    context = after.stages["cross", 0]["context"]
    assert not context[1].any()
    np.testing.assert_allclose(context[0], before.stages["cross", 0]["context"][0], atol=1e-6)
    np.testing.assert_allclose(after.weights["cross"][0], before.weights["cross"][0], atol=1e-6)


def test_without_any_cross_head_the_source_does_not_matter(transformer: Translator) -> None:
    deaf = ops.mask_head("cross", "*", "*")
    np.testing.assert_allclose(scores(transformer, deaf), scores(transformer, deaf, text=OTHER), atol=1e-5)
    assert abs(scores(transformer) - scores(transformer, text=OTHER)).max() > 1e-2


def test_scaled_heads_are_louder(attentive: Translator) -> None:
    before, after = seen(attentive), seen(attentive, ops.scale_head("cross", 0, 0, 3))
    # With input feeding a change reaches later queries, so only the first step has the same query.
    np.testing.assert_allclose(
        after.stages["cross", 0]["context"][0, 0],
        3 * before.stages["cross", 0]["context"][0, 0],
        rtol=1e-4,
        atol=1e-5,
    )
    np.testing.assert_allclose(
        scores(attentive, ops.scale_head("cross", "*", "*", 1)), scores(attentive), atol=1e-5
    )
    np.testing.assert_array_equal(
        scores(attentive, ops.scale_head("cross", "*", 0, 0)),
        scores(attentive, ops.mask_head("cross", "*", 0)),
    )


def test_a_masked_edge_leaves_its_weight_to_the_others(attentive: Translator) -> None:
    before = seen(attentive).weights["cross"][0, 0, 0]
    after = seen(attentive, ops.mask_edge("cross", 0, 0, q=0, k=[1, 2])).weights["cross"][0, 0, 0]
    left = before.copy()
    left[[1, 2]] = 0
    np.testing.assert_allclose(after, left / left.sum(), atol=1e-5)


@pytest.mark.parametrize("kind", ["cross", "enc_self", "dec_self"])
def test_a_set_row_looks_where_it_is_told(kind: Kind, transformer: Translator) -> None:
    after = seen(transformer, ops.set_row(kind, 0, 1, q=2, weights={0: 1, 2: 3})).weights[kind][0]
    np.testing.assert_allclose(after[1, 2, :3], [0.25, 0, 0.75], atol=1e-6)
    np.testing.assert_allclose(after[1, 2].sum(), 1, atol=1e-6)
    assert abs(after[0, 2, :3] - [0.25, 0, 0.75]).max() > 1e-3


def test_uniform_heads_look_everywhere_alike(transformer: Translator, luong: Translator) -> None:
    S = len(transformer.tokenizers.source.encode(TEXT)) + 1
    for one in (transformer, luong):
        weights = seen(one, ops.uniform("cross", "*", 0)).weights["cross"]
        np.testing.assert_allclose(weights[:, 0], 1 / S, atol=1e-6)
    causal = seen(transformer, ops.uniform("dec_self", 1, [0, 1])).weights["dec_self"][1, 0]
    T = len(causal)
    np.testing.assert_allclose(causal, np.tril(np.ones((T, T))) / np.arange(1, T + 1)[:, None], atol=1e-6)


def test_without_scale_the_scores_stay(transformer: Translator) -> None:
    after = seen(transformer, ops.no_scale("cross"))
    for layer in range(2):
        stages = after.stages["cross", layer]
        np.testing.assert_array_equal(stages["scaled"], stages["scores"])
    kept = after.stages["enc_self", 0]
    np.testing.assert_allclose(kept["scaled"], kept["scores"] / np.sqrt(8), atol=1e-5)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_positions_can_go_move_and_mix(positions: str, workshop) -> None:  # type: ignore[no-untyped-def]
    translator = workshop.translator(replace(workshop.small, positions=positions, max_positions=64))
    for side in ("source", "target"):
        before = scores(translator)
        assert abs(scores(translator, ops.no_positions(side)) - before).max() > 1e-3
        assert abs(scores(translator, ops.positions("shuffle", side, seed=1)) - before).max() > 1e-3
        np.testing.assert_allclose(scores(translator, ops.positions("shift", side)), before, atol=1e-5)
        moved = abs(scores(translator, ops.positions("shift", side, by=3)) - before).max()
        assert moved < 1e-4 if positions == "rotary" else moved > 1e-3  # rotary sees only distances


@pytest.mark.parametrize("arch", ["rnn", "luong"])
def test_the_bridge_of_a_model_that_sees_can_be_cut_and_swapped(arch: str) -> None:
    model = seeing(arch)
    one, other = picture(1), picture(2)
    bridge = compile_ops([ops.bridge("zero")], model, one).edits.bridge
    assert bridge is not None
    assert not bridge.any()
    swapped = compile_ops([ops.bridge("swap", other)], model, one).edits.bridge
    assert swapped is not None
    assert swapped.shape == bridge.shape
    assert swapped.any()


def test_without_source_positions_the_order_does_not_matter(transformer: Translator) -> None:
    gone = transformer.edited(compile_ops([ops.no_positions("encoder")], transformer, TEXT).edits)
    ids, target = transformer.tokenizers.source.encode(TEXT), transformer.tokenizers.target.encode(TARGET)
    one, other = log_probs(gone, [ids, ids[::-1]], target)
    np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("arch", ["rnn", "luong"])
def test_the_bridge_can_be_cut_swapped_and_averaged(arch: str, workshop) -> None:  # type: ignore[no-untyped-def]
    translator: Translator = workshop.translator(arch)
    finals = {
        text: capture(translator.model, [translator.tokenizers.source.encode(text)], [[300]])[0].states[
            "bridge"
        ]
        for text in (TEXT, OTHER)
    }

    def bridge(*given: Op) -> np.ndarray:
        return seen(translator, *given).states["bridge"]

    assert not bridge(ops.bridge("zero")).any()
    np.testing.assert_allclose(bridge(ops.bridge("swap", OTHER)), finals[OTHER], atol=1e-6)
    mean = (finals[TEXT] + finals[OTHER]) / 2
    np.testing.assert_allclose(bridge(ops.bridge("mean", f"{TEXT}\n\n{OTHER}\n")), mean, atol=1e-6)
    if arch == "rnn":  # the decoder gets nothing else
        np.testing.assert_allclose(
            scores(translator, ops.bridge("swap", OTHER)), scores(translator, text=OTHER), atol=1e-5
        )


def test_several_on_one_head_act_in_order(transformer: Translator) -> None:
    edits = compile_ops(
        [
            ops.scale_head("cross", 0, 0, 2),
            ops.scale_head("cross", 0, "*", 0.5),
            ops.mask_edge("cross", 0, 1, q=1, k=0),
            ops.mask_edge("cross", 0, 1, q=1, k=[0, 2]),
            ops.set_row("cross", 0, 1, 3, {0: 1}),
            ops.set_row("cross", 0, 1, 3, {1: 2, 2: 2}),
            ops.set_row("cross", 1, 0, 3, {0: 1}),
            ops.uniform("cross", 1, 0),
            ops.set_row("cross", 1, 0, 4, {0: 1}),
            ops.no_scale("enc_self"),
            ops.positions("shuffle", "decoder", seed=4),
            ops.positions("shift", "target", by=2),
        ],
        transformer,
        TEXT,
    ).edits
    assert edits == Edits(
        {
            ("cross", 0): AttentionEdit(
                factors=((0, 1.0), (1, 0.5)),
                cut=((1, 1, 0), (1, 1, 2)),
                rows=((1, 3, ((1, 0.5), (2, 0.5))),),
            ),
            ("cross", 1): AttentionEdit(rows=((0, 4, ((0, 1.0),)),), uniform=(0,)),
            ("enc_self", 0): AttentionEdit(scaled=False),
        },
        target_positions=PositionEdit("shift", by=2),
    )


def test_a_search_and_a_pass_see_the_same_model(attentive: Translator) -> None:
    given = [ops.mask_edge("cross", "*", "*", q=[1, 3], k=0), ops.set_row("cross", 0, 0, 2, {1: 1})]
    changed = attentive.edited(compile_ops(given, attentive, TEXT).edits)
    answer = changed.translate(TEXT)
    source = attentive.tokenizers.source.encode(TEXT)
    forced = log_probs(changed, [source], [token.id for token in answer.tokens])[0]
    np.testing.assert_allclose([token.logprob for token in answer.tokens], forced, atol=1e-4)


def test_answers_begin_avoid_and_contain_as_asked(translator: Translator) -> None:
    def answer(*given: Op, **options: object) -> str:
        compiled = compile_ops(given, translator, TEXT, options)
        return translator.edited(compiled.edits).translate(compiled.source.text, **compiled.options).text

    assert answer(ops.force_prefix("나는 영화")).startswith("나는 영화")
    ids = translator.tokenizers.target.encode("dog sees")
    assert answer(ops.force_prefix(ids)).startswith("dog sees")
    assert "horse" in answer(ops.require("horse"))
    plain = answer().replace(" ", "")
    common = max(plain, key=plain.count)
    assert common not in answer(ops.ban(common))
    both = answer(ops.ban(common), ban="a")
    assert common not in both
    assert "a" not in both


def test_options_of_the_call_are_kept(rnn: Translator) -> None:
    compiled = compile_ops(
        [ops.ban("x"), ops.ban("y"), ops.force_prefix(" a  b ")], rnn, TEXT, {"ban": "z", "beam": 3}
    )
    assert compiled.options == {
        "ban": ("z", "x", "y"),
        "beam": 3,
        "prefix": "a b",
        "long": "cut",
        "sentences": "as-is",
        "protect": False,
        "keep": (),
    }
    kept = {"long": "error", "sentences": "as-is", "protect": False, "keep": ()}
    assert compile_ops([], rnn, TEXT, {"long": "error"}).options == kept
    assert compile_ops([], rnn, TEXT).edits == Edits()


@pytest.mark.parametrize("kind", ["bpe", "char"])
def test_words_of_the_source_are_written_anew(kind: str, workshop) -> None:  # type: ignore[no-untyped-def]
    translator = workshop.translator("rnn", kind=kind)

    def text(*given: Op) -> str:
        return compile_ops(given, translator, "  the dog  sees 나는! 봤다. ").source.text

    assert text() == "the dog sees 나는! 봤다."
    assert text(ops.replace_source(1, "two cats")) == "the two cats sees 나는! 봤다."
    assert text(ops.replace_source(0, "")) == "dog sees 나는! 봤다."
    assert text(ops.replace_source(3, "너는")) == "the dog sees 너는! 봤다."
    assert text(ops.replace_source(0, "a b"), ops.replace_source(6, "?"), ops.replace_source(1, "c")) == (
        "a b c sees 나는! 봤다?"
    )


def test_leaving_the_scale_out_is_the_model_that_never_divides(workshop) -> None:  # type: ignore[no-untyped-def]
    """The what-if and the setting are one thing: the same weights give the same numbers."""
    scaled = workshop.translator("transformer")
    unscaled = workshop.translator(replace(workshop.small, scaled=False))
    edit = [ops.no_scale(kind) for kind in ("enc_self", "dec_self", "cross")]
    found, wanted = seen(scaled, *edit), seen(unscaled)
    for kind, weights in wanted.weights.items():
        np.testing.assert_allclose(found.weights[kind], weights, atol=1e-6)
