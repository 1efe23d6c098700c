"""Trains the three small models that come with the package, and puts them where `jumok serve` finds them.

    python scripts/make_trio.py --device cuda
    python scripts/make_trio.py --beginnings      the first 500 steps once more, for the records alone
    python scripts/make_trio.py --novelty         only which tokens stood together in training, of all bundled

About seven minutes each. All three learn `dates` with the same 800 pieces; the fixed vector gets the most
computation and still falls with length: that is what the page is there to show.

The records show how learning begins: validations, samples and where the models looked at steps 0, 10, 20, …,
500 (`training.early_looks`). `--beginnings` adds that to the records of models that were trained before, with
the same settings: a run of their kind, not the very one that made them; it has no times.
"""

import argparse
import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from jumok.checkpoint.bundled import RECORDS, TRAINED, bundled, translators
from jumok.checkpoint.calibration import write_calibration
from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.contents import read_contents
from jumok.checkpoint.manifest import NOVELTY
from jumok.checkpoint.model import save_model
from jumok.comparison.plan import DATES_COMMON
from jumok.config import Arch
from jumok.data.builtin import builtin_corpus
from jumok.decoding.translator import load
from jumok.evaluation.calibrate import calibrate
from jumok.evaluation.evaluate import evaluate
from jumok.evaluation.lengths import count_lengths
from jumok.run.probes import write_probe
from jumok.run.train import RunCallbacks, RunRequest, run
from jumok.text.novelty import make_novelty, pairs_of
from jumok.training.log import read_events
from jumok.training.state import LoopState

COMMON: dict[str, Any] = DATES_COMMON | {
    "data.name": "dates",
    "text.vocabulary": 800,
    "training.batch_tokens": 1000,
    "training.valid_sentences": 200,
    "training.validate_every": 500,
    "training.early_looks": True,
    "training.save_every": 500,
    "training.patience": 0,
}
BEGINNING = 500  # steps
TIMES = ("time", "elapsed_s", "tokens_per_s", "sentences_per_s", "mem_bytes", "seal")
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
    parser.add_argument("--beginnings", action="store_true")
    parser.add_argument("--novelty", action="store_true")
    parser.add_argument("--only", choices=[*SETTINGS], help="one of the three")
    asked = parser.parse_args()
    device = asked.device
    if asked.novelty:
        for name, trained in (bundled() | translators()).items():
            keep_novelty(trained, data_of(name))
        return
    for arch, settings in SETTINGS.items():
        if asked.only not in (None, arch):
            continue
        given = COMMON | settings | {"model.arch": arch}
        if asked.beginnings:
            keep_beginning(given, arch, device)
            continue
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
    keep_novelty(TRAINED / arch, "dates")
    (RECORDS / arch / "eval").mkdir(exist_ok=True)
    (RECORDS / arch / "eval" / "dates-test.json").write_text(found.to_json(), encoding="utf-8")


def data_of(name: str) -> str:
    """The built-in data that a bundled model learned: de-en-rnn read homeassistant-de-en."""
    way = name.rpartition("-")[0]
    return f"homeassistant-{way}" if way else "dates"


def keep_novelty(folder: Path, data: str) -> None:
    """Which tokens stood side by side in the sources of the training data, beside the model."""
    encode = read_contents(folder).tokenizers.source.encode_many
    train, valid = (
        encode([one for one, _ in builtin_corpus(data, split).pairs()]) for split in ("train", "valid")
    )
    if novelty := make_novelty([pairs_of(train)], valid):
        write_calibration(folder, novelty.to_dict(), NOVELTY)


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


def keep_beginning(given: dict[str, Any], arch: Arch, device: str | None) -> None:
    """The first steps of a run into the record of the model: events, samples and probes, without times."""
    steps = [0]

    def on_step(state: LoopState, _tokens: int) -> None:
        steps[0] = state.step

    record = RECORDS / arch
    with tempfile.TemporaryDirectory() as folder:
        callbacks = RunCallbacks(on_step=on_step, interrupted=lambda: steps[0] >= BEGINNING)
        early = run(RunRequest(given=given, out=Path(folder) / arch, device=device), callbacks).folder
        for name, types in (("metrics.jsonl", ("train", "valid")), ("samples.jsonl", ("samples",))):
            begun = [event for event in read_events(early / name) if event["type"] in types]
            told = [{key: value for key, value in one.items() if key not in TIMES} for one in begun]
            later = [one for one in read_events(record / name) if one.get("step", BEGINNING + 1) > BEGINNING]
            first = [one for one in read_events(record / name) if one["type"] == "start"]
            lines = [*first, *told, *(one for one in later if one["type"] != "start")]
            text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
            (record / name).write_text(text + "\n", encoding="utf-8")
        if (early / "probes").is_dir():
            shutil.copytree(early / "probes", record / "probes", dirs_exist_ok=True)
    keep_last_probe(arch)


def keep_last_probe(arch: Arch) -> None:
    """Where the model that ships looks, on the same sentences, as the probe of its own step."""
    translator = load(TRAINED / arch, "cpu")
    samples = list(read_events(RECORDS / arch / "samples.jsonl"))[-1]["samples"]
    step = int(translator.info["step"])
    write_probe(RECORDS / arch, step, translator, translator.translate([one["src"] for one in samples]))


if __name__ == "__main__":
    main()
