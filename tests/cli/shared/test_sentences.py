"""What the first lines of a file are taken for."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from jumok.cli.shared.sentences import LOOKED_AT, look_at
from jumok.decoding.parts import NO_TRANSLATION, SentenceHabit

SEVERAL, ONE = "One came. Two went.", "One came."


def model(habit: SentenceHabit, usual: float | None = None) -> Any:
    info = {} if usual is None else {"train_lengths": {"several": usual}}
    config = SimpleNamespace(data=SimpleNamespace(source_language="en"))
    return cast("Any", SimpleNamespace(config=config, info=info, sentence_habit=habit))


SPLITS = SentenceHabit(split=True, reason="")


@pytest.mark.parametrize(
    ("lines", "usual", "taken", "message"),
    [
        ([ONE, "", ONE], None, "as-is", "sentences: one in each of the first 2 lines"),
        ([ONE], None, "as-is", "sentences: one in the only line"),
        (
            [ONE] * 9 + [SEVERAL],
            None,
            "as-is",
            "several in 1 of the first 10 lines; each line is",
        ),
        ([ONE] * 8 + [SEVERAL] * 2, None, "split", "several in 2 of the first 10 lines; each is translated"),
        ([ONE] * 8 + [SEVERAL] * 2, 0.2, "as-is", "several in 2 of the first 10 lines; each line is taken"),
        ([SEVERAL], 0.2, "split", "several in the only line; each is translated by itself"),
    ],
)
def test_a_file_of_sentences_stays_one(
    lines: list[str], usual: float | None, taken: str, message: str
) -> None:
    look, given = look_at(lines, model(SPLITS, usual))
    assert look.sentences == taken
    assert message in str(look)
    assert look.told
    assert list(given) == lines


def test_a_model_that_takes_whole_texts_says_why() -> None:
    look, _ = look_at([SEVERAL], model(SentenceHabit(split=False, reason="80% of its training lines have")))
    assert look.sentences == "as-is"
    assert "taken whole: 80% of its training lines have (--sentences split: each sentence)" in str(look)


def test_a_model_that_does_not_translate_says_nothing() -> None:
    look, _ = look_at([SEVERAL], model(SentenceHabit(split=False, reason=NO_TRANSLATION)))
    assert (look.sentences, look.told) == ("as-is", False)


def test_only_the_beginning_is_looked_at() -> None:
    look, given = look_at((ONE for _ in range(LOOKED_AT + 5)), model(SPLITS))
    assert look.lines == LOOKED_AT
    assert len(list(given)) == LOOKED_AT + 5
