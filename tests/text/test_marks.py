import pytest

from jumok.text.marks import CONTEXT_MARK, QUESTION_MARK, is_question


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{QUESTION_MARK} who? {CONTEXT_MARK} me", True),
        (f"{QUESTION_MARK} who? {CONTEXT_MARK}", True),
        (f"{QUESTION_MARK} who?", False),
        (f"who? {CONTEXT_MARK} me", False),
        (f"{QUESTION_MARK}who? {CONTEXT_MARK} me", False),
        ("", False),
    ],
)
def test_a_question_has_both_marks(text: str, found: bool) -> None:  # noqa: FBT001  a parameter
    assert is_question(text) is found
