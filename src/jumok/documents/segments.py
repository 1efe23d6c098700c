"""Segments in, answers out: what is to be translated is, in blocks, with its markup put where it belongs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jumok.decoding.results import Translation
from jumok.decoding.translator import Translator
from jumok.documents.kept import restored
from jumok.documents.projection import project
from jumok.documents.report import SegmentAnswer, would_change
from jumok.formats.inline import shifted, stripped
from jumok.formats.segments import MarkedText, Segment
from jumok.progress import Progress, silent
from jumok.text.sentences import has_sentence

BLOCK, CHARACTERS = 256, 60_000
"""Segments that are translated together, at most, and their characters: so much is lost by a crash."""


def blocks(segments: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Segments in blocks of bounded size, in order."""
    block, size = list[Segment](), 0
    for segment in segments:
        block.append(segment)
        size += len(segment.source.text)
        if len(block) == BLOCK or size >= CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block


@dataclass(frozen=True)
class SegmentTranslator:
    """A model and how it is asked."""

    model: Translator
    options: Mapping[str, Any]
    all_segments: bool = False
    """Segments that have a translation get another one."""

    def answers(self, segments: Sequence[Segment], progress: Progress = silent) -> list[SegmentAnswer]:
        """What becomes of each segment."""
        found = [self.without_model(segment) for segment in segments]
        groups: dict[bool, list[int]] = {}
        for n in (n for n, one in enumerate(found) if one is None):
            groups.setdefault(segments[n].sentences, []).append(n)
        for running, places in groups.items():
            sources = [segments[n].source for n in places]
            align = self.model.aligns and any(map(needs_links, sources))
            answers = self.translate(sources, progress, running=running, align=align)
            for n, answer in zip(places, answers, strict=True):
                found[n] = answer
        return [one for one in found if one is not None]

    def without_model(self, segment: Segment) -> SegmentAnswer | None:
        """What becomes of a segment that no model needs to see; None for the others."""
        if segment.target is not None and not self.all_segments:
            return SegmentAnswer("present")
        language = self.model.config.data.source_language
        return None if has_sentence(outside(segment.source), language) else SegmentAnswer("skipped")

    def translate(
        self, sources: Sequence[MarkedText], progress: Progress, *, running: bool, align: bool
    ) -> list[SegmentAnswer]:
        """The translations of texts, with their tags: running texts or titles, with links or without."""
        parts = [stripped(source) for source in sources]
        options = dict(self.options)
        if not running:
            options.setdefault("sentences", "as-is")
        texts = [inner.text for _, inner, _ in parts]
        options["align"] = align
        options["keep"] = [[(tag.begin, tag.end) for tag in inner.tags if tag.keep] for _, inner, _ in parts]
        answers = self.model.translate(texts, progress=progress, **options) if texts else []
        return [
            answered(inner, answer, before, after)
            for (before, inner, after), answer in zip(parts, answers, strict=True)
        ]


def outside(source: MarkedText) -> str:
    """The text that no tag keeps from being translated."""
    kept = [range(tag.begin, tag.end) for tag in source.tags if tag.keep]
    if not kept:
        return source.text
    return "".join(" " if any(n in one for one in kept) else char for n, char in enumerate(source.text))


def needs_links(source: MarkedText) -> bool:
    """Whether a tag stands anywhere but at the ends of a text or around all of it."""
    first, last = len(source.text) - len(source.text.lstrip()), len(source.text.rstrip())
    return any(first < place < last for tag in source.tags for place in (tag.begin, tag.end))


def answered(source: MarkedText, answer: Translation, before: str, after: str) -> SegmentAnswer:
    """A translation with the tags of its source, and what is doubtful about it."""
    if not answer.text.strip():  # text is never lost without a word, nor is a paragraph
        return SegmentAnswer("skipped", doubts=("the model had no answer, and the text stays",))
    placed = project(source, answer.text, answer.links)
    target, changed = restored(source, placed.target)
    doubts = [] if answer.finished else ["the answer was cut at the length limit"]
    if placed.guesses:
        doubts.append(f"the place of {' '.join(tag.open + tag.close for tag in placed.guesses)} is a guess")
    doubts += [f"{text!r} had been changed, and was put back" for text in changed]
    doubts += [f"the term {term.source!r} is missing" for term in answer.terms if not term.present]
    kept = answer.confidence.kept if answer.confidence else None
    words = answer.confidence.shifted(len(before)).doubtful if answer.confidence else ()
    if words and changed:  # their places are not what they were
        doubts.append(would_change([(before + answer.text)[slice(*word.text)] for word in words]))
        words = ()
    written = replace(shifted(target, before, after), confidence=kept)
    return SegmentAnswer("translated", written, tuple(doubts), words, answer.terms)
