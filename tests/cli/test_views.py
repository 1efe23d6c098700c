"""The parts of what `jumok inspect` prints; whole pictures are tested in test_inspect.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.cli.views import choose, columns, describe, no_attention, short, size_of
from jumok.config import LuongConfig, RnnConfig, TransformerConfig
from jumok.errors import ConfigError
from jumok.explain.heatmap import cells


def test_a_model_is_described_in_words() -> None:
    words = list(describe(TransformerConfig()))
    assert words[:4] == ["transformer", "6+6 layers", "width 512", "8 heads"]
    assert "general score" in describe(LuongConfig())
    assert "encoder in one direction" in describe(RnnConfig())
    assert list(describe(RnnConfig(tied=False)))[-1] == "own output"


def test_layers_and_heads_are_chosen_by_number_from_one() -> None:
    assert choose("layer", "1", 3) == 0
    assert choose("layer", "last", 3) == 2
    assert choose("head", "mean", 3) is None


@pytest.mark.parametrize("value", ["0", "4", "x", "last"])
def test_a_head_that_is_not_there_is_refused_with_the_choices(value: str) -> None:
    with pytest.raises(ConfigError, match="this model has 3 heads here") as caught:
        choose("head", value, 3)
    assert caught.value.hint == "choose a number from 1 to 3, mean"


def test_a_model_without_attention_says_why() -> None:
    assert "one fixed vector" in no_attention("rnn", "cross")
    assert "no enc_self attention" in no_attention("luong", "enc_self")


@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8", categories=["L"])), min_size=3, max_size=3), min_size=1
    )
)
def test_columns_begin_at_the_same_cell_in_every_row(rows: list[list[str]]) -> None:
    marked = [[f"a{text}", f"b{text}", "c"] for text, *_ in rows]
    starts = {cells(line[: line.rindex("c")]) for line in columns(marked).split("\n")}
    assert len(starts) == 1


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (950, "950"), (1230, "1.23 k"), (999_999, "1.00 M"), (45.6e9, "45.6 G")]
)
def test_large_numbers_have_three_digits_and_a_unit(number: float, text: str) -> None:
    assert short(number) == text


def test_sizes_are_in_bytes() -> None:
    assert size_of(128) == "128 B"
    assert size_of(12_300) == "12.3 kB"
