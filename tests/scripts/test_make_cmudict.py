"""The data set `cmudict`: stress is gone, other ways to say a test word are further references."""

import gzip
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from jumok.data.builtin import BUILTIN, SPLITS, builtin_file

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_cmudict.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_cmudict", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def shipped() -> dict[str, list[list[str]]]:
    texts = {split: gzip.decompress(builtin_file("cmudict", split).read_bytes()).decode() for split in SPLITS}
    return {split: [line.split("\t") for line in text.splitlines()] for split, text in texts.items()}


def test_what_becomes_of_the_dictionary_s_lines(script: ModuleType, tmp_path: Path) -> None:
    lines = b"a\tAH0\na\tEY1\na\tEY2\ncat\tK AE1 T\n"
    for split in ("train", "val", "test"):
        (tmp_path / f"{split}.tsv.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "LICENSE.txt").write_text("as is\n", encoding="utf-8")
    script.main(tmp_path, tmp_path / "out")
    made = {split: gzip.decompress((tmp_path / f"out/{split}.tsv.gz").read_bytes()) for split in SPLITS}
    assert made["train"] == b"a\tAH\na\tEY\ncat\tK AE T\n"
    assert made["valid"] == made["test"] == b"a\tAH\tEY\ncat\tK AE T\n"
    assert (tmp_path / "out/LICENSE").read_text(encoding="utf-8") == "as is\n"


def test_each_split_has_its_promised_size(shipped: dict[str, list[list[str]]]) -> None:
    assert {split: len(rows) for split, rows in shipped.items()} == BUILTIN["cmudict"].sizes


def test_phonemes_are_those_of_arpabet_without_stress(shipped: dict[str, list[list[str]]]) -> None:
    phonemes = {
        one for rows in shipped.values() for _, *said in rows for text in said for one in text.split()
    }
    assert len(phonemes) == 39
    assert all(one.isalpha() and one.isupper() for one in phonemes)


def test_a_word_is_in_one_split_and_its_ways_differ(shipped: dict[str, list[list[str]]]) -> None:
    words = {split: {word for word, *_ in rows} for split, rows in shipped.items()}
    assert not words["train"] & (words["valid"] | words["test"])
    assert not words["valid"] & words["test"]
    assert all(len(row) == 2 for row in shipped["train"])
    for split in ("valid", "test"):
        assert len(words[split]) == len(shipped[split])
        assert all(len(said) == len(set(said)) for _, *said in shipped[split])
    assert max(map(len, shipped["test"])) > 2


def test_the_licence_travels_with_the_data() -> None:
    text = builtin_file("cmudict", "train").with_name("LICENSE").read_text(encoding="utf-8")
    assert "Carnegie Mellon University" in text
    notice = (SCRIPT.parents[1] / "NOTICE").read_text(encoding="utf-8")
    assert text.strip() in notice
    sizes = [builtin_file("cmudict", split).stat().st_size for split in SPLITS]
    assert sum(sizes) < 1_000_000
