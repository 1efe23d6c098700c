"""Entropy, sharpness and influence."""

from tests.comparison.reading import Reader
from tests.comparison.sample import sample_report

from jumok.comparison.sections.attention import attention_section, kinds_of, shares
from jumok.comparison.view import View


def test_figures_of_attention_and_influence() -> None:
    view = View(sample_report())
    found = Reader(attention_section(view))
    ids = [one["id"] for one, _ in found.all("figure")]
    assert ids == ["fig-entropy", "fig-sharpness", "fig-heads", "fig-influence"]
    assert "rnn has no attention to measure" in attention_section(view)


def test_the_source_comes_first_among_kinds() -> None:
    entry = sample_report()["entries"][2]
    assert [kind for kind, _ in kinds_of(entry)] == ["cross", "enc_self", "dec_self"]


def test_shares_are_those_of_the_report() -> None:
    entry = sample_report()["entries"][0]
    assert [point.y for point in shares(entry, "share", "rnn")] == entry["influence"]["share"]
    entry["influence"]["share"][1] = None
    assert [point is None for point in shares(entry, "share", "rnn")] == [False, True, False, False]


def test_models_without_attention_still_have_influence() -> None:
    report = sample_report()
    report["entries"] = report["entries"][:1]
    page = attention_section(View(report))
    assert "fig-influence" in page
    assert "fig-entropy" not in page
    report["entries"][0]["influence"] = None
    assert attention_section(View(report)) == ""
