"""The table of formats: each module has what the command asks for, and costs nothing before it is used."""

import ast
from pathlib import Path

import pytest

from jumok import export
from jumok.cli.export import FORMATS as OFFERED
from jumok.cli.export import TYPES
from jumok.errors import ConfigError
from jumok.export.format import FORMATS, WriteOptions, find_format
from jumok.progress import silent


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_all_of_its_names(name: str) -> None:
    found = find_format(name)
    assert set(found.TYPES) <= set(TYPES)
    assert found.TYPES
    assert callable(found.check)
    assert callable(found.write)
    assert callable(found.open)
    assert bool(found.NEEDS) == bool(found.EXTRA)
    assert hasattr(found, "to_file") == found.FILE


def test_the_command_offers_them_all() -> None:
    assert list(FORMATS) == OFFERED


def test_an_unknown_format_gets_a_guess() -> None:
    with pytest.raises(ConfigError, match="there is no format 'onyx'\n  did you mean 'onnx'"):
        find_format("onyx")


@pytest.mark.parametrize(
    "path", sorted(Path(export.__file__).parent.glob("*.py")), ids=lambda path: path.stem
)
def test_other_programs_are_loaded_when_they_are_used(path: Path) -> None:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    names = {alias.name for node in body if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in body if isinstance(node, ast.ImportFrom)}
    theirs = {need for name in FORMATS for need in find_format(name).NEEDS}
    assert {"ctranslate2", "sentencepiece", "onnxruntime", "transformers"} <= theirs
    assert not {name.split(".")[0] for name in names} & theirs


def test_what_is_written_unless_something_else_is_asked_for() -> None:
    assert FORMATS == ("native", "ctranslate2", "huggingface", "onnx", "argos")
    assert WriteOptions() == WriteOptions("float32", ("", ""), silent)
    usual = {
        name: (find_format(name).TYPES, find_format(name).EXTRA, find_format(name).FILE) for name in FORMATS
    }
    assert usual == {
        "native": (("int8", "float32"), "", False),
        "ctranslate2": (("float32", "int8"), "ct2", False),
        "huggingface": (("float32",), "huggingface", False),
        "onnx": (("float32",), "onnx", False),
        "argos": (("float32", "int8"), "argos", True),
    }
