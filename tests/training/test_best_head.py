"""The head that aligns best is found, and the folder says which."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.training.test_work import work_of

from jumok.answers import Answer
from jumok.architectures import AlignHead
from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.manifest import verify
from jumok.config import RnnConfig, TransformerConfig
from jumok.data.aligner import Aligner, with_links
from jumok.data.batch import lay_rows
from jumok.decoding.aligned import align_answers
from jumok.decoding.heads import KEY, head_of
from jumok.decoding.jobs import Job
from jumok.decoding.translator import load
from jumok.errors import ConfigError, DataError, ModelError
from jumok.models.build import build_model
from jumok.run.prepare import Prepared, reopen
from jumok.run.train import TrainedRun
from jumok.training.best_head import (
    HeadAgreement,
    agreements,
    best_head,
    check_searched,
    find_head,
    head_shares,
)
from jumok.training.state import LoopState
from jumok.training.step import sides_of


@pytest.fixture(scope="module")
def prepared(trained: TrainedRun) -> Prepared:
    return reopen(trained.folder / "data")


@pytest.fixture(scope="module")
def aligner(trained: TrainedRun, prepared: Prepared) -> Aligner:
    return work_of(trained, prepared, []).learned_aligner(1000)


def test_agreement_is_counted_head_by_head(prepared: Prepared, aligner: Aligner) -> None:
    torch.manual_seed(0)
    size = prepared.tokenizers.target.size
    shape = TransformerConfig(width=16, heads=2, feedforward=16, encoder_layers=1, decoder_layers=2)
    model = build_model(shape, prepared.tokenizers.source.size, size, shared=False).eval()
    batch = with_links(lay_rows(prepared.valid, np.arange(5)), aligner)
    assert batch.aligned is not None
    right, links = agreements(model, batch)
    assert right.shape == (2, 3)
    assert links == int((batch.aligned >= 0).sum()) > 0
    source, target_in = sides_of(batch)
    with torch.inference_mode():
        maps = model.explain(target_in, model.encode(source))
    counts = np.zeros((2, 3), int)
    wanted = torch.split(batch.aligned, batch.target_lengths.tolist())
    for layer, weights in enumerate(maps):
        for row, places in enumerate(wanted):
            own = weights[row, :, : len(places), : batch.source_lengths[row] - 1]
            for head, table in enumerate([*own, own.mean(0)]):
                counts[layer, head] += int((table.argmax(-1) == places).sum())
    assert right.tolist() == counts.tolist()
    found = best_head(model, prepared.valid, aligner)
    assert found is not None
    assert found.share >= found.mean


def test_a_model_without_attention_has_no_head(prepared: Prepared, aligner: Aligner) -> None:
    sizes = [side.size for side in (prepared.tokenizers.source, prepared.tokenizers.target)]  # type: ignore[union-attr]
    model = build_model(RnnConfig(width=16, layers=1), *sizes, shared=False).eval()
    assert best_head(model, prepared.valid, aligner) is None


def test_a_best_checkpoint_says_which_head_aligns(trained: TrainedRun, prepared: Prepared) -> None:
    work = work_of(trained, prepared, [])
    heads = trained.config.model.attention["cross"][1]
    info = work.info(LoopState(), best=True)
    if heads < 2:
        assert KEY not in info
        return
    assert head_of(trained.config, info) == head_of(trained.config, {KEY: info[KEY]})
    assert 0 <= info[KEY]["mean_agreement"] <= info[KEY]["agreement"] <= 1
    assert KEY not in work.info(LoopState(), best=False)
    work.config = replace(work.config, training=replace(work.config.training, align=0.1))
    assert KEY not in work.info(LoopState(), best=True)
    layers = trained.config.model.attention["cross"][0]
    assert head_of(work.config, info) == AlignHead(max(layers - 2, 0), 0, after=True)


PAIRS = [
    (f"den {day} mars {year}", f"{year}-03-{day:02}") for day in range(1, 25) for year in range(1990, 1995)
]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundled()["transformer"], tmp_path / "model"))


def test_a_finished_model_is_given_its_head(copied: Path) -> None:
    sources, targets = zip(*PAIRS, strict=True)
    found, file = find_head(load(copied), sources, targets)
    assert file == copied / "alignment.json"
    assert found.mean <= found.share <= 1
    assert head_of(load(copied).config, load(copied).info) == found.head
    assert load(copied).translate("den 5 mars 1991", align=True).links
    assert verify(copied) == {copied: []}
    file.write_text(file.read_text(encoding="utf-8").replace('"layer": ', '"layer": 1'), encoding="utf-8")
    with pytest.raises(ModelError, match=r"(?s)alignment.json cannot be used: .*remove it, and make it"):
        load(copied)


def test_a_chosen_head_looks_where_the_links_are(copied: Path) -> None:
    """A head's share is 1 if the links are the alignments that a translation with it has."""
    translator = load(copied).on_torch("")
    both = translator.tokenizers
    ids = [(both.source.encode(s), both.target.encode(t)) for s, t in PAIRS[:20]]
    jobs = [Job(both.framed(s), ()) for s, _ in ids]
    for head in (AlignHead(0, 0), AlignHead(1, 1), AlignHead(1)):
        answers = [[Answer(tuple(t), (0.0,) * len(t), finished=False)] for _, t in ids]
        aligned = align_answers(translator.model, jobs, answers, head, both.frame.around)
        links = [np.array(one.alignment) - both.frame.before for [one] in aligned]
        shares = head_shares(translator, ids, links)
        assert shares[head.layer, -1 if head.head is None else head.head] == 1
        assert shares.min() < 1


def test_what_cannot_be_searched_is_told(copied: Path) -> None:
    model = load(copied)
    with pytest.raises(DataError, match="3 pairs are too few to tell which words belong together"):
        find_head(model, ["a"] * 3, ["b"] * 3)
    with pytest.raises(DataError, match="there are 2 sources and 3 targets"):
        find_head(model, ["a"] * 2, ["b"] * 3)
    with pytest.raises(ConfigError, match="this model has one head only"):
        check_searched(load(bundled()["luong"]))
    with pytest.raises(ConfigError, match="this model cannot align"):
        check_searched(load(bundled()["rnn"]))


def test_heads_are_told_from_one_on() -> None:
    one = HeadAgreement(AlignHead(1, 2), 0.123456, 0.05)
    assert one.to_dict() == {"layer": 1, "head": 2, "agreement": 0.1235, "mean_agreement": 0.05}
    told = "looks where the IBM models do for 12.3% of the tokens; the mean of the last layer for 5.0%"
    assert one.describe() == f"head 3 of layer 2 {told}"
    assert replace(one, head=AlignHead(0)).describe() == f"the mean of layer 1 {told}"
    assert replace(one, head=AlignHead(0)).to_dict()["head"] is None


def test_fifty_pairs_with_something_on_both_sides_are_enough(copied: Path) -> None:
    """Empty sides and sources that are too long teach nothing; what is kept is asked for."""
    sources, targets = map(list, zip(*PAIRS[:49], strict=True))
    long = "den 5 mars 1991 " * 100
    few = [*sources, "", "mars", long], [*targets, "1990-03-01", "", "1990-03-01"]
    with pytest.raises(
        DataError, match="49 pairs are too few to tell which words belong together\n  give 50"
    ):
        find_head(load(copied), *few)
    found, file = find_head(load(copied), [*sources, "mars"], [*targets, "03"], keep=False)
    assert file is None
    assert not (copied / "alignment.json").exists()
    assert found.share > 0
