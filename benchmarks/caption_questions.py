"""How many questions about captions a model answers, by kind, and how many of them it can guess.

    python benchmarks/caption_questions.py runs/caption-questions-transformer data/caption-questions

The second is what scripts/make_caption_questions.py writes; `guessed` is with the contexts of other
questions. The reading goes to benchmarks/readings/caption_questions.json, from which the table in
docs/tasks/answer.md is drawn.
"""

import argparse
import gzip
import json
import platform
from collections import defaultdict
from pathlib import Path

import jumok
from jumok.data.questions import join_question

READING = Path(__file__).parent / "readings" / "caption_questions.json"
KINDS = {"What color": "color", "How many": "many", "Where": "where", "Who": "who", "What": "doing"}
SMOKE = [
    {"question": f"{words} is it?", "context": "5 March 2024", "answer": "2024-03-05"} for words in KINDS
]


def kind_of(question: str) -> str:
    return next(kind for words, kind in KINDS.items() if question.startswith(words))


def shares(model: jumok.Model, rows: list[dict[str, str]]) -> dict[str, list[bool]]:
    """For each kind, and for all, whether each answer was right to the last character (beam 5)."""
    found = model.translate([join_question(row["question"], row["context"]) for row in rows], beam=5)
    right: dict[str, list[bool]] = defaultdict(list)
    for row, answer in zip(rows, found, strict=True):
        for name in (kind_of(row["question"]), "all"):
            right[name].append(answer.text == row["answer"])
    return right


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", nargs="?", default="demo/transformer")
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--smoke", action="store_true", help="a few questions, and nothing is written")
    options = parser.parse_args()
    model = jumok.load(options.model, "cpu")
    sides = {}
    for name, split in (("right", "test"), ("guessed", "test-swapped")):
        rows = SMOKE
        if not options.smoke:
            text = gzip.decompress((options.data / f"{split}.jsonl.gz").read_bytes()).decode()
            rows = [json.loads(line) for line in text.splitlines()]
        sides[name] = shares(model, rows)
    reading = {
        kind: {
            "questions": len(hits),
            **{name: 100 * sum(side[kind]) / len(hits) for name, side in sides.items()},
        }
        for kind, hits in sides["right"].items()
    }
    about = {
        "command": f"python benchmarks/caption_questions.py {options.model} {options.data}",
        "machine": f"one CPU core, Python {platform.python_version()}",
        "kept": "shares of right answers by kind of question, beam 5, computed from every answer",
    }
    text = json.dumps(about | dict(sorted(reading.items())), indent=1)
    print(text)
    if not options.smoke:
        READING.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
