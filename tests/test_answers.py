from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from jumok.answers import Answer, NotFiniteError, length_penalty, no_learned_row, normalised, ranked


def test_a_score_is_the_sum_of_all_log_probabilities() -> None:
    assert Answer((5, 6), (-1.0, -2.0, -0.5), finished=True).score == -3.5
    assert Answer((), (), finished=False).score == 0


def test_errors_say_where() -> None:
    assert NotFiniteError(3).sentence == 3
    assert "sentence 3" in str(NotFiniteError(3))
    assert str(no_learned_row(9, 9)).startswith("position 9 has no learned row: the table ends at 9")


def test_finished_answers_come_first_then_better_ones() -> None:
    long, short = Answer((5,) * 7, (-0.3,) * 8, finished=True), Answer((5,), (-1.0, -1.0), finished=True)
    cut = Answer((5,), (-0.1,), finished=False)
    assert ranked([cut, long, short], alpha=0.0) == [short, long, cut]
    assert ranked([cut, short, long], alpha=1.0) == [long, short, cut]


@given(st.integers(1, 500), st.floats(0, 2))
def test_the_penalty_of_one_piece_is_one(length: int, alpha: float) -> None:
    assert isclose(length_penalty(1, alpha), 1)
    assert normalised(-1.0, length, alpha) >= normalised(-1.0, 1, alpha) - 1e-12
