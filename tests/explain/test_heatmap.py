"""The heat map of the terminal: aligned in every script, exact in what it says."""

import re
from unicodedata import east_asian_width

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from jumok.explain.heatmap import (
    SHADES_24,
    SHADES_256,
    Down,
    Style,
    cells,
    clusters,
    heat_map,
    hundredths,
    legend,
    mark,
    merge_words,
    paint,
    panels,
    shorten,
    strongest,
)

DATE = list("Wednesday,␣the␣21st␣of␣September␣2016␣at␣17:05")


def focused(rows: list[int], columns: int, peak: float = 0.8) -> NDArray[np.float64]:
    """Row t gives `peak` to column rows[t] and shares the rest."""
    weights = np.full((len(rows), columns), (1 - peak) / max(columns - 1, 1))
    weights[np.arange(len(rows)), rows] = peak
    return weights


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_korean_words_stand_over_their_columns() -> None:
    text = heat_map(["나는", "어제", "영화를", "."], ["movie", "yesterday", "."], focused([2, 1, 3], 4))
    assert text.splitlines() == [
        "           나는  어제  영화를  .",
        "movie       ░░    ░░     ██    ░░",
        "yesterday   ░░    ██     ░░    ░░",
        ".           ░░    ░░     ░░    ██",
        "strongest: movie←영화를 0.80 · yesterday←어제 0.80 · .←. 0.80",
        "weight:    · less  ░ from 0.04  ▒ from 0.16  ▓ from 0.36  █ from 0.64",
    ]


