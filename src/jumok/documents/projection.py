r"""Markup moved from a source to its translation, by the links between their words.

Each tag goes to the stretch of target words that has most of what stands inside it, and least of the rest:

    argmax over stretches  of  \sum_{w in stretch} (share(w) - 1/2)

where share(w) is how much of word w was written from inside the tag. Outer tags are placed first, inner ones
inside them, the surest of several first. No word belongs to two tags side by side, so that the result is
nested whatever the links say; the text is never changed, and no tag is lost or doubled.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import accumulate

from jumok.decoding.results import TextLink
from jumok.documents.evidence import Evidence, Span
from jumok.formats.segments import MarkedText, Tag

HALF = 0.5
UNKNOWN = -0.1
"""What a word without any link counts: inside a stretch it does no harm, at its edges it is left out."""
SURE = 0.25
"""A tag whose best word has a smaller share of it is a guess."""
NEAR = 10  # characters at which a neighbour counts half for the place of a point
ENDS, QUOTES = frozenset(".!?…。！？｡．।؟۔"), frozenset("\"'“”„‚‘’«»‹›「」『』")


@dataclass(frozen=True, slots=True)
class Projection:
    """A translation with the markup of its source, and the tags whose place is a guess."""

    target: MarkedText
    guesses: tuple[Tag, ...] = ()


@dataclass(slots=True)
class TagNode:
    """A tag of the source with the tags inside it, and later its place among the target's words."""

    tag: Tag
    order: int
    is_empty: bool
    """It has nothing but white space inside."""
    inner: list["TagNode"] = field(default_factory=list)
    words: Span = (0, 0)
    begin: int = 0
    end: int = 0


def project(source: MarkedText, text: str, links: Sequence[TextLink] = ()) -> Projection:
    """The target text with every tag of the source, once, and nested."""
    if not source.tags:
        return Projection(MarkedText(text))
    placing = Placing(source, text, links)
    top = nodes_of(source)
    placing.place(top, (0, len(source.text)), (0, len(placing.evidence.words)))
    guesses = tuple(node.tag for node in sorted(placing.guesses, key=lambda one: one.order))
    return Projection(MarkedText(text, tuple(in_order(top))), guesses)


def nodes_of(source: MarkedText) -> list[TagNode]:
    """The tags as trees. One that crosses the end of another stands behind it."""
    top, path = list[TagNode](), list[TagNode]()
    for order, tag in enumerate(source.tags):
        while path and not (tag.begin < path[-1].tag.end and tag.end <= path[-1].tag.end):
            path.pop()
        node = TagNode(tag, order, not source.text[tag.begin : tag.end].strip())
        (path[-1].inner if path else top).append(node)
        if not node.is_empty:
            path.append(node)
    return top


def in_order(nodes: Sequence[TagNode]) -> list[Tag]:
    """The placed tags: as they begin, outer before inner; what has no text before what begins there."""
    found = []
    for node in sorted(nodes, key=lambda one: (one.begin, one.begin < one.end, one.order)):
        found.append(replace(node.tag, begin=node.begin, end=node.end))
        found += in_order(node.inner)
    return found


