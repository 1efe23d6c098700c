"""What each intervention does to a model, seen in its weights, its scores or its text."""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.explain.seeing import picture, seeing

from jumok.backends.recording import RecordingBackend
from jumok.decoding.translator import Translator
from jumok.edits import Edits, Kind, PositionEdit
from jumok.errors import ConfigError, LimitError
from jumok.explain import edits as editing
from jumok.explain import ops
from jumok.explain.capture import Captured, capture
from jumok.explain.edits import compile_ops
from jumok.explain.forced import log_probs
from jumok.explain.ops import Op
from jumok.nn.edit import AttentionEdit
from jumok.text.tokenizer import SPECIALS

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


def refused(translator: Translator, *given: Op, text: str = TEXT) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        compile_ops(given, translator, text)
    assert caught.value.code == "bad_parameter"
    assert caught.value.where == f"interventions[{len(given) - 1}]"
    assert (caught.value.field or "").startswith(f"interventions.{len(given) - 1}")
    return caught.value


@pytest.mark.parametrize(
    ("arch", "op", "message"),
    [
        (
            "transformer",
            ops.mask_head("cross", 2, 0),
            "mask_head: layer 2 does not exist",
        ),
        (
            "transformer",
            ops.uniform("enc_self", 1, 0),
            "uniform: layer 1 does not exist",
        ),
        (
            "transformer",
            ops.mask_head("cross", 0, [1, 2]),
            "mask_head: head 2 does not exist",
        ),
        (
            "transformer",
            ops.bridge("zero"),
            "bridge: a Transformer has no bridge: its decoder looks at all states of the encoder",
        ),
        (
            "luong",
            ops.mask_head("enc_self", 0, 0),
            "mask_head: this model (luong) has no enc_self attention",
        ),
        (
            "luong",
            ops.no_scale("cross"),
            "no_scale: Luong's attention does not divide its scores by √d_k, so none can be left out",
        ),
        (
            "luong",
            ops.no_positions("source"),
            "positions: a recurrent model (luong) knows the order from reading and has no positions",
        ),
        ("rnn", ops.mask_head("cross", 0, 0), "mask_head: this model (rnn) has no cross attention"),
        ("rnn", ops.no_scale("cross"), "no_scale: this model (rnn) has no cross attention"),
        (
            "rnn",
            ops.replace_source(6, "a"),
            "replace_source: unit 6 does not exist",
        ),
        ("rnn", ops.force_prefix([2]), "force_prefix: id 2 is no token of a text"),
        ("rnn", ops.bridge("swap", "a\nb"), 'bridge: text has 2 lines, and mode="swap" takes one'),
    ],
)
def test_what_a_model_cannot_do_is_said(arch: str, op: Op, message: str, workshop) -> None:  # type: ignore[no-untyped-def]
    assert refused(workshop.translator(arch), op).message == message


def test_no_scale_needs_a_model_that_divides(workshop) -> None:  # type: ignore[no-untyped-def]
    unscaled = workshop.translator(replace(workshop.small, scaled=False))
    message = "no_scale: this model was trained with scaled=false and divides by no √d_k"
    assert refused(unscaled, ops.no_scale("cross")).message == message


def test_leaving_the_scale_out_is_the_model_that_never_divides(workshop) -> None:  # type: ignore[no-untyped-def]
    """The what-if and the setting are one thing: the same weights give the same numbers."""
    scaled = workshop.translator("transformer")
    unscaled = workshop.translator(replace(workshop.small, scaled=False))
    edit = [ops.no_scale(kind) for kind in ("enc_self", "dec_self", "cross")]
    found, wanted = seen(scaled, *edit), seen(unscaled)
    for kind, weights in wanted.weights.items():
        np.testing.assert_allclose(found.weights[kind], weights, atol=1e-6)


def test_positions_need_a_model_that_has_them(workshop) -> None:  # type: ignore[no-untyped-def]
    bag = workshop.translator(replace(workshop.small, positions="none"))
    message = 'positions: this model was trained with positions="none" and has none to change'
    assert refused(bag, ops.no_positions()).message == message


def test_no_row_may_lose_every_key(transformer: Translator) -> None:
    S = len(transformer.tokenizers.source.encode(TEXT)) + 1
    every = range(S)
    found = refused(transformer, ops.mask_edge("cross", 0, 0, q=1, k=every))
    assert found.message == (
        f"mask_edge: position 1 of cross would lose every key it can look at (0 to {S - 1})"
    )
    assert compile_ops([ops.mask_edge("cross", 0, 0, q=1, k=every[1:])], transformer, TEXT).edits.attention
    refused(
        transformer, ops.mask_edge("cross", 0, 1, q=1, k=every[1:]), ops.mask_edge("cross", 0, "*", q=1, k=0)
    )
    refused(transformer, ops.mask_edge("dec_self", 0, 0, q=[5, 0], k=0))
    refused(transformer, ops.mask_edge("enc_self", 0, 0, q=S - 1, k=every))
    beyond = ops.mask_edge("enc_self", 0, 0, q=S, k=every)  # no such row, so nothing is lost
    np.testing.assert_allclose(scores(transformer, beyond), scores(transformer), atol=1e-5)


