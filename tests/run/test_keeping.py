"""Old pairs: which are replayed, which are held back, and what never comes in."""

from pathlib import Path

import pytest

from jumok.config import DataConfig, StartConfig
from jumok.data.reader import survey
from jumok.data.survey import text_hash
from jumok.errors import ConfigError
from jumok.run.keeping import build_kept, open_keep, reopen_kept
from jumok.run.train import TrainedRun
from jumok.settings import nest, parse_config


def pairs_of(count: int) -> list[tuple[str, str]]:
    return [(f"{n * 7919}", f"{n * 7919}"[::-1]) for n in range(1, count + 1)]


def test_held_back_pairs_and_the_new_validation_set_are_not_replayed(
    trained: TrainedRun, tmp_path: Path
) -> None:
    pairs = pairs_of(300)
    file = tmp_path / "old.tsv"
    file.write_text("".join(map("{}\t{}\n".format, *zip(*pairs, strict=True))), encoding="utf-8")
    start = StartConfig(model="m", keep=str(file), keep_share=0.25)
    corpus = open_keep(start, DataConfig())
    assert corpus is not None
    found = survey(corpus, part="keep", keep=True)
    config = parse_config(nest({"start.model": "m", "start.keep": str(file), "start.keep_share": 0.25}))
    apart = [text_hash(source) for source, _ in pairs[:5]]
    import numpy as np

    both = trained.model.tokenizers
    kept = build_kept(tmp_path / "kept", found, config, both, np.array(apart, dtype=np.uint64))
    replayed = {both.source.decode(kept.train.source(row).tolist()) for row in range(len(kept.train))}
    held = {source for source, _ in kept.valid_pairs}
    assert len(held) == 12  # a 25th
    assert len(kept.valid) == 12
    assert replayed.isdisjoint(held)
    assert replayed.isdisjoint(source for source, _ in pairs[:5])
    assert replayed | held | {source for source, _ in pairs[:5]} == {source for source, _ in pairs}
    again = reopen_kept(tmp_path / "kept")
    assert (again.share, again.seed, again.valid_pairs) == (0.25, 42, kept.valid_pairs)
    assert again.train.fingerprint == kept.train.fingerprint
    mixed = again.among(kept.valid, 3)
    assert len(mixed) == 12 + 4


def test_a_built_in_set_can_be_kept_and_pictures_cannot() -> None:
    assert open_keep(StartConfig(), DataConfig()) is None
    dates = open_keep(StartConfig(model="m", keep="dates"), DataConfig())
    assert dates is not None
    assert dates.name == "train.tsv.gz"
    with pytest.raises(ConfigError) as caught:
        open_keep(StartConfig(model="m", keep="dates"), DataConfig(images="photos.zip"))
    assert str(caught.value) == (
        "--keep dates cannot work: the sources are pictures\n"
        "  leave it out: training.anchor keeps what the model knew"
    )
