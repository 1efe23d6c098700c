"""What every format promises: a file whose texts stay comes out as it was, byte by byte or in structure."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from jumok.formats.segments import DocumentFormat, MarkedText, Segment


def written(
    format: DocumentFormat, path: Path, answer: Callable[[Segment], MarkedText | None] = lambda _: None
) -> bytes:
    """The file with these answers; without them as it is."""
    out, found = io.BytesIO(), list(format.read(path))
    format.write(path, out, map(answer, found))
    return out.getvalue()


def as_source(segment: Segment) -> MarkedText:
    return segment.source


def capitals(segment: Segment) -> MarkedText:
    """The source in capitals, with its tags where they are."""
    upper = "".join(one.upper() if len(one.upper()) == 1 else one for one in segment.source.text)
    return MarkedText(upper, segment.source.tags)


def texts(format: DocumentFormat, path: Path) -> list[str]:
    return [segment.source.text for segment in format.read(path)]


def doubted(segment: Segment) -> MarkedText:
    """The source, as a model would hand it over that is sure of most of it."""
    return replace(segment.source, confidence=0.825)
