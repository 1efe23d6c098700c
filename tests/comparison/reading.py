"""The page read back: its elements, the numbers it shows, and the numbers of its report."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "rect", "circle", "path", "br"}
UNITS = {
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "%": 0.01,
}


class Reader(HTMLParser):
    """Every element with its attributes and the text inside; an unbalanced tag is an error."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[int] = []
        self.feed(page)
        self.close()
        assert not self._open, [self.elements[n][0] for n in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}, []))
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self.elements[self._open[-1]][0] == tag, f"</{tag}> closes {self.elements[self._open[-1]]}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for place in self._open:
            self.elements[place][2].append(data)

    def all(self, tag: str, **attributes: str) -> list[tuple[dict[str, str], str]]:
        """(attributes, text) of the elements with this name and these attributes; cls is the class."""
        wanted = {"class" if name == "cls" else name: value for name, value in attributes.items()}
        return [
            (found, "".join(texts))
            for name, found, texts in self.elements
            if name == tag and all(found.get(key) == value for key, value in wanted.items())
        ]


def numbers_in(value: Any) -> Iterator[float]:
    """Every number of a report."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def read_back(text: str) -> float | None:
    """The number that a text as the page writes it stands for; None for times and the like."""
    match = re.fullmatch(r"([+−]?)([\d,.]+)(?: ([a-zA-Z%]+))?", text)
    if not match or (match[3] and match[3] not in UNITS and match[3] not in ("s", "B")):
        return None
    number = float(match[2].replace(",", "")) * UNITS.get(match[3] or "", 1)
    return -number if match[1] == "−" else number
