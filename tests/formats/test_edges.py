from hypothesis import given
from hypothesis import strategies as st

from jumok.formats.edges import joined, peeled
from jumok.formats.inline import MarkupBuilder, render
from jumok.formats.segments import MarkedText, Tag

STEPS = st.lists(st.sampled_from(["a", " b", "<i>", "<b>", "/", "!"]), max_size=14)


def built(steps: list[str]) -> MarkedText:
    builder, open = MarkupBuilder(), list[str]()
    for step in steps:
        if step == "/":
            if open:
                builder.close(f"</{open.pop()[1:]}")
        elif step == "!":
            builder.point("<br/>")
        elif step[0] == "<":
            open.append(step)
            builder.open(step)
        else:
            builder.add(step)
    while open:
        builder.close(f"</{open.pop()[1:]}")
    return builder.build()


@given(STEPS)
def test_what_is_peeled_off_and_what_is_left_are_the_whole(steps: list[str]) -> None:
    marked = built(steps)
    before, inner, after = peeled(marked)
    assert before + render(inner) + after == render(marked)
    assert not any((tag.begin, tag.end) == (0, len(marked.text)) for tag in inner.tags[:1])


@given(STEPS)
def test_joined_tags_are_the_same_text_in_fewer(steps: list[str]) -> None:
    marked = built(steps)
    one = joined(marked)
    assert one.text == marked.text
    assert render(one).replace("</i><i>", "").replace("</b><b>", "").count("<") <= render(marked).count("<")
    assert [tag for tag in joined(one).tags] == [tag for tag in one.tags]
    waiting: list[Tag] = []
    for tag in one.tags:  # nested or apart
        waiting = [other for other in waiting if other.end > tag.begin]
        assert all(tag.end <= other.end for other in waiting)
        waiting += [] if tag.is_point else [tag]


def test_equal_neighbours_are_one_unless_something_is_between() -> None:
    two = (Tag(0, 1, "<i>", "</i>"), Tag(1, 2, "<i>", "</i>"))
    assert joined(MarkedText("ab", two)).tags == (Tag(0, 2, "<i>", "</i>"),)
    apart = (two[0], Tag(1, 1, "<br/>"), two[1])
    assert joined(MarkedText("ab", apart)).tags == apart
    held = (Tag(0, 1, "<b>", "</b>"), *two)
    assert joined(MarkedText("ab", held)).tags == held
    inside = (Tag(0, 3, "<b>", "</b>"), Tag(0, 1, "<i>", "</i>"), Tag(1, 2, "<i>", "</i>"))
    assert joined(MarkedText("abc", inside)).tags == (inside[0], Tag(0, 2, "<i>", "</i>"))
    apart = (Tag(0, 1, "<b>", "</b>"), Tag(2, 3, "<i>", "</i>"), Tag(3, 4, "<i>", "</i>"))
    assert joined(MarkedText("abcd", apart)).tags == (apart[0], Tag(2, 4, "<i>", "</i>"))
    ended = (Tag(2, 3, "<br/>"), Tag(2, 3, "<i>", "</i>"), Tag(3, 4, "<i>", "</i>"))
    assert joined(MarkedText("abcd", ended)).tags == (ended[0], Tag(2, 4, "<i>", "</i>"))
    for other in (
        Tag(1, 2, "<i>", "</i>", keep=True),
        Tag(1, 2, "<i id='2'>", "</i>"),
        Tag(1, 2, "<i>", "</i >"),
    ):
        assert joined(MarkedText("ab", (two[0], other))).tags == (two[0], other)
