"""`jumok verify` says what is whole and what is not, in words, JSON and exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jumok.checkpoint.folder import write_folder
from jumok.cli.verify import verify
from jumok.errors import ModelError


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for step in (1, 2):
        write_folder(
            tmp_path / "run" / "checkpoints" / f"step-{step:08d}", {"a.json": b"{}", "b": bytes(step)}
        )
    return tmp_path / "run"


def invoke(*args: object) -> Result:
    return CliRunner().invoke(verify, [str(arg) for arg in args])


def test_a_whole_run(run: Path) -> None:
    result = invoke(run)
    assert result.exit_code == 0
    assert result.output == (
        f"whole    {run}/checkpoints/step-00000002\nwhole    {run}/checkpoints/step-00000001\n"
    )
    assert invoke("-q", run).output == ""


def test_a_damaged_run_names_folder_and_file(run: Path) -> None:
    (run / "checkpoints" / "step-00000001" / "b").write_bytes(b"")
    (run / "checkpoints" / "step-00000001" / "c").touch()
    result = invoke(run)
    assert result.exit_code == 3
    whole, damaged = result.output.splitlines()
    assert whole == f"whole    {run}/checkpoints/step-00000002"
    assert damaged == (
        f"damaged  {run}/checkpoints/step-00000001: "
        "b was cut short: 0 of 1 bytes; c does not belong to this folder"
    )
    assert invoke("-q", run).output.splitlines() == [damaged]


def test_json_has_the_same_facts(run: Path) -> None:
    folder = run / "checkpoints" / "step-00000001"
    assert json.loads(invoke("--json", folder).output) == {
        "whole": True,
        "folders": [{"folder": str(folder), "whole": True, "faults": []}],
    }
    (folder / "b").unlink()
    result = invoke("--json", folder)
    assert result.exit_code == 3
    assert json.loads(result.output) == {
        "whole": False,
        "folders": [{"folder": str(folder), "whole": False, "faults": ["b is missing"]}],
    }


def test_what_is_no_model_folder_says_so(tmp_path: Path, run: Path) -> None:
    missing = invoke(tmp_path / "rum").exception
    assert isinstance(missing, ModelError)
    assert str(missing) == f"there is no model folder {tmp_path / 'rum'}\n  did you mean 'run'?"
    empty = invoke(tmp_path).exception
    assert isinstance(empty, ModelError)
    assert empty.message == f"there is no model in {tmp_path}"


def test_the_command_needs_no_torch_and_ends_with_its_code(run: Path) -> None:
    (run / "checkpoints" / "step-00000002" / "a.json").write_text("[]")
    code = (
        "import sys\nfrom jumok.cli.main import main\n"
        "try: main(['verify', sys.argv[1]])\n"
        "finally: print('torch' in sys.modules, 'numpy' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code, str(run)], capture_output=True, text=True)
    assert result.returncode == 3
    assert result.stdout.splitlines()[0].startswith(
        f"damaged  {run}/checkpoints/step-00000002: a.json was changed"
    )
    assert result.stdout.splitlines()[-1] == "False False"


def test_help_ends_with_examples() -> None:
    for option in ("-h", "--help"):
        assert "jumok verify runs/en-de" in invoke(option).output


def test_settings_that_no_model_can_have_are_named(tmp_path: Path) -> None:
    """The files are what was saved; whoever saved them wanted all memory of the reader's machine."""
    fields = {"model_type": "jumok", "format_version": 1, "jumok": {"decoding": {"beam": 10**9}}}
    write_folder(tmp_path / "m", {"config.json": json.dumps(fields).encode()})
    result = invoke(tmp_path / "m")
    assert result.exit_code == 3
    assert result.output == (
        f"damaged  {tmp_path / 'm'}: config.json cannot be used: decoding.beam=1000000000 cannot work: "
        "choose 4,096 or less\n"
    )
    write_folder(tmp_path / "other", {"config.json": b'{"model_type": "marian"}'})
    assert invoke(tmp_path / "other").output == f"whole    {tmp_path / 'other'}\n"
