"""Looks for inputs that break a parser, guided by what code they reach. Needs `pip install atheris`.

    python -m tests.fuzz.run                        every target for a minute
    python -m tests.fuzz.run gz int8 --seconds 3600

What is found is written to tests/fuzz/seeds/TARGET-…, where the tests run it from then on; exit status 1.
"""

import argparse
import hashlib
import os
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


def search(name: str, seconds: int) -> None:
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

    with tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(first_inputs()[name]):
            Path(corpus, str(number)).write_bytes(data)
        limits = [f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=4096", "-max_len=20000"]
        atheris.Setup(
            [sys.argv[0], corpus, *limits, "-print_final_stats=1", f"-artifact_prefix={corpus}/"], one
        )
        atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("target", nargs="*", default=NAMES.split(), help="any of " + NAMES)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        search(options.target[0], options.seconds)
    codes = {}
    for name in options.target:
        command = [sys.executable, "-m", "tests.fuzz.run", name, "--here", "--seconds", str(options.seconds)]
        done = subprocess.run(
            command, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True
        )
        lines = done.stderr.splitlines()
        runs = next((line.split()[-1] for line in lines if "number_of_executed_units" in line), "?")
        reached = next(
            (line.split("cov: ")[1].split()[0] for line in reversed(lines) if "cov: " in line), "?"
        )
        print(f"{name:14} {runs:>10} inputs, coverage {reached:>5}, exit {done.returncode}", flush=True)
        if done.returncode:
            print("\n".join(lines[-40:]))
        codes[name] = done.returncode
    return int(any(codes.values()))


if __name__ == "__main__":
    raise SystemExit(main())
