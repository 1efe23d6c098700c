"""What every format promises: the same walk for reading and writing, and text alone changes."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from jumok.formats.segments import DocumentFormat, MarkedText, Segment


def segments(format: DocumentFormat, path: Path) -> list[Segment]:
    return list(format.read(path))


def texts(format: DocumentFormat, path: Path) -> list[str]:
    return [segment.source.text for segment in format.read(path)]


def upper(text: str) -> str:
    """In capitals, where that is one character for one: places stay right."""
    return "".join(one.upper() if len(one.upper()) == 1 else one for one in text)


def in_capitals(marked: MarkedText) -> MarkedText:
    return MarkedText(upper(marked.text), marked.tags)


def written(format: DocumentFormat, path: Path, answers: Iterator[MarkedText | None]) -> bytes:
    out = io.BytesIO()
    format.write(path, out, answers)
    return out.getvalue()


def inside(data: bytes) -> dict[str, bytes]:
    """The parts of a zip file; of any other file, its bytes."""
    if not data.startswith(b"PK"):
        return {"": data}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def check_laws(format: DocumentFormat, path: Path) -> Path:
    """All promises on one file. Gives back the file with its text in capitals.

    Without answers nothing changes. The text's own answers leave the same segments. With capitals the file
    has as many segments, at the same places.
    """
    found = segments(format, path)
    data = path.read_bytes()
    assert inside(written(format, path, iter([None] * len(found)))) == inside(data)
    same = path.with_name("same-" + path.name)
    same.write_bytes(written(format, path, iter([one.source for one in found])))
    assert [one.source for one in segments(format, same)] == [one.source for one in found]
    capitals = path.with_name("capitals-" + path.name)
    capitals.write_bytes(written(format, path, (in_capitals(one.source) for one in found)))
    assert [one.where for one in segments(format, capitals)] == [one.where for one in found]
    assert path.read_bytes() == data
    return capitals


def check_mark(format: DocumentFormat, path: Path) -> None:
    """A file that begins with the mark of its encoding has the same segments and begins so afterwards."""
    marked = path.with_name("marked-" + path.name)
    marked.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    found = segments(format, marked)
    assert found == segments(format, path)
    answers = [one.source for one in found]
    assert written(format, marked, iter(answers)) == b"\xef\xbb\xbf" + written(format, path, iter(answers))


def check_capitals(format: DocumentFormat, path: Path, capitals: Path) -> None:
    """For formats whose translation stands where the source stood."""
    expected = [in_capitals(one.source) for one in segments(format, path)]
    assert [one.source for one in segments(format, capitals)] == expected
