"""Marks in a source that holds two texts: a question, and the context that answers it."""

QUESTION_MARK = "␞"
"""Stands before a question."""
CONTEXT_MARK = "␟"
"""Stands between a question and its context."""


def is_question(text: str) -> bool:
    """Whether a tidied source is a question with its context, which no one may take apart."""
    return text.startswith(f"{QUESTION_MARK} ") and f" {CONTEXT_MARK}" in text
