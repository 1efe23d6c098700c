"""Loops are found where a reader would see them and cut at one place by every engine; the rest stays."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.decoding.conftest import TINY, untrained
from tests.decoding.test_engines import needs_library, on_both

from jumok.answers import Answer
from jumok.decoding.loops import LEAST, PERIOD, TIMES, cut_loops, loop_end
from jumok.decoding.stream import Final, Partial
from jumok.decoding.translator import Translator
from jumok.text.tokenizer import FIRST_BYTE

FIRST = FIRST_BYTE + 256


def plain_loop_end(ids: list[int]) -> int | None:
    """The definition: the first place where the last tokens are one group over and over."""
    for end in range(1, len(ids) + 1):
        for period in range(1, PERIOD + 1):
            size = max(LEAST, TIMES * period)
            last = ids[end - size : end]
            if end >= size and last == (last[:period] * size)[:size]:
                return end
    return None


@given(st.lists(st.integers(FIRST, FIRST + 1), max_size=40), st.integers(1, 10), st.integers(0, 40))
def test_it_is_the_definition(ids: list[int], period: int, times: int) -> None:
    looped = ids + (ids[-period:] or [FIRST]) * times
    assert loop_end(looped) == plain_loop_end(looped)


@pytest.mark.parametrize(
    ("ids", "end"),
    [
        ([7] * 11, None),
        ([7] * 12, 12),
        ([1, 2, *[7] * 30, 5], 14),
        ([1, 7, 8] * 4, 12),
        ([*range(9)] * 9, None),  # nine tokens are a sentence
        ([*range(8)] * 4, 32),
        ([*range(8)] * 3, None),
        ("ha " * 4, 12),
        ("the cat and the dog and the cow and the hen", None),
    ],
)
def test_loops_by_hand(ids: list[int], end: int | None) -> None:
    shifted = ids if isinstance(ids, str) else [FIRST + one for one in ids]
    assert loop_end(shifted) == end


def test_no_character_is_cut_in_two() -> None:
    euro = [FIRST_BYTE + byte for byte in "€".encode()]
    for head in range(4):
        ids = [FIRST] * head + euro * 10
        assert loop_end(ids) == head + 12
    assert loop_end([*euro[2:], *euro * 10]) == 13  # a loop from the last byte on ends with a whole one


@pytest.mark.parametrize(("byte", "goes_on"), [(0x7F, 0), (0x80, 1), (0xBF, 1), (0xC0, 0), (0xE2, 0)])
def test_only_a_byte_that_goes_on_with_a_character_stays(byte: int, goes_on: int) -> None:
    assert loop_end([FIRST] * 12 + [FIRST_BYTE + byte]) == 12 + goes_on


def test_what_is_cut_is_unfinished_and_stays_in_its_place() -> None:
    looped = Answer((FIRST,) * 20, (-0.1,) * 21, finished=True)
    fine = Answer((FIRST, FIRST + 1), (-1.0, -1.0, -1.0), finished=True)
    assert cut_loops([looped, fine]) == [Answer((FIRST,) * 12, (-0.1,) * 12, finished=False), fine]


Both = tuple[Translator, Translator]
LONG: dict[str, Any] = {"max_len": 60, "loops": False}


@pytest.fixture(scope="module")
def circling(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """A model with random weights, which writes the same for ever, in both engines."""
    return on_both(untrained(TINY["transformer"]), tmp_path_factory.mktemp("loops"))


@needs_library
@pytest.mark.parametrize("beam", [1, 3])
def test_every_engine_cuts_at_the_same_place(circling: Both, beam: int) -> None:
    cut = [one.translate("nine", beam=beam, **LONG) for one in circling]
    free = circling[0].translate("nine", beam=beam, **LONG | {"loops": True})
    ids = [[token.id for token in answer.tokens] for answer in cut]
    assert ids[0] == ids[1] == [token.id for token in free.tokens][: len(ids[0])]
    assert len(free.tokens) > 40 > len(ids[0]) >= LEAST
    assert free.text.startswith(cut[0].text)
    assert not any(answer.finished for answer in cut)
    assert cut[0].score == pytest.approx(sum(token.logprob for token in cut[0].tokens))


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("nine " * 12, {}),  # the text itself goes round in circles
        ("nine", {"min_len": 30}),
        ("nine", {"prefix": "one " * 14}),
        ("nine", {"require": ["two"]}),
    ],
)
def test_what_was_asked_for_is_left_alone(circling: Both, text: str, shape: dict[str, Any]) -> None:
    _, whole = circling
    options = {"beam": 1, "long": "cut"} | LONG | shape
    free = whole.translate(text, **options | {"loops": True})
    assert loop_end([token.id for token in free.tokens]) is not None
    assert whole.translate(text, **options) == free


@pytest.mark.parametrize("beam", [1, 3])
def test_a_stream_shows_nothing_that_is_cut(circling: Both, beam: int) -> None:
    _, whole = circling
    *partials, final = whole.stream("nine", beam=beam, **LONG)
    assert isinstance(final, Final)
    assert final.translation == whole.translate("nine", beam=beam, **LONG)
    texts = tuple(token.text for token in final.translation.tokens)
    for part in partials:
        assert isinstance(part, Partial)
        assert part.tokens[: part.stable] == texts[: part.stable]
        assert loop_end(part.tokens) in (None, len(part.tokens))
    assert partials[-1] == replace(partials[-1], tokens=texts, stable=len(texts))
