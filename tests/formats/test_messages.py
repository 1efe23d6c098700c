from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.laws import upper

from jumok.errors import DataError
from jumok.formats import messages
from jumok.formats.inline import render
from jumok.formats.messages import ask, cases, check_size, marked_string, read_catalogue
from jumok.formats.segments import MarkedText, Segment, Tag


def asked(
    text: str, answer: Callable[[MarkedText], MarkedText | None], target: str | None = None
) -> tuple[list[Segment], str | None]:
    """What is asked for a string, and what becomes of it."""
    asking, seen = ask(text, "key", target), list[Segment]()
    reply: MarkedText | None = None
    while True:
        try:
            segment = asking.send(reply)
        except StopIteration as end:
            return seen, end.value
        seen.append(segment)
        reply = answer(segment.source)


def capitals(marked: MarkedText) -> MarkedText:
    return MarkedText(upper(marked.text), marked.tags)


def test_a_string_is_one_text_and_its_white_space_stays() -> None:
    seen, new = asked("  Hello\n", capitals)
    assert [one.source.text for one in seen] == ["Hello"]
    assert new == "  HELLO\n"


@pytest.mark.parametrize("text", ["", "12 %", "<b>1</b>", "  "])
def test_without_words_nothing_is_asked(text: str) -> None:
    assert asked(text, capitals) == ([], None)


def test_tags_in_pairs_or_alone_are_markup_and_other_brackets_are_text() -> None:
    assert marked_string("A <b>b</b><br>c <file> <x/> 1 < 2") == MarkedText(
        "A bc <file>  1 < 2", (Tag(2, 3, "<b>", "</b>"), Tag(3, 3, "<br>"), Tag(12, 12, "<x/>"))
    )
    assert marked_string("<code>ls</code> lists").tags[0].keep
    assert marked_string("<x/>a</x> <br>b</br>").text == "a</x> b"
    assert marked_string("<i>a<b>b</i>c</b>").tags == (Tag(0, 5, "<i>", "</i>"),)


@given(st.text(st.sampled_from("<>/bi a{},")))
def test_any_string_comes_back(text: str) -> None:
    assert render(marked_string(text)) == text
    assert asked(text, lambda marked: marked)[1] in (None, text)
    if parts := cases(text):
        assert "".join(parts) == text


def test_cases_of_a_choice_are_texts() -> None:
    text = "{n, plural, offset:1 =0 {no files} one {# file} other {{g, select, f {her files} other {files}}}}"
    seen, new = asked(text, capitals)
    assert [(one.source.text, one.where) for one in seen] == [
        ("no files", "key, =0"),
        ("# file", "key, one"),
        ("her files", "key, f"),
        ("files", "key, other"),
    ]
    assert (
        new
        == "{n, plural, offset:1 =0 {NO FILES} one {# FILE} other {{g, select, f {HER FILES} other {FILES}}}}"
    )


def test_a_choice_among_words_stays_as_a_point() -> None:
    seen, new = asked("You have {n, plural, one {# file} other {# files}} now", capitals)
    assert [one.source.text for one in seen] == ["You have  now"]
    assert new == "YOU HAVE {n, plural, one {# file} other {# files}} NOW"


@pytest.mark.parametrize(
    "text",
    [
        "{n, plural, one {a}",
        "{n, plural, one {a",
        "{n, plural, one {a} other {b",
        "{n, plural, }",
        "{n, plural, one {'{' x} y",
        "{name} hi",
    ],
)
def test_what_only_looks_like_a_choice_is_none(text: str) -> None:
    assert cases(text) == []


def test_quoted_braces_are_text() -> None:
    assert cases("{n, select, a {'{x}'} other {b}}")[1::2] == ["'{x}'", "b"]
    for text in ("x '{' y", "x '}' y", "it's '}}' and '{'"):
        assert cases(f"{{n, select, a {{{text}}} other {{b}}}}")[1::2] == [text, "b"]


def test_cases_that_are_nested_too_deeply_are_one_text() -> None:
    text = "x"
    for _ in range(30):
        text = f"{{n, select, other {{{text}}}}}"
    assert len(cases(text)) == 3


def test_what_has_a_translation_says_so() -> None:
    seen, new = asked("Open", lambda _: None, "Auf <b>x</b>")
    assert (seen[0].target, new) == (MarkedText("Auf x", (Tag(4, 5, "<b>", "</b>"),)), None)


def test_a_catalogue_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MOST_BYTES", 10)
    path = tmp_path / "a.json"
    path.write_bytes(b'{"a": "hello there"}')
    with pytest.raises(
        DataError, match="has 20 bytes; a catalogue is read whole, up to 10\n.*a.json\n  divide it"
    ):
        read_catalogue(path)


def test_a_catalogue_of_64_mib_is_read_and_a_byte_more_is_not(tmp_path: Path) -> None:
    """As the page about formats says; the file is all hole."""
    path = tmp_path / "a.json"
    for size in (64 * 1024 * 1024, 64 * 1024 * 1024 + 1):
        with path.open("wb") as file:
            file.truncate(size)
        if size % 2 == 0:
            check_size(path)
    with pytest.raises(
        DataError, match="has 67,108,865 bytes; a catalogue is read whole, up to 67,108,864\n"
    ):
        check_size(path)


def test_of_choices_in_choices_eight_are_looked_into() -> None:
    text = "x y"
    for depth in range(1, 11):
        inner, text = text, f"{{n, select, other {{{text}}}}}"
        assert cases(text)[1] == ("x y" if depth < 10 else "{n, select, other {x y}}"), inner


def test_a_choice_has_at_most_a_thousand_braces() -> None:
    for count, parts in ((998, 3), (999, 0)):
        assert len(cases("{n, select, a {" + "{}" * count + "b}}")) == parts


def test_what_is_answered_by_itself_is_the_string_and_without_an_answer_it_stays() -> None:
    for text in (" <b>a</b> b\n", "{n, select, a {x} other {<b>y</b> }}"):
        assert asked(text, lambda marked: marked)[1] == text
        assert asked(text, lambda _: None)[1] is None
    assert asked("{n, select, a {x} other {y}}", lambda one: capitals(one) if one.text == "y" else None)[
        1
    ] == ("{n, select, a {x} other {Y}}")
