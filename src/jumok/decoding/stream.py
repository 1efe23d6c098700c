"""A translation while it grows: what is known after each step, and how much of it is sure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import fsum

from jumok.answers import Lead
from jumok.decoding.jobs import CHARACTER
from jumok.decoding.loops import loop_end
from jumok.decoding.results import Joint, JsonResult, Translation, shorten
from jumok.text.characters import next_bytes
from jumok.text.tokenizer import FIRST_BYTE, Tokenizer


@dataclass(frozen=True, slots=True, repr=False)
class Partial(JsonResult):
    """The answer after `t` steps, as it stands. The first `stable` tokens are sure; later ones may change."""

    t: int
    text: str
    tokens: tuple[str, ...]
    """The tokens as people see them, without the end."""
    stable: int
    score: float
    """The log-probability of the tokens, and of those of a loop that are not shown."""
    sure: int = 0
    """So many characters of the text never change."""

    def __repr__(self) -> str:
        return f"Partial({shorten(self.text)}, stable={self.stable} of {len(self.tokens)})"


@dataclass(frozen=True, slots=True)
class Final:
    """The end of a stream."""

    translation: Translation


def make_partial(
    tokenizer: Tokenizer, t: int, leads: Sequence[Lead], may_loop: Callable[[], bool], joint: Joint
) -> Partial:
    """The answer to a text after t steps: the leads of its jobs, of which all but the last are done.

    What the answer will be cut off is not shown; `may_loop` is asked when there is such a thing.
    """
    ends = [loop_end(lead.ids) for lead in leads]
    if any(ends) and not may_loop():
        leads = [
            replace(lead, ids=lead.ids[:end], stable=min(lead.stable, len(lead.ids[:end])))
            for lead, end in zip(leads, ends, strict=True)
        ]
    *done, now = leads
    texts = [tokenizer.decode(whole(lead.ids, tokenizer)) for lead in leads]
    sure = tokenizer.decode(whole(now.ids[: now.stable], tokenizer)) if joint.is_plain(len(done)) else ""
    *before, text = joint.begun(texts)
    return Partial(
        t=t,
        text="".join((*before, text)),
        tokens=tuple(piece for lead in leads for piece in tokenizer.pieces(lead.ids)),
        stable=sum(len(lead.ids) for lead in done) + now.stable,
        score=fsum(lead.score for lead in leads),
        sure=sum(map(len, before)) + (len(sure) if text.startswith(sure) else 0),
    )


def whole(ids: Sequence[int], tokenizer: Tokenizer | None = None) -> Sequence[int]:
    """Ids without the bytes at the end that are no character yet."""
    if tokenizer is not None and tokenizer.kind == "foreign":  # whose tokens may be several bytes
        count = next(
            (n for n in range(CHARACTER) if not tokenizer.decode(ids[: len(ids) - n]).endswith("\ufffd")), 0
        )
        return ids[: len(ids) - count]
    for count in range(1, CHARACTER):
        if next_bytes([i - FIRST_BYTE for i in ids[-count:]]) is not None:
            return ids[:-count]
    return ids
