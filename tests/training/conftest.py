"""A run that has ended, shared with the tests of `run/`; passes of R-Drop that differ without dropout."""

from typing import Any

import pytest
from tests.explain.conftest import workshop
from tests.run.conftest import trained

from jumok.models.interface import HeadPrediction, PlainPrediction

__all__ = ["passes_differ", "trained", "workshop"]


@pytest.fixture
def passes_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second pass of R-Drop is twice as sure, for every back end and room.

    Without dropout both passes are one and nothing is pulled together; with it, two ways of computing the
    same would draw different numbers and could not be compared.
    """
    with_head, plain = HeadPrediction.rdrop_loss, PlainPrediction.rdrop_loss

    def head_loss(self: HeadPrediction, other: HeadPrediction, *rest: Any) -> Any:
        return with_head(self, HeadPrediction(other.states * 2, other.head, other.ops), *rest)

    def plain_loss(self: PlainPrediction, other: PlainPrediction, *rest: Any) -> Any:
        return plain(self, PlainPrediction(other.given * 2), *rest)

    monkeypatch.setattr(HeadPrediction, "rdrop_loss", head_loss)
    monkeypatch.setattr(PlainPrediction, "rdrop_loss", plain_loss)
