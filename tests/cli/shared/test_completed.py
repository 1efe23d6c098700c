"""What is offered for values: every name in the table is one that a command has, and looking is bounded."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from jumok.cli.main import COMMANDS, cli
from jumok.cli.shared import completed
from jumok.cli.shared.completed import WORDS, FileWord, ModelWord, Word, model_folders_under


def test_every_name_is_a_parameter() -> None:
    with click.Context(cli) as context:
        commands = [cli.get_command(context, name) for name in COMMANDS]
    params = [param for command in commands if command for param in command.params]
    assert {name for param in params for name in param.opts} >= set(WORDS)
    used = {type(param.type) for param in params}
    assert {type(word) for word in WORDS.values()} <= used
    assert all(isinstance(param.type, ModelWord) for param in params if "-m" in param.opts)
    assert all(isinstance(param.type, FileWord) for param in params if "-i" in param.opts)


def test_looking_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither deep nor many folders are looked through while a shell waits."""
    (tmp_path / "a/b/c/d/checkpoints").mkdir(parents=True)
    assert list(model_folders_under(tmp_path, "")) == []
    (tmp_path / "a/b/e/checkpoints").mkdir(parents=True)
    assert list(model_folders_under(tmp_path, "a")) == ["a/b/e"]
    monkeypatch.setattr(completed, "LOOKED_AT", 2)
    assert list(model_folders_under(tmp_path, "")) == []


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    assert list(model_folders_under(tmp_path / "missing", "")) == []


def offered(word: Word, incomplete: str) -> list[tuple[str, str]]:
    """What a shell is told: the word, and what kind of thing it is."""
    param = click.Option(["--x"])
    items = word.shell_complete(click.Context(cli), param, incomplete)
    return [(str(item.value), item.type) for item in items]


def test_models_are_offered_from_the_folder_that_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs/b/checkpoints").mkdir(parents=True)
    (tmp_path / "runs/a").mkdir()
    (tmp_path / "runs/a/MANIFEST.json").touch()
    (tmp_path / "runs/.hidden/checkpoints").mkdir(parents=True)
    (tmp_path / "runs/note").touch()
    monkeypatch.chdir(tmp_path)
    runs = [("runs/a", "plain"), ("runs/b", "plain")]
    for typed in ("r", "ru", "runs/"):
        assert offered(ModelWord(), typed) == runs
    assert offered(ModelWord(), "runs/b") == runs[1:]
    absolute = [(f"{tmp_path}/runs/a", "plain")]
    assert offered(ModelWord(), f"{tmp_path}/runs/a") == absolute
    assert offered(ModelWord(), "demo/tra") == [("demo/transformer", "plain")]
    assert offered(ModelWord(), "nothing") == [("nothing", "dir")]  # the shell's own folders
    assert offered(FileWord(), "any") == [("any", "file")]


def test_a_folder_that_cannot_be_read_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b/run/checkpoints", "c/d/run/checkpoints"):
        (tmp_path / name).mkdir(parents=True)
    look = Path.iterdir

    def closed(folder: Path) -> Iterator[Path]:
        if folder.name == "a":
            raise PermissionError("closed")
        return iter(sorted(look(folder)))

    monkeypatch.setattr(Path, "iterdir", closed)
    assert list(model_folders_under(tmp_path, "")) == ["b/run", "c/d/run"]


def test_names_that_are_known_are_offered_by_how_they_begin() -> None:
    assert offered(WORDS["--arch"], "l") == [("luong", "plain")]
    assert [name for name, _ in offered(WORDS["--arch"], "")] == ["rnn", "luong", "transformer"]
    assert ("tiny", "plain") in offered(WORDS["--preset"], "t")
    assert ("dates", "plain") in offered(WORDS["--data"], "da")
    assert offered(WORDS["--data"], "zz") == []
