"""A model that copies, so that what comes out can be foretold: word by word, in order or from the last."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, cast

from jumok.decoding.jobs import check_texts, make_request
from jumok.decoding.results import TextLink, Translation
from jumok.decoding.translator import Translator, load
from jumok.documents.evidence import Span, words_of
from jumok.progress import Progress, silent


def link(source: Span, target: Span, weight: float = 1.0) -> TextLink:
    return TextLink(source, target, weight)


def copied(text: str, *, backwards: bool = False, upper: bool = False) -> tuple[str, tuple[TextLink, ...]]:
    """A text as it is, or its words in the other order, and from where to where each went."""
    spans = [] if backwards else words_of(text)
    written = text
    targets = spans
    if backwards:
        spans = words_of(text)[::-1]
        words = [text[slice(*span)] for span in spans]
        ends = list(accumulate(len(word) + 1 for word in words))
        targets = [(end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True)]
        written = " ".join(words)
    links = tuple(map(link, spans, targets))
    return written.upper() if upper and len(written.upper()) == len(written) else written, links


class CopyingModel(Translator):
    """The bundled transformer, but what it answers is the text itself, in capitals if asked for."""

    def __init__(self, *, backwards: bool = False, upper: bool = False) -> None:
        model = load("demo/transformer", engine="native")
        super().__init__(model._engine)
        self.backwards, self.upper = backwards, upper
        self.asked_for: list[list[str]] = []

    def translate(  # type: ignore[override]
        self, texts: str | Sequence[str], *, progress: Progress = silent, **options: Any
    ) -> Any:
        align = make_request(self.config.decoding, options).align
        lines = check_texts(texts)
        self.asked_for.append(lines)
        progress("translating", len(lines), len(lines))
        found = []
        for line in lines:
            text, links = copied(line, backwards=self.backwards, upper=self.upper)
            found.append(
                Translation(text, 0.0, 0.0, (), finished=True, source=line, links=links if align else ())
            )
        return found[0] if isinstance(texts, str) else cast("Any", found)
