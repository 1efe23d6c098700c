from dataclasses import replace

from jumok.cli.shared.tally import AnswerTally
from jumok.decoding.results import TermUse, TextMatch, Token, Translation

THERE, LACKING = TermUse("Maus", ("mouse",), present=True), TermUse("Rad", ("wheel", "bike"), present=False)
ENGINE = {"name": "native", "type": "int8"}


def answer(*terms: TermUse, matches: tuple[TextMatch, ...] = ()) -> Translation:
    return Translation("a", 0.0, 0.0, (), finished=True, terms=terms, matches=matches)


def test_a_memory_and_terms_are_counted_by_answer() -> None:
    tally = AnswerTally()
    tally.add(answer(matches=(TextMatch((0, 1), "a", "b", 1.0, used=True),)))
    tally.add(answer(THERE, LACKING))
    assert list(tally.notes(memory=True)) == [
        "memory: reused in 1 line; similar entries for 0 (--json shows them)",
        "1 of 2 terms of the glossary are there",
        "missed: Rad → wheel or bike (1)",
    ]
    assert tally.summary(2.0, ENGINE) == "2 lines · 2.0 s · 0 tokens/s · native int8"
    assert list(AnswerTally().notes(memory=False)) == []


def test_answers_and_tokens_are_counted_and_told_with_their_speed() -> None:
    """An answer counts once, however many entries of a memory are like it."""
    tally, like = AnswerTally(), TextMatch((0, 1), "a", "b", 0.8, used=False)
    word = Token("a", 5, -0.5)
    tally.add(replace(answer(matches=(like, like)), tokens=(word,) * 1500))
    tally.add(replace(answer(matches=(like, replace(like, used=True))), tokens=(word,) * 501))
    assert list(tally.notes(memory=True)) == [
        "memory: reused in 1 line; similar entries for 2 (--json shows them)"
    ]
    assert list(tally.notes(memory=False)) == []
    assert tally.summary(0.5, {"name": "torch"}) == "2 lines · 0.5 s · 4,002 tokens/s · torch"
    assert tally.summary(0.0, ENGINE).startswith("2 lines · 0.0 s · ")
