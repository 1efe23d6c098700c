"""What is offered for values: every name in the table is one that a command has, and looking is bounded."""

from pathlib import Path

import click
import pytest

from jumok.cli.main import COMMANDS, cli
from jumok.cli.shared import completed
from jumok.cli.shared.completed import WORDS, FileWord, ModelWord, model_folders_under


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
