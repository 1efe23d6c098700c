"""The data set `dates`: what ships is what the script makes, and every target follows from its source."""

import gzip
import importlib.util
import re
import sys
import unicodedata
from datetime import datetime
from pathlib import Path
from types import ModuleType

import babel
import pytest

from jumok.data.builtin import BUILTIN, SPLITS, builtin_file

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_dates.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_dates", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_dates"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def shipped() -> dict[str, list[tuple[str, str]]]:
    rows: dict[str, list[tuple[str, str]]] = {}
    for split in SPLITS:
        text = gzip.decompress(builtin_file("dates", split).read_bytes()).decode()
        pairs = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
        rows[split] = [(source, target) for source, target in pairs]
    return rows


def test_the_shipped_lines_are_what_the_script_makes(
    script: ModuleType, shipped: dict[str, list[tuple[str, str]]]
) -> None:
    if not babel.__version__.startswith(script.BABEL):
        pytest.skip(f"the files were made with Babel {script.BABEL}, this is {babel.__version__}")
    pairs = script.distinct_pairs()
    assert [next(pairs) for _ in range(400)] == shipped["test"][:400]


def test_a_pair_is_a_function_of_its_number(script: ModuleType) -> None:
    assert [script.pair(n) for n in (7, 3, 7)] == [script.pair(7), script.pair(3), script.pair(7)]
    assert len({script.pair(n) for n in range(100)}) == 100


def test_each_split_has_its_promised_size(shipped: dict[str, list[tuple[str, str]]]) -> None:
    assert {split: len(rows) for split, rows in shipped.items()} == BUILTIN["dates"].sizes
    assert len(shipped["train"]) >= 40_000


def test_no_source_is_in_two_splits_or_has_two_targets(shipped: dict[str, list[tuple[str, str]]]) -> None:
    sources = [source for rows in shipped.values() for source, _ in rows]
    assert len(sources) == len(set(sources))


def test_every_target_is_iso_8601_and_no_source_is(shipped: dict[str, list[tuple[str, str]]]) -> None:
    shape = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?")
    for source, target in (pair for rows in shipped.values() for pair in rows):
        ends = target.split("/")
        moments = [datetime.fromisoformat(end) for end in ends]
        assert all(shape.fullmatch(end) for end in ends)
        assert moments == sorted(moments)
        assert source != target


def test_every_year_stands_in_its_source_in_full(shipped: dict[str, list[tuple[str, str]]]) -> None:
    for source, target in shipped["valid"]:
        for end in target.split("/"):
            assert end[:4] in source


def test_sources_are_tidy(shipped: dict[str, list[tuple[str, str]]]) -> None:
    for source, _ in (pair for rows in shipped.values() for pair in rows):
        assert source == " ".join(unicodedata.normalize("NFC", source).split())
        assert source.isprintable()


def test_lengths_vary_and_the_longest_third_is_long(shipped: dict[str, list[tuple[str, str]]]) -> None:
    for rows in shipped.values():
        lengths = sorted(len(source) for source, _ in rows)
        assert lengths[0] <= 10
        assert lengths[len(lengths) // 3] <= 25
        assert lengths[-len(lengths) // 3] >= 48
        assert 100 <= lengths[-1] <= 128


def test_twenty_languages_take_turns_korean_among_them(script: ModuleType) -> None:
    assert len(script.LANGUAGES) == 20
    assert {script.language_of(n) for n in range(20)} == set(script.LANGUAGES)
    assert "ko" in script.LANGUAGES


@pytest.mark.parametrize(
    ("language", "clock", "wanted"),
    [
        ("de", "seconds", "Dienstag, 5. März 2024 um 14:30:07 Uhr"),
        ("en", "none", "Tuesday, March 5, 2024"),
        ("en", "minutes", "Tuesday, March 5, 2024 at 2:30 PM"),
        ("ko", "seconds", "2024년 3월 5일 화요일 오후 2시 30분 7초"),
        ("ja", "none", "2024年3月5日火曜日"),
        ("fr", "none", "mardi 5 mars 2024"),
        ("ru", "none", "вторник, 5 марта 2024 г."),
    ],
)
def test_a_date_reads_as_people_write_it(script: ModuleType, language: str, clock: str, wanted: str) -> None:
    moment = datetime(2024, 3, 5, 14, 30, 7)
    assert script.tidy(script.written(moment, language, "full", clock)) == wanted


def test_numbers_are_never_month_first(script: ModuleType) -> None:
    moment = datetime(2024, 3, 5)
    for language in script.LANGUAGES:
        numbers = re.findall(r"\d+", script.written(moment, language, "numeric", "none"))
        if len(numbers) == 3:  # else the month has a name
            assert [int(n) for n in numbers] in ([5, 3, 2024], [2024, 3, 5])


def test_equal_lines_are_equal_bytes(script: ModuleType) -> None:
    data = script.compressed(["a\tb"])
    assert data == script.compressed(["a\tb"])
    assert gzip.decompress(data) == b"a\tb\n"
    assert data[4:8] == b"\0\0\0\0"  # no time inside
