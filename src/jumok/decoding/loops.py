"""Answers that go round in circles, a weak spot of models that write token after token, are cut. No torch.

A loop is a group of at most PERIOD tokens, written TIMES times in a row or more, over LEAST tokens or more.
What comes after it is worthless, so the answer is cut there and counts as unfinished. Whoever searched, the
same tokens are cut at the same place; an answer without a loop is left as it is.
"""

from collections.abc import Sequence
from dataclasses import replace

from jumok.answers import Answer
from jumok.text.tokenizer import FIRST_BYTE

PERIOD, TIMES, LEAST = 8, 4, 12
GOES_ON = range(FIRST_BYTE + 0x80, FIRST_BYTE + 0xC0)  # bytes that go on with a character


def loop_end(ids: Sequence[object]) -> int | None:
    """How many of these are left if all behind the first loop is cut off; None: there is no loop."""
    if len(ids) - len(set(ids)) < LEAST - LEAST // TIMES:  # so many repeat what was there, in any loop
        return None
    ends = []
    for period in range(1, min(PERIOD, len(ids) // TIMES) + 1):
        same, needed = 0, max(LEAST, TIMES * period) - period
        for place in range(period, len(ids)):
            same = same + 1 if ids[place] == ids[place - period] else 0
            if same == needed:
                ends.append(place + 1)
                break
    if not ends:
        return None
    end = min(ends)
    while end < len(ids) and ids[end] in GOES_ON:
        end += 1
    return end


def cut_loops(answers: Sequence[Answer]) -> list[Answer]:
    """The answers without what follows a loop. Their order stays: some engines give the best one only."""
    ends = [loop_end(answer.ids) for answer in answers]
    return [answer if end is None else cut_at(answer, end) for answer, end in zip(answers, ends, strict=True)]


def cut_at(answer: Answer, end: int) -> Answer:
    """The first `end` tokens of an answer, and what belongs to them."""
    return replace(
        answer,
        ids=answer.ids[:end],
        log_probs=answer.log_probs[:end],
        finished=False,
        alignment=answer.alignment[:end],
        looks=answer.looks[:end],
    )
