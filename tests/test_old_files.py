"""Files that version 0.1 wrote: its runs load and go on, its traces and evaluations open."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jumok
from jumok.cli.main import main
from jumok.explain.ops import parse_ops
from jumok.explain.trace import make_trace, open_trace
from jumok.server.settings import ServerSettings
from tests.server.conftest import serving

OLD = Path(__file__).parent / "fixtures" / "run-0.1"
LOSSES = {"transformer": 4.721854941973548, "luong": 5.5491462169346475, "rnn": 5.58182763064056}
"""What validation found after update 8 when the version that began a run also went on with it."""
TRACES = {"transformer": "2e9e168d0cc2033a", "luong": "f6915a63be5ac440", "rnn": "a291655b148031ee"}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the old folder, which is where the commands run."""
    folder = tmp_path / "runs"
    shutil.copytree(OLD, folder)
    monkeypatch.chdir(folder)
    return folder


def events(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("arch", LOSSES)
def test_a_run_goes_on_and_comes_to_the_same_numbers(runs: Path, arch: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["train", "--out", arch, "--max-steps", "8", "--device", "cpu", "-q"])
    assert not stop.value.code
    found = events(runs / arch)
    assert [one["resumed_from"] for one in found if one["type"] == "start"] == [None, 4]
    (last,) = (one for one in found if one["type"] == "valid" and one["step"] == 8)
    assert last["loss"] == pytest.approx(LOSSES[arch], rel=1e-5)


@pytest.mark.parametrize("arch", LOSSES)
def test_its_model_is_whole_and_translates(runs: Path, arch: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["verify", str(runs / arch)])
    assert not stop.value.code
    model = jumok.load(runs / arch, device="cpu")
    assert model.translate("Nov 4, 1942", max_len=10).text


@pytest.mark.parametrize("arch", TRACES)
def test_a_trace_opens_and_its_model_still_computes_it(arch: str) -> None:
    old = open_trace(OLD / f"{arch}.trace")
    model = jumok.load(OLD / arch, device="cpu")
    beam = old.manifest["decode"]["beam"]
    new = make_trace(model, "Nov 4, 1942", options={"max_len": 10, "beam": beam})
    assert old.id == new.id == TRACES[arch]
    assert plain(new.manifest) == plain(old.manifest)
    for step, before in zip(new.manifest["steps"], old.manifest["steps"], strict=True):
        assert step["logprob"] == pytest.approx(before["logprob"], abs=1e-4)
    for kind in old.manifest["attention"]:
        for stage in ("scaled", "weights", "context"):
            name = f"{kind}.{stage}"
            np.testing.assert_allclose(new.tensor(name), old.tensor(name), atol=1e-4)
    if old.manifest["rnn"]:
        np.testing.assert_allclose(new.tensor("rnn.encoder"), old.tensor("rnn.encoder"), atol=1e-4)


def plain(manifest: dict[str, Any]) -> Any:
    """A manifest as the file has it, less numbers that a model computes and what the clock says."""
    kept = {key: manifest[key] for key in manifest if key not in ("steps", "decode", "attention")}
    kept["decode"] = {
        key: value
        for key, value in manifest["decode"].items()
        if key not in ("ms", "score", "score_per_token")
    }
    kept["attention"] = {
        kind: [about[key] for key in ("q", "k", "causal", "shape", "stages", "atlas")]
        for kind, about in manifest["attention"].items()
    }
    return json.loads(json.dumps(kept))


def test_a_trace_keeps_its_beam_influence_and_positions() -> None:
    old = open_trace(OLD / "transformer.trace")
    tree = old.beam()
    assert tree is not None
    assert tree["schema"] == "beam/1"
    assert old.influence().values.shape == (len(old.target_ids), 3)
    rows = old.positions()
    assert rows is not None
    assert rows.shape == (64, 16)


def test_a_what_if_is_made_again_from_what_its_trace_says() -> None:
    old = open_trace(OLD / "what-if.trace")
    model = jumok.load(OLD / "transformer", device="cpu")
    ops = parse_ops(old.manifest["interventions"])
    again = make_trace(model, "Nov 4, 1942", target="1942-11-04", ops=ops)
    assert again.id == old.id == "abb3315d34837c9d"
    np.testing.assert_allclose(again.tensor("cross.weights"), old.tensor("cross.weights"), atol=1e-5)
    assert again.manifest["interventions"] == old.manifest["interventions"]


def test_the_commands_and_the_page_show_them(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["inspect", "--trace", "transformer.trace", "--style", "digits"])
    assert not stop.value.code
    assert "strongest" in capsys.readouterr().out
    models = {"transformer": jumok.load(runs / "transformer", device="cpu")}
    with serving(models, ServerSettings(port=0, runs=runs)) as running, running.client() as client:
        cards = {one["name"]: one for one in client.get("/v1/runs").json()["runs"]}
        assert {name: one["step"] for name, one in cards.items()} == dict.fromkeys(LOSSES, 4)
        details = client.get("/v1/runs/transformer").json()
        assert details["status"] == "completed"
        assert details["probes"] == [4]
        assert "train.loss" in details["series"]
        probe = client.get("/v1/runs/transformer/probes/4").json()
        assert len(probe["sentences"]) == 3
        evals = client.get("/v1/evals").json()["evals"]
        assert [one["n"] for one in evals] == [20, 20]
        for one in evals:
            document = client.get(f"/v1/evals/{one['id']}").json()
            kept = json.loads((runs / one["run"] / "eval" / "valid.json").read_text(encoding="utf-8"))
            assert document == kept
