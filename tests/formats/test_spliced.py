import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumok.errors import DataError
from jumok.formats.segments import MarkedText, Segment
from jumok.formats.spliced import Hole, Holes, Piece, SplicedFormat, segments_of, write_pieces

HOLE = Hole(Segment(MarkedText("b"), "line 1"), b"b", lambda answer: answer.text.encode())
PIECES: list[Piece] = [b"a", HOLE, b"c", HOLE]


def written(*answers: MarkedText | None) -> bytes:
    out = io.BytesIO()
    write_pieces(PIECES, out, iter(answers))
    return out.getvalue()


def test_holes_are_filled_or_left() -> None:
    assert len(list(segments_of(PIECES))) == 2
    assert written(MarkedText("XY"), None) == b"aXYcb"


def test_as_many_answers_as_segments() -> None:
    with pytest.raises(DataError, match="there is no answer for the segment at line 1"):
        written(None)
    with pytest.raises(DataError, match="there are more answers than segments"):
        written(None, None, None)


class TwoHoles(SplicedFormat):
    """A file with two texts in one place."""

    name, suffixes = "two", ()

    def pieces(self, path: Path) -> Iterator[Piece]:
        segments = (Segment(MarkedText("b"), "line 1"), Segment(MarkedText("c"), "line 2"))
        yield b"a"
        yield Holes(segments, b"[raw]", lambda answers: repr([one and one.text for one in answers]).encode())


def test_a_place_of_several_texts_is_filled_if_one_of_them_has_an_answer(tmp_path: Path) -> None:
    assert [one.where for one in TwoHoles().read(tmp_path)] == ["line 1", "line 2"]
    for answers, expected in (
        ([None, None], b"a[raw]"),
        ([None, MarkedText("C")], b"a[None, 'C']"),
        ([MarkedText("B"), MarkedText("C")], b"a['B', 'C']"),
    ):
        out = io.BytesIO()
        TwoHoles().write(tmp_path, out, iter(answers))
        assert out.getvalue() == expected
