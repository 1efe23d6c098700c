"""How a run carries the loop's decisions out: batches, steps within memory, looks at the validation set."""

import tempfile
from contextlib import closing
from dataclasses import replace
from math import exp, inf, nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from jumok.checkpoint.checkpoints import Checkpoints
from jumok.config import TransformerConfig
from jumok.data.batch import lay_rows
from jumok.errors import RunError
from jumok.evaluation.evaluate import evaluate
from jumok.run.compute import make_learner
from jumok.run.prepare import Prepared, reopen
from jumok.run.probes import write_probe
from jumok.run.train import TrainedRun
from jumok.training.state import LoopState
from jumok.training.step import sides_of
from jumok.training.work import RunWork, memory_used, safe_exp

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def prepared(trained: TrainedRun) -> Prepared:
    return reopen(trained.folder / "data")


def work_of(trained: TrainedRun, prepared: Prepared, events: list[Any], **training: Any) -> RunWork:
    """The run's model, in a folder of its own: others look at what the run itself left in its folder."""
    config = replace(trained.config, training=replace(trained.config.training, **training))
    newest = None if training.get("ema") else Checkpoints(trained.folder).newest()
    learner = make_learner(config, prepared, CPU, newest)
    aside = Checkpoints(Path(tempfile.mkdtemp(dir=trained.folder.parent)))
    return RunWork(
        learner=learner,
        prepared=prepared,
        config=config,
        checkpoints=aside,
        device=CPU,
        autocast=None,
        log_to=[events.append],
        write_probe=write_probe,
    )


def test_the_validation_loss_is_the_mean_over_all_target_tokens(
    trained: TrainedRun, prepared: Prepared
) -> None:
    work = work_of(trained, prepared, [])
    work.learner.model.eval()
    total, count = 0.0, 0
    for row in range(len(prepared.valid)):  # one by one
        batch = lay_rows(prepared.valid, np.array([row]))
        with torch.inference_mode():
            logits = work.learner.model(*sides_of(batch)).logits()
        log_probs = logits.log_softmax(-1).gather(-1, batch.target_out.long()[:, None])
        total, count = total - log_probs.sum().item(), count + log_probs.numel()
    assert work.valid_loss() == pytest.approx(total / count, rel=1e-5)


@pytest.mark.parametrize("metric", ["bleu", "chrf", "exact"])
def test_a_metric_decides_and_the_loss_breaks_ties(
    metric: str, trained: TrainedRun, prepared: Prepared
) -> None:
    look = work_of(trained, prepared, [], metric=metric).look()
    assert (look.score, look.loss) == (look.event[metric], look.event["loss"])
    assert {"loss", "ppl", "bleu", "bleu_signature", "chrf", "exact", "samples"} <= look.event.keys()
    assert look.event["ppl"] == exp(look.event["loss"])
    assert len(look.event["samples"]) == 3
    first = look.event["samples"][0]
    assert (first["src"], first["ref"]) == prepared.valid_pairs[0]
    assert first["hyp"] == trained.model.translate(first["src"], beam=1).text
    assert first["score"] < 0


@pytest.mark.parametrize("metric", ["per", "rouge1", "rougeL"])
def test_a_metric_of_a_task_is_measured_besides_and_lower_may_be_better(
    metric: str, trained: TrainedRun, prepared: Prepared
) -> None:
    work = work_of(trained, prepared, [], metric=metric)
    look = work.look()
    assert look.score == (-look.event["per"] if metric == "per" else look.event[metric])
    assert {"bleu", "chrf", "exact", f"{metric}_signature"} <= look.event.keys()
    info = work.info(LoopState(best_score=look.score), best=True)
    assert (info["metric"], info["score"]) == (metric, look.event[metric])


def test_the_loss_alone_needs_no_translation(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunWork, "translated", lambda self, *_, **__: pytest.fail("translated"))
    look = work_of(trained, prepared, [], metric="loss").look()
    assert look.event == {"loss": -look.score, "ppl": exp(-look.score)}


