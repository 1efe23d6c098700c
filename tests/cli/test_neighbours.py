"""`jumok neighbours`: an index made from files, and what it says of a text."""

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Call

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.manifest import NEIGHBOURS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundled()["luong"], tmp_path / "luong"))


def test_an_index_is_made_and_asked(folder: Path, call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [("5. März 2024", "2024-03-05"), ("June 11, 1998", "1998-06-11"), ("7 mai 2016", "2016-05-07")]
    file = folder.parent / "pairs.tsv"
    file.write_text("".join(f"{one}\t{two}\n" for one, two in pairs), encoding="utf-8")
    assert call("neighbours", "-m", folder, "-s", file, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made == {"file": str(folder / NEIGHBOURS), "bytes": (folder / NEIGHBOURS).stat().st_size}
    assert call("neighbours", "-m", folder, "5. März 2024", "-k", 1) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("5. März 2024  →  2024-03-05\nread\n")
    assert "5. März 2024  →  2024-03-05\n" in shown.partition("written")[2]
    assert call("neighbours", "-m", folder, "5. März 2024", "-t", "2024-03-06", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["target"], len(found["pairs"])) == ("2024-03-06", 3)
    assert call("verify", folder) == 0
    (folder / NEIGHBOURS).write_bytes((folder / NEIGHBOURS).read_bytes()[:-1])
    assert call("verify", folder) == 3
    assert "its content has changed since it was written" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no text is given"),
        (("5. März 2024", "--data", "dates"), "both a text and training data are given"),
        (("5. März 2024",), "the model has no index of training states"),
        (("--data", "dats"), "no built-in data set is called 'dats'"),
    ],
)
def test_mistakes_are_said(
    folder: Path, call: Call, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert call("neighbours", "-m", folder, *words) != 0
    assert message in capsys.readouterr().err
