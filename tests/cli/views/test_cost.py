"""Cost in words; its numbers are tested in tests/explain/test_cost.py."""

from jumok.checkpoint.bundled import bundled
from jumok.cli.views.cost import cost_view


def test_the_cost_of_a_bundled_model_is_the_same_by_formula_and_as_counted() -> None:
    view = cost_view(bundled()["transformer"], [10, 20])
    assert view.plain["parameters"]["predicted"] == view.plain["parameters"]["measured"] == int(view.line)
    assert [one["flops"] == one["measured_flops"] for one in view.plain["lengths"]] == [True, True]
    assert "so it grows with the square of the length" in view.text


def test_a_recurrent_model_has_nothing_that_grows_with_the_square() -> None:
    assert "all parts grow in proportion" in cost_view(bundled()["rnn"], [10, 100]).text
