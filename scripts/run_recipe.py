"""Train recipes with several seeds, or one recipe in many variations, and write one JSON line per run.

    python scripts/run_recipe.py recipes/multi30k-en-de-transformer.toml --data DATA --seeds 3
    python scripts/run_recipe.py recipes/multi30k-en-de-*.toml --data DATA --seeds 3 --jobs 4
    python scripts/run_recipe.py recipes/multi30k-en-de-60s.toml --data DATA --try ideas.jsonl --jobs 4
    python scripts/run_recipe.py --table recipes/results.jsonl --write recipes/README.md

DATA holds the folders of the data sets, such as multi30k with train.en.gz, val.en.gz and so on; recipe_job.py
lists them all. A line of ideas.jsonl is {"name": "wide", "set": {"model.width": 512}}, with "seed" or
"recipe" if they are not the usual ones; all ideas share the prepared data where their text settings allow it.
Every run is a process of its own, `--jobs` of them side by side, so times are worth writing down with one job
only.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

from recipe_job import Job, job_to_json, set_of
from recipe_table import draw_table, read_records, write_table

SCRIPT = Path(__file__).with_name("recipe_job.py")
FIRST_SEED = 42


def main() -> None:
    options = read_options()
    if options.table:
        records = read_records(Path(options.table))
        if options.write:
            write_table(Path(options.write), records)
        else:
            print(draw_table(records))
        return
    jobs = list(make_jobs(options))
    results, records = Path(options.results), []
    results.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool, results.open("a", encoding="utf-8") as file:
        waiting = [pool.submit(attempt, job, options) for job in jobs]
        for done in as_completed(waiting):
            record = done.result()
            records.append(record)
            file.write(json.dumps(record) + "\n")
            file.flush()
            print(in_short(record), flush=True)
    if not options.ideas:
        print(draw_table(records))
    if any("error" in record for record in records):
        raise SystemExit(1)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipes", nargs="*", help="TOML files")
    parser.add_argument(
        "--data", default="data", help="folder that holds the folders of the data sets [data]"
    )
    parser.add_argument("--seeds", type=int, default=1, help=f"runs of each, from seed {FIRST_SEED} on [1]")
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side [1]")
    parser.add_argument("--try", dest="ideas", default="", help="JSON lines with settings to try")
    parser.add_argument(
        "--penalty", type=float, action="append", default=[], help="try it on the validation set"
    )
    parser.add_argument("--no-tests", action="store_true", help="score the validation set only")
    parser.add_argument("--set", dest="words", action="append", default=[], help="a.b=v, for every run")
    parser.add_argument("--out", default="runs/recipes", help="folder of the runs [runs/recipes]")
    parser.add_argument("--results", default="runs/recipes/results.jsonl", help="file to add the lines to")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the runs")
    parser.add_argument("--device", default=None, help="cpu or cuda")
    parser.add_argument("--limit", type=float, default=None, help="seconds after which a run is given up")
    parser.add_argument("--table", default="", help="draw the table of these results, and run nothing")
    parser.add_argument("--write", default="", help="put the table into this page, between its two marks")
    options = parser.parse_args()
    if not options.table and not options.recipes:
        parser.error("name a recipe")
    return options


def make_jobs(options: argparse.Namespace) -> Iterator[Job]:
    """Every run that the options ask for."""
    from jumok.settings import read_words

    common = Job(
        name="",
        recipe="",
        data=options.data,
        out="",
        settings=read_words(options.words),
        penalties=tuple(options.penalty),
        tests=not options.no_tests,
        shared=f"{options.out}/prepared" if options.ideas else "",
        device=options.device,
        jobs=options.jobs,
    )
    for recipe in options.recipes:
        set_of(recipe)
        for idea in read_ideas(options.ideas):
            used = idea.get("recipe", recipe)
            first = idea.get("seed", FIRST_SEED)
            for seed in range(first, first + options.seeds):
                name = "-".join(filter(None, [Path(used).stem, idea["name"], str(seed)]))
                settings = common.settings | idea.get("set", {})
                out = f"{options.out}/{name}"
                yield replace(common, name=name, recipe=used, out=out, seed=seed, settings=settings)


def read_ideas(file: str) -> list[dict[str, Any]]:
    """The ideas of a file; without one, the recipe as it is."""
    if not file:
        return [{"name": ""}]
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def attempt(job: Job, options: argparse.Namespace) -> dict[str, Any]:
    """The record of one run, or what went wrong with it."""
    threads = str(max(1, len(os.sched_getaffinity(0)) // options.jobs))
    with tempfile.TemporaryDirectory() as folder:
        order, record = Path(folder) / "job.json", Path(folder) / "record.json"
        order.write_text(job_to_json(replace(job, spawned=time.time())), encoding="utf-8")
        try:
            done = subprocess.run(
                [sys.executable, str(SCRIPT), str(order), str(record)],
                env={"OMP_NUM_THREADS": threads, **os.environ},
                capture_output=True,
                text=True,
                timeout=options.limit,
                check=False,
            )
            fault = done.stderr.strip()[-2000:]
        except subprocess.TimeoutExpired:
            fault = f"given up after {options.limit:g} seconds"
        if not options.keep:
            shutil.rmtree(job.out, ignore_errors=True)
        if record.exists():
            found: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
            return found
        return {"name": job.name, "seed": job.seed, "settings": job.settings, "error": fault}


def in_short(record: dict[str, Any]) -> str:
    """A run in one line."""
    if "error" in record:
        return f"{record['name']}: failed: {record['error']}"
    valid = " | ".join(f"{how} {scores_of(found)}" for how, found in record["valid"].items())
    tests = " | ".join(f"{split} {scores_of(found['beam5'])}" for split, found in record["test"].items())
    seconds = " ".join(f"{part} {value:.1f}" for part, value in record["seconds"].items())
    speed = (
        f"{record['steps']} steps, {record['steps_per_s']:.1f}/s, {record['tokens_per_s'] / 1e6:.3f} M tok/s"
    )
    return f"{record['name']}: valid {valid} | test {tests or '-'} | {speed} | s: {seconds}"


def scores_of(found: dict[str, float]) -> str:
    return " ".join(f"{name} {value:.2f}" for name, value in found.items())


if __name__ == "__main__":
    main()
