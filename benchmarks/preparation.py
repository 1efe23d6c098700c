"""Seconds of CPU from two text files to the token stores of a run: reading with all checks, then the rest.

    RAYON_NUM_THREADS=1 python benchmarks/preparation.py train.en.gz train.de.gz

Prints the best of five as one JSON object.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from jumok.run.corpora import open_corpora, read_corpora
from jumok.run.prepare import prepare
from jumok.settings import nest, parse_config


def measure(source: str, target: str) -> tuple[float, float]:
    """Seconds of CPU for reading, and for tokenizer and stores."""
    given = {"data.source": source, "data.target": target, "text.vocabulary": 8000, "data.max_length": 128}
    config, began = parse_config(nest(given)), time.process_time()
    corpora = open_corpora(config)
    report = read_corpora(corpora)
    read = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        prepare(
            Path(folder) / "data",
            corpora,
            config,
            lambda: report,
            fingerprint=corpora.fingerprint,
            processes=1,
        )
    return read - began, time.process_time() - read


if __name__ == "__main__":
    read, rest = min((measure(sys.argv[1], sys.argv[2]) for _ in range(5)), key=sum)
    print(json.dumps({"read": round(read, 2), "prepare": round(rest, 2), "total": round(read + rest, 2)}))
