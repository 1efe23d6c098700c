"""Whether line n of one side belongs to line n of the other, told by content: shifts, and pairs by chance.

A corpus of any size is judged by at most `SAMPLE` pairs, in blocks that are spread evenly over it. The
partners of each line are sought at the same line and up to `REACH` lines away (scored by `likeness.py`), and
the best path through these shifts is found. Each change of the shift costs `CHANGE`, so that one is believed
only if it explains many lines.

Axis letters: N lines, M pairs of lines, S states: the shifts from -REACH to REACH, then none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import le
from textwrap import shorten

import numpy as np
from numpy.typing import NDArray

from jumok.data.likeness import Floats, Likeness, Rows, features

States = NDArray[np.int64]
Span = tuple[int, int]

BLOCK, SAMPLE = 200, 20_000  # pairs
CUT = 1_000  # characters of a text that are kept
SHOWN = 100  # characters of those in a message
FEWEST = 100  # pairs that can be judged
REACH, FAR = 5, 500  # lines: how far partners are sought, and how far those of a whole stretch without any
NONE = 2 * REACH + 1  # the state of lines whose partners are nowhere near
CHANGE = 30.0  # nats that a change of the shift costs
GAIN = 0.3  # nats a line, on average, by which a stretch must fit better than the lines as they stand
STRETCH = 20  # lines at least without partners
ROUNDS = 3  # of learning from the pairs that were found
CLEAR = 1.0  # nats between partners and strangers, on average, below which other shifts are tried
TRIED = 5_000  # lines for that
STRANGERS, HALF, ALL = 0.05, 0.5, 0.85  # shares worth a word: of a clear picture, of a sorted side, of any
TOLD, SURE = 0.85, 0.2  # shares of pairs that are partners or none, and partners, in a clear picture
LIKE = 7  # places, in the order of their lengths, from a target to another one about as long
ENOUGH = 1_000  # pairs of which one may say that none are partners
IN_ORDER = 0.97  # share of neighbours that are in order on a side that was sorted


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines of the source whose targets stand `shift` lines further on; None: nowhere near."""

    first: int
    last: int
    shift: int | None

    def __str__(self) -> str:
        if self.shift is None:
            return f"from line {self.first:,} to {self.last:,} no target near them fits"
        lines = f"{abs(self.shift)} line{'s' * (abs(self.shift) > 1)}"
        side = f"{lines} {'behind' if self.shift > 0 else 'ahead of'} the source"
        return f"from line {self.first:,} to {self.last:,} the target is {side}"


@dataclass(frozen=True, slots=True)
class Alignment:
    """What is wrong with the order of the lines."""

    stretches: tuple[Stretch, ...] = ()
    strangers: float = 0.0
    """The share of the other pairs that fit no better than by chance; 0 where that is too few, or unsure."""
    worst: tuple[int, ...] = ()
    """Lines of those that fit worst."""
    ordered: str = ""
    """The side that is in alphabetical order, where the pairs fit no better than by chance."""
    example: str = ""
    """A source out of step and its partner."""

    def holds(self, line: int) -> bool:
        """Whether a line is out of step."""
        return any(stretch.first <= line <= stretch.last for stretch in self.stretches)

    @property
    def lines(self) -> int:
        """How many lines are out of step."""
        return sum(stretch.last - stretch.first + 1 for stretch in self.stretches)


class PairSample:
    """Pairs of a corpus: blocks spread evenly over it, and all within some spans of lines."""

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self.spans, self.stride = tuple(spans), 1
        self.blocks: dict[int, list[tuple[int, str, str]]] = {}
        self.last = 0  # line of the corpus

    def add(self, numbers: Sequence[int], sources: Sequence[str], targets: Sequence[str]) -> None:
        """Take in the next pairs, with the numbers of their lines."""
        self.last = max([self.last, *numbers[-1:]])
        for number, source, target in zip(numbers, sources, targets, strict=True):
            block = (number - 1) // BLOCK
            if block % self.stride == 0 or self.within(number):
                self.blocks.setdefault(block, []).append((number, source[:CUT], target[:CUT]))
        while sum(block % self.stride == 0 for block in self.blocks) > SAMPLE // BLOCK:
            self.stride *= 2
            for block in [block for block in self.blocks if block % self.stride]:
                rows = [row for row in self.blocks.pop(block) if self.within(row[0])]
                self.blocks |= {block: rows} if rows else {}
            self.blocks = dict(sorted(self.blocks.items()))

    def within(self, number: int) -> bool:
        return any(first <= number <= last for first, last in self.spans)

    def lists(self) -> tuple[States, list[str], list[str]]:
        """The numbers of the lines, their sources and their targets."""
        rows = [row for block in self.blocks.values() for row in block]
        numbers, sources, targets = zip(*rows, strict=True) if rows else ((), (), ())
        return np.array(numbers, np.int64), list(sources), list(targets)

    def doubtful(self, found: Alignment) -> list[Span]:
        """The lines, not looked at, among which some stretch begins or ends."""
        numbers, spans = self.lists()[0], dict[Span, None]()  # two stretches may meet in one
        for edge in sorted({edge for one in found.stretches for edge in (one.first - 1, one.last)}):
            place = int(np.searchsorted(numbers, edge, side="right"))
            if 0 < place < len(numbers) and numbers[place] - numbers[place - 1] > 1:
                spans[int(numbers[place - 1]) + 1, int(numbers[place]) - 1] = None
        return [*spans]


