"""The part of explanations that is torch's; what it captures is tested in `test_capture.py`."""

import numpy as np
import pytest
from tests.explain.conftest import Workshop

from jumok.explain.capture import capture
from jumok.explain.in_torch import finals, forced, position_rows


@pytest.mark.parametrize("name", ["rnn", "luong"])
def test_where_a_decoder_starts_is_the_bridge_of_a_capture(workshop: Workshop, name: str) -> None:
    model = workshop.translator(name).model
    sources = [[260, 261], [262]]
    found = finals(model, sources)
    for own, one in zip(found, capture(model, sources, [[260], [261]]), strict=True):
        np.testing.assert_allclose(own, one.states["bridge"], atol=1e-6)


def test_forced_scores_are_those_of_the_steps(workshop: Workshop) -> None:
    model = workshop.translator("transformer").model
    [one] = capture(model, [[260, 261]], [[262, 263]])
    scores = forced(model, [[260, 261]], one.target)
    np.testing.assert_allclose(scores[0], [step.logprob for step in one.steps], atol=1e-5)


def test_a_recurrent_model_has_no_position_rows(workshop: Workshop) -> None:
    assert position_rows(workshop.translator("rnn").model, 4) is None
    rows = position_rows(workshop.translator("transformer").model, 4)
    assert rows is not None
    assert rows.shape == (4, 16)
