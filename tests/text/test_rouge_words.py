"""What ROUGE takes for a word."""

from jumok.text.rouge_words import rouge_words


def test_words_are_runs_of_letters_marks_and_digits_of_any_script() -> None:
    assert rouge_words("Don't-stop, 2_words!") == ["don", "t", "stop", "2", "words"]
    assert rouge_words("나는 봤다. हिन्दी") == ["나는", "봤다", "हिन्दी"]
    assert rouge_words("👍 ?!") == []
