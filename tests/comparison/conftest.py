"""A tiny corpus, and what an experiment on it asks for."""

from pathlib import Path
from typing import Any

import pytest

from jumok.comparison.budget import Budget
from jumok.comparison.experiment import ComparisonRequest
from jumok.config import ARCHS
from tests.run.conftest import TINY, corpus, quick_settings

__all__ = ["comparison_request", "corpus"]


def tiny_request(folder: Path, **more: Any) -> ComparisonRequest:
    """Two architectures for six updates; `more`: fields of the request, or settings with __ for the dot."""
    settings = {name.replace("__", "."): value for name, value in more.items() if "__" in name}
    rest = {name: value for name, value in more.items() if "__" not in name}
    given = {key: value for key, value in quick_settings(folder).items() if key.split(".")[0] != "model"}
    del given["training.max_steps"]
    given |= {"model.width": 16} | (TINY["transformer"] if "transformer" in rest.get("archs", ARCHS) else {})
    given |= settings
    plain: dict[str, Any] = {"archs": ("rnn", "transformer"), "budget": Budget("steps", 6), "device": "cpu"}
    return ComparisonRequest(**(plain | {"out": folder / "plain", "given": given} | rest))


@pytest.fixture
def comparison_request(corpus: Path) -> ComparisonRequest:
    return tiny_request(corpus)
