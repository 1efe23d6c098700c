"""Which tokens may come next: each filter sets the log-probabilities of the others to minus infinity.

Letters: R rows (live hypotheses), t tokens produced so far, V vocabulary. Filters see the whole row, so they
keep no state of their own and beam search can reorder rows freely.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from jumok.answers import Answer
from jumok.decoding.constraints import Constraint, completing, completions
from jumok.decoding.jobs import CHARACTER
from jumok.text.characters import ANY, SECOND_BYTES, next_bytes
from jumok.text.tokenizer import BOS, EOS, FIRST_BYTE, PAD, UNK

NEVER = (BOS, PAD, UNK)
"""No answer contains these."""
LEARNED = FIRST_BYTE + 256
"""The first id that is no byte."""
FREE = 0
"""The state between two characters."""
BEGINNINGS = [(1, range(0xC2, 0xE0)), (2, range(0xE0, 0xF0)), (3, range(0xF0, 0xF5))]
INSIDE = [
    *((left, ANY) for left in (1, 2, 3)),
    *((2 + (byte >= 0xF0), after) for byte, after in SECOND_BYTES.items()),
]
"""States 1, 2, …: bytes that are still to come, and what the next one may be."""


@dataclass(frozen=True)
class LiveRows:
    """The live hypotheses of a search. A value: growing and selecting give a new one."""

    sentence: Tensor  # (R,), which sentence of the batch the row belongs to
    room: Tensor  # (R,), how many more tokens it may get, the end included
    tokens: Tensor  # (R, t)
    log_probs: Tensor  # (R, t), the model's own, of each token
    ends: Tensor  # (R, t), and (R, t + 1) for filters: True where the model would rather have ended

    @staticmethod
    def start(limits: Sequence[int], device: torch.device | None = None) -> "LiveRows":
        """One empty row for each sentence; `limits` bounds the tokens of each, the end included."""
        R = len(limits)
        return LiveRows(
            sentence=torch.arange(R, device=device),
            room=torch.tensor(limits, device=device),
            tokens=torch.empty(R, 0, dtype=torch.long, device=device),
            log_probs=torch.empty(R, 0, device=device),
            ends=torch.empty(R, 0, dtype=torch.bool, device=device),
        )

    def facing(self, log_probs: Tensor) -> "LiveRows":
        """These rows before a choice from log_probs (R, V): `ends` knows the model's wish for it."""
        wish = log_probs[:, EOS] == log_probs.amax(dim=1)
        ends = torch.cat([self.ends, wish[:, None]], dim=1)
        return replace(self, ends=ends)

    def select(self, rows: Tensor) -> "LiveRows":
        """These rows only, in this order."""
        return LiveRows(**{name: tensor[rows] for name, tensor in vars(self).items()})

    def grow(self, token: Tensor, log_prob: Tensor) -> "LiveRows":
        """Every row with one more token (R,) and its log-probability (R,)."""
        tokens = torch.cat([self.tokens, token[:, None]], dim=1)
        log_probs = torch.cat([self.log_probs, log_prob[:, None]], dim=1)
        return replace(self, room=self.room - 1, tokens=tokens, log_probs=log_probs)

    def answers(self) -> list[tuple[int, Answer]]:
        """Each row as (sentence, answer); it is finished if its last token is the end."""
        pairs = []
        lists = (self.sentence.tolist(), self.tokens.tolist(), self.log_probs.tolist())
        for sentence, tokens, log_probs in zip(*lists, strict=True):
            finished = tokens[-1:] == [EOS]
            ids = tuple(tokens[:-1] if finished else tokens)
            pairs.append((sentence, Answer(ids, tuple(log_probs), finished)))
        return pairs


Filter = Callable[[Tensor, LiveRows], Tensor]
"""`filter(log_probs, rows)`: (R, V) -> (R, V), equal but for entries that became minus infinity."""


def allow(log_probs: Tensor, rows: LiveRows, filters: Sequence[Filter]) -> Tensor:
    """What is left of log_probs (R, V) after all filters.

    Earlier filters go before later ones: one that would leave a row without any token spares that row.
    """
    for keep in filters:
        kept = keep(log_probs, rows)
        empty = kept.amax(dim=1, keepdim=True) == -torch.inf
        log_probs = torch.where(empty, log_probs, kept) if empty.any() else kept
    return log_probs


