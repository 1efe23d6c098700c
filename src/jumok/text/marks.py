"""Marks in a source that holds two texts: what is asked, and what is told."""

ASKED = "␞"
"""Stands before a question."""
TOLD = "␟"
"""Stands between a question and the text that answers it."""


def is_question(text: str) -> bool:
    """Whether a tidied source is a question with its context, which no one may take apart."""
    return text.startswith(f"{ASKED} ") and f" {TOLD}" in text
