"""A text in parts that a model can take: its sentences, and of a sentence that is too long the parts of it.

Each part is a job; the layout says what stands between the parts, so that answers are put together as the
text was. No torch.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from jumok.config import DataConfig, TextConfig
from jumok.decoding.constraints import occurs
from jumok.decoding.jobs import MOST_PHRASES, Job, Phrase, Request, SourceText, make_phrase
from jumok.decoding.results import Hypothesis, TermUse, Translation
from jumok.errors import LimitError
from jumok.terms.matching import NO_SPACES, TermMatch
from jumok.text.beginning import beginning
from jumok.text.frame import Direction
from jumok.text.icu import Span
from jumok.text.languages import translates
from jumok.text.layouts import Protection, TextMasker, all_spans
from jumok.text.marks import MARKS, is_question
from jumok.text.masks import Masked
from jumok.text.protected import ProtectedSpan, overlapping
from jumok.text.sentences import TextLayout, from_spans, sentences_of, tight, whole
from jumok.text.tokenizer import Tokenizers

Parts = Sequence[Sequence[int]]
"""The ids of each part of a text."""
NO_TRANSLATION = "it does not translate from one language into another"
MOST_SIGNS, LONG_SIGN = 3, 16
"""So many protected spans of a sentence, of so many tokens, are the search's task: more make it slow."""
SEVERAL = 0.5
"""A model of whose training sources more than this share have several sentences takes paragraphs."""


@dataclass(frozen=True, slots=True)
class TextJobs:
    """The jobs of one text, one for each sentence of its layout; none for a text without any."""

    jobs: tuple[Job, ...]
    layout: TextLayout

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs)


@dataclass(frozen=True, slots=True)
class SentenceHabit:
    """Whether a model takes texts sentence by sentence, and why."""

    split: bool
    reason: str
    translates: bool = False
    """It translates from one language into another, so that what is no language survives."""


def sentence_habit(
    data: DataConfig, codes: Direction, info: Mapping[str, Any], *, pictures: bool
) -> SentenceHabit:
    """What suits a model: one that was taught to translate sentences gets sentences, any other whole texts.

    Told from its languages, and from how many of its training lines have several sentences, where it says so.
    """
    if pictures:
        return SentenceHabit(split=False, reason="it reads pictures")
    if not all(codes):
        return SentenceHabit(split=False, reason="it does not say which languages it translates")
    if not translates(*codes):
        return SentenceHabit(split=False, reason=NO_TRANSLATION)
    if data.long == "cut" or info.get("metric") in ("rouge1", "rougeL", "per"):
        return SentenceHabit(split=False, reason="it was taught to sum up or to read only the beginning")
    share = trained_several(info)
    if share is not None and share > SEVERAL:
        reason = f"{share:.0%} of its training lines have several sentences"
        return SentenceHabit(split=False, reason=reason, translates=True)
    return SentenceHabit(split=True, reason="it translates, and was taught on sentences", translates=True)


def trained_several(info: Mapping[str, Any]) -> float | None:
    """The share of a model's training sources that have several sentences; None where no one counted."""
    match info.get("train_lengths"):
        case {"several": int() | float() as share}:
            return float(share)
    return None


