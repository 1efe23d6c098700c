"""One walk through a file, to read it and to write it: what stays is given out, what is text is asked for.

A format writes one generator. It yields strings, which are the file as it is, and segments, for each of which
it is sent an answer; `None` says that the text stays. Reading takes the segments, writing the strings.
"""

from collections.abc import Callable, Generator, Iterator

from jumok.formats.segments import MarkedText, Segment
from jumok.formats.spliced import next_answer, no_more_answers

Walk = Generator[Segment | str, MarkedText | None, None]


def segments_on(walk: Walk) -> Iterator[Segment]:
    """The segments that a walk comes by."""
    return (found for found in walk if isinstance(found, Segment))


def write_walk(walk: Walk, write: Callable[[str], object], answers: Iterator[MarkedText | None]) -> None:
    """Go the walk with answers and write what it gives out; further answers are left where they are."""
    answer = None
    while True:
        try:
            found = walk.send(answer)
        except StopIteration:
            return
        answer = None
        if isinstance(found, str):
            write(found)
        else:
            answer = next_answer(answers, found)


def write_whole(walk: Walk, write: Callable[[str], object], answers: Iterator[MarkedText | None]) -> None:
    """The same for a walk that is all of the file: no answer may be left."""
    write_walk(walk, write, answers)
    no_more_answers(answers)


def gathered(walk: Walk) -> Generator[Segment, MarkedText | None, str]:
    """A walk inside another one, such as a footnote in its paragraph: asks as it goes, then is a string."""
    parts: list[str] = []
    answer = None
    while True:
        try:
            found = walk.send(answer)
        except StopIteration:
            return "".join(parts)
        answer = None
        if isinstance(found, str):
            parts.append(found)
        else:
            answer = yield found


def has_words(text: str) -> bool:
    """Whether there is anything to translate; numbers and signs alone stay as they are."""
    return any(character.isalpha() for character in text)
