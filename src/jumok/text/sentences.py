"""Where sentences begin and end, and what stands between them: indentation, list marks, blank lines.

A text is laid out as sentences and the gaps around them. Gaps are kept as they are; put together again in
order they are the text. Rules by language, no model: benchmarks/sentences.py measures them.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jumok.text.abbreviations import LAST, ORDINALS, maybe, never, starters
from jumok.text.icu import Span
from jumok.text.marks import is_question
from jumok.text.masks import Masked
from jumok.text.protected import ProtectedSpan, has_words, overlapping

WIDE = "。！？｡．"  # no space follows them
MARKS = ".!?…؟۔।॥։።။៕᠃᱾" + WIDE
CLOSERS = "\"'”’“‘»«›‹)]}」』）】〉》〕］｣"
OPENERS = "\"'“‘„‚«»‹›([{¿¡「『（【〈《〔［｢"
BRACKETS = dict(zip("([（「『【〈《〔［｢", ")]）」』】〉》〕］｣", strict=True))
NO_SPACES = frozenset({"zh", "ja", "yue", "wuu", "lzh"})
"""Languages whose sentences follow one another without a space."""
DATED = frozenset({"ko", "hu", "ja", "zh"})
"""Languages that write a dot after year, month and day."""
FURTHEST = 1000  # characters between a bracket and its partner
NEAR = 60  # characters before a dot that tell what it is

# The end of a sentence: its marks, then what closes; French puts a space before some of both.
_END = re.compile(
    rf"(?P<mark>[{MARKS}]+)(?P<close>(?:[{re.escape(CLOSERS)}]|[\u00a0\u202f ](?=[»›])[»›])*)"
    rf"(?P<gap>[^\S\n]*)"
)
_THAI_END = re.compile(r"(?:ครับ|ค่ะ|คะ|นะ|จ้ะ|จ้า)(?P<gap>[^\S\n]+)")
_OPENING = re.compile("[“‘«‹]")  # after a wide mark they open
_NEXT_WORD = re.compile(rf"[{re.escape(OPENERS)}\-–—\s*_]*(?P<word>[^\W_]+'?’?)?(?P<names>:\s)?")
_BREAK = re.compile(r"\r\n|[\n\r\t\v\f\x1c-\x1e\x85\u2028\u2029]")
_ALONE = re.compile(r"(?:https?://|www\.)\S+|[\w.+-]+@[\w-]+\.[\w.-]+")
_WORD = re.compile(r"(?<!\S)[^\W\d_]{2,}(?!\S)")
_BULLET = re.compile(r"(?:[-*+•·‣◦▪●○–—>]|#{1,6}|\(?[a-zA-Z]\)|\[[ xX]\])(?=\s)\s+")
_NUMBER = re.compile(r"\(?(?P<number>\d{1,3})[.)]\s+")
_DATE = re.compile(r"\d{2,4}\. ?\d{1,2}\. ?\d{1,2}$|\d{1,4}\. ?\d{1,2}$|\d{4}$")
_INITIAL = re.compile(r"(?:[^\W\d_][.-])*[^\W\d_]")
_ROMAN = re.compile(r"[IVXLC]+")
_ENDING = re.compile("(?:이?라?고|이?라며|며|이?라는|이?란|는|은|이|가|을|를) ")  # Korean, after a quotation
_PARTICLE = re.compile(r"[ぁ-ん、，,・]")


@dataclass(frozen=True, slots=True)
class TextLayout:
    """A text as its sentences, and the gaps before, between and after them: one more than sentences."""

    sentences: tuple[str, ...]
    gaps: tuple[str, ...]
    kept: bool = True
    """The gaps come out as they went in; else as single spaces, and none at the ends."""
    masks: tuple[Masked, ...] = ()
    """What the model reads for each sentence, where that is not always the sentence. An inner one stands
    inside a span of the next that is not inner: its own place and the gap after it are empty."""

    @property
    def read(self) -> tuple[str, ...]:
        """What the model reads for each sentence."""
        return tuple(mask.text for mask in self.masks) if self.masks else self.sentences

    def spans(self) -> Iterator[Span]:
        """Where each sentence stands in the text; an inner one nowhere of its own."""
        place = 0
        for n, (gap, sentence) in enumerate(zip(self.gaps, self.sentences, strict=False)):
            size = 0 if self.masks and self.masks[n].inner else len(sentence)
            place += len(gap)
            yield place, place + size
            place += size

    def join(self, sentences: Sequence[str], *, source: str = "", target: str = "") -> list[str]:
        """Gaps and sentences in turn, a gap first and last, with others in the place of the sentences.

        Between two sentences of a line stands the space that the target language writes there.
        """
        gaps = [gap if self.kept else " " * bool(gap) for gap in self.gaps]
        if not self.kept:
            gaps[0] = gaps[-1] = ""
        inner = [mask.inner for mask in self.masks] or [False] * len(sentences)
        gaps[1:-1] = [
            gap if inside else between(gap, source, target)
            for gap, inside in zip(gaps[1:-1], inner, strict=False)
        ]
        inside = [part for pair in zip(sentences, gaps[1:], strict=True) for part in pair]
        return [gaps[0], *inside]


def between(gap: str, source: str, target: str) -> str:
    """What stands between two sentences of a line in the target language, if it stands so in the source."""
    closed, open = base(source) in NO_SPACES, base(target) not in NO_SPACES
    if not gap and closed and open and target:
        return " "
    return "" if gap == " " and not closed and not open else gap


def base(language: str) -> str:
    """`zh` of `zh-Hans` and of `zh_CN`."""
    return re.split(r"[-_]", language.lower())[0]


def lay_out(text: str, language: str = "") -> TextLayout:
    """The sentences of a text, and the gaps around them. A line never goes on behind its end."""
    return from_spans(text, sentences_of(text, language))


def whole(text: str) -> TextLayout:
    """A text that stays in one piece."""
    return from_spans(text, [(0, len(text))] if text.strip() else [], kept=False)


def from_spans(text: str, spans: Sequence[Span], *, kept: bool = True) -> TextLayout:
    """The layout of a text whose sentences stand here, or in here with white space around them."""
    spans = [tight(text, span) for span in spans]
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    gaps = tuple(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))
    return TextLayout(tuple(text[a:b] for a, b in spans), gaps, kept)


def tight(text: str, span: Span) -> Span:
    """A span without the white space at its ends."""
    part = text[slice(*span)]
    begin = span[0] + len(part) - len(part.lstrip())
    return begin, begin + len(part.strip())


def count_sentences(text: str, language: str = "") -> int:
    """How many sentences a text has."""
    return len(sentences_of(text, language))


def has_sentence(text: str, language: str = "") -> bool:
    """Whether a text has a sentence: a word of letters that stands by itself is enough of one."""
    return bool(_WORD.search(text)) or any(map(str.isalpha, text)) and count_sentences(text, language) > 0


def sentences_of(text: str, language: str = "", spans: Sequence[ProtectedSpan] = ()) -> list[Span]:
    """Where the sentences of a text stand; what has neither letters nor digits is none.

    None ends inside one of these spans, and what has nothing besides them is none.
    """
    if is_question(text):
        return [(0, len(text))]
    found = []
    lines = list(lines_of(text, spans))
    marks = [list_mark(text, span) for span in lines]
    numbers, code = [mark.number for mark in marks], base(language)
    counts = (
        bool(code) and code not in ORDINALS | DATED
    )  # else `5. März` is a date until a neighbour has a 4 or 6
    for n, ((first, end), mark) in enumerate(zip(lines, marks, strict=True)):
        begin, near = mark.begin, {*numbers[max(0, n - 1) : n + 2]}
        if mark.number is not None and (counts or near & {mark.number - 1, mark.number + 1}):
            begin = mark.end
        if overlapping(spans, first, begin):  # what looks like a list mark is protected: `# files`
            begin = first
        inside = overlapping(spans, begin, end)
        parts = split_line(text, (begin, end), code, inside)
        found += [part for part in parts if is_sentence(text, part, inside)]
    return found


@dataclass(frozen=True, slots=True)
class ListMark:
    """What stands before the text of a line: bullets up to `begin`, and a number up to `end`."""

    begin: int
    end: int
    number: int | None = None


def list_mark(text: str, line: Span) -> ListMark:
    """The mark of a list at the beginning of a line."""
    place = line[0]
    while match := _BULLET.match(text, place, line[1]):
        place = match.end()
    if match := _NUMBER.match(text, place, line[1]):
        return ListMark(place, match.end(), int(match["number"]))
    return ListMark(place, place)


def lines_of(text: str, spans: Sequence[ProtectedSpan] = ()) -> Iterator[Span]:
    """The lines of a text that are not blank, or the cells of a line with tabs, without the space around."""
    begin, rest = 0, deque(spans)
    for match in (*_BREAK.finditer(text), None):
        end = match.start() if match else len(text)
        while rest and rest[0].end <= end:
            rest.popleft()
        if match and rest and rest[0].begin <= end:
            continue
        first, last = tight(text, (begin, end))
        if first < last:
            yield first, last
        begin = match.end() if match else end


def is_sentence(text: str, span: Span, spans: Sequence[ProtectedSpan] = ()) -> bool:
    """Whether there is something to translate: letters or digits outside these spans, no bare address."""
    return has_words(text, *span, spans) and not _ALONE.fullmatch(text[slice(*span)])


def split_line(text: str, line: Span, language: str, spans: Sequence[ProtectedSpan] = ()) -> list[Span]:
    """The sentences of one line; none ends inside one of these spans."""
    begin, end = line
    inside, cased = closed_spans(text, line, spans), text[begin:end] != text[begin:end].lower()
    ends = [
        *_END.finditer(text, begin, end),
        *(_THAI_END.finditer(text, begin, end) if language == "th" else ()),
    ]
    cuts = [begin]
    for match in sorted(ends, key=re.Match.start):
        place = end_of(match)
        while inside and inside[0][1] < match.start():
            inside.popleft()
        shut = bool(inside) and inside[0][0] < match.start()
        if shut or match.start() == cuts[-1] or place == end:
            continue
        if is_end(text, cuts[-1], match, language, cased=cased):
            cuts.append(place)
    return [tight(text, span) for span in pairwise([*cuts, end])]


def end_of(match: re.Match[str]) -> int:
    """Where the next sentence begins. What opens a quotation behind a wide mark belongs to it."""
    mark, close = match.groupdict().get("mark"), match.groupdict().get("close")
    if mark and close and mark[-1] in WIDE and (opening := _OPENING.search(close)):
        return match.start("close") + opening.start()
    return match.end()


def closed_spans(text: str, line: Span, spans: Sequence[ProtectedSpan] = ()) -> deque[Span]:
    """From each bracket inside a sentence to its partner, and spans: no sentence ends between them."""
    return deque(sorted([*bracket_spans(text, line), *((span.begin - 1, span.end - 1) for span in spans)]))


def bracket_spans(text: str, line: Span) -> Iterator[Span]:
    """From each bracket inside a sentence to its partner, in the order of these."""
    waiting: list[tuple[str, int]] = []
    last = MARKS[0]  # the last character that is no space
    begins: dict[int, str] = {}
    for place in range(*line):
        character = text[place]
        if character in BRACKETS:
            begins[place] = last
            waiting.append((BRACKETS[character], place))
        elif waiting and character == waiting[-1][0]:
            _, first = waiting.pop()
            if begins[first] not in MARKS + CLOSERS and place - first <= FURTHEST:
                yield first, place
        if not character.isspace():
            last = character


def is_end(text: str, begin: int, match: re.Match[str], language: str, *, cased: bool) -> bool:
    """Whether a sentence that began at `begin` ends with this match; in a line without capitals none begins
    with one."""
    groups = match.groupdict()
    mark, close, gap = groups.get("mark") or "", groups.get("close") or "", match["gap"]
    after = text[end_of(match) : match.end() + 80]
    if mark and mark[-1] in WIDE:
        return not (close and _PARTICLE.match(after))
    if not gap:
        return language in NO_SPACES and mark[-1:] in ("!", "?") and is_caseless(after)
    found = _NEXT_WORD.match(after)
    word = found["word"] if found else None
    low = word and word[0].islower() and (cased or close) and not (found and found["names"])
    if (low and not is_caseless(text[match.start() - 1])) or (close and _ENDING.match(after)):
        return False
    if not mark or mark[-1] != "." or mark.endswith("..") or close:
        return True
    return ends_with_dot(text[max(begin, match.start() - NEAR) : match.start()], word or "", language)


def ends_with_dot(before: str, following: str, language: str) -> bool:
    """Whether a sentence can end with these words and a dot, when this one follows."""
    last = "" if before[-1:].isspace() else before.split()[-1].lstrip(OPENERS) if before else ""
    word, starts = last.lower().strip("'’-"), is_starter(following, language)
    number = following[:1].isdigit()
    if last.isdigit():
        return ends_with_number(last, before, language, starts=starts, number=number)
    spaced = "".join(before.lower().split()[-2:])  # `z. B` is written as one word in the list
    if word in never(language) or spaced in never(language):
        return word == "no" and language == "en" and not number
    if word in maybe(language) or spaced in maybe(language):
        return starts or (word in LAST and language != "de")  # German writes nouns with a capital letter
    if _INITIAL.fullmatch(last) and not is_caseless(last):
        return (starts and not is_caseless(following)) or (last == "I" and language == "en")
    if language in ORDINALS and _ROMAN.fullmatch(last):
        return starts
    return True


def ends_with_number(last: str, before: str, language: str, *, starts: bool, number: bool) -> bool:
    """Whether a sentence can end with a number and a dot."""
    if before.strip() == last and len(last) <= 3:  # it counts what follows
        return False
    if language in ORDINALS and len(last) <= 2:
        return starts
    if language in DATED:
        return not number and not _DATE.search(before)
    return True


def is_caseless(word: str) -> bool:
    """Whether a word begins with a letter of a script without capitals."""
    return word[:1].isalpha() and word[0].lower() == word[0].upper()


def is_starter(word: str, language: str) -> bool:
    """Whether a word begins sentences; where letters have no case every word may."""
    if not word:
        return False
    return (
        is_caseless(word)
        or word.lower() in starters(language)
        or word.lower().rstrip("'’") + "'" in starters(language)
    )
