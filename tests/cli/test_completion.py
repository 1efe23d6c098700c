"""jumok completion: the scripts work in the shells that are here, and jumok answers them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from jumok.checkpoint.bundled import translators
from jumok.cli.completion import SHELLS, completion, script_for
from jumok.cli.main import COMMANDS
from jumok.config import ARCHS


def ask(words: str, at: int, folder: Path | None = None) -> list[str]:
    """What jumok offers bash for these words, as `type,value`."""
    env = os.environ | {"_JUMOK_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
    code = "import sys; sys.argv[0] = 'jumok'; from jumok.cli.main import main; main()"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=True)
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


def test_values_complete(tmp_path: Path) -> None:
    """What a value may be: runs and model folders, architectures, data sets, the shell's own files."""
    for model in ("runs/en-de/checkpoints", "runs/deep/er/still/model", "runs/.hidden/checkpoints"):
        (tmp_path / model).mkdir(parents=True)
    (tmp_path / "runs/int8").mkdir()
    (tmp_path / "runs/int8/MANIFEST.json").touch()
    (tmp_path / "other").mkdir()

    def offered(words: str) -> list[str]:
        return ask(words, words.count(" "), tmp_path)

    bundled = [f"plain,demo/{name}" for name in (*ARCHS, *translators())]
    assert offered("jumok translate -m ")[: 2 + len(bundled)] == [
        "plain,runs/en-de",
        "plain,runs/int8",
        *bundled,
    ]
    assert offered("jumok inspect -m runs/e") == ["plain,runs/en-de"]
    assert offered("jumok serve ./ru") == ["plain,./runs/en-de", "plain,./runs/int8"]
    assert offered("jumok translate -m oth") == ["dir,oth"]
    assert offered("jumok train --arch ") == [f"plain,{arch}" for arch in ARCHS]
    assert offered("jumok train --preset b") == ["plain,base", "plain,big"]
    assert offered("jumok check --data d") == ["plain,dates", "plain,dates-cjk"]
    for option in ("train --source", "translate -i", "evaluate -s", "check"):
        assert offered(f"jumok {option} tr") == ["file,tr"]


def test_bash_completes_a_model(tmp_path: Path) -> None:
    """The shell itself, with the script that we print."""
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    (tmp_path / "runs/en-de/checkpoints").mkdir(parents=True)
    (tmp_path / "jumok").write_text(f"#!{sys.executable}\nfrom jumok.cli.main import main\nmain()\n")
    (tmp_path / "jumok").chmod(0o755)
    (tmp_path / "script").write_text(script_for("bash"))
    press = (
        "source script; COMP_WORDS=(jumok translate -m ru); COMP_CWORD=3; _jumok_completion jumok; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", press],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["runs/en-de"]
