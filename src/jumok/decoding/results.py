"""What a translator answers: frozen values that need no torch to be read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from itertools import accumulate, chain
from math import fsum, prod
from typing import Any

from jumok.text.masks import Masked
from jumok.text.restore import Restored, restore_all
from jumok.text.sentences import TextLayout, whole

DOUBTFUL = 0.5
"""A word with this probability of a change is doubtful, and so is an answer that has one."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an answer, or its end."""

    text: str
    id: int
    logprob: float


@dataclass(frozen=True, slots=True)
class SentenceSpan:
    """Where a sentence stands: from and to which character of source and answer, and which tokens."""

    source: tuple[int, int]
    text: tuple[int, int]
    tokens: tuple[int, int]


@dataclass(frozen=True, slots=True)
class TextLink:
    """One token of an answer and the source token that it was written from, as characters of both texts."""

    source: tuple[int, int]
    target: tuple[int, int]
    weight: float
    """How much the aligning head looked there, from 0 to 1."""

    def shifted(self, source: int, target: int) -> "TextLink":
        """The same link, so many characters further on in both texts."""
        (a, b), (c, d) = self.source, self.target
        return TextLink((a + source, b + source), (c + target, d + target), self.weight)

    def unmasked(self, source: Masked, target: Restored) -> "TextLink":
        """The same link in the texts that people see."""
        return TextLink(source.source_span(self.source), target.span(self.target), self.weight)


@dataclass(frozen=True, slots=True)
class TextMatch:
    """What a memory has for characters of the source: an entry, and how similar it is; 1.0 is the same.

    `used` says that its translation is the answer there, and that nothing was computed.
    """

    span: tuple[int, int]
    source: str
    target: str
    score: float
    used: bool = False


@dataclass(frozen=True, slots=True)
class WordDoubt:
    """A word of an answer: its characters, and the probability that a person would change it."""

    text: tuple[int, int]
    change: float


@dataclass(frozen=True, slots=True)
class Confidence:
    """How probable it is that a person would change an answer: calibrated, 0 is sure and 1 is doubtful."""

    change: float
    """Of the whole answer: that a person would change anything in it."""
    sentences: tuple[float, ...]
    """The same of each sentence, in the order of `Hypothesis.sentences`; of an answer that has none, one."""
    words: tuple[WordDoubt, ...]
    """Every word of the sentences and every mark between words, in order: all that the model wrote but the
    spaces. What stands between sentences was copied, and has none."""

    @property
    def share(self) -> float:
        """The share of the words that a person would change, as expected: the mean of their probabilities."""
        return fsum(word.change for word in self.words) / max(len(self.words), 1)

    @property
    def kept(self) -> float:
        """The share of the words that would stay: what XLIFF and ITS call the confidence of a machine."""
        return 1 - self.share

    @property
    def doubtful(self) -> tuple[WordDoubt, ...]:
        """The words that would rather be changed than kept."""
        return tuple(word for word in self.words if word.change >= DOUBTFUL)

    def shifted(self, by: int) -> "Confidence":
        """The same of a text that stands so many characters further on."""
        words = (WordDoubt((word.text[0] + by, word.text[1] + by), word.change) for word in self.words)
        return Confidence(self.change, self.sentences, tuple(words))

    def unmasked(self, target: Restored) -> "Confidence":
        """The same of the text that people see."""
        words = (WordDoubt(target.span(word.text), word.change) for word in self.words)
        return Confidence(self.change, self.sentences, tuple(words))


@dataclass(frozen=True, slots=True)
class TermUse:
    """A term of the glossary in the source, what may stand for it, and whether that is in the answer."""

    source: str
    targets: tuple[str, ...]
    present: bool


