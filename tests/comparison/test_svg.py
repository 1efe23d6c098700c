"""Small pieces of SVG."""

from hypothesis import given
from hypothesis import strategies as st

from jumok.comparison.svg import Size, clip, esc, picture, spot, text_at, tip, tone_of, width_of
from tests.comparison.reading import Reader


@given(st.text(st.characters(codec=None)))
def test_any_text_means_itself(text: str) -> None:
    found = Reader(f"<p>{esc(text)}</p>").elements
    assert [name for name, _, _ in found] == ["p"]
    assert not set("<>\x00\x07") & set(esc(text))
    esc(text).encode()


@given(st.text(max_size=60), st.floats(20, 400))
def test_a_clipped_text_fits_and_is_a_beginning(text: str, pixels: float) -> None:
    found = clip(text, pixels)
    assert width_of(found) <= max(pixels, width_of("…"))
    assert found == text or text.startswith(found.removesuffix("…"))


def test_wide_letters_are_wide() -> None:
    assert width_of("한국") > 1.5 * width_of("ab")


def test_a_tip_stays_inside_its_picture() -> None:
    size = Size(300, 200)
    for x, y in ((0, 0), (300, 0), (300, 200), (150, 100)):
        ((box, _),) = Reader(tip(x, y, ["name", "a longer line"], size)).all("rect")
        left, top, wide, tall = (float(box[name]) for name in ("x", "y", "width", "height"))
        assert left >= 0
        assert left + wide <= 300
        assert top >= 0
        assert top + tall <= 200


def test_a_picture_is_named_and_described() -> None:
    found = Reader(
        picture("fig", "A <title>", "What it shows", Size(10, 10), text_at(1, 2, "a & b", "tick", "end"))
    )
    ((svg, _),) = found.all("svg")
    assert (svg["aria-labelledby"], svg["aria-describedby"]) == ("fig-wide-t", "fig-wide-d")
    assert found.all("title", id="fig-wide-t")[0][1] == "A <title>"
    assert found.all("desc", id="fig-wide-d")[0][1] == "What it shows"
    assert found.all("text")[0] == ({"class": "tick", "x": "1", "y": "2", "text-anchor": "end"}, "a & b")


def test_marks_differ_without_colour() -> None:
    assert len({spot(0, 0, tone) for tone in range(4)}) == 4
    assert "hollow" in spot(0, 0, 0, hollow=True)
    assert [tone_of(tone) for tone in (0, 5, 6)] == ["c1", "c6", "c1"]