def make_jobs(
    sources: Sequence[SourceText],
    request: Request,
    tokenizers: Tokenizers,
    data: DataConfig,
    before: int = 0,
    *,
    split: bool = False,
    protect: Protection = Protection.NONE,
) -> list[TextJobs]:
    """The jobs of each source; with `split` one for each sentence, with `protect` masked.

    A prefix goes to the first part and required texts to the last; phrases that a sentence of the source asks
    for go to the job of that sentence. `before` sources come before these.
    """
    write = tokenizers.target.encode
    required = tuple(make_phrase(tokenizers.target, [text]) for text in request.require)
    prefixes = [tuple(write(prefix)) if prefix else () for prefix in request.prefixes(len(sources))]
    masker = masker_of(tokenizers, data.source_language, split=split, protect=protect)
    keeps = request.keeps(len(sources))
    layouts = [layout_of(*one, masker) for one in zip(sources, keeps, strict=True)]
    parts = read_parts(sources, layouts, tokenizers)
    made = []
    for i, layout in enumerate(layouts):
        ids: Sequence[Sequence[Any]] = next(parts)
        if tokenizers.pictures is None:  # a picture has as many patches as the model takes
            cutter = LongText(request.long or "split", tokenizers, data, before + i + 1, masker)
            layout, ids = cutter.cut(layout, ids)
        outer = [n for n in range(len(ids)) if not (layout.masks and layout.masks[n].inner)]
        phrases = [
            (
                *(required if n == outer[-1] else ()),
                *kept_phrases(layout, n, tokenizers, request.decoding.max_len // 2),
                *sentence_phrases(sentence, request, tokenizers, data.source_language),
            )[:MOST_PHRASES]
            for n, sentence in enumerate(layout.sentences)
        ]
        begins = [(*tokenizers.opening, *(prefixes[i] if n == outer[0] else ())) for n in range(len(ids))]
        opening = len(tokenizers.opening)
        jobs = tuple(
            Job(tokenizers.framed(one), begin, phrases[n], opening)
            for n, (one, begin) in enumerate(zip(ids, begins, strict=True))
        )
        made.append(TextJobs(jobs, layout))
    return made


def kept_phrases(layout: TextLayout, number: int, tokenizers: Tokenizers, room: int) -> tuple[Phrase, ...]:
    """What the answer to a sentence must have exactly once: spans of it that no mark stands for.

    Others, and those without room, in tokens, are put in when the answer is there.
    """
    if not layout.masks:
        return ()
    texts = [kept.sign for kept in layout.masks[number].kept]
    found = list[Phrase]()
    for text in dict.fromkeys(texts):
        if text not in MARKS and texts.count(text) == 1:
            phrase = make_phrase(tokenizers.target, [text], once=True)
            if phrase.size <= min(room, LONG_SIGN):
                room -= phrase.size
                found.append(phrase)
    return tuple(found[:MOST_SIGNS])


def sentence_phrases(
    sentence: str, request: Request, tokenizers: Tokenizers, language: str = ""
) -> tuple[Phrase, ...]:
    """What the answer to this sentence of a source must contain because of what stands in it."""
    return tuple(phrase for _, phrase in sentence_terms(sentence, request, tokenizers, language))


def sentence_terms(
    sentence: str, request: Request, tokenizers: Tokenizers, language: str
) -> list[tuple[TermMatch, Phrase]]:
    """The terms of the glossary in a sentence of a source, each once, and what they ask of the answer."""
    if request.glossary is None or tokenizers.pictures is not None:
        return []
    matches: dict[tuple[tuple[str, ...], tuple[str, ...]], TermMatch] = {}
    for match in request.glossary.find(sentence, language):
        matches.setdefault((match.targets, match.also), match)
    soft = request.glossary_mode == "soft"
    return [
        (match, make_phrase(tokenizers.target, targets, also, soft=soft, word=begins_with_word(targets)))
        for (targets, also), match in matches.items()
    ]


def with_terms(
    made: Translation,
    layout: TextLayout,
    parts: Sequence[Sequence[Hypothesis]],
    request: Request,
    tokenizers: Tokenizers,
    data: DataConfig,
) -> Translation:
    """A translation that knows the terms of each sentence, and whether the best answer has them."""
    if request.glossary is None:
        return made
    uses = tuple(
        TermUse(term.text, term.targets, occurs(phrase, tokenizers.target.spell(answers[0].text).encode()))
        for sentence, answers in zip(layout.sentences, parts, strict=True)
        for term, phrase in sentence_terms(sentence, request, tokenizers, data.source_language)
    )
    return replace(made, terms=uses)


def begins_with_word(texts: Sequence[str]) -> bool:
    """Whether these are words with spaces between them, which count only where a word begins."""
    return all(text[0].isalnum() and not NO_SPACES.match(text) for text in texts)


def protection_of(
    text: TextConfig, tokenizers: Tokenizers, habit: SentenceHabit, request: Request
) -> Protection:
    """How a model protects what must survive, if it does: by marks that it has learned, or by its signs."""
    wanted = habit.translates if request.protect is None else request.protect
    if not wanted or tokenizers.pictures is not None:
        return Protection.NONE
    return Protection.MARKS if text.marks and tokenizers.have_marks else Protection.SIGNS


def texts_read(
    sources: Sequence[SourceText], request: Request, tokenizers: Tokenizers, protect: Protection
) -> list[str | SourceText]:
    """What a model reads of each source in one piece; the source itself where that is no other text."""
    masker = masker_of(tokenizers, "", split=False, protect=protect)
    keeps = request.keeps(len(sources))
    layouts = [layout_of(*one, masker) for one in zip(sources, keeps, strict=True)]
    return [one.read[-1] if one.masks else source for one, source in zip(layouts, sources, strict=True)]


def masker_of(
    tokenizers: Tokenizers, language: str, *, split: bool, protect: Protection
) -> TextMasker | None:
    """What lays texts out and masks what must survive; None where each source is one, as it is."""
    if tokenizers.pictures is not None:
        return None
    encode = tokenizers.text_source.encode
    return TextMasker(language, split, protect, lambda text: len(encode(text)))


def layout_of(source: SourceText, keep: Sequence[Span], masker: TextMasker | None) -> TextLayout:
    """Where the sentences of a source stand, or the whole of it, and what the model reads."""
    return whole(source.given) if masker is None else masker.lay_out(source.given, keep)


def read_parts(
    sources: Sequence[SourceText], layouts: Sequence[TextLayout], tokenizers: Tokenizers
) -> Iterator[list[Sequence[Any]]]:
    """The ids of the sentences of each source; a source that is one sentence was read before."""
    known = [
        len(one.sentences) == 1 and one.read == one.sentences and not "".join(one.gaps).strip()
        for one in layouts
    ]
    many = [one.read for one, read in zip(layouts, known, strict=True) if not read]
    texts = [tokenizers.tidy_source(sentence) for sentences in many for sentence in sentences]
    new = iter(tokenizers.source.encode_many(texts) if texts else ())
    for source, layout, read in zip(sources, layouts, known, strict=True):
        yield [source.ids] if read else [next(new) for _ in layout.sentences]


@dataclass(frozen=True, slots=True)
class LongText:
    """What becomes of sentences with more tokens than a model takes."""

    long: str
    tokenizers: Tokenizers
    data: DataConfig
    number: int
    """Of the text, as people count."""
    masker: TextMasker | None = None

    def cut(self, layout: TextLayout, ids: Parts) -> tuple[TextLayout, Parts]:
        """The layout and the ids with every long sentence cut as `long` says."""
        most = self.data.max_length
        if all(len(one) <= most for one in ids):
            return layout, ids
        laid, found = list[TextLayout](), list[Sequence[int]]()
        for n, (sentence, one) in enumerate(zip(layout.sentences, ids, strict=True)):
            masked = layout.masks[n] if layout.masks else None
            inner, parts = self.cut_sentence(sentence, one, masked)
            laid.append(inner)
            found += parts
        return within(layout, laid), found

    def cut_sentence(
        self, sentence: str, ids: Sequence[int], masked: Masked | None
    ) -> tuple[TextLayout, Parts]:
        most, question = self.data.max_length, is_question(self.tokenizers.tidy_source(sentence))
        masks = (masked,) if masked else ()
        if len(ids) <= most or masked and (masked.inner or masked.holes):
            return TextLayout((sentence,), ("", ""), masks=masks), [ids]
        if self.long == "cut":
            return TextLayout((sentence,), ("", ""), masks=masks), [beginning(ids, most)]
        if self.long == "split" and not question:
            return self.split(sentence)
        hint = 'long="split" translates it in parts, long="cut" only its beginning'
        raise LimitError(
            f"text {self.number} has {len(ids):,} tokens, and this model takes {most:,}",
            hint='long="cut" reads only the beginning of the context' if question else hint,
            code="too_long",
        )

    def split(self, sentence: str) -> tuple[TextLayout, Parts]:
        """A sentence in parts that fit, each masked by itself; what is only protected is none."""
        most, language = self.data.max_length, self.data.source_language
        assert self.masker is not None
        alone = replace(self.masker, split=False)
        spans = all_spans(sentence) if alone.protect else []

        def fits(part: str) -> bool:
            return all(len(self.encode(one)) <= most for one in alone.lay_out(part).read)

        parts = cut_spans(sentence, fits, language, spans)
        layout = from_spans(sentence, parts)
        layout = within(layout, [alone.lay_out(part) for part in layout.sentences])
        return layout, list(map(self.encode, layout.read))

    def encode(self, part: str) -> list[int]:
        return self.tokenizers.text_source.encode(self.tokenizers.tidy_source(part))


def within(layout: TextLayout, inner: Sequence[TextLayout]) -> TextLayout:
    """A layout with layouts in the places of its sentences."""
    gaps, sentences, masks = [layout.gaps[0]], list[str](), list[Masked]()
    for one, gap in zip(inner, layout.gaps[1:], strict=True):
        first, *between = one.gaps
        gaps[-1] += first
        gaps += between
        gaps[-1] += gap
        sentences += one.sentences
        masks += one.masks or [Masked(text, text) for text in one.sentences]
    said = tuple(masks) if any(not mask.plain or mask.marks for mask in masks) else ()
    kept = layout.kept or any(gap.strip() for gap in gaps)  # what is only protected stands in a gap
    return TextLayout(tuple(sentences), tuple(gaps), kept, said)


def cut_spans(
    text: str, fits: Callable[[str], bool], language: str = "", spans: Sequence[ProtectedSpan] = ()
) -> list[Span]:
    """Parts of a text that each fit: cut in two at the sentence end nearest to the middle, and again.

    Where there is no sentence end a space is taken, and where there is none of those the middle itself; but
    nothing inside one of these spans.
    """
    ends = [b for (_, a), (b, _) in pairwise(sentences_of(text, language, spans)) if a <= b]
    waiting, parts = [tight(text, (0, len(text)))], []
    while waiting:
        begin, end = span = waiting.pop()
        cut = 0 if end - begin <= 1 or fits(text[begin:end]) else nearest_cut(text, span, ends, spans)
        if cut:
            waiting += [tight(text, (cut, end)), tight(text, (begin, cut))]  # the first half is taken next
        else:
            parts.append(span)
    return parts


def nearest_cut(text: str, span: Span, ends: Sequence[int], spans: Sequence[ProtectedSpan] = ()) -> int:
    """Where to cut a span of two or more characters, so that neither side is empty; 0: nowhere."""
    begin, end = span
    middle = begin + (end - begin) // 2

    def free(place: int) -> bool:
        return begin < place < end and not any(
            one.begin < place for one in overlapping(spans, place, place + 1)
        )

    spaces = (match.end() for match in re.compile(r"\s+").finditer(text, begin, end))
    edges = (edge for one in overlapping(spans, begin, end) for edge in (one.begin, one.end))
    for places in (ends, spaces, (middle,), edges):
        if near := sorted(filter(free, places), key=lambda place: abs(place - middle))[:1]:
            return near[0]
    return 0