def forbid(ids: Sequence[int]) -> Filter:
    """Never produce these ids."""

    def keep(log_probs: Tensor, rows: LiveRows) -> Tensor:
        return log_probs.index_fill(1, torch.tensor(ids, device=log_probs.device), -torch.inf)

    return keep


@dataclass(frozen=True)
class WholeCharacters:
    """A filter: bytes come together as characters of UTF-8 (RFC 3629), and none is begun that would not be
    finished. The ids in `never` are not produced either.
    """

    never: tuple[int, ...] = ()

    @cached_property
    def fixed(self) -> tuple[int, ...]:
        """The ids that are out wherever no character is begun: `never`, and bytes that begin none."""
        strays = [FIRST_BYTE + byte for byte in (*range(0x80, 0xC2), *range(0xF5, 0x100))]
        return (*self.never, *strays)

    def is_free(self, room: int) -> bool:
        """Whether any character fits into so many tokens."""
        return room >= CHARACTER

    def may_be_inside(self, token: int) -> bool:
        """Whether the character that a row ends with may go on; its last token is enough to rule that out."""
        return FIRST_BYTE + 0x80 <= token < FIRST_BYTE + 0x100

    def between(self, log_probs: Tensor) -> Tensor:
        """log_probs (R, V) without the fixed ids: all that the filter does outside of a character."""
        return log_probs.index_fill(1, torch.tensor(self.fixed, device=log_probs.device), -torch.inf)

    def __call__(self, log_probs: Tensor, rows: LiveRows) -> Tensor:
        kept = self.between(log_probs)
        if not self.is_free(int(rows.room.min())):
            for left, begins in BEGINNINGS:
                kept[rows.room <= left, FIRST_BYTE + begins.start : FIRST_BYTE + begins.stop] = -torch.inf
        recent = rows.tokens[:, -(CHARACTER - 1) :] - FIRST_BYTE  # (R, 3)
        for row in ((recent >= 0x80) & (recent < 0x100)).any(dim=1).nonzero().squeeze(1).tolist():
            if (following := next_bytes(recent[row].tolist())) is not None:
                places = slice(FIRST_BYTE + following.start, FIRST_BYTE + following.stop)
                kept[row] = -torch.inf
                kept[row, places] = log_probs[row, places]
        return kept


def at_least(length: int) -> Filter:
    """Do not end before `length` tokens."""
    no_end = forbid([EOS])
    return lambda log_probs, rows: no_end(log_probs, rows) if rows.tokens.shape[1] < length else log_probs


def no_repeat(n: int) -> Filter:
    """Never produce the same n tokens in a row twice."""

    def keep(log_probs: Tensor, rows: LiveRows) -> Tensor:
        t = rows.tokens.shape[1]
        if t < n:
            return log_probs
        grams = rows.tokens.unfold(1, n, 1)  # (R, t - n + 1, n)
        now = rows.tokens[:, None, t - n + 1 :]  # (R, 1, n - 1), what the next token would complete
        row, place = (grams[:, :, :-1] == now).all(dim=2).nonzero(as_tuple=True)
        kept = log_probs.clone()
        kept[row, grams[row, place, -1]] = -torch.inf
        return kept

    return keep


def force_prefix(prefixes: Sequence[Sequence[int]]) -> Filter:
    """Sentence i begins with the tokens `prefixes[i]`."""

    def keep(log_probs: Tensor, rows: LiveRows) -> Tensor:
        t = rows.tokens.shape[1]
        begins = enumerate(prefixes[sentence] for sentence in rows.sentence.tolist())
        return _force(log_probs, {row: prefix[t] for row, prefix in begins if t < len(prefix)})

    return keep


def ban(texts: Sequence[str], pieces: Sequence[bytes]) -> Filter:
    """These texts never appear in an answer, however they are cut; pieces[id] is what id writes.

    If the answer so far ends with the first k bytes of a text, no token may go on with all of the rest.
    """
    tables = [(text, completions(text, pieces)) for text in texts]

    def keep(log_probs: Tensor, rows: LiveRows) -> Tensor:
        kept = log_probs.clone()
        for row, tokens in enumerate(rows.tokens.tolist()):
            so_far = written(tokens, pieces)
            for text, table in tables:
                kept[row, list(completing(text, table, so_far))] = -torch.inf
        return kept

    return keep


