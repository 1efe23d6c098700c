"""Phrases that an answer must contain, as a search sees them: what is written, begun and missing.

Beam search with phrases is that of Post & Vilar (2018), dynamic beam allocation: hypotheses are put into
banks by how many tokens of the phrases they have written, and the places of the beam are shared out between
the banks in turns. So there is always a hypothesis that has all phrases, and one that waits for the right
place. Phrases are found in the bytes of an answer, however these are cut into tokens. `native/c/phrases.c` is
the same in C. No torch.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from jumok.answers import Answer, length_penalty
from jumok.decoding.jobs import SOFT, WIDEST, Phrase

CLOSING = tuple(bytes([byte]) for byte in b".,;:!?)]}")


def begins_word(before: bytes) -> bool:
    """Whether a word may begin behind these bytes of UTF-8: not after a letter or a digit.

    Of what is not ASCII, Latin-1 signs and the blocks of punctuation, arrows and symbols are no letters.
    """
    if not before or before[-1] < 0x80:
        return not before[-1:].isalnum()
    place = len(before) - 1
    while place > 0 and before[place] < 0xC0:  # a byte that goes on
        place -= 1
    return before[place] in (0xC2, 0xE2) or before[place : place + 2] == b"\xe3\x80"


def may_open(before: bytes) -> bool:
    """Whether a word may be written right behind these bytes: not after a sign that closes."""
    return begins_word(before) and before[-1:] not in CLOSING


def occurs(phrase: Phrase, written: bytes, since: int = 0) -> bool:
    """Whether a phrase stands in what is written and ends behind the first `since` bytes."""
    for spelling in phrase.spellings:
        text = spelling.text.encode()
        at = written.find(text, max(0, since - len(text) + 1))
        while at >= 0:
            if not phrase.word or begins_word(written[:at]):
                return True
            at = written.find(text, at + 1)
    return False


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a hypothesis has come."""

    met: int = 0
    """Bit i: it has phrase i."""
    written: bytes = b""
    tokens: tuple[int, ...] = ()


