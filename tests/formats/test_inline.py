from hypothesis import given
from hypothesis import strategies as st

from jumok.formats.inline import MarkupBuilder, render, shifted, stripped
from jumok.formats.segments import MarkedText, Tag

WORDS = st.sampled_from([" ", "a", "bc", "\n"])
STEPS = st.lists(st.tuples(st.sampled_from(["text", "open", "close", "point"]), WORDS), max_size=15)


@given(STEPS)
def test_what_was_built_is_written_as_it_came(steps: list[tuple[str, str]]) -> None:
    """Also what was never closed, or never opened."""
    builder, written = MarkupBuilder(), ""
    for n, (what, word) in enumerate(steps):
        raw = {"text": word, "open": f"<t{n}>", "close": f"</t{n}>", "point": f"<p{n}/>"}[what]
        written += raw
        getattr(builder, "add" if what == "text" else what)(raw)
    assert render(builder.build()) == written


def test_markup_without_text_is_one_point_and_what_ends_a_tag_stays_in_it() -> None:
    builder = MarkupBuilder()
    builder.open("<a>")
    builder.point("<img/>")
    builder.close("</a>")
    builder.open("<b>", keep=True)
    builder.add("x")
    builder.point("<br/>")
    builder.close("</b>")
    builder.open("<i>")
    builder.add("y")
    builder.close("</i>")
    assert builder.build() == MarkedText(
        "xy", (Tag(0, 0, "<a><img/></a>"), Tag(0, 1, "<b>", "<br/></b>", keep=True), Tag(1, 2, "<i>", "</i>"))
    )


def test_a_point_gets_what_belongs_to_it() -> None:
    builder = MarkupBuilder()
    assert not builder.lengthen_point(" ")
    builder.point("<img>")
    assert builder.lengthen_point(" ")
    builder.open("<b>")
    assert not builder.lengthen_point(" ")
    assert [tag.open for tag in builder.tags] == ["<img> ", "<b>"]


def test_text_is_escaped_and_markup_is_not() -> None:
    marked = MarkedText("a<b", (Tag(0, 3, "<i>", "</i>"),))
    assert render(marked, lambda text: text.replace("<", "&lt;")) == "<i>a&lt;b</i>"


def test_tags_in_tags_end_where_they_end_and_kept_text_is_written_in_its_own_way() -> None:
    code, inside = Tag(1, 4, "<c>", "</c>", keep=True), Tag(2, 3, "<i>", "</i>")
    marked = MarkedText("abcdef", (Tag(0, 5, "<b>", "</b>"), code, inside, Tag(4, 5, "<u>", "</u>")))
    assert render(marked) == "<b>a<c>b<i>c</i>d</c><u>e</u></b>f"
    assert render(marked, str.upper) == "<b>A<c>B<i>C</i>D</c><u>E</u></b>F"
    assert render(marked, str.upper, lambda text: f"({text})") == "<b>A<c>(b)<i>(c)</i>(d)</c><u>E</u></b>F"


def test_white_space_is_taken_off_and_put_back() -> None:
    before, inner, after = stripped(MarkedText(" ab ", (Tag(0, 4, "<i>", "</i>"), Tag(4, 4, "<br>"))))
    assert (before, inner, after) == (
        " ",
        MarkedText("ab", (Tag(0, 2, "<i>", "</i>"), Tag(2, 2, "<br>"))),
        " ",
    )
    assert shifted(inner, before, after).tags[0] == Tag(1, 3, "<i>", "</i>")
    assert shifted(inner, before, after).text == " ab "
