"""Interventions that a model or a text cannot take: each refusal says which one, and what there is."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.explain.test_edits import TEXT, scores

from jumok.decoding.translator import Translator
from jumok.edits import Edits
from jumok.errors import ConfigError, LimitError
from jumok.explain import edits as editing
from jumok.explain import ops
from jumok.explain.edits import compile_ops
from jumok.explain.ops import Op
from jumok.text.tokenizer import SPECIALS


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


def test_a_hint_says_how_many_there_are(transformer: Translator) -> None:
    for op, hint in (
        (ops.mask_head("cross", 2, 0), "cross has layers 0 to 1"),
        (ops.mask_head("cross", 0, [0, 2]), "cross has heads 0 to 1"),
        (ops.uniform("enc_self", 1, 0), "enc_self has layers 0 only"),
    ):
        assert refused(transformer, op).hint == hint
    assert refused(transformer, ops.replace_source(6, "a")).hint == "the source has words 0 to 5"
    assert refused(transformer, ops.replace_source(1, "a"), text="dog").hint == "the source has words 0 only"
    assert refused(transformer, ops.replace_source(0, "a"), text="").hint == "the source has no words"


def test_no_scale_needs_a_model_that_divides(workshop) -> None:  # type: ignore[no-untyped-def]
    unscaled = workshop.translator(replace(workshop.small, scaled=False))
    message = "no_scale: this model was trained with scaled=false and divides by no √d_k"
    assert refused(unscaled, ops.no_scale("cross")).message == message


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
