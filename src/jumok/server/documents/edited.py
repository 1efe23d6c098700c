"""What a person made of a translation, with the tags at the places where they belong now."""

import re
from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher

from jumok.formats.segments import MarkedText

PIECES = re.compile(r"\w+|\s+|[^\w\s]")
LONG = 2000  # words and signs


def carried_over(before: MarkedText, text: str) -> MarkedText:
    """`text` with the tags of `before`: a tag goes with the words around it that are still there.

    All places are moved by one function that never falls, so tags that were nested or apart still are.
    """
    moves = moved_places(before.text, text)
    tags = tuple(
        replace(tag, begin=moves[tag.begin], end=max(moves[tag.begin], moves[tag.end])) for tag in before.tags
    )
    return MarkedText(text, tags)


def moved_places(before: str, after: str) -> list[int]:
    """For each place between characters of one text the place in the other; in proportion where it changed.

    The ends are the ends: a tag around everything stays around everything.
    """
    moves, at, to = [0], 0, 0
    for old, new in changes(PIECES.findall(before), PIECES.findall(after)):
        here, there = sum(map(len, old)), sum(map(len, new))
        moves += [to + round(n * there / here) for n in range(1, here + 1)]
        at, to = at + here, to + there
        if not here and at:  # what was put in stands before what comes next
            moves[at] = to
    moves[-1] = len(after)
    return moves


def changes(old: list[str], new: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Both texts cut where they differ: pairs of stretches, in order."""
    shortest = min(len(old), len(new))
    head = next((n for n in range(shortest) if old[n] != new[n]), shortest)
    rest = shortest - head
    tail = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    yield old[:head], new[:head]
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(a), len(b)) > LONG:  # too long to compare word by word
        yield a, b
    else:
        for _, first, last, begin, end in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            yield a[first:last], b[begin:end]
    yield old[len(old) - tail :], new[len(new) - tail :]
