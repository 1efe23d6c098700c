"""Texts that a translation memory knows are answered from it; only the rest is computed. No torch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jumok.decoding.jobs import Request, SourceText
from jumok.decoding.results import Hypothesis, TextMatch, Translation
from jumok.errors import ConfigError
from jumok.progress import Progress, silent
from jumok.terms.memory import MemoryMatch, TranslationMemory
from jumok.text.marks import is_question
from jumok.text.normalize import tidy
from jumok.text.sentences import TextLayout, lay_out
from jumok.text.sentences import whole as one_piece
from jumok.text.spans import Span

if TYPE_CHECKING:
    from jumok.decoding.translator import Translator

MATCHES = 3  # similar entries that are shown for a text or a sentence


@dataclass(frozen=True)
class RecalledText:
    """One text, where its sentences stand, and what a memory has for them."""

    text: str
    layout: TextLayout
    known: tuple[MemoryMatch | None, ...]
    """The entry that answers each sentence; () where the text is computed as a whole."""
    matches: tuple[TextMatch, ...]
    keep: tuple[Span, ...] = ()
    """What comes out as it is; a text with such spans is computed whole, unless all is known."""


@dataclass(frozen=True)
class RecallPlan:
    """What is left to compute of some texts: whole ones, and sentences of those that are known in part."""

    texts: tuple[RecalledText, ...]

    @property
    def whole(self) -> list[str]:
        """Texts that are computed as they are."""
        return [one.text for one in self.texts if not one.known]

    @property
    def keep(self) -> tuple[tuple[Span, ...], ...]:
        """The spans of whole texts that come out as they are; () if none has any."""
        spans = tuple(one.keep for one in self.texts if not one.known)
        return spans if any(spans) else ()

    @property
    def sentences(self) -> list[str]:
        """Sentences that are computed one by one."""
        return [
            sentence
            for one in self.texts
            for sentence, known in zip(one.layout.sentences, one.known, strict=False)
            if known is None
        ]

    def join(
        self, translator: "Translator", whole: Sequence[Translation], sentences: Sequence[Translation]
    ) -> list[Translation]:
        """The translations of all texts, from those of what was left."""
        texts, parts, found = iter(whole), iter(sentences), list[Translation]()
        for one in self.texts:
            if one.known:
                rows = [
                    next(parts).hypotheses if known is None else [remembered(known)] for known in one.known
                ]
                answer = translator.joint(one.layout).translation(one.text, rows)
            else:
                answer = next(texts)
            found.append(replace(answer, matches=one.matches))
        return found


def remembered(match: MemoryMatch) -> Hypothesis:
    """An answer that nobody computed."""
    return Hypothesis(match.target, 0.0, 0.0, (), finished=True)


def recall(
    translator: "Translator", memory: TranslationMemory, texts: Sequence[str | SourceText], request: Request
) -> RecallPlan:
    """What a memory has for these texts; where someone says what answers contain, it is only shown."""
    if translator.tokenizers.pictures is not None:
        raise ConfigError("a memory is of texts, and this model reads pictures", hint="leave out the memory")
    reuse = not (request.ban or request.require or request.prefix)
    split, language = translator.splits(request), translator.config.data.source_language
    found = []
    keeps = request.keep or [()] * len(texts)
    for given, keep in zip(texts, keeps, strict=True):
        text = given if isinstance(given, str) else given.given
        exact = memory.exact(text)
        layout = lay_out(text, language) if split and not is_question(tidy(text)) else one_piece(text)
        if exact is not None and len(layout.sentences) != 1:
            layout = one_piece(text)
        one = _recalled(memory, text, layout, exact, reuse=reuse)
        if keep and not all(one.known):
            one = replace(one, known=(), matches=tuple(replace(match, used=False) for match in one.matches))
        found.append(replace(one, keep=keep))
    return RecallPlan(tuple(found))


def _recalled(
    memory: TranslationMemory, text: str, layout: TextLayout, exact: MemoryMatch | None, *, reuse: bool
) -> RecalledText:
    spans, matches = list(layout.spans()), list[TextMatch]()
    known = [exact] if exact else [memory.exact(sentence) for sentence in layout.sentences]
    for span, sentence, entry in zip(spans, layout.sentences, known, strict=True):
        entries = [entry] if entry else memory.matches(sentence, MATCHES)
        used = reuse and entry is not None
        matches += [TextMatch(span, one.source, one.target, one.score, used) for one in entries]
    some = reuse and any(known)
    return RecalledText(text, layout, tuple(known) if some else (), tuple(matches))


def translate_remembered(
    translator: "Translator",
    texts: Sequence[str | SourceText],
    request: Request,
    progress: Progress = silent,
    before: int = 0,
) -> list[Translation]:
    """The translations of texts by a request with a memory."""
    assert request.memory is not None
    plan, plain = recall(translator, request.memory, texts, request), replace(request, memory=None)
    whole = translator._translate(plan.whole, replace(plain, keep=plan.keep), progress, before)
    alone = replace(plain, sentences="as-is", keep=())
    return plan.join(translator, whole, translator._translate(plan.sentences, alone, progress, before))
