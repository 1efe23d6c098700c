"""Records of recipes' runs to the Markdown table of recipes/README.md."""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import mean, stdev
from typing import Any

BEGIN, END = "<!-- results -->", "<!-- end of results -->"
HEADING = (
    "| recipe | parameters | steps | time | seeds | BLEU lc, beam 5 | BLEU lc, greedy | BLEU cased, beam 5 "
    "| chrF++ | published, BLEU lc |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|---|"
)
TASK_HEADING = (
    "| recipe | parameters | steps | time | seeds | test, beam 5 | test, greedy | published |\n"
    "|---|--:|--:|--:|--:|---|---|---|"
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
    "aeslc-transformer": "ROUGE-1 23.67, without pre-training (Zhang and Tetreault 2019)",
    "g2p-kor-transformer": "WER 16.30, ensemble (SIGMORPHON 2021 baseline)",
    "g2p-fre-transformer": "WER 8.50, ensemble (SIGMORPHON 2021 baseline)",
    "g2p-dut-transformer": "WER 14.70, ensemble (SIGMORPHON 2021 baseline)",
    "g2p-vie_hanoi-transformer": "WER 2.50, ensemble (SIGMORPHON 2021 baseline)",
    "g2p-eng_us-transformer": "WER 41.94, ensemble (SIGMORPHON 2021 baseline)",
    "g2p-five-transformer": "WER dut 14.70 · eng_us 41.94 · fre 8.50 · kor 16.30 · vie_hanoi 2.50, "
    "ensembles (SIGMORPHON 2021 baseline)",
    "cmudict-transformer": "WER 20 to 30 on other splits",
}
NAMES = {
    "bleu-lc": "BLEU lc",
    "bleu": "BLEU cased",
    "chrf": "chrF++",
    "exact": "exact",
    "per": "PER",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "ppl": "ppl",
}


def read_records(file: Path) -> list[dict[str, Any]]:
    """The lines of a file of results."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines if line.strip()]


def draw_table(records: list[dict[str, Any]]) -> str:
    """A row for each recipe: means over its seeds, with their standard deviation; tasks below translation.

    Of a seed that was run again the last run counts. Runs that changed a setting have a row of their own.
    """
    last: dict[tuple[str, int], dict[str, Any]] = {}
    for record in records:
        if "error" not in record and record["test"]:
            last[row_name(record), record["seed"]] = record
    runs: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for (name, _), record in last.items():
        runs[name].append(record)
    tasks = [name for name in sorted(runs) if "bleu-lc" not in first_test(runs[name][0])["beam5"]]
    rows = [row(name, runs[name]) for name in sorted(runs) if name not in tasks]
    if tasks:
        rows += ["", TASK_HEADING, *(task_row(name, runs[name]) for name in tasks)]
    return "\n".join([HEADING, *rows, *notes_of(runs)])


def notes_of(runs: Mapping[str, list[dict[str, Any]]]) -> list[str]:
    """How each metric was counted: every signature once, with the recipes if there are several."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, records in runs.items():
        for key, signature in records[0]["signatures"].items():
            found.setdefault(key, {}).setdefault(signature, []).append(name)
    notes = []
    for key, signatures in ((key, found[key]) for key in NAMES if key in found):
        usual = max(signatures, key=lambda one: len(signatures[one]))
        for signature in (usual, *(one for one in signatures if one != usual)):
            where = "" if signature == usual else f" ({', '.join(sorted(signatures[signature]))})"
            notes.append(f"- {NAMES[key]}{where}: `{signature}`")
    return ["", *notes] if notes else []


def first_test(run: dict[str, Any]) -> dict[str, Any]:
    """The scores on the first test set."""
    found: dict[str, Any] = next(iter(run["test"].values()))
    return found


def row_name(record: dict[str, Any]) -> str:
    """The recipe, and what the run changed in it."""
    return " ".join([record["recipe"], *(f"{key}={value}" for key, value in record["settings"].items())])


def row(name: str, runs: list[dict[str, Any]]) -> str:
    """A translation recipe."""
    columns = (("beam5", "bleu-lc"), ("greedy", "bleu-lc"), ("beam5", "bleu"), ("beam5", "chrf"))
    scores = [over([first_test(run)[how][metric] for run in runs]) for how, metric in columns]
    return f"| {' | '.join([*about(name, runs), *scores, PUBLISHED.get(runs[0]['recipe'], '–')])} |"


def task_row(name: str, runs: list[dict[str, Any]]) -> str:
    """A recipe of another task, with its own metrics; of words that are said also the rate of wrong ones."""

    def scores(how: str) -> str:
        if len(runs[0]["test"]) > 1:
            return wrong_words(runs, how)
        metrics = first_test(runs[0])[how]
        values = {metric: [first_test(run)[how][metric] for run in runs] for metric in metrics}
        named = {NAMES[metric]: found for metric, found in values.items()}
        if "per" in values:
            named = {"WER": [100 - value for value in values["exact"]]} | named
        return " · ".join(f"{label} {over(found)}" for label, found in named.items())

    drawn = [how for how in first_test(runs[0]) if how.startswith("mbr")]
    best = [f"{scores(how)} (agreement of {how[3:]} draws), beam 5: " for how in drawn]
    cells = [
        *about(name, runs),
        "".join([*best, scores("beam5")]),
        scores("greedy"),
        PUBLISHED.get(runs[0]["recipe"], "–"),
    ]
    return f"| {' | '.join(cells)} |"


def wrong_words(runs: list[dict[str, Any]], how: str) -> str:
    """The rate of words said wrong on each of several test sets, such as `dut.test`."""
    rates = {test: [100 - run["test"][test][how]["exact"] for run in runs] for test in runs[0]["test"]}
    named = (f"{test.removesuffix('.test')} {over(found)}" for test, found in rates.items())
    return f"WER {' · '.join(named)}"


def over(values: list[float]) -> str:
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def about(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """The first cells of a row: the recipe, its size, and what it took."""
    side = max(run["jobs"] for run in runs)
    beside = f" ({side} side by side)" if side > 1 else ""
    return [
        f"[{name}]({runs[0]['recipe']}.toml)",
        f"{mean(run['parameters'] for run in runs) / 1e6:.1f} M",
        f"{mean(run['steps'] for run in runs):,.0f}",
        f"{mean(run['seconds']['until_score'] for run in runs):.0f} s{beside}",
        f"{len(runs)}",
    ]


def write_table(page: Path, records: list[dict[str, Any]]) -> None:
    """Put the table between the page's two marks."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n\n{draw_table(records)}\n\n{END}{after}", encoding="utf-8")
