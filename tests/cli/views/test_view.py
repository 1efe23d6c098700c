"""The parts that all views are written with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.cli.views.view import choose, choose_one, columns, harmless, pick_style, short, size_of
from jumok.errors import ConfigError
from jumok.explain.heatmap import cells


def test_layers_and_heads_are_chosen_by_number_from_one() -> None:
    assert choose("layer", "1", 3) == 0
    assert choose("layer", "last", 3) == 2
    assert choose("head", "mean", 3) is None


@pytest.mark.parametrize("value", ["0", "4", "x", "last", "-1", "9" * 5000])
def test_a_head_that_is_not_there_is_refused_with_the_choices(value: str) -> None:
    with pytest.raises(ConfigError, match="this model has 3 heads here") as caught:
        choose("head", value, 3)
    assert caught.value.hint == "choose a number from 1 to 3, mean"


def test_the_mean_is_no_single_head() -> None:
    assert choose_one("layer", "last", 3) == 2
    with pytest.raises(ConfigError, match="--head mean: the steps are those of one head") as caught:
        choose_one("head", "mean", 3)
    assert caught.value.hint == "choose a number from 1 to 3"


def test_colour_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLORTERM", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert (pick_style("auto"), pick_style("blocks")) == ("colour", "blocks")
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert pick_style("colour") == "truecolour"
    monkeypatch.setenv("NO_COLOR", "1")
    assert pick_style("auto") == "blocks"


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
    ("number", "text"),
    [(0, "0"), (950, "950"), (1000, "1.00 k"), (1230, "1.23 k"), (999_999, "1.00 M"), (45.6e9, "45.6 G")],
)
def test_large_numbers_have_three_digits_and_a_unit(number: float, text: str) -> None:
    assert short(number) == text


def test_sizes_are_in_bytes() -> None:
    assert [size_of(n) for n in (128, 12_300)] == ["128 B", "12.3 kB"]


def test_only_colours_may_command_a_terminal() -> None:
    hostile = "a\x1b]0;title\x07b\x1b[2Jc\rd\x9b2Je"
    assert harmless(hostile) == "a\ufffd]0;title\ufffdb\ufffd[2Jc\ufffdd\ufffd2Je"
    ours = "\x1b[1mbold\x1b[0m\t한국어\n\u2066x\u2069"
    assert harmless(ours) == ours
