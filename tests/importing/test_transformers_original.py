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


def test_it_is_opened_in_silence_and_bars_come_back(brought: Make, capfd: pytest.CaptureFixture[str]) -> None:
    from transformers.utils import logging

    shown = []
    plain = logging.disable_progress_bar, logging.is_progress_bar_enabled()
    logging.enable_progress_bar()
    try:
        folder = brought("marian")
        capfd.readouterr()
        TransformersOriginal(folder)
        shown = [logging.is_progress_bar_enabled(), capfd.readouterr().err]
    finally:
        if not plain[1]:
            plain[0]()
    assert shown == [True, ""]
