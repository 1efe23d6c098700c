"""Texts in lower case: the same lines, the same bytes each time, and nothing written over."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "lower_case.py"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "train.tsv.gz").write_bytes(gzip.compress("Über Alles\tΣΑΣ\u2028x\nB\tC\n".encode()))
    (folder / "val.tsv.gz").write_bytes(gzip.compress(b"No End"))
    return folder


def lower(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(SCRIPT), str(source), str(folder)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def test_lines_are_lowered_and_stay_lines(source: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        done = lower(source, tmp_path / name)
        assert (done.returncode, done.stderr) == (0, "")
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / n).iterdir()} for n in ("one", "two"))
    assert one == two
    assert {name: gzip.decompress(data).decode() for name, data in one.items()} == {
        "train.tsv.gz": "über alles\tσας\u2028x\nb\tc\n",
        "val.tsv.gz": "no end\n",
    }
    assert "train.tsv.gz          2 lines" in done.stdout
    assert "val.tsv.gz            1 lines" in done.stdout


def test_a_folder_without_files_and_the_same_folder_are_refused(source: Path, tmp_path: Path) -> None:
    done = lower(tmp_path, tmp_path / "out")
    assert (done.returncode, (tmp_path / "out").exists()) == (1, False)
    assert done.stderr == f"{tmp_path} has no .gz file: name the folder of the data\n"
    before = {path.name: path.read_bytes() for path in source.iterdir()}
    done = lower(source, source / ".." / "source")
    assert done.returncode == 1
    assert done.stderr.endswith("holds the files to read: name another folder to write to\n")
    assert {path.name: path.read_bytes() for path in source.iterdir()} == before
