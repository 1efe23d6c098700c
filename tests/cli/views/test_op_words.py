"""Interventions as people type them: counted from 1, with errors that count so, too."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.cli.views.op_words import Sizes, read_op, read_ops
from jumok.errors import ConfigError
from jumok.explain.ops import (
    Op,
    ban,
    bridge,
    force_prefix,
    mask_edge,
    mask_head,
    no_scale,
    positions,
    replace_source,
    require,
    scale_head,
    set_row,
    uniform,
)

SIZES: Sizes = {"enc_self": (3, 4), "dec_self": (2, 4), "cross": (2, 4)}


@pytest.mark.parametrize(
    ("words", "op"),
    [
        ("mask_head kind=cross layer=2 head=1", mask_head("cross", 1, 0)),
        ("mask_head kind=enc_self layer=* head=1,3", mask_head("enc_self", "*", [0, 2])),
        ("scale_head kind=cross layer=1 head=* factor=0.5", scale_head("cross", 0, "*", 0.5)),
        ("mask_edge kind=cross layer=1 head=1 q=3 k=1,2", mask_edge("cross", 0, 0, 2, [0, 1])),
        (
            "set_row kind=cross layer=1 head=1 q=3 weights=1:1,4:0.5",
            set_row("cross", 0, 0, 2, {0: 1, 3: 0.5}),
        ),
        ("uniform kind=dec_self layer=2 head=4", uniform("dec_self", 1, 3)),
        ("no_scale kind=cross", no_scale("cross")),
        ("positions mode=shuffle side=target seed=7", positions("shuffle", "target", 7)),
        ("positions mode=shift by=-2", positions("shift", by=-2)),
        ("bridge mode=zero", bridge("zero")),
        ("bridge mode=swap text='5. März 2024'", bridge("swap", "5. März 2024")),
        ('force_prefix text="20 24"', force_prefix("20 24")),
        ("force_prefix ids=300,301", force_prefix([300, 301])),
        ("ban text=a text=b", ban("a", "b")),
        ("require text='a b'", require("a b")),
        ("replace_source unit=2 text=juni", replace_source(1, "juni")),
        ('{"op": "mask_head", "kind": "cross", "layer": 1, "head": 0}', mask_head("cross", 1, 0)),
    ],
)
def test_both_forms(words: str, op: Op) -> None:
    assert read_ops([words], SIZES) == (op,)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("", "unknown op ''", "write it like 'mask_head kind=cross layer=2 head=1', or as a JSON object"),
        ("mask_heads kind=cross", "unknown op 'mask_heads'", "did you mean 'mask_head'?"),
        ("mask_head cross", "mask_head: 'cross' is no field=value", "write it like"),
        ("mask_head kind=cros layer=1 head=1", "mask_head: kind is 'cros'", "did you mean 'cross'?"),
        ("mask_head kind=cross layer=0 head=1", "mask_head: layer=0: this counts from 1 here", ""),
        ("mask_head kind=cross layer=x head=1", "mask_head: layer=x: this counts from 1 here", ""),
        (
            "mask_head kind=cross layer=3 head=1",
            "mask_head: layer 3 does not exist: cross has 2 layers",
            "1 to 2",
        ),
        (
            "mask_head kind=cross layer=1 head=1,9",
            "mask_head: head 9 does not exist: cross has 4 heads",
            "1 to 4",
        ),
        (
            "mask_head kind=cross layer=1",
            "mask_head: head is missing",
            "give head: mask_head has kind, layer, head",
        ),
        (
            "mask_head kind=cross layer=1 heads=1 head=1",
            "mask_head: unknown field 'heads'",
            "did you mean 'head'?",
        ),
        (
            "scale_head kind=cross layer=1 head=1 factor=loud",
            "scale_head: factor=loud: this is no number",
            "",
        ),
        (
            "scale_head kind=cross layer=1 head=1 factor=nan",
            "scale_head: factor is nan",
            "it must be a number between",
        ),
        ("set_row kind=cross layer=1 head=1 q=1 weights=3", "set_row: weights=3: write key:weight", ""),
        ("positions mode=shift by=far", "positions: by=far: this is no whole number", ""),
        ("ban text='open", "cannot read this: No closing quotation", ""),
        ("bridge mode=zero mode=mean", "bridge: mode is ['zero', 'mean']", "it must be one of zero"),
        ('{"op": "ban"', "this is no JSON: ", "write it like"),
        ('{"op": "ban", "text": []}', "ban: text is []", "it must be a list of 1 to 128 texts"),
    ],
)
def test_what_cannot_be_read(words: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_op(words, SIZES)
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint
    assert caught.value.where.startswith("--what-if ")
    assert caught.value.code == "bad_parameter"


def test_a_kind_that_the_model_lacks_is_left_to_the_model() -> None:
    assert read_op("mask_head kind=cross layer=9 head=9", {}) == mask_head("cross", 8, 8)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ConfigError):
        assert read_op(text, SIZES).op in text
