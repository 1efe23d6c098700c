import re

from hypothesis import given
from hypothesis import strategies as st

from jumok.formats.runs import RunItem, RunMark, RunText, join_runs, write_runs
from jumok.formats.segments import MarkedText, Tag

ITEMS = st.lists(
    st.one_of(
        st.builds(RunText, st.sampled_from(["a", "bc", " ", "d e"]), st.sampled_from(["", "B", "I"])),
        st.just(RunMark("<p/>")),
        st.just(RunMark("<l>", "open")),
    ),
    max_size=12,
)


def run(text: str, format: str) -> str:
    return f"[{format}:{text}]"


def closed(items: list[RunItem]) -> list[RunItem]:
    """Every holder that is opened is closed at the end."""
    return items + [
        RunMark("</l>", "close") for one in items if isinstance(one, RunMark) and one.side == "open"
    ]


@given(ITEMS)
def test_runs_come_back_with_their_formatting_and_marks(items: list[RunItem]) -> None:
    """Character by character, but for white space, which takes the formatting of what is before it."""
    items = closed(items)
    found = join_runs(items)
    written = found.write(found.marked, run)
    said = [
        (one, run[0]) for run in re.findall(r"\[(\w?):([^\]]*)\]", written) for one in run[1] if one != " "
    ]
    expected = [
        (sign, one.format) for one in items if isinstance(one, RunText) for sign in one.text if sign != " "
    ]
    assert said == expected
    assert re.findall("<[^>]*>", written) == [one.raw for one in items if isinstance(one, RunMark)]


def test_the_commonest_formatting_is_the_ground() -> None:
    found = join_runs([RunText("a", "B"), RunText("long text", ""), RunText("b", "B")])
    assert found.ground == ""
    assert [(tag.begin, tag.end, tag.open) for tag in found.marked.tags] == [(0, 1, "B"), (10, 11, "B")]


def test_a_formatting_goes_on_over_a_point() -> None:
    found = join_runs(
        [RunText("plain text ", ""), RunText("a", "B"), RunMark("<p/>"), RunText("b", "B"), RunText("c", "")]
    )
    assert [(tag.begin, tag.end) for tag in found.marked.tags] == [(11, 13), (12, 12)]


def test_formattings_that_do_not_differ_are_the_first_of_them() -> None:
    found = join_runs([RunText("a", "B1"), RunText("b", "B2")], lambda format: format[:1])
    assert (found.ground, found.marked.tags) == ("B1", ())


def test_a_tag_that_reaches_out_ends_with_the_one_around_it() -> None:
    marked = MarkedText("abcd", (Tag(0, 2, "<l>", "</l>"), Tag(1, 4, "B", "</run>")))
    assert write_runs(marked, "", run) == "<l>[:a][B:b]</l>[:cd]"
    nested = MarkedText("abcd", (Tag(0, 4, "B", "</run>"), Tag(1, 2, "I", "</run>")))
    assert write_runs(nested, "", run) == "[B:a][I:b][B:cd]"
    out = MarkedText("abcd", (Tag(0, 4, "<l>", "</l>"), Tag(0, 2, "<m>", "</m>"), Tag(1, 3, "<n>", "</n>")))
    assert write_runs(out, "", run) == "<l><m>[:a]<n>[:b]</n></m>[:cd]</l>"


def tags(*items: RunItem) -> list[tuple[int, int, str, str]]:
    return [
        (tag.begin, tag.end, tag.open, tag.close)
        for tag in join_runs([RunText("plain ", ""), *items]).marked.tags
    ]


def test_what_holds_runs_is_a_tag_and_ends_a_formatting() -> None:
    link, end, point = RunMark("<l>", "open"), RunMark("</l>", "close"), RunMark("<p/>")
    bold, more = RunText("a", "B"), RunText("b", "")
    assert tags(link, more, end, more) == [(6, 7, "<l>", "</l>")]
    assert tags(bold, link, bold, end, more) == [
        (6, 7, "B", "</run>"),
        (7, 8, "<l>", "</l>"),
        (7, 8, "B", "</run>"),
    ]
    assert tags(bold, point, link, bold, end, more)[:2] == [(6, 7, "B", "</run>"), (7, 7, "<p/>", "")]
    assert tags(bold, point, point, bold, more) == [
        (6, 8, "B", "</run>"),
        (7, 7, "<p/>", ""),
        (7, 7, "<p/>", ""),
    ]
    assert tags(bold, point, more) == [(6, 7, "B", "</run>"), (7, 7, "<p/>", "")]
    assert tags(more, bold, point) == [(7, 8, "B", "</run>")]


def test_white_space_is_formatted_as_what_stands_before_it() -> None:
    bold, space, more = RunText("a", "B"), RunText(" ", "I"), RunText("b", "")
    assert tags(bold, space, more) == [(6, 8, "B", "</run>")]
    assert tags(bold, RunMark("<p/>"), space, more) == [(6, 8, "B", "</run>"), (7, 7, "<p/>", "")]
    assert tags(more, RunMark("<l>", "open"), space, RunText("c", "B"), RunMark("</l>", "close"), more) == [
        (7, 9, "<l>", "</l>"),
        (7, 8, "I", "</run>"),
        (8, 9, "B", "</run>"),
    ]
