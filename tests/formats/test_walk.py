import pytest

from jumok.errors import DataError
from jumok.formats.segments import MarkedText, Segment
from jumok.formats.walk import Walk, gathered, has_words, segments_on, write_walk, write_whole


def walk(texts: list[str]) -> Walk:
    for text in texts:
        yield "<"
        answer = yield Segment(MarkedText(text), text)
        yield text if answer is None else answer.text
        yield ">"


def outer() -> Walk:
    inner = yield from gathered(walk(["note"]))
    answer = yield Segment(MarkedText("word"), "outer")
    yield f"{answer.text if answer else 'word'}[{inner}]"


def test_reading_takes_the_segments_and_writing_the_strings() -> None:
    assert [one.source.text for one in segments_on(walk(["a", "b"]))] == ["a", "b"]
    out: list[str] = []
    write_walk(walk(["a", "b"]), out.append, iter([MarkedText("A"), None, None]))
    assert "".join(out) == "<A><b>"


def test_a_walk_inside_another_is_asked_on_the_way() -> None:
    assert [one.source.text for one in segments_on(outer())] == ["note", "word"]
    out: list[str] = []
    write_walk(outer(), out.append, iter([MarkedText("NOTE"), MarkedText("WORD")]))
    assert "".join(out) == "WORD[<NOTE>]"


def test_answers_are_as_many_as_segments() -> None:
    with pytest.raises(DataError, match="no answer for the segment at b"):
        write_whole(walk(["a", "b"]), len, iter([None]))
    with pytest.raises(DataError, match="more answers than segments"):
        write_whole(walk(["a"]), len, iter([None, None]))


def test_numbers_and_signs_are_no_words() -> None:
    assert has_words("1 한")
    assert has_words("É")
    assert not has_words("12.5 % – ♪")
    assert not has_words("")
