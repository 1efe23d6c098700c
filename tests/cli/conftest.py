"""The command line as the entry point gets it, and one trained run for all tests."""

from collections.abc import Callable

import pytest
from tests.comparison.children import forked_children
from tests.run.conftest import corpus, trained

from jumok.cli.main import main

__all__ = ["call", "corpus", "forked_children", "trained"]

Call = Callable[..., int]


@pytest.fixture
def call() -> Call:
    """Runs `jumok` with these words in this process and gives the exit code."""

    def run(*words: object) -> int:
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        return int(stop.value.code or 0)

    return run