def test_validation_uses_the_moving_average_and_gives_the_weights_back(
    trained: TrainedRun, prepared: Prepared
) -> None:
    work = work_of(trained, prepared, [], ema=0.9, metric="loss")
    assert work.learner.average is not None
    plain = work.look().score
    live = {name: parameter.clone() for name, parameter in work.learner.model.named_parameters()}
    for tensor in work.learner.average.shadow.values():
        tensor.mul_(0.5)
    assert work.validate(LoopState()).score != plain
    for name, parameter in work.learner.model.named_parameters():
        assert torch.equal(parameter, live[name])


def test_one_translator_serves_all_looks_and_reads_the_weights_of_each(
    trained: TrainedRun, prepared: Prepared
) -> None:
    work = work_of(trained, prepared, [], ema=0.9)
    assert work.learner.average is not None
    first, kept = work.validate(LoopState()), work.translator
    for tensor in work.learner.average.shadow.values():
        tensor.mul_(3.0).add_(0.1)
    second = work.validate(LoopState())
    assert work.translator is kept
    assert second.loss != first.loss
    fresh = work_of(trained, prepared, [], ema=0.9)
    assert fresh.learner.average is not None
    for name, tensor in fresh.learner.average.shadow.items():
        tensor.copy_(work.learner.average.shadow[name])
    assert fresh.validate(LoopState()).event["samples"] == second.event["samples"]


def test_validation_searches_whatever_the_model_is_to_draw_later(
    trained: TrainedRun, prepared: Prepared
) -> None:
    plain, drawn = work_of(trained, prepared, []), work_of(trained, prepared, [])
    plain.model.eval()
    drawn.model.eval()
    drawn.config = replace(drawn.config, decoding=replace(drawn.config.decoding, mbr=8, n_best=3))
    sources = ["5 March 2024", "24 March 1998"]
    found = drawn.translated(sources, drawn.ways(2), short=False)
    assert found == plain.translated(sources, plain.ways(2), short=False)
    assert found == plain.translator.translate(sources, beam=1)
    assert found != drawn.translator.translate(sources)


