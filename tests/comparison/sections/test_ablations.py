"""Parts taken away."""

import pytest
from tests.comparison.reading import Reader
from tests.comparison.sample import sample_report

from jumok.comparison.sections.ablations import ablation_section, meaning
from jumok.comparison.view import View


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("model.scaled", False, "scores are not divided by √d_k (model.scaled = false)"),
        ("model.norm", "none", 'no layer norm (model.norm = "none")'),
        ("training.teacher_forcing", 0.5, "training.teacher_forcing = 0.5"),
    ],
)
def test_a_change_in_words(name, value, text) -> None:
    assert meaning(name, value) == text


def test_rows_stand_beside_the_plain_model() -> None:
    view = View(sample_report(ablations=("no-scale", "one-head")))
    found = Reader(ablation_section(view))
    rows = [text for one, text in found.all("text") if one.get("class", "").startswith("row-name")][:4]
    assert rows == ["plain", "no-scale", "one-head", "no-residual"]
    said = [text for _, text in found.all("text", cls="value")][:4]
    value = view.ablations[0]["quality"]["value"]
    assert said[1] == f"{value:.1f} (+1.5)"
    assert said[3] == "failed"
    assert found.all("path", cls="reference")


def test_each_architecture_has_its_own_figure() -> None:
    report = sample_report()
    report["entries"][3] |= {"arch": "luong", "name": "luong no-scale"}
    found = Reader(ablation_section(View(report)))
    assert [one["id"] for one, _ in found.all("figure") if "curves" not in one["id"]] == [
        "fig-ablations-1", "fig-ablations-2",
    ]  # fmt: skip


def test_without_ablations_there_is_no_section_and_without_a_plain_model_there_is() -> None:
    report = sample_report()
    lineage = [one for one in report["entries"] if one["group"] == "plain"]
    rest = [one for one in report["entries"] if one["group"] != "plain"]
    assert ablation_section(View({**report, "entries": lineage})) == ""
    page = ablation_section(View({**report, "entries": rest}))
    assert "no-scale" in page
    assert "reference" not in page


def test_kinds_of_positions_are_left_to_their_own_section() -> None:
    report = sample_report()
    assert "positions-none" not in ablation_section(View(report))
    for one in report["entries"][4]["quality"]["by_length"]["bins"]:
        one["beyond"] = False
    assert "positions-none" in ablation_section(View(report))
