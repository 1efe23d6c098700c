"""Help is quick, complete, and its examples are commands that exist."""

import shlex
import subprocess
import sys
from collections.abc import Callable

import click
import pytest

from jumok.cli.main import COMMANDS, cli

Call = Callable[..., int]


def examples(text: str) -> list[str]:
    return [line.strip() for line in text.split("Examples:")[1].splitlines() if line.strip()]


@pytest.mark.parametrize("name", ["", *COMMANDS])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_ends_with_examples(
    name: str, option: str, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*([name] if name else []), option) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.startswith("Usage: ")
    shown = examples(captured.out)
    assert 2 <= len(shown) <= 6
    assert all(f"jumok {name}".rstrip() in line for line in shown)
    assert max(map(len, captured.out.splitlines())) <= 100


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_parse(name: str, call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    call(name, "--help")
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    parsed = 0
    for line in examples(capsys.readouterr().out):
        for part in line.split(" > ")[0].split(" | "):
            words = shlex.split(part, comments=True)
            if words[:2] == ["jumok", name]:
                with command.make_context(name, words[2:]):
                    parsed += 1
    assert parsed >= 1


def test_the_group_s_examples_parse(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    call("--help")
    shown = examples(capsys.readouterr().out)
    commands = [shlex.split(part) for line in shown for part in line.split(" | ")]
    ours = [words[1:] for words in commands if words[0] == "jumok"]
    assert len(ours) == len(shown)
    for name, *words in ours:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        command.make_context(name, words).close()


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        ([["--help"]], ["torch", "numpy", "pydantic", "rich", "sacrebleu", "tokenizers"]),
        ([[name, "--help"] for name in COMMANDS], ["torch", "numpy", "sacrebleu", "tokenizers"]),
    ],
    ids=["group", "commands"],
)
def test_help_waits_for_nothing_heavy(words: list[list[str]], heavy: list[str]) -> None:
    code = (
        "import sys\n"
        "from jumok.cli.main import main\n"
        f"for words in {words!r}:\n"
        "    try: main(words)\n"
        "    except SystemExit as stop: assert stop.code == 0\n"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "[]\n")
