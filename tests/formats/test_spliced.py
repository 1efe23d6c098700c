import io

import pytest

from jumok.errors import DataError
from jumok.formats.segments import MarkedText, Segment
from jumok.formats.spliced import Hole, Piece, segments_of, write_pieces

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
