"""jumok completion: the scripts work in the shells that are here, and jumok answers them."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from jumok.cli.completion import SHELLS, completion, script_for
from jumok.cli.main import COMMANDS


def ask(words: str, at: int) -> list[str]:
    """What jumok offers bash for these words, as `type,value`."""
    env = os.environ | {"_JUMOK_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
    code = "import sys; sys.argv[0] = 'jumok'; from jumok.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("shell", SHELLS)
def test_script_asks_jumok(shell: str) -> None:
    result = CliRunner().invoke(completion, [shell])
    assert result.exit_code == 0
    assert f"_JUMOK_COMPLETE={shell}_complete" in result.stdout
    assert json.loads(CliRunner().invoke(completion, [shell, "--json"]).stdout)["script"] == script_for(shell)


def test_unknown_shells_are_refused() -> None:
    result = CliRunner().invoke(completion, ["tcsh"])
    assert result.exit_code == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in result.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_script_is_valid(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=script_for(shell), text=True, check=True)


def test_commands_complete() -> None:
    assert ask("jumok ver", 1) == [f"plain,{name}" for name in COMMANDS if name.startswith("ver")]


def test_options_and_choices_complete() -> None:
    assert ask("jumok version --j", 2) == ["plain,--json"]
    assert ask("jumok completion f", 2) == ["plain,fish"]
    assert ask("jumok inspect --kind c", 3) == ["plain,cross", "plain,copy"]


def test_models_complete_as_paths() -> None:
    assert ask("jumok inspect -m ru", 3) == ["file,ru"]
