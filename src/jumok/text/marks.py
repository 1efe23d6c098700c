"""Marks that stand for something else: two texts in one source, and what no model translates."""

QUESTION_MARK = "␞"
"""Stands before a question."""
CONTEXT_MARK = "␟"
"""Stands between a question and its context."""
MARKS = "⓵⓶⓷⓸⓹⓺⓻⓼⓽⓾"
"""Stand for protected spans in a model that has learned them, in the order of the source."""


def is_question(text: str) -> bool:
    """Whether a tidied source is a question with its context, which no one may take apart."""
    return text.startswith(f"{QUESTION_MARK} ") and f" {CONTEXT_MARK}" in text
