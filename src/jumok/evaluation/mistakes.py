"""What kinds of mistakes a model makes, by word, by length, and whether its search is to blame or the model.

Answer and reference are compared word by word along a shortest edit (`post_edits.edit_steps`). A word of the
answer that the edit does not keep is *extra*, a word of the reference that it does not keep is *lost*. Each
of them is one mistake, of the first kind that fits:

    moved      an extra word and a lost word that are the same: it stands in another place
    repeated   an extra word in a run of one to four words that stands twice in a row, all times but one
    wrong      an extra word that the edit puts in place of a lost one
    added      any other extra word
    omitted    any other lost word

Whose fault: the search looks for the answer Y of the highest s(Y) = log P(Y | X) / lp(Y) (Wu et al. 2016,
eq. 14). If the reference has a higher s than the answer, the search has missed it: a *search* error. Else the
model prefers what is wrong: a *model* error (Ott et al. 2018 count them so).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from jumok.answers import normalised
from jumok.evaluation.lengths import Group, Unit, group_by_length
from jumok.evaluation.post_edits import edit_steps
from jumok.progress import Progress, silent
from jumok.text.normalize import nfc
from jumok.text.word_spans import words_of

Kind = Literal["moved", "repeated", "wrong", "added", "omitted"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Cause = Literal["search", "model"]
LONGEST_RUN = 4  # words that are said again
MOST_WORDS = 400  # of a side that are compared: the work grows with the product of both
SHOWN_WORDS = 50
LINES_OF_A_WORD = 20
INSTEAD = 3


@dataclass(frozen=True, slots=True)
class Slip:
    """One mistake: the word of the reference and that of the answer, where there is one."""

    kind: Kind
    reference: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class Scored:
    """How probable the model finds a text: log P with its end, and how many tokens that is."""

    score: float
    tokens: int


@dataclass(frozen=True, slots=True)
class Pair:
    """A source, what it should become and what it became; the scores where a model gave them."""

    source: str
    references: tuple[str, ...]
    answer: str
    answer_score: Scored | None = None
    reference_score: Scored | None = None
    """Of the first reference."""


@dataclass(frozen=True, slots=True)
class WrongLine:
    """An answer with mistakes."""

    line: int
    source: str
    reference: str
    hypothesis: str
    kinds: Mapping[Kind, int]
    cause: Cause | None
    """None: no scores were given."""


@dataclass(frozen=True, slots=True)
class WrongWord:
    """A word of the references that answers lack, or a word that they have too much."""

    word: str
    times: int
    """How often references have it."""
    missed: int
    """How often it was omitted, moved, or another stood in its place."""
    extra: int
    """How often answers have it where it is added, repeated, or in place of another."""
    instead: tuple[tuple[str, int], ...]
    """What stood in its place, the commonest first."""
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WrongLength:
    """Sources of one length."""

    lo: int
    hi: int | None
    n: int
    wrong: int
    kinds: Mapping[Kind, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistakes:
    """All mistakes of some answers. `to_dict` is schema mistakes/1."""

    n: int
    kinds: Mapping[Kind, int]
    """How many mistakes there are of each kind."""
    causes: Mapping[Cause, int]
    """Of answers with mistakes whose scores are known."""
    unit: Unit
    lengths: tuple[WrongLength, ...]
    words: tuple[WrongWord, ...]
    lines: tuple[WrongLine, ...] = field(repr=False)
    cut: int
    """Answers of which only the first words were compared."""

    def to_dict(self) -> dict[str, Any]:
        return {"schema": "mistakes/1", **asdict(self)}


def slips_of(answer: Sequence[str], reference: Sequence[str]) -> list[Slip]:
    """The mistakes of an answer, both as words: each kind as the docstring of this file says it."""
    steps = edit_steps(answer, reference)
    same = {(i, j) for i, j in steps if i is not None and j is not None and answer[i] == reference[j]}
    extra = [i for i in range(len(answer)) if i not in {i for i, _ in same}]
    lost = [j for j in range(len(reference)) if j not in {j for _, j in same}]
    found = []
    for i in tuple(extra):
        place = next((j for j in lost if reference[j] == answer[i]), None)
        if place is not None:
            extra.remove(i)
            lost.remove(place)
            found.append(Slip("moved", reference[place], answer[i]))
    for group in said_again(answer):
        surplus = [i for i in sorted(group) if i in extra]
        for i in surplus if len(surplus) < len(group) else surplus[1:]:
            extra.remove(i)
            found.append(Slip("repeated", None, answer[i]))
    for ours, theirs in steps:
        if ours in extra and theirs in lost:
            extra.remove(ours)
            lost.remove(theirs)
            found.append(Slip("wrong", reference[theirs], answer[ours]))
    found += [Slip("added", None, answer[i]) for i in extra]
    return found + [Slip("omitted", reference[j], None) for j in lost]


def said_again(words: Sequence[str]) -> list[set[int]]:
    """Places of the same word in runs of one to four words that stand twice, or more often, in a row."""
    groups: list[set[int]] = []
    for run in range(1, LONGEST_RUN + 1):
        for begin in range(len(words) - 2 * run + 1):
            if words[begin : begin + run] == words[begin + run : begin + 2 * run]:
                for place in range(begin, begin + run):
                    twins = {place, place + run}
                    apart = [group for group in groups if not group & twins]
                    groups = [*apart, twins.union(*(group for group in groups if group & twins))]
    return groups


def cause_of(pair: Pair, alpha: float) -> Cause | None:
    """Whether the search or the model is to blame for a wrong answer; `alpha` is the search's penalty."""
    ours, theirs = pair.answer_score, pair.reference_score
    if ours is None or theirs is None:
        return None
    found, missed = (normalised(one.score, one.tokens, alpha) for one in (ours, theirs))
    return "search" if missed > found else "model"


