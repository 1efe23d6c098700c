"""Traces of the three models that come with the package, on one date."""

import pytest
from tests.explain.conftest import built

from jumok.decoding.translator import Translator, load
from jumok.explain.trace import Trace, make_trace

__all__ = ["built"]

TEXT = "den 5 mars 2024 kl. 14:30"
Traces = dict[str, Trace]


@pytest.fixture(scope="session")
def models() -> dict[str, Translator]:
    return {arch: load(f"demo/{arch}", "cpu") for arch in ("rnn", "luong", "transformer")}


@pytest.fixture(scope="session")
def traces(models: dict[str, Translator]) -> Traces:
    return {arch: make_trace(model, TEXT) for arch, model in models.items()}
