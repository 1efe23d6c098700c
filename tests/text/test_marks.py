import pytest

from jumok.text.marks import ASKED, TOLD, is_question


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{ASKED} who? {TOLD} me", True),
        (f"{ASKED} who? {TOLD}", True),
        (f"{ASKED} who?", False),
        (f"who? {TOLD} me", False),
        (f"{ASKED}who? {TOLD} me", False),
        ("", False),
    ],
)
def test_a_question_has_both_marks(text: str, found: bool) -> None:  # noqa: FBT001  a parameter
    assert is_question(text) is found
