from jumok.cli.shared.tally import AnswerTally
from jumok.decoding.results import TermUse, TextMatch, Translation

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
