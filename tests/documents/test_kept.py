from hypothesis import given
from tests.documents.test_projection import balanced, is_nested, linked, markup

from jumok.documents.kept import is_kept, restored
from jumok.documents.projection import project
from jumok.formats.inline import render
from jumok.formats.segments import MarkedText, Tag


@given(linked())
def test_kept_text_stands_unchanged_in_its_tag_whatever_the_model_writes(case: tuple) -> None:  # type: ignore[type-arg]
    source, target, links = case
    found, _ = restored(source, project(source, target, links).target)
    assert markup(found.tags) == markup(source.tags)
    assert is_nested(found.tags)
    assert balanced(render(found))
    texts = {tag.open: source.text[tag.begin : tag.end].strip() for tag in source.tags if is_kept(tag)}
    outer = [tag for tag in found.tags if is_kept(tag)]
    alone = [
        tag
        for tag in outer
        if not any(other != tag and tag.begin <= other.end and other.begin <= tag.end for other in outer)
    ]
    for tag in alone:
        assert found.text[tag.begin : tag.end] == texts[tag.open]


def test_what_was_changed_is_told_and_the_rest_moves() -> None:
    source = MarkedText("run ls now", (Tag(4, 6, "<c>", "</c>", keep=True), Tag(7, 10, "<b>", "</b>")))
    target = MarkedText(
        "start list jetzt", (Tag(6, 10, "<c>", "</c>", keep=True), Tag(11, 16, "<b>", "</b>"))
    )
    found, changed = restored(source, target)
    assert render(found) == "start <c>ls</c> <b>jetzt</b>"
    assert changed == ["ls"]
    assert restored(source, found) == (found, [])


def test_tags_around_and_inside_what_is_kept() -> None:
    around, inside = Tag(0, 9, "<a>", "</a>"), Tag(2, 3, "<i>", "</i>")
    source = MarkedText("x code yz", (around, Tag(2, 6, "<c>", "</c>", keep=True)))
    target = MarkedText("x abc yzz", (around, Tag(2, 5, "<c>", "</c>", keep=True), inside, Tag(5, 5, "<br>")))
    found, _ = restored(source, target)
    assert render(found) == "<a>x <c><i>code</i></c><br> yzz</a>"


def test_a_tag_that_begins_where_what_is_kept_ends_moves_with_it() -> None:
    source = MarkedText("lsnow", (Tag(0, 2, "<c>", "</c>", keep=True), Tag(2, 5, "<b>", "</b>")))
    target = MarkedText("listjetzt", (Tag(0, 4, "<c>", "</c>", keep=True), Tag(4, 9, "<b>", "</b>")))
    found, _ = restored(source, target)
    assert render(found) == "<c>ls</c><b>jetzt</b>"


def test_tags_beside_what_is_kept_and_points_inside_it() -> None:
    source = MarkedText("ab ls", (Tag(0, 2, "<b>", "</b>"), Tag(3, 5, "<c>", "</c>", keep=True)))
    beside, point = Tag(0, 3, "<b>", "</b>"), Tag(4, 4, "<br>")
    target = MarkedText("abclist x", (beside, Tag(3, 7, "<c>", "</c>", keep=True), point, Tag(8, 8, "<p>")))
    found, changed = restored(source, target)
    assert found == MarkedText(
        "abcls x", (beside, Tag(3, 5, "<c>", "</c>", keep=True), Tag(3, 3, "<br>"), Tag(6, 6, "<p>"))
    )
    assert changed == ["ls"]


def test_a_tag_more_than_there_was_keeps_what_it_has() -> None:
    code = Tag(0, 2, "<c>", "</c>", keep=True)
    twice = MarkedText("xyz", (Tag(0, 1, "<c>", "</c>", keep=True), Tag(1, 3, "<c>", "</c>", keep=True)))
    found, changed = restored(MarkedText("ls", (code,)), twice)
    assert (render(found), changed) == ("<c>ls</c><c>yz</c>", ["ls"])
    other = MarkedText("xyz", (Tag(0, 3, "<c>", "</c>"),))
    assert restored(MarkedText("ls", (code,)), other) == (other, [])
