"""The measurements still run: each in its small form, and what it prints has the figures it is there for."""

import os
import re
import shutil
from collections import Counter
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from jumok.config import TransformerConfig
from jumok.data.batch import Batch, lay_pairs
from jumok.models.build import build_model
from jumok.training.step import sides_of
from tests.processes import run_script
from tests.test_layout import SRC

ROOT = SRC.parent.parent
FIGURES = {
    "trace_size": r"budget: 1,500,000 bytes raw, 600,000 gzip",
    "attention_cost": r"transformer +5( +\d+\.\d+){3}",
    "recording": r"transformer +beam 1: [\d.]+ x",
    "serving": r"beam 5: [\d.]+ requests/s one at a time, [\d.]+ with 4 clients",
    "novelty": r"dates own [\d.]+% characters \d+.\d% words [\d.]+% other [\d.]+%",
    "page_training": r"luong, 10 steps, 1 rounds: from the page [+-][\d.]+% processor time",
    "page_budgets": r"pointer move to repaint of row, column and card +[\d.]+ ms",
    "gpu_training": r"(?s)\| nn.Transformer, padded \| [\d.]+ \|.*\| ours, packed \| [\d.]+ \|",
    "cpu_training": r"(?s)\| floor \| [\d,]+ \|.*\| ours \| [\d,]+ \|",
    "faults_found": r"(?s)\| none .*\| 0 of 1 \| .*\| target 1 line behind, from 25 % \| 1 of 1 \|",
    "gpu_decoding": r"\| ours \| [\d,]+ \|",
    "free_running": r"luong +forced_share [\d.]+% free_share .* digit_share [\d.]+%",
    "soak": r'"nothing lost": true',
    "draws": r"demo/transformer +mbr of 16 +[\d.]+ x torch, 8 of 8 equal",
    "caption_questions": r'(?s)"color": .*"guessed": 0.0',
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_a_measurement_runs_in_its_small_form(name: str) -> None:
    if name == "page_budgets" and not any(
        map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))
    ):
        assert os.environ.get("CI") != "true", "CI needs a Chromium"
        pytest.skip("no Chromium on this machine")
    done = run_script(ROOT / "benchmarks" / f"{name}.py", "--smoke")
    assert done.returncode == 0, done.stderr
    assert re.search(FIGURES[name], done.stdout), done.stdout


def test_the_operations_of_an_update_are_those_that_torch_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    pool = import_module("pool")
    config = TransformerConfig(encoder_layers=2, decoder_layers=3, width=16, heads=2, feedforward=24)
    model = build_model(config, 40, 40, shared=True)
    # One target token sees one: torch would count what a causal mask hides.
    source, target_in = sides_of(lay_pairs([[5] * 9], [[]]))
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(source, target_in).logits().sum().backward()
    size = pool.Size(config, vocabulary=40, tokens=11, mean=5, corpus=1, steps=1)
    assert counter.get_total_flops() == pool.count_operations(size, np.array([10]), np.array([1]))


def test_those_that_pad_and_those_that_pack_get_the_same_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    pool = import_module("pool")
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, width=16, heads=2, feedforward=24)
    size = pool.Size(config, vocabulary=40, tokens=600, mean=12, corpus=2000, steps=8)
    work = pool.make_work(size, torch.device("cpu"))
    packed = Counter(pair for batch in work.packed for pair in laid_pairs(batch))
    padded = Counter(pair for batch in work.padded for pair in padded_pairs(batch))
    assert not packed - padded
    assert len(work.padded) == size.steps
    for batch in (*work.packed, *work.padded):
        assert pool.places(batch) <= work.room.source + work.room.target
        s, t = pool.real_lengths(batch)
        assert s.sum() + t.sum() >= 0.8 * pool.places(batch)


def padded_pairs(batch: Any) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Each pair without its padding."""
    sources = [tuple(row[mask].tolist()) for row, mask in zip(batch.source, batch.source_mask, strict=True)]
    targets = [
        tuple(row[mask].tolist()) for row, mask in zip(batch.target_out, batch.target_mask, strict=True)
    ]
    return list(zip(sources, targets, strict=True))


def laid_pairs(batch: Batch) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Each pair without the fillers behind the last."""
    sides = []
    for ids, lengths in ((batch.source, batch.source_lengths), (batch.target_out, batch.target_lengths)):
        sides.append([tuple(one.tolist()) for one in torch.split(ids[: lengths.sum()], lengths.tolist())])
    return list(zip(*sides, strict=True))