def require(constraints: Sequence[Constraint | None]) -> Filter:
    """Answers for sentence i contain what `constraints[i]` requires: for answers that are drawn at random.

    The model is free until it wants to end, or until there is just enough room left for what is missing:
    then the first missing phrase is written to its end, token by token. Soft phrases are left to chance.
    """

    def keep(log_probs: Tensor, rows: LiveRows) -> Tensor:
        kept, forced = log_probs.clone(), {}
        lists = (rows.sentence.tolist(), rows.room.tolist(), rows.tokens.tolist(), rows.ends.tolist())
        for row, (sentence, room, tokens, ends) in enumerate(zip(*lists, strict=True)):
            if (constraint := constraints[sentence]) is None:
                continue
            progress = constraint.replay(tokens)
            kept[row, list(constraint.banned(progress))] = -torch.inf
            missing = [
                phrase.spellings[0].ids
                for i, phrase in enumerate(constraint.phrases)
                if not (phrase.soft or progress.met >> i & 1)
            ]
            if not missing:
                continue
            kept[row, EOS] = -torch.inf
            k = _begun(tokens, missing[0])
            needed = sum(map(len, missing)) + CHARACTER  # a character that is begun is finished first
            if any(ends[len(tokens) - k :]) or room <= needed:
                forced[row] = missing[0][k]
        return _force(kept, forced)

    return keep


def written(tokens: Sequence[int], pieces: Sequence[bytes]) -> bytes:
    """The bytes that these tokens write."""
    return b"".join(pieces[token] for token in tokens)


def _begun(tokens: Sequence[int], phrase: Sequence[int]) -> int:
    """The largest k such that `tokens` ends with the first k of `phrase`, but not with all of it."""
    longest = min(len(phrase) - 1, len(tokens))
    return next(k for k in range(longest, -1, -1) if list(tokens[len(tokens) - k :]) == list(phrase[:k]))


def _force(log_probs: Tensor, forced: Mapping[int, int]) -> Tensor:
    """`log_probs` with nothing but the token `forced[row]` left in these rows."""
    if not forced:
        return log_probs
    rows = torch.tensor(list(forced.keys()), device=log_probs.device)
    tokens = torch.tensor(list(forced.values()), device=log_probs.device)
    kept = log_probs.index_fill(0, rows, -torch.inf)
    kept[rows, tokens] = log_probs[rows, tokens]
    return kept


@dataclass(frozen=True)
class CharacterTables:
    """`WholeCharacters` in tensors: what may come next depends on a small state, so no history need be read.

    A state is how many bytes of a character are still to come, and which may come first. Looking up is all a
    step does. Letters: Q states, E first ids that have an entry of their own.
    """

    allowed: Tensor  # (Q, CHARACTER + 1, E), 0 or minus infinity, for each room up to CHARACTER
    next: Tensor  # (Q, LEARNED + 1), the state after a token; the last column is for all learned ones

    @staticmethod
    def make(usual: WholeCharacters, entries: int, device: torch.device) -> "CharacterTables":
        """Tables for the first `entries` ids, LEARNED of them or more; those from there on are alike."""
        states = len(INSIDE) + 1
        allowed = torch.full((states, CHARACTER + 1, entries), -torch.inf)
        allowed[FREE] = 0
        allowed[FREE][:, list(usual.fixed)] = -torch.inf
        following = torch.zeros(states, LEARNED + 1, dtype=torch.long)
        for length, begins in BEGINNINGS:
            first = slice(FIRST_BYTE + begins.start, FIRST_BYTE + begins.stop)
            allowed[FREE, : length + 1, first] = -torch.inf  # no room for all of its bytes
            for byte in begins:
                after = SECOND_BYTES.get(byte, ANY)
                following[FREE, FIRST_BYTE + byte] = INSIDE.index((length, after)) + 1
        for state, (left, bytes_) in enumerate(INSIDE, start=1):
            places = slice(FIRST_BYTE + bytes_.start, FIRST_BYTE + bytes_.stop)
            allowed[state, :, places] = 0
            following[state, places] = INSIDE.index((left - 1, ANY)) + 1 if left > 1 else FREE
        return CharacterTables(allowed.to(device), following.to(device))

    def bias(self, state: Tensor, room: Tensor) -> Tensor:
        """(R, E): 0 where an id may come next, with so much room (R,) left, its own place included."""
        return self.allowed[state, room.clamp(0, CHARACTER)]

    def after(self, state: Tensor, token: Tensor) -> Tensor:
        """The state after one more token; any shape."""
        return self.next[state, token.clamp(max=LEARNED)]
