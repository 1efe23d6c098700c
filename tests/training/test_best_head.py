"""The head that aligns best is found, and the folder says which."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.training.test_work import work_of

from jumok.architectures import AlignHead
from jumok.config import TransformerConfig
from jumok.data.aligner import Aligner, with_links
from jumok.data.batch import lay_rows
from jumok.decoding.heads import KEY, head_of
from jumok.models.build import build_model
from jumok.run.prepare import Prepared, reopen
from jumok.run.train import TrainedRun
from jumok.training.best_head import agreements, best_head
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
