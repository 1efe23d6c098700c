import json
from pathlib import Path

import pytest
from tests.importing.families import make_marian, sentences

from jumok.cli.import_ import summary
from jumok.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_marian(tmp_path_factory.mktemp("marian"))


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return int(stop.value.code or 0)


def test_a_model_is_imported_and_translates(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(sentences(5)), encoding="utf-8")
    assert run("import", folder, "-o", tmp_path / "ours", "-s", lines) == 0
    said = capsys.readouterr()
    assert "marian of transformers: " in said.err
    assert "equal tokens   5 of 5 sentences" in said.out
    assert "logits         differ by up to " in said.out
    assert run("translate", "-m", tmp_path / "ours", "a term", "--beam", "1") == 0
    assert run("verify", tmp_path / "ours") == 0


def test_a_certificate_as_json_and_exit_code_4(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("import", folder, "-o", tmp_path / "ours", "--json", "-q") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["checked"] == "not compared: no sentences were given (-s FILE)"
    assert said.err == ""
    lines = tmp_path / "lines.txt"
    lines.write_text("a term", encoding="utf-8")
    words = ("-s", lines, "--threshold", "logits=1e-30", "-q")
    assert run("import", folder, "-o", tmp_path / "other", *words) == 4
    assert "the imported model does not agree with the original" in capsys.readouterr().err


def test_what_was_not_compared_is_said() -> None:
    result = {"origin": {"family": "transformer", "program": "Marian"}, "checked": "not compared: why"}
    assert summary(result, "out") == ["out  from transformer of Marian", "original       not compared: why"]