@cache
def names_of(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass; none of another type."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def plain(value: Any) -> Any:
    """A value of a result, its dataclasses as dictionaries: `dataclasses.asdict`, without copying texts."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    kind: Any = type(value)
    if names := names_of(kind):
        return {name: plain(getattr(value, name)) for name in names}
    return value


class JsonResult:
    """What can be written as JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        found: dict[str, Any] = plain(self)
        return found

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, slots=True, repr=False)
class Hypothesis(JsonResult):
    """One answer with the model's own score of it.

    `tokens` holds everything that was scored, the end included: their log-probabilities sum to `score`.
    """

    text: str
    score: float
    score_per_token: float
    tokens: tuple[Token, ...]
    finished: bool
    """The model ended the answer; False where the length limit did."""
    sentences: tuple[SentenceSpan, ...] = ()
    """Of a text that was translated sentence by sentence, if it has several or more around them."""
    links: tuple[TextLink, ...] = ()
    """With `align`, one for each token that writes something, in the order of the answer."""
    confidence: Confidence | None = None
    """Which words a person would probably change; None if not asked for."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({shorten(self.text)}, score={self.score:.2f})"


@dataclass(frozen=True, slots=True, repr=False)
class Translation(Hypothesis):
    """The best answer for one source text, and the others that were asked for."""

    source: str = ""
    alternatives: tuple[Hypothesis, ...] = ()
    """The second best answer and so on, when `n_best` is above 1."""
    matches: tuple[TextMatch, ...] = ()
    """What the memory has for it, when one is given."""
    terms: tuple[TermUse, ...] = ()
    """The terms of the glossary that the source has, sentence by sentence."""

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """All answers, best first."""
        return (self, *self.alternatives)


@dataclass(frozen=True, slots=True, repr=False)
class Score(JsonResult):
    """How probable the model finds a given translation. `tokens` and `score` include its end."""

    source: str
    target: str
    score: float
    score_per_token: float
    tokens: tuple[Token, ...]

    def __repr__(self) -> str:
        return f"Score({shorten(self.target)}, score={self.score:.2f})"


def together(parts: Sequence[Confidence]) -> Confidence:
    """Of sentences that are read one after the other: something is changed unless all of them stay."""
    sentences = tuple(chain.from_iterable(part.sentences for part in parts))
    change = 1 - prod(1 - each for each in sentences)
    return Confidence(change, sentences, tuple(chain.from_iterable(part.words for part in parts)))


def shorten(text: str, length: int = 60) -> str:
    """A text in quotes, with its end cut off if it is long."""
    return repr(text if len(text) <= length else text[: length - 1] + "…")


def sum_up(tokens: Sequence[Token]) -> tuple[float, float]:
    """The sum of the log-probabilities, and their mean."""
    score = fsum(token.logprob for token in tokens)
    return score, score / max(len(tokens), 1)


@dataclass(frozen=True, slots=True)
class Joint:
    """How the answers to the parts of a text are put together: its layout, and both languages."""

    layout: TextLayout
    source: str = ""
    target: str = ""

    def translation(self, source: str, parts: Sequence[Sequence[Hypothesis]]) -> Translation:
        """The translation of a source from the hypotheses of its parts, best first."""
        count = max(map(len, parts), default=1)
        rows = ([part[min(n, len(part) - 1)] for part in parts] for n in range(count))
        best, *others = map(self.hypothesis, rows)
        values = {field.name: getattr(best, field.name) for field in fields(Hypothesis)}
        return Translation(**values, source=source, alternatives=tuple(others))

    def hypothesis(self, parts: Sequence[Hypothesis]) -> Hypothesis:
        """One answer: the parts as the sentences of the text stand."""
        if self.layout.masks:
            parts = self.restored(parts)
        written = self.layout.join([part.text for part in parts], source=self.source, target=self.target)
        text = "".join(written)
        if len(parts) == 1 and text == parts[0].text:
            return self.placed(parts[0])
        tokens = tuple(chain.from_iterable(part.tokens for part in parts))
        ends = list(accumulate(map(len, written)))
        counts = [0, *accumulate(len(part.tokens) for part in parts)]
        spans = tuple(
            SentenceSpan(source, (ends[2 * n], ends[2 * n + 1]), (counts[n], counts[n + 1]))
            for n, source in enumerate(self.layout.spans())
        )
        finished = all(part.finished for part in parts)
        links = tuple(
            link.shifted(span.source[0], span.text[0])
            for span, part in zip(spans, parts, strict=True)
            for link in part.links
        )
        doubts = [part.confidence.shifted(ends[2 * n]) for n, part in enumerate(parts) if part.confidence]
        confidence = together(doubts) if doubts and len(doubts) == len(parts) else None
        return Hypothesis(text, *sum_up(tokens), tokens, finished, spans, links, confidence)

    def restored(self, parts: Sequence[Hypothesis]) -> list[Hypothesis]:
        """The parts with what was masked in them; those inside another are empty."""
        masks = self.layout.masks
        found = restore_all(masks, [part.text for part in parts], language=self.target)
        return [
            replace(
                part,
                text=one.text,
                links=tuple(link.unmasked(mask, one) for link in part.links),
                confidence=part.confidence and part.confidence.unmasked(one),
            )
            for part, mask, one in zip(parts, masks, found, strict=True)
        ]

    def placed(self, part: Hypothesis) -> Hypothesis:
        """The one part of a text that has nothing but white space around it."""
        before = len(self.layout.gaps[0])
        if not (before and part.links):
            return part
        return replace(part, links=tuple(link.shifted(before, 0) for link in part.links))

    def is_plain(self, number: int) -> bool:
        """Whether the answer to this sentence is written as the model gives it, from its first token on."""
        return not self.layout.masks or self.layout.masks[number].plain

    def begun(self, texts: Sequence[str]) -> list[str]:
        """What is written when the last of these texts is still growing."""
        if masks := self.layout.masks:
            texts = [one.text for one in restore_all(masks, texts, language=self.target, growing=True)]
        rest = [""] * (len(self.layout.sentences) - len(texts))
        return self.layout.join([*texts, *rest], source=self.source, target=self.target)[: 2 * len(texts)]


def alone(text: str, hypotheses: Sequence[Hypothesis]) -> Translation:
    """The translation of one sentence from its hypotheses, best first."""
    return Joint(whole(text)).translation(text, [hypotheses])
