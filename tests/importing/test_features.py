"""What every model of ours can do, a model that came from elsewhere can do too."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.importing.conftest import Make
from tests.importing.families import sentences
from tests.run.test_resume import last_weights

import jumok
from jumok.explain.trace import Trace
from jumok.importing.model import import_model
from jumok.model import Model
from jumok.run.train import RunCallbacks, RunRequest, run

CHOSEN: dict[str, dict[str, Any]] = {
    "marian": {},
    "bart": {},
    "t5": {},
    "m2m100": {"from_language": "en", "to": "ko"},
}
TEXTS = sentences(7)


@pytest.fixture(scope="module", params=CHOSEN)
def imported(
    request: pytest.FixtureRequest, brought: Make, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("imported") / "ours"
    import_model(brought(request.param), folder)
    return folder, CHOSEN[request.param]


@pytest.fixture(scope="module")
def model(imported: tuple[Path, dict[str, Any]]) -> Model:
    return jumok.load(imported[0], engine="torch")


def test_both_engines_give_the_same_answers(model: Model, imported: tuple[Path, dict[str, Any]]) -> None:
    folder, chosen = imported
    native = jumok.load(folder, engine="native")
    for options in ({"beam": 1}, {"beam": 3}, {"beam": 1, "prefix": "the model"}):
        ours, theirs = (one.translate(TEXTS, **options, **chosen) for one in (model, native))
        assert [one.text for one in ours] == [one.text for one in theirs]


def test_required_and_banned_words_links_and_streams(
    model: Model, imported: tuple[Path, dict[str, Any]]
) -> None:
    chosen = imported[1]
    assert "model" in model.translate(TEXTS[6], require=["model"], **chosen).text
    assert "a" not in model.translate(TEXTS[6], ban=["a"], **chosen).text
    aligned = model.translate(TEXTS[3], align=True, **chosen)
    assert aligned.links is not None
    *partial, last = model.stream(TEXTS[3], beam=1, **chosen)
    assert partial
    assert last.translation.text == model.translate(TEXTS[3], beam=1, **chosen).text


def test_traces_and_what_if(model: Model, imported: tuple[Path, dict[str, Any]]) -> None:
    chosen = imported[1]
    trace = model.trace(TEXTS[3], target="the model", **chosen)
    assert trace.manifest["target"]["text"] == "the model"
    stages_follow_from_each_other(trace)
    changed = model.what_if(TEXTS[6], [jumok.mask_head("cross", 0, 0)], **chosen)
    assert changed is not None
    assert len(model.score(TEXTS[:2], ["the model", "a term"], **chosen)) == 2


def stages_follow_from_each_other(trace: Trace) -> None:
    """Queries and keys give scores, with what distance adds the weights, and these the mean of the values."""
    for kind, about in trace.manifest["attention"].items():
        found = getattr(trace.attention, kind)
        layers, heads = found.weights.shape[:2]
        for layer, head in np.ndindex(layers, heads):
            stages = found.stages(layer, head)
            np.testing.assert_allclose(stages.q @ stages.k.T, stages.scores, atol=1e-4, rtol=1e-5)
            placed = stages.placed if "bias" in about["stages"] else stages.scaled
            seen = np.where(stages.mask > 0, placed, -np.inf)
            raised = np.exp(seen - seen.max(-1, keepdims=True))
            np.testing.assert_allclose(raised / raised.sum(-1, keepdims=True), stages.weights, atol=1e-5)
            np.testing.assert_allclose(stages.weights @ stages.v, stages.context, atol=1e-5)


def test_int8_with_its_certificate(
    imported: tuple[Path, dict[str, Any]], lines: Path, tmp_path: Path
) -> None:
    folder, chosen = imported
    if chosen:
        pytest.skip("the sentences of an export have one direction")
    limits = {"agreement": "none", "bleu": "none"}
    jumok.export_model(folder, "native", tmp_path / "int8", source=lines, sentences=4, thresholds=limits)
    answers = jumok.load(tmp_path / "int8").translate(TEXTS, beam=1)
    assert len(answers) == len(TEXTS)


@pytest.mark.parametrize("family", ["marian", "bart", "t5"])
def test_it_is_measured_and_taught_more(family: str, brought: Make, tmp_path: Path) -> None:
    ours, lines, texts = tmp_path / "ours", tmp_path / "lines", sentences(40)
    run_folder = tmp_path / "run"
    lines.write_text("\n".join(texts), encoding="utf-8")
    import_model(brought(family), ours)
    found = jumok.evaluate(jumok.load(ours), texts, texts, metrics=("chrf",), max_len=8)
    assert 0 <= found.metrics["chrf"].value <= 100
    steps = {"training.max_steps": 2, "training.warmup": 1, "training.validate_every": 2}
    settings = steps | {"training.metric": "loss", "decoding.max_len": 8}
    trained = jumok.train(
        source=lines, target=lines, out=run_folder, quiet=True, start_from=ours, overrides=settings
    )
    assert trained.steps == 2
    card = jumok.load(run_folder).info
    assert card["descends_from"][0]["name"] == "ours"
    assert jumok.load(run_folder).translate(texts[0], beam=1, max_len=8).tokens
    assert trained.config.training.freeze == ("biases" if family == "t5" else "")
    taken = [0]
    callbacks = RunCallbacks(
        on_step=lambda state, tokens: taken.append(state.step), interrupted=lambda: taken[-1] == 1
    )
    given = settings | {"data.source": str(lines), "data.target": str(lines), "start.model": str(ours)}
    run(RunRequest(given=given, out=tmp_path / "broken"), callbacks)
    assert taken[-1] == 1
    run(RunRequest(given=given, out=tmp_path / "broken"), RunCallbacks())
    assert last_weights(tmp_path / "broken") == last_weights(run_folder)
    if family == "t5":  # which has no biases, and so goes back
        back = jumok.export_model(run_folder, "huggingface", tmp_path / "back", source=lines, sentences=4)
        assert back["passed"]
