"""A text in parts that a model can take: its sentences, and of a sentence that is too long the parts of it.

Each part is a job; the layout says what stands between the parts, so that answers are put together as the
text was. No torch.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from jumok.config import DataConfig
from jumok.decoding.constraints import occurs
from jumok.decoding.jobs import MOST_PHRASES, Job, Phrase, Request, SourceText, make_phrase
from jumok.decoding.results import Hypothesis, TermUse, Translation
from jumok.errors import LimitError
from jumok.terms.matching import NO_SPACES, TermMatch
from jumok.text.beginning import beginning
from jumok.text.marks import is_question
from jumok.text.sentences import Span, TextLayout, from_spans, lay_out, sentences_of, tight, whole
from jumok.text.tokenizer import Tokenizers

Parts = Sequence[Sequence[int]]
"""The ids of each part of a text."""
NO_TRANSLATION = "it does not translate from one language into another"
NOT_LANGUAGES = frozenset({"ipa", "mul", "mis", "und", "zxx"})
CODE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{2,8})*", re.IGNORECASE)
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


def sentence_habit(data: DataConfig, info: Mapping[str, Any], *, pictures: bool) -> SentenceHabit:
    """What suits a model: one that was taught to translate sentences gets sentences, any other whole texts.

    Told from its languages, and from how many of its training lines have several sentences, where it says so.
    """
    codes = data.source_language, data.target_language
    if pictures:
        return SentenceHabit(split=False, reason="it reads pictures")
    if not all(codes):
        return SentenceHabit(split=False, reason="it does not say which languages it translates")
    if not all(CODE.fullmatch(code) and code.lower() not in NOT_LANGUAGES for code in codes):
        return SentenceHabit(split=False, reason=NO_TRANSLATION)
    if codes[0].lower() == codes[1].lower():
        return SentenceHabit(split=False, reason=NO_TRANSLATION)
    if data.long == "cut" or info.get("metric") in ("rouge1", "rougeL", "per"):
        return SentenceHabit(split=False, reason="it was taught to sum up or to read only the beginning")
    share = trained_several(info)
    if share is not None and share > SEVERAL:
        return SentenceHabit(split=False, reason=f"{share:.0%} of its training lines have several sentences")
    return SentenceHabit(split=True, reason="it translates, and was taught on sentences")


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
) -> list[TextJobs]:
    """The jobs of each source; with `split` one for each sentence.

    A prefix goes to the first part and required texts to the last; phrases that a sentence of the source asks
    for go to the job of that sentence. `before` sources come before these.
    """
    write = tokenizers.target.encode
    required = tuple(make_phrase(tokenizers.target, [text]) for text in request.require)
    prefixes = [tuple(write(prefix)) if prefix else () for prefix in request.prefixes(len(sources))]
    split = split and tokenizers.pictures is None
    layouts = [layout_of(source, data.source_language, split=split) for source in sources]
    parts = read_parts(sources, layouts, tokenizers)
    made = []
    for i, layout in enumerate(layouts):
        ids: Sequence[Sequence[Any]] = next(parts)
        if tokenizers.pictures is None:  # a picture has as many patches as the model takes
            cutter = LongText(request.long or "split", tokenizers, data, before + i + 1)
            layout, ids = cutter.cut(layout, ids)
        last = len(ids) - 1
        phrases = [
            (
                *(required if n == last else ()),
                *sentence_phrases(sentence, request, tokenizers, data.source_language),
            )[:MOST_PHRASES]
            for n, sentence in enumerate(layout.sentences)
        ]
        jobs = tuple(
            Job(tuple(part), prefixes[i] if n == 0 else (), phrases[n]) for n, part in enumerate(ids)
        )
        made.append(TextJobs(jobs, layout))
    return made


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
    found = request.glossary.find(sentence, language)
    matches = {(match.targets, match.also): match for match in reversed(found)}
    soft = request.glossary_mode == "soft"
    return [
        (match, make_phrase(tokenizers.target, targets, also, soft=soft, word=begins_with_word(targets)))
        for (targets, also), match in reversed(matches.items())
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


def layout_of(source: SourceText, language: str, *, split: bool) -> TextLayout:
    """Where the sentences of a source stand, or the whole of it; a question keeps its context."""
    if not split or is_question(source.text):
        return whole(source.given)
    return lay_out(source.given, language)


def read_parts(
    sources: Sequence[SourceText], layouts: Sequence[TextLayout], tokenizers: Tokenizers
) -> Iterator[list[Sequence[Any]]]:
    """The ids of the sentences of each source; a source that is one sentence was read before."""
    known = [len(one.sentences) == 1 and not "".join(one.gaps).strip() for one in layouts]
    many = [one.sentences for one, read in zip(layouts, known, strict=True) if not read]
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

    def cut(self, layout: TextLayout, ids: Parts) -> tuple[TextLayout, Parts]:
        """The layout and the ids with every long sentence cut as `long` says."""
        most = self.data.max_length
        if all(len(one) <= most for one in ids):
            return layout, ids
        gaps, sentences, found = [layout.gaps[0]], list[str](), list[Sequence[int]]()
        for sentence, one, gap in zip(layout.sentences, ids, layout.gaps[1:], strict=True):
            inner, parts = self.cut_sentence(sentence, one)
            sentences += inner.sentences
            gaps += [*inner.gaps[1:-1], gap]
            found += parts
        return TextLayout(tuple(sentences), tuple(gaps), layout.kept), found

    def cut_sentence(self, sentence: str, ids: Sequence[int]) -> tuple[TextLayout, Parts]:
        most, question = self.data.max_length, is_question(self.tokenizers.tidy_source(sentence))
        if len(ids) <= most:
            return whole(sentence), [ids]
        if self.long == "cut":
            return whole(sentence), [beginning(ids, most)]
        if self.long == "split" and not question:
            language = self.data.source_language
            spans = cut_spans(sentence, lambda part: len(self.encode(part)) <= most, language)
            layout = from_spans(sentence, spans)
            return layout, list(map(self.encode, layout.sentences))
        hint = 'long="split" translates it in parts, long="cut" only its beginning'
        raise LimitError(
            f"text {self.number} has {len(ids):,} tokens, and this model takes {most:,}",
            hint='long="cut" reads only the beginning of the context' if question else hint,
            code="too_long",
        )

    def encode(self, part: str) -> list[int]:
        return self.tokenizers.text_source.encode(self.tokenizers.tidy_source(part))


def cut_spans(text: str, fits: Callable[[str], bool], language: str = "") -> list[Span]:
    """Parts of a text that each fit: cut in two at the sentence end nearest to the middle, and again.

    Where there is no sentence end a space is taken, and where there is none of those the middle itself.
    """
    ends = [b for (_, a), (b, _) in pairwise(sentences_of(text, language)) if a <= b]
    waiting, parts = [tight(text, (0, len(text)))], []
    while waiting:
        begin, end = span = waiting.pop()
        if end - begin <= 1 or fits(text[begin:end]):
            parts.append(span)
        else:
            cut = nearest_cut(text, span, ends)
            waiting += [tight(text, (cut, end)), tight(text, (begin, cut))]  # the first half is taken next
    return parts


def nearest_cut(text: str, span: Span, ends: Sequence[int]) -> int:
    """Where to cut a span of two or more characters, so that neither side is empty."""
    begin, end = span
    middle = begin + (end - begin) // 2
    spaces = (match.end() for match in re.compile(r"\s+").finditer(text, begin, end))
    for places in ([place for place in ends if begin < place < end], spaces):
        if near := sorted(places, key=lambda place: abs(place - middle))[:1]:
            return near[0]
    return middle
