"""Trains the small translators that come with the package: Korean and German to English, each architecture.

    python scripts/make_words.py ko-en transformer --runs /tmp/words     # and de-en, luong, rnn

About ten minutes each on a CPU core of its own, less with `--device cuda`, as the recurrent ones were made.
All read and write 3,000 pieces and are 128 wide, so that everything that comes with the package stays below
8 MB; what is kept is in int8. A stopped run goes on.
"""

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from make_trio import keep_novelty, keep_record

from jumok.checkpoint.bundled import RECORDS, TRAINED
from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.model import save_model
from jumok.config import ARCHS, Arch
from jumok.data.builtin import builtin_corpus
from jumok.decoding.translator import load
from jumok.evaluation.calibrate import calibrate
from jumok.evaluation.evaluate import evaluate
from jumok.evaluation.lengths import count_lengths
from jumok.export.model import export_model
from jumok.run.train import RunCallbacks, RunRequest, run

COMMON: dict[str, Any] = {
    "text.vocabulary": 3000,
    "model.width": 128,
    "training.batch_tokens": 2048,
    "training.lr": 3e-3,
    "training.schedule": "constant",
    "training.cooldown": 1.0,
    "training.warmup": 200,
    "training.patience": 0,
    "training.valid_sentences": 200,
    "training.save_every": 500,
    "training.precision": "fp32",
    "training.threads": 1,
    "decoding.beam": 1,
}
SETTINGS: dict[Arch, dict[str, Any]] = {
    "rnn": {"model.cell": "lstm", "model.bidirectional": True},
    "luong": {"model.cell": "gru"},
    "transformer": {
        "model.encoder_layers": 2,
        "model.decoder_layers": 2,
        "model.heads": 4,
        "model.feedforward": 256,
        "model.norm": "pre",
    },
}
STEPS = {"ko-en": (1800, 2900), "de-en": (2800,)}
"""Where the rate has fallen to zero; then it begins again, in proportion to what is left."""
AGREE = {"agreement": 0.9}
"""A model that is seldom sure has more near ties, which int8 decides otherwise; BLEU must not fall by 0.2."""
LOOKS = ((1, 1), (100, 500), (400, None))
"""How often the run looks at itself, and until which step: often while it learns most."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("direction", choices=STEPS)
    parser.add_argument("arch", choices=ARCHS)
    parser.add_argument("--runs", type=Path, default=Path("runs/words"), help="where the run is kept")
    parser.add_argument("--device", default="cpu", help="cpu or cuda [cpu]")
    parser.add_argument("--seed", type=int, default=42, help="of the weights and batches [42]")
    parser.add_argument("--trained", action="store_true", help="the run is over: only keep what it learned")
    args = parser.parse_args()
    folder = args.runs / f"{args.direction}-{args.arch}"
    if not args.trained:
        train(args.direction, args.arch, folder, {"seed": args.seed}, args.device)
    keep(folder, f"homeassistant-{args.direction}")


def train(direction: str, arch: Arch, folder: Path, own: dict[str, Any], device: str) -> None:
    """One run, in parts that differ in how often they look, and in when the rate has fallen to zero."""
    first, *later = STEPS[direction]
    given = COMMON | SETTINGS[arch] | own | {"data.name": f"homeassistant-{direction}", "model.arch": arch}
    parts = [
        *((every, until, first) for every, until in LOOKS),
        *((LOOKS[-1][0], None, one) for one in later),
    ]
    for every, until, steps in parts:
        taken = [0]
        run(
            RunRequest(
                given=given | {"training.validate_every": every, "training.max_steps": steps},
                out=folder,
                device=device,
            ),
            RunCallbacks(
                on_step=lambda state, tokens, taken=taken: taken.__setitem__(0, state.step),
                interrupted=lambda taken=taken, until=until, most=steps: taken[0] >= (until or most + 1),
            ),
        )


def keep(folder: Path, data: str) -> None:
    """The model of a run in int8, its record, what its scores say, and how it does on the test sentences."""
    name, loaded = folder.name, load_model(folder)
    train, valid, test = (list(builtin_corpus(data, split).pairs()) for split in ("train", "valid", "test"))
    info = {key: loaded.info[key] for key in ("step", "epoch", "metric", "score") if key in loaded.info}
    info |= {
        "license": "apache-2.0",
        "train_lengths": count_lengths([source for source, _ in train], len(train)).to_dict(),
    }
    config = replace(loaded.config, decoding=replace(loaded.config.decoding, beam=5))
    weights = {name: weight.detach() for name, weight in loaded.model.named_parameters()}
    with tempfile.TemporaryDirectory() as work:
        save_model(Path(work) / name, weights, config, loaded.tokenizers, info)
        export_model(
            Path(work) / name, "native", TRAINED / name, type="int8", thresholds=AGREE, overwrite=True
        )
    kept = load(TRAINED / name, "cpu")
    calibrate(kept, [source for source, _ in valid], [target for _, target in valid])
    keep_novelty(TRAINED / name, data)
    keep_record(folder, RECORDS / name)
    one_start(RECORDS / name / "metrics.jsonl")
    found = evaluate(kept, [one for one, _ in test], [two for _, two in test], name=name, data=f"{data} test")
    (RECORDS / name / "eval").mkdir(exist_ok=True)
    (RECORDS / name / "eval" / f"{data}-test.json").write_text(found.to_json(), encoding="utf-8")


def one_start(log: Path) -> None:
    """A run in parts as one: the first start, the last end."""
    events = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    first = next(n for n, event in enumerate(events) if event["type"] == "start")
    ends = [n for n, event in enumerate(events) if event["type"] == "end"]
    dropped = {n for n, event in enumerate(events) if event["type"] == "start" and n != first} | {*ends[:-1]}
    lines = [json.dumps(event) for n, event in enumerate(events) if n not in dropped]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
