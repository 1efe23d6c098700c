"""Draw the tables of measurements in the docs from the stored readings.

    python scripts/make_tables.py            # write the tables into the pages
    python scripts/make_tables.py --check    # or only say which pages differ, with status 1

Readings are JSON: benchmarks/readings/*.json, what the benchmarks themselves write (benchmarks/*.json), and
the records in recipes/results.jsonl. A table is a file in benchmarks/tables, in which `{expression:format}`
stands for a number: the expression is Python over the readings, named by their files, and the format is that
of f-strings. It goes between `<!-- table NAME -->` and `<!-- end of table -->` of a page.
"""

import argparse
import json
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "benchmarks/README.md", "recipes/README.md", "CONTRIBUTING.md", "docs/**/*.md")
BLOCK = re.compile(r"(<!-- table ([\w-]+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
NUMBER = re.compile(r"\{([^{}]+)\}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page differs")
    options = parser.parse_args()
    readings = read_all(ROOT)
    differing = [page for page in pages(ROOT) if page.read_text("utf-8") != drawn(page, readings)]
    for page in differing:
        print(f"{page.relative_to(ROOT)} {'differs from its readings' if options.check else 'written'}")
        if not options.check:
            page.write_text(drawn(page, readings), "utf-8")
    if options.check and differing:
        sys.exit("run: python scripts/make_tables.py")


def pages(root: Path) -> Iterator[Path]:
    for pattern in PAGES:
        yield from sorted(root.glob(pattern))


def drawn(page: Path, readings: dict[str, Any]) -> str:
    """The page with each of its tables drawn anew."""
    return BLOCK.sub(
        lambda block: block[1] + fill(template(block[2]), readings) + block[4], page.read_text("utf-8")
    )


def template(name: str) -> str:
    return (ROOT / "benchmarks" / "tables" / f"{name}.md").read_text("utf-8")


def fill(text: str, readings: dict[str, Any]) -> str:
    """The text with the value of each `{expression:format}` in place of it."""

    def value(found: re.Match[str]) -> str:
        expression, _, how = found[1].partition(":")
        try:
            return format(eval(expression, {"__builtins__": {}, **readings}), how)  # noqa: S307 - our own files
        except Exception as error:
            raise SystemExit(f"{{{found[1]}}}: {type(error).__name__}: {error}") from error

    return NUMBER.sub(value, text)


def read_all(root: Path) -> dict[str, Any]:
    """Every reading by the name of its file, `-` as `_`, and the few functions that a table may call."""
    files = [*root.glob("benchmarks/*.json"), *root.glob("benchmarks/readings/*.json")]
    found: dict[str, Any] = {
        file.stem.replace("-", "_"): json.loads(file.read_text("utf-8"), object_hook=as_fields)
        for file in sorted(files)
    }
    for file in (root / "recipes" / "results.jsonl", *root.glob("benchmarks/*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            found[file.stem] = [json.loads(line, object_hook=as_fields) for line in lines]
    runs = root / "src" / "jumok" / "trained" / "runs"
    found["bundled"] = Fields(
        **{
            file.parts[-3]: json.loads(file.read_text("utf-8"), object_hook=as_fields)
            for file in sorted(runs.glob("*/eval/dates-test.json"))
        }
    )
    found["translators"] = Fields(
        **{
            file.parts[-3].replace("-", "_"): json.loads(file.read_text("utf-8"), object_hook=as_fields)
            for file in sorted(runs.glob("*/eval/homeassistant-*-test.json"))
        }
    )
    functions = (
        statistics.median,
        statistics.mean,
        statistics.stdev,
        min,
        max,
        len,
        sum,
        pick,
        rate,
        rates,
        ratios,
    )
    return found | {function.__name__: function for function in functions} | {"CELLS": CELLS}


def as_fields(pairs: dict[str, Any]) -> Any:
    """A JSON object whose keys can be written as attributes, or as `one["a key"]`."""
    return Fields(**{key.replace("-", "_"): value for key, value in pairs.items()})


class Fields(SimpleNamespace):
    def __getitem__(self, key: str) -> Any:
        return getattr(self, key.replace("-", "_"))


def pick(records: list[Any], **wanted: Any) -> Any:
    """The one record with these values; `cell.size` is written `cell__size`."""
    found = [one for one in records if all(follow(one, key) == value for key, value in wanted.items())]
    if len(found) != 1:
        raise LookupError(f"{len(found)} records with {wanted}")
    return found[0]


CELLS = [
    f"{size}-{search}-{batch}" for size in ("base", "small") for search in ("g", "b4") for batch in (1, 32)
]


def rate(run: Any, contestant: str, threads: int, cell: str) -> float | None:
    """Tokens a second of a contestant of cpu_decoding.py in one cell, by its best layout, if measured."""
    found = [
        one.median
        for one in run.results
        if (one.contestant, one.cell.threads, one.cell.name) == (contestant, threads, cell)
        and not one.problem
    ]
    return max(found, default=None)


def rates(run: Any, contestant: str, threads: int) -> str:
    """A row of cells."""
    found = (rate(run, contestant, threads, cell) for cell in CELLS)
    return " | ".join("–" if one is None else f"{one:,.0f}" for one in found)


def ratios(run: Any, contestant: str, peer: str, threads: int) -> str:
    """A row of how many times as fast as the peer."""
    found = ((rate(run, contestant, threads, cell), rate(run, peer, threads, cell)) for cell in CELLS)
    return " | ".join("–" if one is None or other is None else f"{one / other:.2f}" for one, other in found)


def follow(record: Any, path: str) -> Any:
    for key in path.split("__"):
        record = getattr(record, key)
    return record


if __name__ == "__main__":
    main()
