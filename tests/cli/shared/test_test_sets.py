"""Test sets of several directions, named as corpora are."""

from pathlib import Path

import pytest

from jumok.cli.shared.test_sets import read_directions
from jumok.errors import ConfigError
from jumok.text.frame import Direction


def test_each_direction_is_a_set(tmp_path: Path) -> None:
    file = tmp_path / "t.tsv"
    file.write_text("eins\tone\nzwei\ttwo\n")
    found = list(read_directions([f"{file}:de-en:both"]))
    assert [way for _, _, way in found] == [Direction("de", "en"), Direction("en", "de")]
    assert [list(corpus.texts()) for _, corpus, _ in found] == [
        [("eins", "one"), ("zwei", "two")],
        [("one", "eins"), ("two", "zwei")],
    ]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("de-en:2", "has no weight"),
        ("en:copy", "and two sides"),
        ("both", "does not say its languages"),
    ],
)
def test_what_is_no_test_set(tmp_path: Path, words: str, reason: str) -> None:
    file = tmp_path / "t.tsv"
    file.write_text("eins\tone\n")
    with pytest.raises(ConfigError, match=reason):
        list(read_directions([f"{file}:{words}"]))
