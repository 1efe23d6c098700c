"""Text that is too long for a model, in parts that are not."""

import re
from collections.abc import Callable

SENTENCE_END = re.compile(r"(?<=[.!?…]) |(?<=[。！？｡])")
SPACE = re.compile(" ")


def split_text(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Parts of a tidied text that each fit: cut in two at the sentence end nearest to the middle, and again.

    Where there is no sentence end a space is taken, and where there is none of those the middle itself.
    """
    waiting, parts = [text], []
    while waiting:
        part = waiting.pop()
        if len(part) <= 1 or fits(part):
            parts.append(part)
        else:
            cut = _nearest_cut(part)
            waiting += [part[cut:].strip(), part[:cut].strip()]  # the first half is taken next
    return parts


def _nearest_cut(text: str) -> int:
    """Where to cut a text of two or more characters, so that neither side is empty."""
    middle = len(text) // 2
    for pattern in (SENTENCE_END, SPACE):
        places = [match.end() for match in pattern.finditer(text) if match.end() < len(text)]
        if places:
            return min(places, key=lambda place: abs(place - middle))
    return middle
