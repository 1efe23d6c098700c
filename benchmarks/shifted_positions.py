"""Exact match of the bundled Transformer when all its source positions are shifted.

    python benchmarks/shifted_positions.py    # writes benchmarks/readings/shifted_positions.json

Every source token takes the position row of `by` places further on (the what-if `positions`, mode `shift`);
the text stays as it is. Over all test sentences of the built-in dates, and over three thirds by length.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import jumok
from jumok.data.builtin import builtin_file

PLACE = Path(__file__).parent / "readings" / "shifted_positions.json"
SHIFTS = (0, 1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 60)


def main() -> None:
    model = jumok.load("demo/transformer", "cpu", engine="torch")
    lines = gzip.decompress(builtin_file("dates", "test").read_bytes()).decode().splitlines()
    read = model.tokenizers.source.encode
    pairs = sorted((line.split("\t") for line in lines), key=lambda pair: len(read(pair[0])))
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    ends = [len(pairs) * n // 3 for n in range(4)]
    readings: dict[str, Any] = {
        "command": "python benchmarks/shifted_positions.py",
        "machine": "any: scores do not depend on it but for rounding",
        "kept": "exact match in per cent over all test sentences, and over thirds by length in tokens",
        "sentences": len(pairs),
        "tokens": [len(read(sources[place - 1])) for place in ends[1:]],
        "trained_tokens": longest_in_training(model),
        "shifts": [],
    }
    for by in SHIFTS:
        with model.edit(jumok.positions("shift", side="source", by=by)) as shifted:
            found = shifted.translate(sources, beam=1, max_len=64)
        right = [one.text == target for one, target in zip(found, targets, strict=True)]
        thirds = [100 * sum(right[a:b]) / (b - a) for a, b in zip(ends, ends[1:], strict=False)]
        row = {"by": by, "exact": 100 * sum(right) / len(right), "thirds": [round(x, 2) for x in thirds]}
        readings["shifts"].append(row)
        print(row, file=sys.stderr)
    PLACE.write_text(json.dumps(readings, indent=1) + "\n", encoding="utf-8")


def longest_in_training(model: jumok.Model) -> int:
    """Tokens of the longest source that the model was trained on."""
    lines = gzip.decompress(builtin_file("dates", "train").read_bytes()).decode().splitlines()
    return max(
        len(ids) for ids in model.tokenizers.text_source.encode_many([x.split("\t")[0] for x in lines])
    )


if __name__ == "__main__":
    main()
