"""Models of other programs for all tests of a session: made once, copied by those that damage them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.importing.families import MAKERS, sentences

Make = Callable[[str], Path]


@pytest.fixture(scope="session")
def brought(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """The folder of a family, made when it is first asked for. Nobody may change it."""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            made[name] = MAKERS[name](tmp_path_factory.mktemp(name.replace(" ", "-")))
        return made[name]

    return make


@pytest.fixture
def copied(brought: Make, tmp_path: Path) -> Make:
    """A copy of a family's folder, to damage."""
    return lambda name: Path(shutil.copytree(brought(name), tmp_path / "brought"))


@pytest.fixture(scope="session")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of sentences to compare on."""
    file = tmp_path_factory.mktemp("lines") / "lines.txt"
    file.write_text("\n".join(sentences(12)), encoding="utf-8")
    return file
