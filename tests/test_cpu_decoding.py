"""benchmarks/cpu_decoding.py: equal work for all, honest counting, and a floor that is one."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from jumok.config import DecodingConfig, TransformerConfig
from jumok.models.build import build_model
from jumok.native.library import available
from tests.processes import run_script
from tests.test_layout import SRC

ROOT = SRC.parent.parent


@pytest.fixture(autouse=True)
def _beside_the_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


def module(name: str) -> ModuleType:
    return import_module(f"cpu_peers.{name}")


def smoke(*options: object) -> subprocess.CompletedProcess[str]:
    return run_script(ROOT / "benchmarks" / "cpu_decoding.py", "--smoke", *options)


@pytest.mark.slow
def test_the_small_form_times_ours_and_finds_the_same_answers(tmp_path: Path) -> None:
    done = smoke("--rounds", "2", "--json", tmp_path / "found.json")
    assert done.returncode == 0, done.stderr
    number = r"[\d,]+ \[[\d,]+–[\d,]+\]"
    assert re.search(rf"\| torch \| {number} \| {number} \|", done.stdout), done.stdout
    if available():
        for name in ("native-fp32", "native-int8", "native-int8-shortlist"):
            assert re.search(rf"\| {name} \| {number} \| {number} \|", done.stdout), done.stdout
        found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["results"]
        exact = [one["same_answers"] for one in found if one["contestant"] in ("torch", "native-fp32")]
        assert exact == [1.0] * 4


@pytest.mark.slow
@pytest.mark.skipif(not available(), reason="no native library")
def test_the_picture_of_growth_is_drawn_from_a_run(tmp_path: Path) -> None:
    done = smoke("--growth", "--rounds", "1", "--json", tmp_path / "grown.json")
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "grown.json").read_text(encoding="utf-8"))["rows"]
    assert {(row["cell"]["length"], row["cell"]["batch"]) for row in rows} == {
        (length, batch) for length in (8, 32) for batch in (1, 2, 4)
    }
    ElementTree.parse(tmp_path / "grown.svg")


def test_the_floor_is_that_of_the_slower_of_memory_and_multiplication() -> None:
    floor, task = module("floor"), module("task")
    machine = floor.Machine(1, 10e9, 313e9)
    found = [
        floor.floor_ms(machine, task.SIZES["base"], 25, batch, beam, 32)
        for beam in (1, 4)
        for batch in (1, 32)
    ]
    assert found == pytest.approx([3.91, 11.37, 3.91, 34.93], abs=0.01)
    assert floor.floor_ms(floor.Machine(1, 10e9, 0), task.SIZES["base"], 25, 32, 4, 32) == found[0]


def test_the_floor_counts_every_matrix_of_the_model() -> None:
    floor, task = module("floor"), module("task")
    size = task.SIZES["tiny"]
    weights = task.make_weights(size)
    del weights["source_embedding.weight"]  # the same table
    bytes_, operations = floor.count(size, 1, 1, 1, 1)
    assert bytes_ == sum(array.size for array in weights.values() if array.ndim == 2)
    assert operations == 2 * bytes_


def test_the_machine_is_measured() -> None:
    for one in module("floor").measure([1], repeats=1, bytes_=1 << 22):
        assert one.bytes_per_second > 1e8
        assert one.operations_per_second == 0 or one.operations_per_second > 1e8


def test_answers_of_the_random_weights_never_end_and_vary() -> None:
    batched, jobs, task = (
        import_module("jumok.decoding.batched"),
        import_module("jumok.decoding.jobs"),
        module("task"),
    )
    size = task.SIZES["tiny"]
    config = TransformerConfig(**task.transformer_settings(size))
    model = build_model(config, size.vocabulary, size.vocabulary, shared=True).eval()
    model.load_state_dict({name: torch.from_numpy(array) for name, array in task.make_weights(size).items()})
    work = [jobs.Job(tuple(source[:-1])) for source in task.make_sources(size, 3, 25)]
    found = batched.search(model, work, DecodingConfig(beam=4, max_len=32), ())
    for answers in found:
        assert len(answers[0].ids) == 32
        assert not answers[0].finished
        assert len(set(answers[0].ids)) > 2
        assert min(answers[0].ids) >= task.LEARNED


@pytest.mark.parametrize("name", ["base", "small"])
def test_a_shortlist_has_about_a_thousand_pieces(name: str) -> None:
    task = module("task")
    size = task.SIZES[name]
    likely = task.make_likely(size)
    lists = [task.shortlist(size, likely, source) for source in task.make_sources(size, 32, 25)]
    assert 900 < np.mean([len(one) for one in lists]) < 1100
    for one, source in zip(lists, task.make_sources(size, 32, 25), strict=True):
        assert (np.diff(one) > 0).all()
        assert set(one.tolist()) == {*task.frequent(size), *likely[source[:-1]].ravel().tolist()}


def test_the_better_of_two_layouts_counts() -> None:
    arena = module("arena")
    cell = arena.Cell("base", 1, 32, 2)
    slow = arena.Result("ct2-int8", cell, "intra", [10.0, 12.0, 11.0])
    fast = arena.Result("ct2-int8", cell, "inter", [13.0, 20.0, 14.0])
    (best,) = arena.best_layouts([slow, fast])
    assert (best.layout, best.rate) == ("inter", 14.0)


def test_other_answers_in_fp32_are_found_out() -> None:
    arena, script = module("arena"), import_module("cpu_decoding")
    cell = arena.Cell("base", 1, 2, 1)
    contestants = {one.name: one for one in arena.CONTESTANTS}

    def result(name: str, answers: Sequence[Sequence[int]]) -> Any:
        return arena.Result(name, cell, rates=[1.0], answers=[list(ids) for ids in answers])

    results = [
        result("ct2-fp32", [[5], [6]]),
        result("torch", [[5], [7]]),
        result("ct2-int8", [[8], [9]]),
        arena.Result("native-fp32", cell, problem="answers of [31] tokens, not 32"),
    ]
    arena.compare(results, contestants)
    assert [one.same for one in results] == [1.0, 0.5, None, None]
    assert results[2].agreement["torch"] == {"answers": 0.0, "tokens": 0.0}
    assert results[1].agreement["ct2-fp32"] == {"answers": 0.5, "tokens": 0.5}
    assert [one.split(" ")[3].rstrip(":") for one in script.faults(results)] == ["native-fp32", "torch"]


def test_answers_in_int8_are_compared_where_they_may_be_the_same() -> None:
    arena = module("arena")
    cell = arena.Cell("base", 1, 2, 1)
    names = ("ct2-int8", "native-int8", "native-int8-shortlist", "marian-int8")
    results = [arena.Result(name, cell, rates=[1.0], answers=[[5, 6], [7, 8, 9]]) for name in names]
    results[1].answers = [[5, 6], [7, 9]]
    arena.compare(results, {one.name: one for one in arena.CONTESTANTS})
    assert [set(one.agreement) for one in results] == [{"native-int8"}, {"ct2-int8"}, set(), set()]
    assert results[1].told()["agreement"] == {"ct2-int8": {"answers": 0.5, "tokens": 0.6}}


def test_every_thread_has_a_batch_of_its_own() -> None:
    arena, script = module("arena"), import_module("cpu_decoding")
    for size, beam, batch in script.CELLS:
        for threads in (1, 2):
            count = arena.Cell(size, beam, batch, threads).count
            assert count % (batch * threads) == 0
            assert count > 0


def test_a_contestant_that_cannot_start_says_why(tmp_path: Path) -> None:
    arena = module("arena")
    missing = arena.Contestant("nobody", "nobody", "jumok", {})
    with arena.arena([missing], tmp_path, tmp_path, 30) as ring:
        (result,) = ring.time([arena.Cell("tiny", 1, 1, 1)], 1)
    assert "cpu_peers.run_nobody" in result.problem
    assert not result.rates


def test_a_peer_that_cannot_be_installed_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arena, environments = module("arena"), module("environments")
    monkeypatch.setitem(environments.PEERS, "absent", ["absent"])
    monkeypatch.setattr(sys, "executable", shutil.which("false"))  # no venv can be made
    with arena.Worker(arena.Contestant("absent", "absent", "absent", {}), tmp_path, 5) as worker:
        assert worker.ask(do="forget")["problem"].startswith("not installed: ")
