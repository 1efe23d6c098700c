"""Trains the three small models that come with the package, and puts them where `jumok serve` finds them.

    python scripts/make_trio.py --device cuda

About seven minutes each. All three learn `dates` with the same 800 pieces; the fixed vector gets the most
computation and still falls with length: that is what the page is there to show.
"""

import argparse
import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from jumok.checkpoint.bundled import RECORDS, TRAINED
from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.model import save_model
from jumok.comparison.plan import DATES_COMMON
from jumok.config import Arch
from jumok.data.builtin import builtin_corpus
from jumok.decoding.translator import load
from jumok.evaluation.calibrate import calibrate
from jumok.evaluation.evaluate import evaluate
from jumok.evaluation.lengths import count_lengths
from jumok.run.train import RunCallbacks, RunRequest, run

COMMON: dict[str, Any] = DATES_COMMON | {
    "data.name": "dates",
    "text.vocabulary": 800,
    "training.batch_tokens": 1000,
    "training.valid_sentences": 200,
    "training.validate_every": 500,
    "training.save_every": 500,
    "training.patience": 0,
}
SETTINGS: dict[Arch, dict[str, Any]] = {
    "rnn": {
        "model.width": 80,
        "model.cell": "lstm",
        "model.bidirectional": True,
        "training.lr": 4e-3,
        "training.batch_tokens": 8000,
        "training.max_steps": 15_000,
    },
    "luong": {"model.width": 64, "training.lr": 5e-3, "training.max_steps": 11_600},
    "transformer": {
        "model.encoder_layers": 2,
        "model.decoder_layers": 2,
        "model.width": 64,
        "model.heads": 4,
        "model.feedforward": 128,
        "training.lr": 3e-3,
        "training.max_steps": 12_000,
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default=None)
    device = parser.parse_args().device
    for arch, settings in SETTINGS.items():
        given = COMMON | settings | {"model.arch": arch}
        with tempfile.TemporaryDirectory() as folder:
            done = run(RunRequest(given=given, out=Path(folder) / arch, device=device), RunCallbacks())
            keep(done.folder, arch)


def keep(folder: Path, arch: Arch) -> None:
    """The model of a run without what only a trainer needs, its record, and how it does on the test dates."""
    loaded = load_model(folder)
    sources = [source for source, _ in builtin_corpus("dates", "train").pairs()]
    info = {key: loaded.info[key] for key in ("step", "epoch", "metric", "score") if key in loaded.info}
    info["train_lengths"] = count_lengths(sources, len(sources)).to_dict()
    config = replace(loaded.config, decoding=replace(loaded.config.decoding, beam=5))  # a search to look at
    weights = {name: weight.detach() for name, weight in loaded.model.named_parameters()}  # tied ones once
    save_model(TRAINED / arch, weights, config, loaded.tokenizers, info)
    keep_record(folder, RECORDS / arch)
    pairs = list(builtin_corpus("dates", "test").pairs())
    found = evaluate(
        load(TRAINED / arch),
        [source for source, _ in pairs],
        [target for _, target in pairs],
        metrics=("exact", "chrf"),
        bins=(1, 4, 7, 10, 13, 16),
        name=arch,
        data="dates test",
    )
    valid = list(builtin_corpus("dates", "valid").pairs())
    calibrate(load(TRAINED / arch, "cpu"), [source for source, _ in valid], [target for _, target in valid])
    (RECORDS / arch / "eval").mkdir(exist_ok=True)
    (RECORDS / arch / "eval" / "dates-test.json").write_text(found.to_json(), encoding="utf-8")


def keep_record(run_folder: Path, record: Path) -> None:
    """What the Training screen reads; of the training events every fourth is enough for a curve."""
    record.mkdir(parents=True, exist_ok=True)
    for name in ("config.toml", "samples.jsonl"):
        shutil.copyfile(run_folder / name, record / name)
    if (run_folder / "probes").is_dir():
        shutil.copytree(run_folder / "probes", record / "probes", dirs_exist_ok=True)
    events = [json.loads(line) for line in (run_folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    kept = [event for n, event in enumerate(events) if n % 4 == 0 or event["type"] != "train"]
    lines = [json.dumps(event | {"run": record.name} if "run" in event else event) for event in kept]
    (record / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
