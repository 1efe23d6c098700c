"""Each trouble of a model has a sentence that says what to do; what is not the model's stays as it is."""

import pytest

from jumok.answers import NotFiniteError
from jumok.decoding.jobs import Job
from jumok.decoding.troubles import explain_trouble


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (LookupError("position 9 has no learned row"), "position 9 has no learned row"),
        (NotFiniteError(1), "the model gave numbers that are not finite"),
        (MemoryError(), "there is not enough memory for this search"),
    ],
)
def test_a_trouble_is_explained(luong, error: Exception, message: str) -> None:
    jobs = [Job((4,)), Job(tuple(luong.tokenizers.source.encode("the dog")))]
    found = explain_trouble(error, jobs, luong.tokenizers)
    assert message in str(found)
    assert ("the dog" in str(found)) == isinstance(error, NotFiniteError)


def test_other_errors_are_handed_on(luong) -> None:
    for error in (KeyError("x"), RuntimeError("a bug")):
        assert explain_trouble(error, [Job((4,))], luong.tokenizers) is error
