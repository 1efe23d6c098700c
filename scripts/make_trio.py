"""Trains the three small models that come with the package, and puts them where `jumok serve` finds them.

    python scripts/make_trio.py --device cuda

About seven minutes each. All three learn `dates` with the same 800 pieces; the fixed vector gets the most
computation and still falls with length: that is what the page is there to show.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from jumok.checkpoint.bundled import TRAINED
from jumok.checkpoint.checkpoints import load_model, save_model
from jumok.config import Arch
from jumok.run.demo import COMMON
from jumok.run.train import Request, Watch, run

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
        given = COMMON | settings | {"model.arch": arch, "text.vocabulary": 800}
        with tempfile.TemporaryDirectory() as folder:
            done = run(Request(given=given, out=Path(folder) / arch, device=device), Watch())
            keep(done.folder, arch)


def keep(folder: Path, arch: Arch) -> None:
    """The model of a run, without what only a trainer needs."""
    loaded = load_model(folder)
    known = ("step", "epoch", "metric", "score")
    info = {key: loaded.info[key] for key in known if key in loaded.info}
    config = replace(loaded.config, decoding=replace(loaded.config.decoding, beam=5))  # a search to look at
    weights = {name: weight.detach() for name, weight in loaded.model.named_parameters()}  # tied ones once
    save_model(TRAINED / arch, weights, config, loaded.tokenizers, info)


if __name__ == "__main__":
    main()
