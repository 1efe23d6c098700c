"""Old pairs for a run that starts from a model: replayed among the new ones, and a few of them held back.

Those held back show what is forgotten; those that are in the new validation set are left out.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jumok.config import DataConfig, RunConfig, StartConfig
from jumok.data.builtin import BUILTIN, builtin_corpus
from jumok.data.corpus import Corpus, open_corpus
from jumok.data.marked import SHARE, PairMarker
from jumok.data.replay import with_replay
from jumok.data.store import Store, build_store, open_store, unreadable
from jumok.data.survey import Hashes, Survey, hold_out, usual_hold_out
from jumok.errors import ConfigError
from jumok.text.tokenizer import Tokenizers

MOST = 200_000  # old pairs that are encoded: of more a part spread evenly over them
LOOKED_AT = 200  # of them held back, to see what is forgotten


@dataclass(frozen=True)
class Kept:
    """Old pairs as ids on disk, those that are held back, and how many of the others an epoch gets."""

    train: Store
    valid: Store
    valid_pairs: tuple[tuple[str, str], ...]
    share: float
    seed: int

    def among(self, store: Store, epoch: int) -> Store:
        """The pairs of an epoch: those of the store, and old ones."""
        return with_replay(store, self.train, share=self.share, seed=self.seed, epoch=epoch)


def open_keep(start: StartConfig, data: DataConfig) -> Corpus | None:
    """The corpus of old pairs, if one is given."""
    if not start.keep:
        return None
    if data.images or (data.name in BUILTIN and BUILTIN[data.name].pictures):
        raise ConfigError(
            f"--keep {start.keep} cannot work: the sources are pictures",
            hint="leave it out: training.anchor keeps what the model knew",
        )
    if start.keep in BUILTIN and not start.keep_target:
        return builtin_corpus(start.keep, "train")
    return open_corpus(start.keep, start.keep_target, encoding_errors=data.encoding_errors)


def build_kept(folder: Path, found: Survey, config: RunConfig, tokenizers: Tokenizers, apart: Hashes) -> Kept:
    """Encode old pairs; sources with a hash in `apart` belong to the new validation set and stay out."""
    assert found.texts is not None
    count = min(LOOKED_AT, usual_hold_out(found))
    held = found.source_hashes[hold_out(found, count, config.seed)]
    is_held = np.isin(found.source_hashes, held)
    used = np.flatnonzero(~is_held & ~np.isin(found.source_hashes, apart) & found.written)
    used = used[np.linspace(0, len(used) - 1, min(MOST, len(used))).round().astype(np.int64)]
    chosen = np.zeros(found.pairs, dtype=bool)
    chosen[used] = True
    folder.mkdir()
    length, marks = config.data.max_length, config.text.marks

    def build(
        name: str, rows: "np.ndarray[tuple[int], np.dtype[np.bool_]]", share: float, most: int
    ) -> Store:
        pairs = (pair for pair, take in zip(found.texts or (), rows.tolist(), strict=True) if take)
        marker = PairMarker(config.seed, share) if marks else None
        return build_store(pairs, tokenizers, folder / name, max_length=most, marker=marker, processes=1)

    pairs = [pair for pair, take in zip(found.texts, is_held.tolist(), strict=True) if take]
    text = "".join(f"{source}\t{target}\n" for source, target in pairs)
    (folder / "valid.tsv").write_text(text, encoding="utf-8")
    told = {"share": config.start.keep_share, "seed": config.seed}
    (folder / "keep.json").write_text(json.dumps(told), encoding="utf-8")
    build("train", chosen, SHARE, length)
    build("valid", is_held, 0, 4 * length)
    return reopen_kept(folder)


def reopen_kept(folder: Path) -> Kept:
    """What `build_kept` left."""
    with unreadable(folder):
        lines = (folder / "valid.tsv").read_text(encoding="utf-8").split("\n")[:-1]
        pairs = tuple((source, target) for source, target in (line.split("\t") for line in lines))
        told = json.loads((folder / "keep.json").read_bytes())
        share, seed = float(told["share"]), int(told["seed"])
    return Kept(open_store(folder / "train"), open_store(folder / "valid"), pairs, share, seed)