@dataclass(frozen=True)
class Constraint:
    """The phrases of one sentence; pieces[id] is what a target id writes."""

    phrases: tuple[Phrase, ...]
    pieces: Sequence[bytes]
    width: int = WIDEST
    """How many hypotheses a beam search keeps."""
    _completions: dict[str, list[list[int]]] = field(default_factory=dict)

    def after(self, progress: Progress, token: int) -> Progress:
        """The progress after one more token."""
        written, since, met = progress.written + self.pieces[token], len(progress.written), progress.met
        for i, phrase in enumerate(self.phrases):
            if not met >> i & 1 and occurs(phrase, written, since):
                met |= 1 << i
        return Progress(met, written, (*progress.tokens, token))

    def replay(self, tokens: Iterable[int]) -> Progress:
        """The progress of a hypothesis with these tokens."""
        progress = Progress()
        for token in tokens:
            progress = self.after(progress, token)
        return progress

    def begun(self, progress: Progress) -> Iterator[tuple[int, int]]:
        """For each place k of a missing phrase that its tokens may go on from: k and the next token."""
        for i, phrase in enumerate(self.phrases):
            if progress.met >> i & 1:
                continue
            for spelling in phrase.spellings:
                for k in range(min(len(spelling.ids) - 1, len(progress.tokens)), -1, -1):
                    head = spelling.ids[:k]
                    if progress.tokens[len(progress.tokens) - k :] == head and self._may_begin(
                        phrase, spelling.ids, progress.written, head
                    ):
                        yield k, spelling.ids[k]

    def _may_begin(self, phrase: Phrase, ids: Sequence[int], written: bytes, head: Sequence[int]) -> bool:
        """Whether a phrase whose tokens `head` end what is written would count when it is written out."""
        if not phrase.word or self.pieces[ids[0]][:1] == b" ":
            return True
        return may_open(written[: len(written) - sum(len(self.pieces[token]) for token in head)])

    def wanted(self, progress: Progress) -> list[int]:
        """The tokens that a missing phrase goes on with, each once."""
        return list(dict.fromkeys(token for _, token in self.begun(progress)))

    def bank(self, progress: Progress) -> int:
        """Tokens of phrases that are written: all of those it has, and of one that is begun."""
        had = sum(phrase.size for i, phrase in enumerate(self.phrases) if progress.met >> i & 1)
        return had + max((k for k, _ in self.begun(progress)), default=0)

    def may_end(self, progress: Progress) -> bool:
        """Whether nothing is missing that is required."""
        return all(phrase.soft or progress.met >> i & 1 for i, phrase in enumerate(self.phrases))

    def lacking(self, answer: Answer) -> int:
        """How many soft phrases an answer has not."""
        if not any(phrase.soft for phrase in self.phrases):
            return 0
        met = self.replay(answer.ids).met
        return sum(phrase.soft and not met >> i & 1 for i, phrase in enumerate(self.phrases))

    def banned(self, progress: Progress) -> set[int]:
        """The tokens that would write a phrase again that may come only once."""
        ids = set[int]()
        for i, phrase in enumerate(self.phrases):
            if phrase.once and progress.met >> i & 1:
                for spelling in phrase.spellings:
                    if spelling.text not in self._completions:
                        self._completions[spelling.text] = completions(spelling.text, self.pieces)
                    ids.update(completing(spelling.text, self._completions[spelling.text], progress.written))
        return ids

    def normalised(self, answer: Answer, alpha: float) -> float:
        """The score by which answers compete: (log P - what it lacks) / lp.

        A charge and not a reward: with log P + reward near zero, or above it, short answers would win.
        """
        charge = SOFT * self.lacking(answer)
        return (answer.score - charge) / length_penalty(len(answer.log_probs), alpha)

    def ranked(self, answers: Iterable[Answer], alpha: float) -> list[Answer]:
        """Best first: finished answers before unfinished ones, then by score."""
        return sorted(answers, key=lambda a: (a.finished, self.normalised(a, alpha)), reverse=True)

    def is_done(
        self, answers: Sequence[Answer], best: float, limit: int, *, beam: int, n_best: int, alpha: float
    ) -> bool:
        """`beam.is_done` for these phrases: whether the live hypotheses can be given up.

        Answers that lack a soft phrase come early; they do not end a search that still writes it.
        """
        if best == -inf or sum(not self.lacking(answer) for answer in answers) >= beam:
            return True
        if len(answers) < n_best:
            return False
        scores = sorted((self.normalised(answer, alpha) for answer in answers), reverse=True)
        return scores[n_best - 1] >= best / length_penalty(limit, alpha)


def completions(text: str, pieces: Sequence[bytes]) -> list[list[int]]:
    """For each k the tokens that write a text to its end, if its first k bytes are written; k is at most all
    but one. With k = 0 they have it all.
    """
    spelled = text.encode()
    inside = [i for i, piece in enumerate(pieces) if spelled in piece]
    rest = [[i for i, p in enumerate(pieces) if p.startswith(spelled[k:])] for k in range(1, len(spelled))]
    return [inside, *rest]


def completing(text: str, table: Sequence[Sequence[int]], written: bytes) -> Iterator[int]:
    """The tokens after which a text would stand at the end of what is written."""
    spelled = text.encode()
    for k, ids in enumerate(table):
        if ids and written.endswith(spelled[:k]):
            yield from ids


def in_turns(banks: Sequence[int]) -> list[int]:
    """Places of candidates, given best first with their banks: one of each bank in turn, highest first."""
    waiting: dict[int, list[int]] = {}
    for place, bank in enumerate(banks):
        waiting.setdefault(bank, []).append(place)
    lists = [waiting[bank] for bank in sorted(waiting, reverse=True)]
    longest = max(map(len, lists), default=0)
    return [places[turn] for turn in range(longest) for places in lists if turn < len(places)]
