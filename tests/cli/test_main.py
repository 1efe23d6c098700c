"""The entry point: finding commands, and turning what goes wrong into a few lines and an exit code."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import click
import pytest

from jumok import __version__
from jumok.cli import main as module
from jumok.cli.main import COMMANDS, cli
from jumok.errors import DataError, ThresholdError

Call = Callable[..., int]
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Makes every command fail in a certain way."""

    def set_up(error: BaseException) -> None:
        def broken(*_: Any, **__: Any) -> None:
            raise error

        monkeypatch.setattr(cli, "main", broken)

    return set_up


def test_every_command_is_found_and_described(call: Call, capsys: Captured) -> None:
    assert call("--help") == 0
    text = capsys.readouterr().out
    with click.Context(cli) as context:
        assert cli.list_commands(context) == list(COMMANDS)
        for name, line in COMMANDS.items():
            command = cli.get_command(context, name)
            assert command is not None
            assert command.name == name
            assert f"  {name} " in text
            assert line.split()[0] in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "error: unknown command 'trian'\n  did you mean 'train'?\n"),
        (["frobnicate"], "error: unknown command 'frobnicate'\n  known: average, calibrate, "),
    ],
)
def test_an_unknown_command(words: list[str], message: str, call: Call, capsys: Captured) -> None:
    assert call(*words) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(message)
    assert captured.out == ""


def test_an_unknown_option(call: Call, capsys: Captured) -> None:
    assert call("train", "--sorce", "x") == 2
    captured = capsys.readouterr()
    assert "No such option" in captured.err
    assert "--source" in captured.err
    assert captured.out == ""


def test_the_version_as_other_programs_have_it(call: Call, capsys: Captured) -> None:
    assert call("--version") == 0
    assert capsys.readouterr().out == f"jumok {__version__}\n"
    assert call("--version", "train", "--source", "missing") == 0  # and nothing is done


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["train", "--source", "a.en", "--source=b.en"], "--source"),
        (["translate", "-m", "one", "--model", "two", "text"], "-m"),
        (["translate", "-m", "one", "-ia", "-i", "b", "-i", "b"], "-i"),
    ],
)
def test_a_repeated_option(words: list[str], option: str, call: Call, capsys: Captured) -> None:
    assert call(*words) == 2
    times = 3 if option == "-i" else 2
    more = "; several models that answer together are one value: -m A+B" if option == "-m" else ""
    told = f"error: {option} is given {times} times, and it takes one value\n  leave out all but one of them"
    assert capsys.readouterr().err == f"{told}{more}\n"


def test_no_words_at_all_show_the_help(call: Call, capsys: Captured) -> None:
    assert call() == 2
    assert "Commands:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (DataError("bad", where="a:1", hint="mend it"), 3, "error: bad\n  a:1\n  mend it\n"),
        (ThresholdError("too low"), 4, "error: too low\n"),
        (OSError(28, "No space left on device", "/x/y"), 1, "error: No space left on device\n  /x/y\n"),
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
        (click.exceptions.Exit(7), 7, ""),
        (click.BadParameter("no such thing"), 2, "Error: Invalid value: no such thing\n"),
        (click.ClickException("general"), 1, "Error: general\n"),
        (module.ClosedPipe(), 0, ""),
    ],
)
def test_failures_become_lines_and_codes(
    error: BaseException,
    code: int,
    text: str,
    fail: Callable[[BaseException], None],
    call: Call,
    capsys: Captured,
) -> None:
    fail(error)
    assert call("version") == code
    captured = capsys.readouterr()
    assert captured.err == text
    assert captured.out == ""


def test_our_own_mistakes_keep_their_traceback(fail: Callable[[BaseException], None]) -> None:
    fail(ZeroDivisionError("ours"))
    with pytest.raises(ZeroDivisionError, match="ours"):
        module.main(["version"])


def test_debugging_brings_the_traceback_back(
    fail: Callable[[BaseException], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUMOK_DEBUG", "1")
    fail(DataError("bad"))
    with pytest.raises(DataError, match="bad"):
        module.main(["version"])


def test_a_command_that_ends_normally_ends_with_0(call: Call, capsys: Captured) -> None:
    assert call("version", "-q") == 0
    assert capsys.readouterr().out == f"{__version__}\n"


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "jumok", "version", "-q"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{__version__}\n", "")
