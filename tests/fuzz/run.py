"""Looks for inputs that break a parser, guided by what code they reach. Needs `pip install atheris`.

    python -m tests.fuzz.run                        every target for a minute
    python -m tests.fuzz.run gz int8 --seconds 3600 --corpus build/fuzz --json benchmarks/fuzz.json

What is found is written to tests/fuzz/seeds/TARGET-…, where the tests run it from then on; exit status 1.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SEEDS = Path(__file__).with_name("seeds")
NAMES = (
    "tokenizer tensors int8 shortlist tsv jsonl gz bzip2 xz zstd csv_rows json_items tmx xliff po parquet "
    "moses interventions body documents manifest settings picture archive "
    "file_html file_md file_txt file_xliff file_tmx file_po file_srt file_vtt "
    "file_json file_arb file_yaml file_csv file_tsv file_android "
    "file_properties file_ts file_docx file_pptx file_xlsx file_odt file_epub part_docx part_pptx "
    "part_xlsx part_odt part_epub"
)


def search(name: str, seconds: int, corpus: Path) -> None:
    """In this process, which the search ends."""
    import atheris

    with atheris.instrument_imports(include=["jumok"], enable_loader_override=False):
        from tests.fuzz.targets import check, first_inputs

    def one(data: bytes) -> None:
        try:
            check(name, data)
        except Exception:
            found = SEEDS / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
            found.write_bytes(data)
            raise

    for number, data in enumerate(first_inputs()[name]):
        Path(corpus, str(number)).write_bytes(data)
    limits = [f"-max_total_time={seconds}", "-timeout=60", "-rss_limit_mb=4096", "-max_len=20000"]
    atheris.Setup(
        [sys.argv[0], str(corpus), *limits, "-print_final_stats=1", f"-artifact_prefix={corpus}/"], one
    )
    atheris.Fuzz()


def searched(name: str, seconds: int, corpus: Path) -> tuple[dict[str, int], str]:
    """One search in a process of its own: what it did, and what it said if it found something."""
    corpus.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tests.fuzz.run", name, "--here", "--seconds", str(seconds)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(
        [*command, "--corpus", str(corpus)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    lines = done.stderr.splitlines()
    runs = next((line.split()[-1] for line in lines if "number_of_executed_units" in line), "0")
    reached = next((line.split("cov: ")[1].split()[0] for line in reversed(lines) if "cov: " in line), "0")
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    found = {"inputs": int(runs), "coverage": int(reached), "seconds": round(spent)}
    return found | {"finds": int(done.returncode != 0)}, "\n".join(lines[-40:] if done.returncode else [])


def add(file: Path, name: str, found: dict[str, int]) -> None:
    """Add a search to those before it: sums, and of the coverage the largest."""
    rows = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    old = rows.setdefault(name, dict.fromkeys(found, 0))
    rows[name] = {key: max(old[key], n) if key == "coverage" else old[key] + n for key, n in found.items()}
    file.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("target", nargs="*", default=NAMES.split(), help="any of " + NAMES)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument(
        "--corpus", type=Path, help="a folder for inputs that reach more; a search goes on there"
    )
    parser.add_argument("--json", type=Path, help="add what was done to this file")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        search(options.target[0], options.seconds, options.corpus)
    finds = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in options.target:
            corpus = options.corpus / name if options.corpus else Path(folder, name)
            found, said = searched(name, options.seconds, corpus)
            print(name.ljust(14), *(f"{key} {value:,}" for key, value in found.items()), flush=True)
            if said:
                print(said, flush=True)
            if options.json:
                add(options.json, name, found)
            finds += found["finds"]
    return int(finds > 0)


if __name__ == "__main__":
    raise SystemExit(main())
