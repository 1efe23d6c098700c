"""How quickly a translation memory answers: exact and similar entries among many, beside a look at every one.

    python benchmarks/memory.py SOURCE [TARGET] [--entries 100000] [--queries 500] [--json FILE]

The files are a corpus in any form that training reads. Its first entries are the memory; of each query, an
entry taken at random, some characters are replaced, put in or left out. Found is how often the entry that a
query was made from is the best of those shown. The twin is difflib of the standard library over all
entries, as a beginner would write it, for a few queries. Time is that of the process. Also: how long the same
entries take to be read as TMX, and the memory that the index takes.
"""

import argparse
import difflib
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from jumok.data.corpus import open_corpus
from jumok.terms.memory import TranslationMemory, read_memory
from jumok.text.normalize import tidy

TWIN = 3  # queries for the twin
LETTERS = "abcdefghijklmnopqrstuvwxyz "


def changed(text: str, share: float, draw: random.Random) -> str:
    """The text with so large a share of its characters replaced, left out or followed by another."""
    letters = list(text)
    for _ in range(max(1, round(share * len(letters)))):
        place = draw.randrange(len(letters))
        match draw.randrange(3):
            case 0:
                letters[place] = draw.choice(LETTERS)
            case 1 if len(letters) > 1:
                del letters[place]
            case _:
                letters.insert(place, draw.choice(LETTERS))
    return "".join(letters)


def times(work: Any, queries: list[str]) -> tuple[dict[str, float], list[Any]]:
    """Milliseconds of a call: median, 99 % and most; and what the calls gave."""
    taken, found = [], []
    for query in queries:
        began = time.process_time()
        found.append(work(query))
        taken.append(1000 * (time.process_time() - began))
    taken.sort()
    return {
        "median_ms": statistics.median(taken),
        "p99_ms": taken[int(0.99 * len(taken))],
        "max_ms": taken[-1],
    }, found


def write_tmx(path: Path, pairs: list[tuple[str, str]]) -> int:
    tu = '<tu><tuv xml:lang="de"><seg>{}</seg></tuv><tuv xml:lang="en"><seg>{}</seg></tuv></tu>\n'
    units = "".join(tu.format(escape(source), escape(target)) for source, target in pairs)
    path.write_text(
        f'<tmx version="1.4"><header srclang="de"/><body>\n{units}</body></tmx>', encoding="utf-8"
    )
    return path.stat().st_size


def measure(corpus: list[str], entries: int, queries: int) -> dict[str, Any]:
    known: dict[str, str] = {}
    for source, target in open_corpus(*corpus).pairs():
        if tidy(source) and tidy(target):
            known.setdefault(tidy(source), tidy(target))
        if len(known) == entries:
            break
    pairs, draw = list(known.items()), random.Random(1)
    found: dict[str, Any] = {"entries": len(pairs), "queries": queries, "corpus": Path(corpus[0]).parent.name}
    found["machine"] = {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    found["characters"] = statistics.mean(len(source) for source, _ in pairs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.tmx"
        found["tmx_mb"] = write_tmx(path, pairs) / 1e6
        began = time.process_time()
        read_memory(path, ("de", "en"))
        found["read_tmx_s"] = time.process_time() - began
    memory = TranslationMemory(pairs)
    began = time.process_time()
    memory.index  # noqa: B018  it is made when it is asked for
    found["index_s"] = time.process_time() - began
    arrays = (memory.index.owners, memory.index.grams, memory.index.begins, memory.index.ends)
    found["index_mb"] = sum(array.nbytes for array in arrays) / 1e6
    chosen = [draw.choice(pairs)[0] for _ in range(queries)]
    found["exact"], answers = times(memory.exact, chosen)
    found["exact"]["found"] = sum(answer is not None for answer in answers) / queries
    found["similar"] = {}
    for share in (0.05, 0.1, 0.2):
        texts = [changed(source, share, draw) for source in chosen]
        took, answers = times(memory.matches, texts)
        best = [
            bool(answer) and answer[0].source == source
            for answer, source in zip(answers, chosen, strict=True)
        ]
        found["similar"][f"at_{round(100 * share)}"] = took | {"found": sum(best) / queries}
    sources = [source for source, _ in pairs]
    twin = [changed(source, 0.1, draw) for source in chosen[:TWIN]]
    found["twin"], _ = times(lambda text: difflib.get_close_matches(text, sources, n=3, cutoff=0.7), twin)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", nargs="+", metavar="FILE")
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    kept = {"command": f"python {' '.join(sys.argv)}", "kept": "all that the command computed"}
    found = kept | measure(options.corpus, options.entries, options.queries)
    print(json.dumps(found, indent=1))
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