def test_shades_of_256_colours_grow_lighter() -> None:
    """16 to 231 are a cube of 6 × 6 × 6: red, green, blue."""
    steps = (0, 95, 135, 175, 215, 255)
    light = []
    for shade in SHADES_256[1:]:
        assert shade is not None
        assert 16 <= shade <= 231
        red, green, blue = (steps[(shade - 16) // size % 6] for size in (36, 6, 1))
        light.append(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    assert light == sorted(light)


def test_shades_of_256_colours_are_neighbours_in_the_cube() -> None:
    """No channel jumps from one shade to the next, so none stands out from the row."""
    cube = [[(shade - 16) // size % 6 for size in (36, 6, 1)] for shade in SHADES_256[1:] if shade]
    assert np.abs(np.diff(cube, axis=0)).max() == 1


# matplotlib's map at each ninth, as plotly publishes it. Ours begins darker, and is straight between sixths.
PLASMA = ("0d0887", "46039f", "7201a8", "9c179e", "bd3786", "d8576b", "ed7953", "fb9f3a", "fdca26", "f0f921")


@pytest.mark.parametrize("ninths", range(2, 10))
def test_true_colours_are_those_of_plasma(ninths: int) -> None:
    """The square root of a weight is the place in the map."""
    painted = paint("x", (ninths / 9) ** 2, "truecolour")
    found = np.array([int(number) for number in painted.split(";")[2:5]])
    apart = np.abs(found - list(bytes.fromhex(PLASMA[ninths]))).max()
    assert apart <= (0 if ninths % 3 == 0 else 12)


def test_a_date_of_46_characters_fits_100_cells_as_a_picture() -> None:
    lines = heat_map(DATE, list("2016"), focused([33, 34, 35, 36], 46, 0.9)).splitlines()
    assert lines[0] == "   " + " ".join(DATE)
    assert lines[1].startswith("2  " + "· " * 33 + "██" + "· ")
    assert max(map(cells, lines)) <= 100


def test_narrow_terminals_get_one_cell_per_piece_then_panels() -> None:
    weights = focused([33], 46)
    assert heat_map(DATE, ["2"], weights, width=60).splitlines()[0] == "   " + "".join(DATE)
    panels = heat_map(DATE, ["2"], weights, width=30).splitlines()
    assert panels[0] == "   " + "".join(DATE[:23])
    assert panels[2] == ""
    assert panels[3] == "   " + "".join(DATE[23:])
    assert "█" in panels[4]


def test_long_labels_are_written_downwards_when_they_do_not_fit() -> None:
    source = ["하나", "two", "internationalisation"] * 8
    lines = heat_map(source, ["a"], focused([1], 24), width=60).splitlines()
    assert len(lines) == 12 + 1 + 2
    assert lines[10].lstrip().startswith("하w n")
    assert lines[11].lstrip().startswith("나o ⋮")


def test_right_to_left_labels_keep_their_columns() -> None:
    header = heat_map(list("٢١"), ["2"], focused([0], 2)).splitlines()[0]
    assert header == "   ٢\u200e ١\u200e"
    assert cells(header) == 6


def test_digits_are_rounded_tenths() -> None:
    weights = np.array([[0.04, 0.05, 0.44, 0.86, 1.0]])
    row = heat_map(list("abcde"), ["x"], weights, style="digits").splitlines()[1]
    assert row == "x  · 1 4 9 9"
    assert legend("digits") == "weight:    tenths, rounded; · below 0.05; 9 from 0.85"


@pytest.mark.parametrize(
    ("weight", "expected"),
    [(0.0, "· "), (0.039, "· "), (0.04, "░░"), (0.16, "▒▒"), (0.36, "▓▓"), (0.64, "██"), (1.0, "██")],
)
def test_blocks_change_where_the_legend_says(weight: float, expected: str) -> None:
    assert mark(weight, "blocks", 2) == expected


@pytest.mark.parametrize("style", ["colour", "truecolour"])
def test_colour_shows_the_numbers_of_words(style: Style) -> None:
    text = heat_map(
        ["나는", "어제"], ["I", "yesterday"], np.array([[0.999, 0.001], [0.25, 0.75]]), style=style
    )
    assert plain(text).splitlines()[1:3] == ["I           1.0    ·   ", "yesterday   .25   .75  "]
    assert text.count("\x1b[48;") == 3 + 5  # three cells above zero, five in the legend
    assert paint("  ", 0.0, style) == "  "


def test_a_whole_picture_in_colours() -> None:
    """The square root of a weight chooses the shade; dark ink from 0.7, numbers where there is room."""
    text = heat_map(["나는", "a"], ["I", "you"], np.array([[0.25, 0.75], [0.0, 1.0]]), style="colour")
    assert text.split("\n") == [
        "     나는  a",
        "I    \x1b[48;5;127;97m .25  \x1b[0m\x1b[48;5;215;30m.75 \x1b[0m",
        "you  \x1b[2m  ·   \x1b[0m\x1b[48;5;222;30m1.0 \x1b[0m",
        "strongest: you←a 1.00 · I←a 0.75",
        "weight:    \x1b[48;5;17;97m  \x1b[0m 0.01  \x1b[48;5;18;97m  \x1b[0m 0.05  "
        "\x1b[48;5;91;97m  \x1b[0m 0.20  \x1b[48;5;204;30m  \x1b[0m 0.50  "
        "\x1b[48;5;222;30m  \x1b[0m 1.00",
    ]
    close = heat_map(["ab", "cd"], ["I"], np.array([[0.25, 0.75]]), style="colour", width=9)
    assert close.split("\n")[1] == "I  \x1b[48;5;127;97m   \x1b[0m\x1b[48;5;215;30m   \x1b[0m"


@pytest.mark.parametrize(
    ("weight", "begins"),
    [
        (0.0024, "\x1b[2mx"),
        (0.0025, "\x1b[48;5;17;97m"),
        (0.49, "\x1b[48;5;204;97m"),
        (0.491, "\x1b[48;5;204;30m"),
    ],
)
def test_where_colours_begin_and_ink_turns_dark(weight: float, begins: str) -> None:
    assert paint("x", weight, "colour").startswith(begins)


def test_texts_stand_beside_the_labels() -> None:
    lines = heat_map(["ab"], ["x", "한글"], np.array([[1.0], [0.2]]), beside=[" 5%", "10%"]).split("\n")
    assert lines[:3] == ["          ab", "x     5%  ██", "한글 10%  ▒▒"]


def test_labels_of_24_cells_and_of_12_characters_are_whole() -> None:
    lines = heat_map(["a" * 24, "b" * 25], ["c" * 24, "d" * 25], np.full((2, 2), 0.5)).split("\n")
    assert lines[0] == " " * 26 + "a" * 24 + "  " + "b" * 23 + "…"
    assert lines[1].startswith("c" * 24 + "   ")
    assert lines[2].startswith("d" * 23 + "…  ")
    down = heat_map(["abcdefghijkl", "abcdefghijklm"], ["x"], np.full((1, 2), 0.5), width=8).split("\n")
    assert down[:12] == [*(f"   {one} {one}" for one in "abcdefghijk"), "   l ⋮"]
    assert down[12] == "x  ▓▓▓▓"


def test_panels_are_of_about_equal_size() -> None:
    found = panels(["x"] * 50, 20)
    assert [columns for _, columns in found] == [slice(0, 17), slice(17, 34), slice(34, 51)]
    assert [len(layout.labels) for layout, _ in found] == [17, 17, 16]
    for room, cell in ((100, 2), (99, 1)):  # two cells for each character, where they fit into one panel
        [(layout, _)] = panels(["x"] * 50, room)
        assert isinstance(layout, Down)
        assert layout.cell == cell
    wide = panels(["한"] * 50, 99)
    assert [columns for _, columns in wide] == [slice(0, 25), slice(25, 50)]
    assert len(panels(["x"] * 3, 0)) == 3


def test_hundredths_take_three_cells_at_most() -> None:
    assert [hundredths(w) for w in (0.004, 0.07, 0.92, 0.996, 1.0)] == ["·", ".07", ".92", "1.0", "1.0"]


def test_strongest_names_different_links() -> None:
    weights = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    assert strongest(["a", "b"], ["x", "x", "y"], weights) == "strongest: x←a 0.90 · y←b 0.70"
    alike = strongest(["a"], list("wxyz"), np.full((4, 1), 0.5))
    assert alike == "strongest: w←a 0.50 · x←a 0.50 · y←a 0.50"  # three, in their order


def test_cells_of_wide_and_combining_characters() -> None:
    assert [cells(text) for text in ("a", "한", "日本", "é", "e\u0301", "한", "👍")] == [1, 2, 4, 1, 1, 2, 2]
    assert clusters("e\u0301한") == ["e\u0301", "한"]
    assert shorten("안녕하세요", 7) == "안녕하…"
    assert shorten("안녕", 4) == "안녕"


def test_labels_must_fit_the_weights() -> None:
    with pytest.raises(ValueError, match=r"weights \(1, 2\) do not fit 1 target, 3 source labels"):
        heat_map(["a", "b", "c"], ["x"], np.ones((1, 2)))
    assert heat_map([], [], np.ones((0, 0))) == ""


LABELS = st.lists(st.text("abc한국日é,٢", min_size=1, max_size=5), min_size=1, max_size=30)


@given(LABELS, LABELS, st.integers(20, 120), st.sampled_from(["blocks", "digits", "colour", "truecolour"]))
def test_every_weight_has_a_mark_and_no_line_is_wider_than_asked(
    source: list[str], target: list[str], width: int, style: Style
) -> None:
    weights = np.full((len(target), len(source)), 1.0)
    lines = plain(heat_map(source, target, weights, style=style, width=width)).splitlines()[:-2]
    assert max(map(cells, lines)) <= width
    if style == "blocks":
        assert sum(line.count("█") for line in lines) in (weights.size, 2 * weights.size)


@st.composite
def partitions(draw: st.DrawFn, size: int) -> list[list[int]]:
    cuts = sorted(draw(st.sets(st.integers(1, size - 1)))) if size > 1 else []
    return [list(range(a, b)) for a, b in zip([0, *cuts], [*cuts, size], strict=True)]


@given(st.data(), st.integers(1, 8), st.integers(1, 8), st.integers(0, 99))
def test_merging_words_keeps_rows_summing_to_one(data: st.DataObject, T: int, S: int, seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(S), size=(2, T))  # (2, T, S)
    target, source = data.draw(partitions(T)), data.draw(partitions(S))
    merged = merge_words(weights, source, target)
    assert merged.shape == (2, len(target), len(source))
    np.testing.assert_allclose(merged.sum(axis=-1), 1)


def test_merging_sums_keys_and_averages_queries() -> None:
    weights = np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]])
    np.testing.assert_allclose(merge_words(weights, [[0, 1], [2]], [[0, 1]]), [[0.525, 0.475]])


def test_block_marks_are_one_cell_where_ambiguous_width_is_narrow() -> None:
    assert all(east_asian_width(mark) in "AN" and cells(mark) == 1 for mark in "·░▒▓█␣…⋮←")


def test_syllables_are_written_across_without_gaps_where_wide_columns_do_not_fit() -> None:
    labels = ["화", "요일", "오후", "8", "시"]
    lines = heat_map(labels, ["a"], np.full((1, 5), 0.2), width=20).splitlines()
    assert lines[0] == "   화요일오후8 시"
    assert len(lines[1]) <= 20
    letters = ["Sep", "tem", "ber", "14"]
    assert heat_map(letters, ["a"], np.full((1, 4), 0.25), width=18).splitlines()[0] == "   Sep tem ber 14"


@pytest.mark.parametrize("style", ["colour", "truecolour"])
def test_every_shade_stands_for_some_weight_and_the_last_for_all_of_it(style: Style) -> None:
    found = [paint("x", weight, style) for weight in np.linspace(0, 1, 4001)]
    shades = list(dict.fromkeys(re.sub(r";(30|97)m.*", "", text) for text in found))
    if style == "colour":
        assert shades[1:] == [f"\x1b[48;5;{shade}" for shade in SHADES_256[1:]]
    else:
        assert shades[-1] == "\x1b[48;2;" + ";".join(map(str, SHADES_24[-1]))
        assert len(shades) > 200
    assert paint("x", 7.0, style) == found[-1]
