"""Five languages in one set: every word is there once, behind the code of its language."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "join_g2p.py"
LANGUAGES = ("dut", "eng_us", "fre", "kor", "vie_hanoi")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two words of each language and split; the second has a space in it."""
    folder = tmp_path / "source"
    folder.mkdir()
    for language in LANGUAGES:
        for split in ("train", "val", "test"):
            text = f"{split}\taː l\nà {language}\tk̚ ˨˩\n"
            (folder / f"{language}.{split}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    return folder


def join(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(SCRIPT), str(source), str(folder)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def read(folder: Path) -> dict[str, str]:
    return {path.name: gzip.decompress(path.read_bytes()).decode() for path in folder.iterdir()}


def test_each_word_stands_behind_its_code(source: Path, tmp_path: Path) -> None:
    done = join(source, tmp_path / "out" / "five")
    assert done.returncode == 0, done.stderr
    made = read(tmp_path / "out" / "five")
    alone = {f"{language}.{split}.tsv.gz" for language in LANGUAGES for split in ("val", "test")}
    assert set(made) == {"train.tsv.gz", "val.tsv.gz"} | alone
    assert made["dut.test.tsv.gz"] == "dut test\taː l\ndut à dut\tk̚ ˨˩\n"
    assert made["val.tsv.gz"] == "".join(made[f"{language}.val.tsv.gz"] for language in LANGUAGES)
    assert made["train.tsv.gz"] == made["val.tsv.gz"].replace(" val\t", " train\t")


def test_the_same_words_give_the_same_bytes(source: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        join(source, tmp_path / name)
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / n).iterdir()} for n in ("one", "two"))
    assert one == two
    assert all(data[4:8] == bytes(4) for data in one.values())  # gzip's time


def test_a_file_that_is_missing_is_named_and_nothing_is_written(source: Path, tmp_path: Path) -> None:
    missing = source / "kor.val.tsv.gz"
    missing.unlink()
    done = join(source, tmp_path / "out")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"{missing} is missing: put it there")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_files_to_read_are_not_written_over(source: Path) -> None:
    before = read(source)
    done = join(source, source / ".." / "source")
    assert done.returncode == 1
    assert done.stderr.endswith("name another folder\n")
    assert read(source) == before
