"""A tiny corpus, and what an experiment on it asks for."""

from pathlib import Path
from typing import Any

import pytest

from jumok.config import ARCHS
from jumok.lineage.budget import Budget
from jumok.lineage.experiment import Asked
from tests.run.conftest import TINY, corpus, quick_settings

__all__ = ["asked", "corpus"]


def tiny_asked(folder: Path, **more: Any) -> Asked:
    """Two architectures for six updates; `more` are fields of Asked, or settings with __ for the dot."""
    settings = {name.replace("__", "."): value for name, value in more.items() if "__" in name}
    rest = {name: value for name, value in more.items() if "__" not in name}
    given = {key: value for key, value in quick_settings(folder).items() if key.split(".")[0] != "model"}
    del given["training.max_steps"]
    given |= {"model.width": 16} | (TINY["transformer"] if "transformer" in rest.get("archs", ARCHS) else {})
    given |= settings
    plain: dict[str, Any] = {"archs": ("rnn", "transformer"), "budget": Budget("steps", 6), "device": "cpu"}
    return Asked(**(plain | {"out": folder / "lineage", "given": given} | rest))


@pytest.fixture
def asked(corpus: Path) -> Asked:
    return tiny_asked(corpus)
