"""Sentences on which the models differ."""

from hypothesis import given
from hypothesis import strategies as st
from tests.comparison.reading import Reader
from tests.comparison.sample import sample_report

from jumok.comparison.sections.examples import LONGEST, examples_section, marked, telling
from jumok.comparison.view import View


def test_only_where_answers_differ() -> None:
    view = View(sample_report())
    ((source, reference, answers),) = telling(view.lineage)
    assert (source, reference) == ("3월 5일", "March 5")
    assert [text for _, text in answers] == ["May 5", "March 5", "March 5"]


def test_one_model_shows_all_its_answers() -> None:
    assert len(telling(sample_report()["entries"][:1])) == 2


def test_a_card_marks_what_is_wrong_and_ticks_what_is_right() -> None:
    found = Reader(examples_section(View(sample_report())))
    assert [text for _, text in found.all("mark")] == ["May"]
    assert len(found.all("span", cls="ok")) == 2
    assert {one["lang"] for one, _ in found.all("dd")} == {"ko", "en"}


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"])), st.text("ab <&"))
def test_marking_keeps_the_words_of_the_answer(text: str, reference: str) -> None:
    found = Reader(f"<p>{marked(text, reference)}</p>").all("p")[0][1].replace("‸", "")
    assert found.split() == text.split() or (not text and found in ("", "nothing")) or found == text


def test_letters_left_out_are_shown() -> None:
    assert marked("ac", "abc") == 'a<del title="left out: b">‸</del>c'
    assert marked("", "") == "<mark>nothing</mark>"


def test_a_very_long_text_is_cut() -> None:
    report = sample_report()
    report["entries"][0]["quality"]["examples"][0]["hypothesis"] = "word " * 9999
    assert max(len(text) for _, text in Reader(examples_section(View(report))).all("dd")) <= LONGEST + 9


def test_without_examples_there_is_no_section() -> None:
    report = sample_report()
    for entry in report["entries"]:
        entry["quality"] = None
    assert examples_section(View(report)) == ""
