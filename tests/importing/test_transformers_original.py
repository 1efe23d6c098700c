import numpy as np
import pytest
from tests.importing.conftest import Make

from jumok.importing.certify import log_softmax
from jumok.importing.transformers_original import TransformersOriginal


def test_scores_are_those_of_its_logits(brought: Make) -> None:
    original = TransformersOriginal(brought("marian"))
    logits = original.logits([5, 6, 0], [9, 7, 8])
    assert logits is not None
    wanted = log_softmax(logits)[np.arange(3), [7, 8, 0]]
    assert original.scores([5, 6, 0], [9, 7, 8, 0]) == pytest.approx(wanted.tolist(), abs=1e-5)
    (tokens,) = original.tokens(["a term"]) or [[]]
    assert tokens
    assert 0 not in tokens  # no end
