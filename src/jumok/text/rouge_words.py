"""The words that ROUGE compares."""

from unicodedata import category


def rouge_words(text: str) -> list[str]:
    """Lower-cased runs of letters, marks and digits of any script."""
    return "".join(
        letter if letter.isalnum() or category(letter).startswith("M") else " " for letter in text.lower()
    ).split()