def test_a_set_row_needs_a_key_in_sight(transformer: Translator) -> None:
    S = len(transformer.tokenizers.source.encode(TEXT)) + 1
    found = refused(transformer, ops.set_row("cross", 0, 0, 2, {S: 1, 0: 0}))
    assert found.message == (
        f"set_row: position 2 of cross can look at 0 to {S - 1}, and no weight above 0 is there"
    )
    refused(transformer, ops.set_row("dec_self", 0, 0, 2, {3: 1}))


def test_ids_that_are_not_the_usual_ones_are_refused(rnn: Translator) -> None:
    tokenizer = rnn.tokenizers.target
    spelled = [next(i for i in range(tokenizer.size) if tokenizer.pieces([i]) == [c]) for c in "horse"]
    found = refused(rnn, ops.force_prefix(spelled))
    assert found.message.endswith("with other ids")
    assert found.hint == f"give {tokenizer.encode('horse')}, or the text"
    assert found.field == "interventions.0.ids"


def test_limits(transformer: Translator, rnn: Translator) -> None:
    many = ops.mask_edge("cross", "*", "*", q=range(128), k=range(1, 17))
    with pytest.raises(ConfigError, match="more than 262,144 links are masked"):
        compile_ops([many] * 64, transformer, TEXT)
    with pytest.raises(ConfigError, match="there are 65 interventions, and 64 is the most"):
        compile_ops([ops.ban("a")] * 65, transformer, TEXT)
    with pytest.raises(LimitError, match="bridge: text has .* tokens, and this model takes 24") as caught:
        compile_ops([ops.bridge("swap", "x y z " * 20)], rnn, TEXT)
    assert caught.value.code == "too_long"
    with pytest.raises(ConfigError, match="text has 65 lines, and 64 is the most"):
        compile_ops([ops.bridge("mean", "a\n" * 65)], rnn, TEXT)


def test_so_many_links_and_lines_are_the_most(
    transformer: Translator, rnn: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links count in every layer and head: 2 of them here, of 3 positions that look at 2."""
    few = ops.mask_edge("cross", "*", "*", q=range(3), k=range(2))
    monkeypatch.setattr(editing, "MOST_LINKS", 2 * 2 * 3 * 2 + 1)
    one_more = ops.mask_edge("cross", 0, 0, q=0, k=3)
    assert compile_ops([few, one_more], transformer, TEXT).edits.attention
    assert refused(transformer, few, one_more, one_more).message == (
        "mask_edge: more than 25 links are masked"
    )
    assert compile_ops([ops.bridge("mean", "a\n" * 64)], rnn, TEXT).edits.bridge is not None


def test_a_prefix_is_of_ids_that_texts_have(rnn: Translator) -> None:
    tokenizer = rnn.tokenizers.target
    first, last = len(SPECIALS), tokenizer.size - 1
    for id in (first - 1, last + 1):
        found = refused(rnn, ops.force_prefix([id]))
        assert found.message == f"force_prefix: id {id} is no token of a text"
        assert found.hint == f"tokens of texts have ids {first} to {last}"
        assert found.field == "interventions.0.ids"
    [text] = tokenizer.pieces([last])
    assert tokenizer.encode(text.strip()) == [last]
    assert compile_ops([ops.force_prefix([last])], rnn, TEXT).options["prefix"] == text.strip()


def test_interventions_are_given_together(rnn: Translator) -> None:
    once = rnn.edited(compile_ops([ops.bridge("zero")], rnn, TEXT).edits)
    with pytest.raises(ConfigError, match="this translator has interventions already"):
        compile_ops([ops.ban("a")], once, TEXT)
    assert compile_ops([], once, TEXT).edits == Edits()


def test_nothing_left_of_a_source_is_refused(rnn: Translator) -> None:
    assert refused(rnn, ops.replace_source(0, " "), text="dog").message == (
        "replace_source: nothing is left of the source"
    )
    assert refused(rnn, ops.replace_source(0, "a"), text="").message == (
        "replace_source: unit 0 does not exist"
    )


def test_a_long_source_counts_only_what_the_model_reads(workshop) -> None:  # type: ignore[no-untyped-def]
    short = workshop.translator("transformer", max_length=4)
    long_text: Sequence[str] = ["one two three four"] * 3
    refused(short, ops.mask_edge("cross", 0, 0, q=0, k=range(5)), text=" ".join(long_text))