def judge(sample: PairSample) -> Alignment:
    """What the sample shows, also of the lines that follow its last; nothing of one that is too small."""
    numbers, sources, targets = sample.lists()
    if len(numbers) < FEWEST:
        return Alignment()
    found = LineOrder(numbers, sources, targets).judge()
    *others, last = found.stretches or (Stretch(0, 0, 0),)
    if last.last != numbers[-1]:
        return found
    return replace(found, stretches=(*others, replace(last, last=sample.last)))


class LineOrder:
    """The lines of a sample, and which belong together."""

    def __init__(self, numbers: States, sources: Sequence[str], targets: Sequence[str]) -> None:
        self.numbers, self.texts, self.sides = numbers, (sources, targets), features(sources, targets)
        lines = np.arange(len(numbers))
        self.far = np.stack([lines, (lines + len(lines) // 3 + 7) % len(lines)], axis=1)  # (N, 2)

    def judge(self) -> Alignment:
        """Learn from the pairs as they stand, find the best path, learn from its pairs, and so on."""
        states = np.full(len(self.numbers), self.start() + REACH)
        for _ in range(ROUNDS):
            likeness = self.learn(self.partners(states))
            before, scores = states, self.scores(likeness)
            states = best_path(scores)
            if (states == before).all():
                break
        states = self.believed(states, scores)
        return self.verdict(states, likeness)

    def start(self) -> int:
        """The shift that most lines seem to have: 0, unless that gives no clear picture and another does."""
        straight = self.clearness(0)
        if straight > CLEAR:
            return 0
        clear = {shift: self.clearness(shift) for shift in range(-REACH, REACH + 1) if shift}
        best = max(clear, key=lambda shift: clear[shift])
        return best if clear[best] > straight + GAIN else 0

    def clearness(self, shift: int) -> float:
        """How far apart partners and strangers are, on average, if all lines have this shift."""
        pairs = self.partners(np.full(min(len(self.numbers), TRIED), shift + REACH))
        if len(pairs) < FEWEST // 2:
            return 0.0
        likeness = self.learn(pairs)
        return float(likeness.score(pairs).mean() - likeness.score(self.far[: len(pairs)]).mean())

    def partners(self, states: States) -> Rows:
        """The pairs (M, 2) of lines that these states of the first lines mean."""
        lines = np.flatnonzero(states != NONE)
        return self.shifted(lines, states[lines] - REACH)

    def shifted(self, lines: States, shift: States | int) -> Rows:
        """The pairs (M, 2) of these lines and those that stand so many lines further on in the corpus."""
        there = lines + shift
        inside = (there >= 0) & (there < len(self.numbers))
        lines, there = lines[inside], there[inside]
        near = self.numbers[there] - self.numbers[lines] == there - lines
        return np.stack([lines[near], there[near]], axis=1)

    def learn(self, pairs: Rows) -> Likeness:
        likeness = Likeness(*self.sides, pairs)
        likeness.fit(pairs, self.far[: max(len(pairs), FEWEST)])
        return likeness

    def scores(self, likeness: Likeness) -> Floats:
        """How well each state (N, S) explains each line; where all is well, only that of no shift."""
        made = np.zeros((len(self.numbers), NONE + 1), np.float32)
        for state in sorted(range(NONE), key=lambda state: state != REACH):
            pairs = self.partners(np.full(len(self.numbers), state))
            made[pairs[:, 0], state] = likeness.score(pairs)
            if state == REACH and np.convolve(made[:, state], np.ones(STRETCH), "valid").min() > 0:
                break
        return made

    def believed(self, states: States, scores: Floats) -> States:
        """The path without shifts that fit hardly better than none, and without a handful of strangers."""
        kept = states.copy()
        for first, end in runs(states):
            state, own = int(states[first]), scores[first:end]
            gain = float((own[:, state] - own[:, REACH]).mean())
            if gain < GAIN or state == NONE and end - first < STRETCH:
                kept[first:end] = REACH
        return kept

    def verdict(self, states: States, likeness: Likeness) -> Alignment:
        stretches, example = list[Stretch](), ""
        for first, end in runs(states):
            if (state := int(states[first])) == REACH:
                continue
            shift = state - REACH if state != NONE else self.distance(first, end, likeness)
            stretches.append(Stretch(int(self.numbers[first]), int(self.numbers[end - 1]), shift))
        pairs = self.partners(np.where(states == REACH, REACH, NONE))
        share, sure, worst = self.strangers(pairs, likeness)
        clear = sure > SURE and share + sure > TOLD
        if not clear and len(pairs) >= ENOUGH and (alike := self.unrelated(pairs, likeness)) >= ALL:
            share = max(share, alike)  # less than nearly all is no sign: in a dictionary words have no words
        if share > HALF and (ordered := " and the ".join(filter(self.is_ordered, SIDES))):
            return Alignment((), share, worst, ordered)
        if share < (STRANGERS if clear else ALL if len(pairs) >= ENOUGH else 2):
            share, worst = 0.0, ()
        for stretch in stretches[:1]:
            example = self.example(stretch)
        return Alignment(tuple(stretches), share, worst, "", example)

    def distance(self, first: int, end: int, likeness: Likeness) -> int | None:
        """How far away the partners of a stretch are, if they are all as far."""
        lines, found = np.arange(first, min(end, first + BLOCK)), dict[int, float]()
        for shift in range(-FAR, FAR + 1):
            pairs = self.shifted(lines, shift)
            if abs(shift) > REACH and len(pairs) >= STRETCH:
                found[shift] = float(likeness.score(pairs).mean())
        best = max(found, key=lambda shift: found[shift], default=0)
        return (
            best if best and found[best] > max(GAIN, *np.quantile([*found.values()], [0.99]) + GAIN) else None
        )

    def example(self, stretch: Stretch) -> str:
        """The first source of a stretch with the target that it fits, and where that stands."""
        place, shift = int(np.searchsorted(self.numbers, stretch.first)), stretch.shift or 0
        pairs = self.shifted(np.array([place]), shift)
        if not len(pairs):
            return ""
        texts = (
            shorten(self.texts[side][line], SHOWN, placeholder=" …") for side, line in enumerate(pairs[0])
        )
        return " ↔ ".join(texts) + (f" (line {stretch.first + shift:,})" if shift else "")

    def strangers(self, pairs: Rows, likeness: Likeness) -> tuple[float, float, tuple[int, ...]]:
        """The share of pairs that fit no better than by chance, that of sure partners, and the worst lines.

        Of the scores that half of all strangers stay below, partners have hardly any; above those that nearly
        no stranger reaches nearly all are partners. Where the two leave out many, as in a chat, the signs are
        too weak to tell partners from strangers one by one.
        """
        if len(pairs) < FEWEST:
            return 0.0, 0.0, ()
        ours, theirs = likeness.score(pairs), likeness.score(self.far)
        share = min(1.0, float(2 * (ours < np.median(theirs)).mean()))
        sure = float((ours > np.quantile(theirs, 0.99)).mean())
        worst = pairs[np.argsort(ours, kind="stable")[:10], 0]
        return share, sure, tuple(sorted(self.numbers[worst].tolist()))

    def unrelated(self, pairs: Rows, likeness: Likeness) -> float:
        """The share of pairs that fit no better than sources and other targets as long as theirs.

        In many corpora the length changes from place to place, so that any two lines which stand near each
        other are more alike than two far apart, also when no line has its own partner.
        """
        ranked = np.argsort(self.sides[1].lengths[pairs[:, 1]], kind="stable")
        lines, others = pairs[ranked, 0], np.roll(pairs[ranked, 1], LIKE)  # (M,)
        theirs = likeness.score(np.stack([lines, others], axis=1)[LIKE:])
        return min(1.0, float(2 * (likeness.score(pairs) < np.median(theirs)).mean()))

    def is_ordered(self, side: str) -> bool:
        """Whether the texts of a side are in alphabetical order."""
        texts = self.texts[SIDES.index(side)]
        spelled = (
            [*texts],
            [*map(str.casefold, texts)],
            ["".join(filter(str.isalnum, text)) for text in texts],
        )
        in_order = (sum(map(le, keys, keys[1:])) for keys in spelled)
        return any(count >= IN_ORDER * (len(texts) - 1) for count in in_order)


SIDES = ("source", "target")


def runs(states: States) -> list[Span]:
    """Where equal states begin, and end before."""
    edges = [0, *(np.flatnonzero(np.diff(states)) + 1).tolist(), len(states)]
    return list(zip(edges, edges[1:], strict=False))


def best_path(scores: Floats) -> States:
    """The states (N,) of the greatest sum, less what its changes cost."""
    came = np.empty(scores.shape, np.int8)
    total, own = np.zeros(scores.shape[1]), np.arange(scores.shape[1], dtype=np.int8)
    for line, row in enumerate(scores):
        best = int(total.argmax())
        change = total < total[best] - CHANGE
        came[line] = np.where(change, best, own)
        total = np.where(change, total[best] - CHANGE, total) + row
    states = np.empty(len(scores), np.int64)
    state = int(total.argmax())
    for line in range(len(scores) - 1, -1, -1):
        states[line] = state
        state = int(came[line, state])
    return states
