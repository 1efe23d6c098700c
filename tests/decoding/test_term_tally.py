from jumok.decoding.results import TermUse
from jumok.decoding.term_tally import SHOWN, TermTally, term_notes


def test_terms_are_counted_and_those_most_often_missed_come_first() -> None:
    tally = TermTally()
    tally.add([TermUse("Maus", ("mouse",), present=True), TermUse("Tür", ("door",), present=False)])
    tally.add([TermUse("Rad", ("wheel", "bike"), present=False)] * 2)
    assert (tally.terms, tally.missed) == (4, {"Tür → door": 1, "Rad → wheel or bike": 2})
    assert list(term_notes(tally.terms, tally.missed)) == [
        "1 of 4 terms of the glossary are there",
        "missed: Rad → wheel or bike (2), Tür → door (1)",
    ]


def test_nothing_is_said_where_no_term_was() -> None:
    assert list(term_notes(0, {})) == []
    assert list(term_notes(2, {})) == ["2 of 2 terms of the glossary are there"]


def test_only_the_first_of_many_missed_terms_are_named() -> None:
    assert list(term_notes(9, {f"t{n}": 1 for n in range(SHOWN + 2)}))[-1].endswith(", and 2 more")