class Placing:
    """One text in which tags find their places."""

    def __init__(self, source: MarkedText, text: str, links: Sequence[TextLink]) -> None:
        self.source, self.text = source.text, text
        self.evidence = Evidence(source.text, text, links)
        self.guesses: list[TagNode] = []

    def place(self, nodes: Sequence[TagNode], outer: Span, room: Span) -> None:
        """Place tags that stand side by side in `outer` of the source, among the words of `room`."""
        full = [node for node in nodes if not node.is_empty]
        if len(full) == 1 and self._covers(full[0].tag, outer):
            self._settle(full[0], room)
        else:
            self._share_out(full, room)
        taken = [node.words for node in full]
        for node in nodes:
            if node.is_empty:
                place = self._point(node, outer, room, taken)
                node.begin = node.end = place

    def _covers(self, tag: Tag, outer: Span) -> bool:
        """Whether nothing but white space stands in `outer` besides a tag."""
        return not (self.source[outer[0] : tag.begin] + self.source[tag.end : outer[1]]).strip()

    def _share_out(self, nodes: Sequence[TagNode], room: Span) -> None:
        """Give each tag its words, the surest first; what one has taken the others cannot have."""
        free = [room] if room[0] < room[1] else []
        heap = []
        for node in nodes:
            shares = self._verbatim(node.tag) or self.evidence.shares(node.tag.begin, node.tag.end)
            score, words = best_stretch(shares, self.evidence.known, free)
            heap.append((-score, node.order, words, shares, node))
        heapify(heap)
        while heap:
            _, order, words, shares, node = heappop(heap)
            if words is not None and not any(a <= words[0] and words[1] <= b for a, b in free):
                score, words = best_stretch(shares, self.evidence.known, free)
                heappush(heap, (-score, order, words, shares, node))
                continue
            if words is None or max(shares.get(n, 0.0) for n in range(*words)) < SURE:
                self.guesses.append(node)
            words = self._with_marks(node.tag, words, free) if words else self._guess(node.tag, free, room)
            free = [part for one in free for part in without(one, words)]
            self._settle(node, words)

    def _verbatim(self, tag: Tag) -> dict[int, float]:
        """The words of a tag that keeps its text, if they stand in the target once: nothing else is in it."""
        inside = self.source[tag.begin : tag.end].strip()
        if not tag.keep or self.text.count(inside) != 1:
            return {}
        begin = self.text.index(inside)
        end, words = begin + len(inside), self.evidence.words
        found = [n for n, (a, b) in enumerate(words) if begin <= a and b <= end]
        whole = found and (words[found[0]][0], words[found[-1]][1]) == (begin, end)
        return dict.fromkeys(found, 1.0) if whole else {}

    def _settle(self, node: TagNode, words: Span) -> None:
        """A tag has its words; now those inside it get theirs."""
        node.words = words
        node.begin, node.end = self._characters(words)
        self.place(node.inner, (node.tag.begin, node.tag.end), words)

    def _characters(self, words: Span) -> Span:
        """From the first character of the first word to the last one of the last."""
        places = self.evidence.words
        if words[0] < words[1]:
            return places[words[0]][0], places[words[1] - 1][1]
        place = places[words[0]][0] if words[0] < len(places) else len(self.text)
        return place, place

    def _guess(self, tag: Tag, free: Sequence[Span], room: Span) -> Span:
        """A place for a tag whose words went elsewhere: with its neighbours, else as far into the text."""
        reach, most = 1, len(self.source)
        while free and reach < 2 * most:
            shares = self.evidence.shares(tag.begin - reach, tag.end + reach)
            score, words = best_stretch(shares, self.evidence.known, free)
            if words is not None:
                best = max(range(*words), key=lambda n: shares.get(n, 0.0))
                return best, best + 1
            reach *= 2
        near = room[0] + (room[1] - room[0]) * tag.begin // most
        words_left = [n for one in free for n in range(*one)]
        if words_left:
            best = min(words_left, key=lambda n: abs(n - near))
            return best, best + 1
        return room[1], room[1]

    def _with_marks(self, tag: Tag, words: Span, free: Sequence[Span]) -> Span:
        """Punctuation at the edges as the source has it: inside the tag or outside."""
        least, most = next(one for one in free if one[0] <= words[0] and words[1] <= one[1])
        begin, end = words
        inside = self.source[tag.begin : tag.end].strip()
        while end - begin > 1 and self._mark(end - 1) and not alike(self._mark(end - 1), inside[-1]):
            end -= 1
        while end - begin > 1 and self._mark(begin) and not alike(self._mark(begin), inside[0]):
            begin += 1
        if end < most and self._mark(end) and alike(self._mark(end), inside[-1]) and not self._mark(end - 1):
            end += 1
        if begin > least and self._mark(begin - 1) and alike(self._mark(begin - 1), inside[0]):
            begin -= 0 if self._mark(begin) else 1
        return begin, end

    def _mark(self, word: int) -> str:
        """A punctuation mark; "" if it is a word."""
        begin, end = self.evidence.words[word]
        part = self.text[begin:end]
        return "" if part[0].isalnum() else part

    def _point(self, node: TagNode, outer: Span, room: Span, taken: Sequence[Span]) -> int:
        """The character before which a tag without text goes."""
        place, source = node.tag.begin, self.source
        if not source[outer[0] : place].strip():
            return self._characters(room)[0]
        if not source[node.tag.end : outer[1]].strip():
            return self._characters(room)[1]
        if (line := self._line_break(place)) is not None:
            return line
        word = self._boundary(place, room, taken)
        if word is None:
            self.guesses.append(node)
            word = room[1]
        words = self.evidence.words
        tight = not source[place - 1].isspace()  # it stands at the end of a word, like the mark of a footnote
        if word > room[0] and (tight or word == room[1]):
            return words[word - 1][1]
        return words[word][0] if word < len(words) else len(self.text)

    def _line_break(self, place: int) -> int | None:
        """Beside a line break of the source: beside the same one of the target, if there are as many."""
        before, at = self.source[place - 1 : place] == "\n", self.source[place : place + 1] == "\n"
        if not (before or at) or self.source.count("\n") != self.text.count("\n"):
            return None
        number, found = self.source.count("\n", 0, place - before), -1
        for _ in range(number + 1):
            found = self.text.index("\n", found + 1)
        return found + before

    def _boundary(self, place: int, room: Span, taken: Sequence[Span]) -> int | None:
        """The word before which most of the left stands to the left, and most of the right to the right.

        What is near to the place counts more. None: no word says anything.
        """
        costs = [0.0] * (room[1] - room[0] + 1)  # of putting it before word n: first as differences
        found = False
        for one in self.evidence.mentions:
            if not room[0] <= one.word < room[1]:
                continue
            found = True
            left = one.end <= place
            far = place - one.end if left else max(0, one.begin - place)
            weight, n = one.share / (1 + far / NEAR), one.word - room[0]
            if left:  # it costs wherever the place is not behind the word
                costs[0] += weight
                costs[n + 1] -= weight
            else:
                costs[n + 1] += weight
        if not found:
            return None
        total = list(accumulate(costs))
        inside = {n for a, b in taken for n in range(a + 1, b)}
        allowed = [n for n in range(room[0], room[1] + 1) if n not in inside]
        return min(allowed, key=lambda n: round(total[n - room[0]], 9))  # the first of equals


def best_stretch(
    shares: Mapping[int, float], known: Container[int], free: Iterable[Span]
) -> tuple[float, Span | None]:
    """The stretch of free words with the largest sum of share - 1/2, and the sum; None: no word has any."""
    best, words = -HALF, None
    for least, most in free:
        have = [n for n in shares if least <= n < most]
        if not have:
            continue
        total, begin = 0.0, least
        for n in range(min(have), max(have) + 1):
            if total <= 0:
                total, begin = 0.0, n
            total += shares[n] - HALF if n in shares else -HALF if n in known else UNKNOWN
            if total > best and n in shares:
                best, words = total, (begin, n + 1)
    return best, words


def without(one: Span, taken: Span) -> list[Span]:
    """What is left of a stretch of words."""
    if taken[0] >= taken[1] or not (one[0] <= taken[0] and taken[1] <= one[1]):
        return [one]
    return [part for part in ((one[0], taken[0]), (taken[1], one[1])) if part[0] < part[1]]


def alike(mark: str, other: str) -> bool:
    """Whether two punctuation marks do the same: end a sentence, quote, or are the same."""
    return mark == other or any(mark in group and other in group for group in (ENDS, QUOTES))
