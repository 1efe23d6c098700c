"""The tables of measurements: each is drawn from stored readings, and none has a number of its own."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("make_tables", ROOT / "scripts" / "make_tables.py")
assert spec is not None
assert spec.loader is not None
make_tables = importlib.util.module_from_spec(spec)
sys.modules["make_tables"] = make_tables
spec.loader.exec_module(make_tables)

MEASURED = ("README.md", "benchmarks/README.md", "recipes/README.md")
# A figure: with a decimal point, a comma of thousands, or a per cent sign.
FIGURE = re.compile(r"(?<![\w.-])\d+(?:\.\d+|,\d{3})(?![\w.]*[`\w])|\d ?%")


def words_of(text: str) -> str:
    """The text without placeholders, code and the targets of links, which may hold numbers of their own."""
    return re.sub(r"\{[^{}]*\}|`[^`]*`|\]\([^)]*\)", " ", text)


def test_every_page_shows_what_the_readings_say() -> None:
    readings = make_tables.read_all(ROOT)
    for page in make_tables.pages(ROOT):
        assert page.read_text("utf-8") == make_tables.drawn(page, readings), f"{page}: scripts/make_tables.py"


def test_every_table_stands_in_a_page() -> None:
    text = "".join(page.read_text("utf-8") for page in make_tables.pages(ROOT))
    drawn = [name for _, name, _, _ in make_tables.BLOCK.findall(text)]
    assert sorted({*drawn}) == sorted(file.stem for file in (ROOT / "benchmarks" / "tables").iterdir())


@pytest.mark.parametrize("page", MEASURED)
def test_figures_in_tables_come_from_readings(page: str) -> None:
    text = make_tables.BLOCK.sub("", (ROOT / page).read_text("utf-8"))
    text = re.sub(r"<!-- results -->.*<!-- end of results -->", "", text, flags=re.DOTALL)  # recipe_table.py
    loose = [line for line in text.splitlines() if line.startswith("|") and FIGURE.search(words_of(line))]
    assert loose == [], "put them into benchmarks/tables"


@pytest.mark.parametrize("file", sorted((ROOT / "benchmarks" / "tables").iterdir()), ids=lambda f: f.stem)
def test_a_table_has_no_figure_of_its_own(file: Path) -> None:
    cells = [cell for line in file.read_text("utf-8").splitlines()[2:] for cell in line.split("|")[2:]]
    assert [cell for cell in cells if FIGURE.search(words_of(cell))] == []


@pytest.mark.parametrize("file", sorted((ROOT / "benchmarks" / "readings").iterdir()), ids=lambda f: f.stem)
def test_a_reading_says_how_and_where_it_was_taken(file: Path) -> None:
    reading = json.loads(file.read_text("utf-8"))
    assert {"command", "machine", "kept"} <= {*reading}
    tables = "".join(table.read_text("utf-8") for table in (ROOT / "benchmarks" / "tables").iterdir())
    assert re.search(rf"\b{file.stem}\.", tables), "no table shows it"


def test_numbers_are_put_in_by_their_format() -> None:
    readings = {"run": make_tables.as_fields({"rates": [2.0, 4.0], "a-b": 1234})}
    text = "| {run.rates[1] / run.rates[0]:.2f} | {run['a-b']:,} | {run.a_b} |"
    assert make_tables.fill(text, readings) == "| 2.00 | 1,234 | 1234 |"


def test_the_one_record_is_picked() -> None:
    one, two = (make_tables.as_fields({"n": n, "cell": make_tables.as_fields({"size": n})}) for n in (1, 2))
    assert make_tables.pick([one, two], cell__size=2) is two
    with pytest.raises(LookupError, match=r"2 records with \{\}"):
        make_tables.pick([one, two])


def test_an_expression_without_a_reading_is_an_error() -> None:
    with pytest.raises(SystemExit, match=re.escape("{gone.x}: NameError: name 'gone' is not defined")):
        make_tables.fill("{gone.x}", {})
