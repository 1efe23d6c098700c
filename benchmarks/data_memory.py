"""Peak memory of preparing a large corpus: tokenizer and store, all processes together.

    python benchmarks/data_memory.py --lines 2000000

Prints one JSON object. The limit is 600 MB above a bare Python process that has imported the same modules.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

LIMIT_MB = 600

BARE = """
import time
import jumok.data.store, jumok.text.tokenizer
print("ready", flush=True)
time.sleep(60)
"""

PREPARE = """
import sys, time
from pathlib import Path
from jumok.config import TextConfig
from jumok.data.corpus import open_corpus
from jumok.data.reader import survey
from jumok.data.store import build_store
from jumok.text.tokenizer import Tokenizers, train_tokenizer

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    corpus = open_corpus(str(folder / "a.en"), str(folder / "a.ko"))
    began = time.monotonic()
    pairs = survey(corpus, keep=True).texts
    lines = (line for pair in pairs for line in pair)
    tokenizer = train_tokenizer(lines, TextConfig(vocabulary=16_000))
    trained = time.monotonic()
    store = build_store(pairs, Tokenizers(tokenizer, tokenizer), folder / "store", max_length=128)
    print(len(store), tokenizer.size, round(trained - began, 1), round(time.monotonic() - trained, 1))
"""


def write_corpus(folder: Path, lines: int) -> int:
    """Two files of made-up words whose frequencies fall as in real text; their size in bytes."""
    chance = random.Random(1)
    hangul = [chr(code) for code in range(0xAC00, 0xAC00 + 11_172, 9)]
    alphabets = {"a.en": "eeetttaaooiinnsshhrrdlucmfwypvbgk", "a.ko": hangul}
    for name, alphabet in alphabets.items():
        short, long = (2, 9) if name == "a.en" else (1, 4)
        words = ["".join(chance.choices(alphabet, k=chance.randint(short, long))) for _ in range(200_000)]
        ranks = [int(len(words) ** chance.random()) - 1 for _ in range(1_000_000)]  # about 1 / rank
        with (folder / name).open("w", encoding="utf-8") as file:
            for _ in range(lines):
                start, count = chance.randrange(len(ranks) - 30), chance.randint(4, 28)
                file.write(" ".join(words[rank] for rank in ranks[start : start + count]) + "\n")
    return sum((folder / name).stat().st_size for name in alphabets)


def resident_mb(process: psutil.Process) -> float:
    """Resident memory of a process and all its children, in MB. Shared pages count once for each."""
    total = 0
    for member in [process, *process.children(recursive=True)]:
        try:
            total += member.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total / 1e6


def bare_mb() -> float:
    with subprocess.Popen([sys.executable, "-c", BARE], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        size = resident_mb(psutil.Process(process.pid))
        process.kill()
    return size


def peak_mb(folder: Path) -> tuple[float, str]:
    """The highest sum over all processes, looked at every 20 ms, and what the script printed."""
    script = folder / "prepare.py"
    script.write_text(PREPARE, encoding="utf-8")
    with subprocess.Popen([sys.executable, script, folder], stdout=subprocess.PIPE, text=True) as process:
        peak, watched = 0.0, psutil.Process(process.pid)

        def watch() -> None:
            nonlocal peak
            while process.poll() is None:
                try:
                    peak = max(peak, resident_mb(watched))
                except psutil.NoSuchProcess:
                    return
                time.sleep(0.02)

        watcher = threading.Thread(target=watch)
        watcher.start()
        assert process.stdout is not None
        printed = process.stdout.read()
        watcher.join()
    return peak, printed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=2_000_000)
    lines = parser.parse_args().lines
    with tempfile.TemporaryDirectory() as name:
        size = write_corpus(Path(name), lines)
        bare = bare_mb()
        peak, printed = peak_mb(Path(name))
    pairs, pieces, training, encoding = printed.split()
    result = {
        "lines": lines,
        "corpus_mb": round(size / 1e6),
        "pairs": int(pairs),
        "pieces": int(pieces),
        "tokenizer_seconds": float(training),
        "store_seconds": float(encoding),
        "bare_mb": round(bare),
        "peak_mb": round(peak),
        "above_bare_mb": round(peak - bare),
        "limit_mb": LIMIT_MB,
    }
    print(json.dumps(result))
    return 0 if peak - bare <= LIMIT_MB else 4


if __name__ == "__main__":
    sys.exit(main())