def find_mistakes(pairs: Sequence[Pair], *, alpha: float = 1.0, progress: Progress = silent) -> Mistakes:
    """The mistakes of these answers; of several references the one counts that needs the fewest edits."""
    slips: dict[int, list[Slip]] = {}
    lines, cut, times = [], 0, Counter[str]()
    for number, pair in enumerate(pairs):
        progress("mistakes", number, len(pairs))
        answer, *right = (words_of(nfc(text)) for text in (pair.answer, *pair.references))
        cut += any(len(words) > MOST_WORDS for words in (answer, *right))
        ways = [slips_of(answer[:MOST_WORDS], words[:MOST_WORDS]) for words in right]
        nearest = min(range(len(ways)), key=lambda way: len(ways[way]))
        times.update(right[nearest])
        if not ways[nearest]:
            continue
        slips[number] = ways[nearest]
        kinds = count_kinds(ways[nearest])
        texts = (pair.source, pair.references[nearest], pair.answer)
        lines.append(WrongLine(number, *texts, kinds, cause_of(pair, alpha)))
    unit, groups = group_by_length([pair.source for pair in pairs])
    return Mistakes(
        n=len(pairs),
        kinds=count_kinds([slip for found in slips.values() for slip in found]),
        causes=dict(Counter(line.cause for line in lines if line.cause)),
        unit=unit,
        lengths=tuple(wrong_length(group, slips) for group in groups),
        words=wrong_words(slips, times),
        lines=tuple(lines),
        cut=cut,
    )


def count_kinds(slips: Sequence[Slip]) -> dict[Kind, int]:
    """How many there are of each kind that occurs, in the order of KINDS."""
    counts = Counter(slip.kind for slip in slips)
    return {kind: counts[kind] for kind in KINDS if counts[kind]}


def wrong_length(group: Group, slips: Mapping[int, Sequence[Slip]]) -> WrongLength:
    wrong = [number for number in group.sentences if number in slips]
    kinds = count_kinds([slip for number in wrong for slip in slips[number]])
    return WrongLength(group.lo, group.hi, len(group.sentences), len(wrong), kinds)


def wrong_words(slips: Mapping[int, Sequence[Slip]], times: Mapping[str, int]) -> tuple[WrongWord, ...]:
    """The words that are missed or too much most often."""
    missed, extra = Counter[str](), Counter[str]()
    instead: dict[str, Counter[str]] = {}
    lines: dict[str, dict[int, None]] = {}
    for number, found in slips.items():
        for slip in found:
            if slip.reference is not None:
                missed[slip.reference] += 1
            if slip.answer is not None and slip.kind != "moved":
                extra[slip.answer] += 1
            if slip.kind == "wrong" and slip.reference and slip.answer:
                instead.setdefault(slip.reference, Counter())[slip.answer] += 1
            for word in {slip.reference, slip.answer} - {None}:
                lines.setdefault(str(word), {})[number] = None
    order = sorted(lines, key=lambda word: (-missed[word] - extra[word], word))
    return tuple(
        WrongWord(
            word,
            times.get(word, 0),
            missed[word],
            extra[word],
            tuple(instead.get(word, Counter()).most_common(INSTEAD)),
            tuple(lines[word])[:LINES_OF_A_WORD],
        )
        for word in order[:SHOWN_WORDS]
    )
