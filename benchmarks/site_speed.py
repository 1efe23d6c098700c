"""How fast a page without a server computes: the engine as WebAssembly, beside the native one on one thread.

    python benchmarks/site_speed.py            writes readings/site_speed.json
    python benchmarks/site_speed.py --smoke    a few sentences; writes nothing

The bundled German-English Transformer in int8 translates sentences one after the other, greedily and with
a beam of 5: in Node, which runs WebAssembly as Chromium does, by the page's own scripts, and in Python.
Processor time of what more sentences take than a few, so that starting and compiling do not count.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import process_time

from jumok.checkpoint.bundled import translators
from jumok.data.builtin import builtin_corpus
from jumok.decoding.translator import load
from jumok.native.library import LEVEL
from jumok.site.engine import HERE

ROOT = Path(__file__).parents[1]
READING = ROOT / "benchmarks" / "readings" / "site_speed.json"
FOLDER = translators()["de-en-transformer"]
FEW = 8


def in_node(script: Path, texts: list[str], beam: int) -> float:
    """Seconds that Node computes for these texts, its start included."""
    calls = [("POST", "/v1/translate", {"texts": [text], "beam": beam}) for text in texts]
    question = {"engine": str(HERE / "engine-simd.wasm.gz"), "models": {"m": str(FOLDER)}, "calls": calls}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["node", script], input=json.dumps(question), capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    answers = json.loads(done.stdout)["answers"]
    assert all(one["results"][0]["text"] for one in answers), answers[:2]
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_python(texts: list[str], beam: int, level: str) -> float:
    """Seconds that the native engine computes for these texts on one thread."""
    os.environ[LEVEL] = level
    model = load(FOLDER, engine="native")
    model.translate(texts[:FEW], beam=beam)
    began = process_time()
    for text in texts:
        model.translate(text, beam=beam)
    return process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="few sentences, one round")
    smoke = parser.parse_args().smoke
    if not shutil.which("node"):
        sys.exit("there is no node")
    os.environ["OMP_NUM_THREADS"] = "1"
    sources = [source for source, _ in builtin_corpus("homeassistant-de-en", "test").pairs()]
    texts, rounds = sources[: 40 if smoke else 400], 1 if smoke else 7
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "ask.mjs"
        bundler = ROOT / "web" / "node_modules" / ".bin" / "esbuild"
        options = ["--bundle", "--format=esm", "--platform=node", "--define:__FILE__=false"]
        ask = ROOT / "tests" / "site" / "ask.ts"
        subprocess.run([bundler, ask, *options, "--log-level=warning", f"--outfile={script}"], check=True)
        for beam in (1, 5):
            page = median(
                in_node(script, texts + texts[:FEW], beam) - in_node(script, texts[:FEW], beam)
                for _ in range(rounds)
            )
            own = {
                level or "best": median(in_python(texts, beam, level) for _ in range(rounds))
                for level in ("", "avx2", "portable")
            }
            for level, seconds in own.items():
                found[f"{level}_{beam}"] = 1000 * seconds / len(texts)
                print(f"beam {beam}: {seconds / page:.2f} of the speed of native, {level}")
            found[f"page_{beam}"] = 1000 * page / len(texts)
    if not smoke:
        about = {
            "command": "python benchmarks/site_speed.py",
            "machine": f"one core of a shared host, {platform.system()}, other programs beside it",
            "kept": "milliseconds of processor time for a sentence",
        }
        READING.write_text(json.dumps({**about, **found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