def test_validation_that_runs_out_of_memory_takes_less_at_a_time(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = work_of(trained, prepared, []).look()
    loss, search, asked = RunWork.valid_loss, RunWork.translated, []

    def narrow_loss(self: RunWork, budget: int) -> float:
        asked.append(budget)
        if budget > 1024:
            raise torch.OutOfMemoryError("no room")
        return loss(self, budget)

    def narrow_search(self: RunWork, sources: Any, ways: Any, *, short: bool) -> Any:
        asked.append(short)
        if not short:
            raise torch.OutOfMemoryError("no room")
        return search(self, sources, ways, short=short)

    monkeypatch.setattr(RunWork, "valid_loss", narrow_loss)
    monkeypatch.setattr(RunWork, "translated", narrow_search)
    look = work_of(trained, prepared, []).look()
    assert asked == [8192, 1024, False, True]
    assert look.loss == pytest.approx(plain.loss, rel=1e-6)
    assert [one["hyp"] for one in look.event["samples"]] == [one["hyp"] for one in plain.event["samples"]]


def test_a_search_that_is_short_of_memory_takes_few_tokens_at_once(
    trained: TrainedRun, prepared: Prepared
) -> None:
    asked = list[dict[str, Any]]()
    work = work_of(trained, prepared, [])

    def translate(sources: list[str], **options: Any) -> list[Any]:
        asked.append(options)
        return sources

    tokenizers = SimpleNamespace(frame=SimpleNamespace(languages=()))
    work.__dict__["translator"] = SimpleNamespace(tokenizers=tokenizers, translate=translate)
    for short in (False, True):
        work.translated(["12", "345"], work.ways(2), short=short)
    greedy = {"sentences": "as-is", "beam": 1, "n_best": 1}
    assert asked == [greedy, greedy | {"batch_tokens": 1024}]


@pytest.mark.parametrize(("heads", "align", "found"), [(1, 0.0, None), (2, 0.0, "it"), (2, 0.1, None)])
def test_the_best_of_several_heads_is_sought_unless_one_is_taught(
    trained: TrainedRun,
    prepared: Prepared,
    monkeypatch: pytest.MonkeyPatch,
    heads: int,
    align: float,
    found: str,
) -> None:
    work = work_of(trained, prepared, [])
    monkeypatch.setattr("jumok.training.work.best_head", lambda *_: "it")
    work.__dict__["small_aligner"] = None
    model = TransformerConfig(width=16, heads=heads, feedforward=16)
    work.config = replace(work.config, model=model, training=replace(work.config.training, align=align))
    assert work.found_head() == found


def test_validation_without_any_memory_is_an_error_that_says_so(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: RunWork, budget: int) -> float:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nmore")

    monkeypatch.setattr(RunWork, "valid_loss", full)
    with pytest.raises(RunError) as caught:
        work_of(trained, prepared, []).look()
    assert caught.value.code == "out_of_memory"
    assert str(caught.value) == (
        "out of memory while validating\n  CUDA out of memory. Tried to allocate 2 GiB.\n"
        "  raise training.accumulate for a new run, so that training leaves more, or choose a smaller model "
        "(--preset tiny)"
    )


def test_training_without_memory_takes_back_what_validation_holds(
    trained: TrainedRun, prepared: Prepared
) -> None:
    work = work_of(trained, prepared, [])
    before = work.translator
    work.on_halved(8, 4)
    assert work.translator is not before


def test_out_of_memory_is_a_notice(trained: TrainedRun, prepared: Prepared) -> None:
    events: list[Any] = []
    work_of(trained, prepared, events).on_halved(8, 4)
    assert events == [
        {
            "type": "notice",
            "step": 8,
            "level": "warning",
            "code": "out_of_memory",
            "message": "out of memory: each update now runs in 4 parts",
        }
    ]


def test_a_step_moves_the_average(trained: TrainedRun, prepared: Prepared) -> None:
    work = work_of(trained, prepared, [], ema=0.5)
    assert work.learner.average is not None
    with closing(work.batches(LoopState())) as batches:
        batch, _ = next(batches)
    before = {name: value.clone() for name, value in work.learner.average.shadow.items()}
    result, parts = work.step(batch, LoopState(), 1e-2)
    assert (result.read().skipped, parts) == (False, 1)
    assert any(not torch.equal(work.learner.average.shadow[name], value) for name, value in before.items())


def test_train_events_get_perplexity_and_memory(trained: TrainedRun, prepared: Prepared) -> None:
    events: list[Any] = []
    work = work_of(trained, prepared, events)
    work.log({"type": "train", "nll": 2.0})
    work.log({"type": "valid", "loss": 2.0})
    assert events[0]["ppl"] == exp(2.0)
    assert events[0]["mem_bytes"] == memory_used(CPU) > 10**6
    assert events[1] == {"type": "valid", "loss": 2.0}


def test_perplexity_has_no_overflow() -> None:
    assert safe_exp(10_000.0) == safe_exp(inf) == exp(700.0)
    assert safe_exp(nan) != safe_exp(nan)


def test_a_model_folder_says_how_long_its_training_sources_were(
    trained: TrainedRun, prepared: Prepared
) -> None:
    assert prepared.lengths is not None
    assert trained.model.info["train_lengths"] == prepared.lengths.to_dict()
    pairs = prepared.valid_pairs
    report = evaluate(trained.model, [a for a, _ in pairs], [b for _, b in pairs], bootstrap=0)
    histogram = report.to_dict()["train_length_histogram"]
    assert sum(count for _, _, count in histogram) == len(prepared.train)
    assert report.length_unit == "source_characters"
    assert (histogram[0][0], histogram[-1][1]) == (
        min(len(text) for text in trained_sources(prepared)),
        max(len(text) for text in trained_sources(prepared)),
    )


def trained_sources(prepared: Prepared) -> list[str]:
    store = prepared.train
    return [prepared.tokenizers.source.decode(store.source(row).tolist()) for row in range(len(store))]
