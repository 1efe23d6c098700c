"""`jumok average` from words to a folder."""

import json
from pathlib import Path

from click.testing import CliRunner

from jumok.cli.average import average
from jumok.decoding.translator import load


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(average, list(words))
    return result.exit_code, result.stdout, result.stderr


def test_two_models_become_one(tmp_path: Path) -> None:
    out = tmp_path / "mean"
    code, said, _ = run("demo/luong", "demo/luong", "-o", str(out), "-q", "--json")
    assert code == 0
    assert json.loads(said) == {
        "folder": str(out),
        "members": ["luong", "luong"],
        "tensors": json.loads(said)["tensors"],
        "numbers": json.loads(said)["numbers"],
        "likeness": 1.0,
        "alike": True,
    }
    assert load(out).translate("5. März 2024").text == "2024-03-05"
    code, said, _ = run("demo/luong", "demo/luong", "-o", str(out), "--overwrite")
    assert said.startswith(f"{out}: the mean of 2 models, ")
