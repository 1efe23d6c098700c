"""Records of recipes' runs to the Markdown table of recipes/README.md."""

import json
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev
from typing import Any

BEGIN, END = "<!-- results -->", "<!-- end of results -->"
HEADING = (
    "| recipe | parameters | steps | time | seeds | BLEU lc, beam 5 | BLEU lc, greedy | BLEU cased, beam 5 "
    "| chrF++ | published, BLEU lc |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|---|"
)
LADDER = "greedy, own tokens, pytorch-seq2seq"
PUBLISHED = {
    "multi30k-en-de-luong": "39.00, attention GRU (Caglayan et al. 2017)",
    "multi30k-en-de-transformer": "41.02, Transformer-tiny (Wu et al. 2021)",
    "multi30k-en-de-60s": "41.02, Transformer-tiny (Wu et al. 2021)",
    "multi30k-en-de-best": "41.02, Transformer-tiny (Wu et al. 2021)",
    "multi30k-en-fr-luong": "59.02, attention GRU (Caglayan et al. 2017)",
    "multi30k-en-fr-transformer": "61.80, Transformer-tiny (Wu et al. 2021)",
    "multi30k-de-en-rnn": f"13.76 LSTM, 20.61 GRU ({LADDER})",
    "multi30k-de-en-luong": f"28.30 GRU + attention ({LADDER})",
    "multi30k-de-en-transformer": f"36.52 ({LADDER})",
}


def read_records(file: Path) -> list[dict[str, Any]]:
    """The lines of a file of results."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines if line.strip()]


def draw_table(records: list[dict[str, Any]]) -> str:
    """A row for each recipe: means over its seeds, with their standard deviation.

    Of a seed that was run again the last run counts. Runs that changed a setting have a row of their own.
    """
    last: dict[tuple[str, int], dict[str, Any]] = {}
    for record in records:
        if "error" not in record and record["test"]:
            last[row_name(record), record["seed"]] = record
    runs: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for (name, _), record in last.items():
        runs[name].append(record)
    rows = [row(name, runs[name]) for name in sorted(runs)]
    signatures = {key: value for found in runs.values() for key, value in found[0]["signatures"].items()}
    named = {"bleu-lc": "BLEU lc", "bleu": "BLEU cased", "chrf": "chrF++"}
    notes = [f"- {label}: `{signatures[key]}`" for key, label in named.items() if key in signatures]
    return "\n".join([HEADING, *rows, *([""] if notes else []), *notes])


def row_name(record: dict[str, Any]) -> str:
    """The recipe, and what the run changed in it."""
    return " ".join([record["recipe"], *(f"{key}={value}" for key, value in record["settings"].items())])


def row(name: str, runs: list[dict[str, Any]]) -> str:
    def over(how: str, metric: str) -> str:
        values = [next(iter(run["test"].values()))[how][metric] for run in runs]
        return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")

    side = max(run["jobs"] for run in runs)
    beside = f" ({side} side by side)" if side > 1 else ""
    cells = [
        f"[{name}]({runs[0]['recipe']}.toml)",
        f"{mean(run['parameters'] for run in runs) / 1e6:.1f} M",
        f"{mean(run['steps'] for run in runs):,.0f}",
        f"{mean(run['seconds']['until_score'] for run in runs):.0f} s{beside}",
        f"{len(runs)}",
        over("beam5", "bleu-lc"),
        over("greedy", "bleu-lc"),
        over("beam5", "bleu"),
        over("beam5", "chrf"),
        PUBLISHED.get(name, "–"),
    ]
    return f"| {' | '.join(cells)} |"


def write_table(page: Path, records: list[dict[str, Any]]) -> None:
    """Put the table between the page's two marks."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n\n{draw_table(records)}\n\n{END}{after}", encoding="utf-8")
