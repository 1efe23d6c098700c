"""The public face: what `import jumok` offers, and what it does not wait for."""

import ast
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import jumok

ROOT = Path(__file__).parents[1]
SOURCE = ast.parse(Path(jumok.__file__).read_text(encoding="utf-8"))


def imported_names() -> set[str]:
    """Names that `__init__.py` takes from the package itself, for people or for type checkers."""
    return {
        alias.name
        for node in ast.walk(SOURCE)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jumok.")
        for alias in node.names
    }


def test_all_lists_exactly_the_public_names() -> None:
    assert set(jumok.__all__) == imported_names() | {"__version__"}
    assert dir(jumok) == jumok.__all__


def test_all_is_sorted_and_names_nothing_twice() -> None:
    assert list(jumok.__all__) == sorted(set(jumok.__all__))


@pytest.mark.parametrize("name", jumok.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(jumok, name) is not None


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'jumok' has no attribute 'transmogrify'"):
        _ = jumok.transmogrify


@pytest.mark.parametrize("heavy", ["torch", "numpy", "tokenizers", "pydantic", "sacrebleu", "rich"])
def test_importing_jumok_does_not_import(heavy: str) -> None:
    code = f"import jumok, sys; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_version_is_that_of_the_installed_package() -> None:
    assert version("jumok") == jumok.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {jumok.__version__}\n" in citation


def test_the_version_is_written_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert ROOT / project["tool"]["hatch"]["version"]["path"] == Path(jumok.__file__)
    code = [*ROOT.glob("src/**/*.py"), *ROOT.glob("scripts/*.py"), ROOT / "pyproject.toml"]
    spelled = [path for path in code if f'"{jumok.__version__}"' in path.read_text(encoding="utf-8")]
    assert spelled == [Path(jumok.__file__)]
