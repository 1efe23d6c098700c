"""The plan of a run that starts from a model, and such runs from end to end."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from jumok.checkpoint.checkpoints import Checkpoints, load_model
from jumok.checkpoint.manifest import checkpoint_folders, content_fingerprint, verify
from jumok.config import ENDLESS, LuongConfig, TransformerConfig
from jumok.data.reader import CheckReport
from jumok.data.survey import Survey
from jumok.errors import ConfigError
from jumok.run.corpora import open_corpora, read_corpora
from jumok.run.machine import Machine
from jumok.run.plan import Plan, PlanDraft, fitting_rate, make_plan
from jumok.run.report import end_line, plan_lines
from jumok.run.start import START, kept_start, read_start
from jumok.run.train import TrainedRun, default_folder, train
from jumok.run.tuning import (
    KEEP_SHARE,
    RATE,
    choose_keeping,
    choose_tuning,
    described,
    has_no_biases,
    is_beginning,
    learning_share,
    plan_from,
    tuning_rate,
)
from jumok.settings import nest, parse_config
from tests.run.conftest import quick_settings, tiny_settings, write_corpus
from tests.run.test_plan import CPU, GPU
from tests.run.test_train import events_of, go


def planned(given: dict[str, Any], start: str, machine: Machine = CPU) -> Plan:
    given = {"start.model": start, **given}
    corpora = open_corpora(parse_config(nest({"training.warmup": 0} | given)))
    return plan_from(given, read_corpora(corpora), machine, read_start(start))


def reasons(plan: Plan) -> dict[str, str]:
    return {choice.key: choice.reason for choice in plan.choices}


def test_small_steps_a_short_rise_and_an_early_end(trained: TrainedRun) -> None:
    data = {"data.source": str(trained.folder.parent / "train.src")}
    data["data.target"] = str(trained.folder.parent / "train.tgt")
    start = str(trained.folder)
    plan = planned(data, start)
    nothing = make_plan(
        {**data, "model.arch": "luong", "model.width": 16}, read_corpora(open_corpora(plan.config)).train, CPU
    )
    assert plan.config.training.batch_tokens == 1500
    full = fitting_rate("luong", {"model.width": 16, "training.batch_tokens": 1500})[0]
    assert plan.config.training.lr == RATE * full < nothing.config.training.lr
    assert plan.config.training.patience == 4
    assert plan.config.training.warmup <= plan.config.training.max_steps / 20
    assert plan.config.model == replace(trained.config.model, dropout=plan.config.model.dropout)
    assert plan.config.text == trained.config.text
    assert plan.config.training.anchor > 0
    assert "--keep" in reasons(plan)["training.anchor"]
    kept = planned({**data, "start.keep": "dates"}, start)
    assert kept.config.start.keep_share == KEEP_SHARE
    assert kept.config.training.anchor > 0
    assert "replay" in reasons(kept)["start.keep_share"]
    adapters = planned({**data, "training.lora": 4}, start)
    assert adapters.config.training.lr == full
    assert adapters.config.training.anchor == 0
    assert any("of the weights learn" in note for note in adapters.notes)
    assert planned({**data, "training.time_limit": 60.0}, start).config.training.patience == 0


def test_a_model_of_far_fewer_pairs_is_a_beginning(trained: TrainedRun, tmp_path: Path) -> None:
    start = read_start(str(trained.folder))
    learned = start.loaded.info["train_lengths"]["pairs"]
    for pairs, expected in ((2 * learned, False), (2 * learned + 1, True)):
        file = tmp_path / f"{pairs}.tsv"
        file.write_text("".join(f"a b {n}\tc d {n}\n" for n in range(pairs)), encoding="utf-8")
        valid = tmp_path / "valid.tsv"
        valid.write_text("x y\tz\n", encoding="utf-8")
        data: dict[str, Any] = {"data.source": str(file), "data.valid_source": str(valid)}
        plan = planned(data, str(trained.folder))
        full = fitting_rate("luong", {"model.width": 16, "training.batch_tokens": 1500})[0]
        assert is_beginning(start, pairs) is expected
        assert (plan.config.training.anchor == 0) is expected
        assert plan.config.training.lr == (full if expected else RATE * full)
        steps = plan.config.training.max_steps
        assert plan.config.training.warmup == min(100, steps // (4 if expected else 20))
        assert ("a beginning" in reasons(plan)["training.anchor"]) is expected
        assert any("--extend-vocabulary 2000" in note for note in plan.notes) is expected
        kept = planned({**data, "start.keep": "dates"}, str(trained.folder))
        assert kept.config.training.anchor > 0
        assert kept.config.training.lr == RATE * full
    grown = replace(start, loaded=replace(start.loaded, info={**start.loaded.info, "descends_from": [{}]}))
    assert not is_beginning(grown, 10**6)
    imported = {key: value for key, value in start.loaded.info.items() if key != "train_lengths"}
    assert not is_beginning(replace(start, loaded=replace(start.loaded, info=imported)), 10**6)


@pytest.mark.parametrize(("share", "warmup"), [(1, 2), (3, 10)])
def test_a_short_run_rises_sooner_and_does_not_look_after_every_few_steps(
    trained: TrainedRun, share: int, warmup: int
) -> None:
    """Of 40 steps a twentieth, or a fourth where the model is a beginning; a look after ten of them."""
    start = read_start(str(trained.folder))
    pairs = share * start.loaded.info["train_lengths"]["pairs"]
    written = np.ones(pairs, np.uint64)
    survey = Survey(pairs, 9 * pairs, 9 * pairs, 2 * pairs, 2 * pairs, 9, written, written)
    given = {"model.arch": "luong", "model.width": 16, "text.kind": "char", "training.batch_tokens": 1000}
    draft = PlanDraft({**given, "training.max_steps": 40})
    choose_tuning(draft, start, CheckReport((survey,), ()), CPU)
    assert is_beginning(start, pairs) is (share == 3)
    chosen = draft.settings()
    assert (chosen["training.warmup"], chosen["training.validate_every"]) == (warmup, 10)


@pytest.mark.parametrize(
    ("pairs", "epochs"), [(4_999, 20), (5_000, 10), (49_999, 10), (50_000, 4), (499_999, 4), (500_000, 2)]
)
def test_more_pairs_are_gone_through_fewer_times(trained: TrainedRun, pairs: int, epochs: int) -> None:
    written = np.ones(pairs, np.uint64)
    survey = Survey(pairs, 9 * pairs, 9 * pairs, 2 * pairs, 2 * pairs, 9, written, written)
    given = {"model.arch": "luong", "model.width": 16, "text.kind": "char", "training.batch_tokens": 1000}
    draft = PlanDraft(given)
    choose_tuning(draft, read_start(str(trained.folder)), CheckReport((survey,), ()), CPU)
    (chosen,) = [choice for choice in draft.choices if choice.key == "training.max_steps"]
    assert chosen.reason == f"about {epochs} times through the new data at most"
    assert chosen.value == epochs * round(2 * 9 * pairs / 1000)
    every = [draft.settings()[f"training.{name}_every"] for name in ("validate", "save")]
    assert [round(chosen.value / steps) for steps in every] == [8, 8]  # looks, and a checkpoint with each


def test_what_the_vocabulary_does_not_cover_is_said(trained: TrainedRun, tmp_path: Path) -> None:
    file = tmp_path / "new.tsv"
    file.write_text("".join(f"가나다 {n}\t{n} é\n" for n in range(40)), encoding="utf-8")
    plan = planned({"data.source": str(file)}, str(trained.folder))
    source, target = [note for note in plan.notes if note.startswith("vocabulary")]
    assert "of the new source, " in source
    assert ": 가 나 다; --extend-vocabulary 500 adds tokens for them" in source
    assert ": é; --extend-vocabulary 500" in target
    assert any(note in line for line in plan_lines(plan) for note in (source,))
    more = planned({"data.source": str(file), "start.extend_vocabulary": 50}, str(trained.folder))
    assert not [note for note in more.notes if "--extend-vocabulary" in note]


def test_positions_set_a_limit_and_languages_are_compared(trained: TrainedRun, tmp_path: Path) -> None:
    for code in ("de", "en"):
        (tmp_path / f"new.{code}").write_text(
            "".join(f"{'1 ' * 300}{n}\n" for n in range(40)), encoding="utf-8"
        )
    given = {"data.source": str(tmp_path / "new.de"), "data.target": str(tmp_path / "new.en")}
    plan = planned(given, "demo/transformer")
    assert plan.config.data.target_language == "en"
    assert "the target is en, and the model has learned iso8601" in plan.notes
    assert plan.config.data.max_length == 448
    learned = {
        **tiny_settings("transformer", write_corpus(tmp_path)),
        **{"model.positions": "learned", "model.max_positions": 99, "data.max_length": 40},
        **{"training.max_steps": 2, "training.warmup": 1},
    }
    go(learned, tmp_path / "learned")
    short = planned(given, str(tmp_path / "learned"))
    assert short.config.data.max_length == 98
    assert reasons(short)["data.max_length"] == "the model has no positions for more"


def test_memory_that_holds_no_optimiser_is_said_with_a_way_out(trained: TrainedRun) -> None:
    data = {"data.source": str(trained.folder.parent / "train.src")}
    data["data.target"] = str(trained.folder.parent / "train.tgt")
    tight = replace(GPU, memory=2**30)
    with pytest.raises(ConfigError, match="before the first sentence") as caught:
        planned({**data, "training.batch_tokens": 1000}, str(trained.folder), tight)
    assert (
        caught.value.hint == "teach adapters only (--lora 8), or freeze parts (--freeze encoder,embeddings)"
    )


@pytest.mark.parametrize("bias", [0.0, 0.5])
@pytest.mark.parametrize(
    ("model", "t5"),
    [
        (TransformerConfig(rms_norm=True, positions="relative"), True),
        (TransformerConfig(rms_norm=True), False),
        (TransformerConfig(positions="relative"), False),
        (LuongConfig(), False),
    ],
)
def test_a_model_without_biases_is_a_t5_that_was_not_trained_here(
    model: Any, bias: float, *, t5: bool
) -> None:
    weights = torch.nn.Sequential(torch.nn.Linear(2, 2))
    torch.nn.init.constant_(weights[0].bias, bias)
    start: Any = SimpleNamespace(config=SimpleNamespace(model=model), loaded=SimpleNamespace(model=weights))
    assert has_no_biases(start) == (t5 and bias == 0)


def test_the_default_folder_is_never_that_of_the_parent() -> None:
    given = {"data.source": "a.de", "data.target": "a.en", "start.model": "runs/de-en"}
    assert default_folder(given) == Path("runs/de-en-from-de-en")


class Weights(torch.nn.Module):
    """Eight numbers in a table, six in a matrix and two in a bias."""

    def __init__(self) -> None:
        super().__init__()
        self.target_embedding = torch.nn.Embedding(4, 2)
        self.encoder = torch.nn.Linear(3, 2)


@pytest.mark.parametrize(
    ("settings", "learning"),
    [
        ({}, 16),
        ({"training.freeze": "encoder"}, 8),
        ({"training.freeze": "embeddings"}, 8),
        ({"training.lora": 1}, 3 + 2),  # a column and a row in place of the matrix, and nothing else
        ({"training.lora": 4}, 4 * (3 + 2)),
        ({"training.lora": 4, "training.freeze": "encoder"}, 0),
    ],
)
def test_the_share_of_the_weights_that_learn_counted_by_hand(settings: dict[str, Any], learning: int) -> None:
    start: Any = SimpleNamespace(loaded=SimpleNamespace(model=Weights()))
    assert learning_share(start, settings) == learning / 16


def test_the_start_in_a_few_words() -> None:
    def words(*, shared: bool, pictures: object = None) -> str:
        sizes = {"source": SimpleNamespace(size=49), "target": SimpleNamespace(size=8_500)}
        both = SimpleNamespace(**sizes, shared=shared, pictures=pictures)
        start: Any = SimpleNamespace(config=SimpleNamespace(model=model), tokenizers=both)
        return described(start)

    model = TransformerConfig(width=16, heads=2, encoder_layers=3, decoder_layers=2)
    begins = "weights, tokenizer and shapes of a transformer: width 16, 3 + 2 layers, "
    assert words(shared=True) == f"{begins}8,500 tokens"
    assert words(shared=False) == f"{begins}49 + 8,500 tokens"
    assert words(shared=False, pictures=object()) == f"{begins}8,500 tokens"


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        (
            {},
            {
                "training.anchor": (
                    10.0,
                    "no old pairs are given (--keep): each step takes back a share of the way from the start",
                )
            },
        ),
        (
            {"start.keep": "old.tsv"},
            {
                "start.keep_share": (
                    0.6,
                    "60% of the pairs of each epoch are old ones: replay keeps what the model knew",
                ),
                "training.anchor": (
                    10.0,
                    "each step takes back a share of the way from the start: with replay it forgets least",
                ),
            },
        ),
        ({"training.lora": 8}, {}),
    ],
)
def test_what_keeps_the_old_knowledge_and_why(
    trained: TrainedRun, given: dict[str, Any], chosen: dict[str, Any]
) -> None:
    draft, few = PlanDraft(given), SimpleNamespace(usable=5)
    choose_keeping(draft, read_start(str(trained.folder)), few)  # type: ignore[arg-type]
    assert {one.key: (one.value, one.reason) for one in draft.choices} == chosen


def test_the_rate_and_the_reason_for_it(trained: TrainedRun) -> None:
    start, settings = read_start(str(trained.folder)), {"model.width": 16, "training.batch_tokens": 1500}
    full, _ = fitting_rate("luong", settings)
    few, many = 5, 10**6  # of far more pairs than it has learned from, the model is a beginning
    half = (round(full / 2, 7), "50% of what a run from nothing takes: small steps forget less")
    whole = (full, "adapters start from nothing, and take the rate of a run that does")
    assert tuning_rate(PlanDraft(settings), start, few) == half
    assert tuning_rate(PlanDraft({**settings, "training.lora": 8}), start, few) == whole
    assert tuning_rate(PlanDraft({**settings, "start.keep": "old.tsv"}), start, many) == half
    assert tuning_rate(PlanDraft(settings), start, many) == (
        full,
        "the rate of a run from nothing: there is little to forget",
    )


def test_a_time_limit_ends_the_run_and_sets_how_often_it_looks(
    trained: TrainedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 1,000 tokens a second and 1,000 in an update, 600 s are 600 updates: eight looks, 30 to rise."""
    monkeypatch.setattr("jumok.run.tuning.tokens_per_second", lambda *_: 1000.0)
    written = np.ones(5, np.uint64)
    survey = Survey(5, 45, 45, 10, 10, 9, written, written)
    given = {"model.arch": "luong", "model.width": 16, "text.kind": "char", "training.batch_tokens": 1000}
    for limit, warmup, every in ((600.0, 30, 75), (1.0, 2, 10), (86400.0, 100, 10800)):
        draft = PlanDraft({**given, "training.time_limit": limit})
        choose_tuning(draft, read_start(str(trained.folder)), CheckReport((survey,), ()), CPU)
        chosen = {one.key: one.value for one in draft.choices}
        assert chosen["training.max_steps"] == ENDLESS
        assert chosen["training.patience"] == 0
        assert (chosen["training.warmup"], chosen["training.validate_every"]) == (warmup, every)
        assert (chosen["training.schedule"], chosen["training.cooldown"]) == ("constant", 1.0)
        assert (chosen["training.save_every"], chosen["training.valid_sentences"]) == (every, 200)


# From end to end.


def tuned(trained: TrainedRun, folder: Path, **more: Any) -> dict[str, Any]:
    """Settings of a run on the same numbers with other targets, which starts from a trained model."""
    write_corpus(folder)
    numbers = (folder / "train.src").read_text(encoding="utf-8").split()
    (folder / "train.tgt").write_text("".join(f"{n[:2]}\n" for n in numbers), encoding="utf-8")
    fits = {
        key: value for key, value in quick_settings(folder).items() if not key.startswith(("model.", "text."))
    }
    return {
        **fits,
        "start.model": str(trained.folder),
        **{key.replace("__", "."): one for key, one in more.items()},
    }


def test_a_run_from_a_model_begins_with_its_score_and_says_what_it_descends_from(
    trained: TrainedRun, tmp_path: Path
) -> None:
    keep = str(trained.folder.parent / "train.src")
    given = tuned(trained, tmp_path, start__keep=keep, start__keep_target=keep.replace("src", "tgt"))
    done = go(given, tmp_path / "run")
    looks = events_of(tmp_path / "run", "valid")
    assert [look["step"] for look in looks] == [0, 3, 6]
    assert all("kept_loss" in look and "kept_bleu" in look for look in looks)
    assert done.start_score == looks[0]["bleu"]
    assert done.score is not None
    assert done.score >= done.start_score
    assert f"before: {looks[0]['bleu']:.2f} BLEU, after: " in end_line(done)
    assert " · kept pairs: " in end_line(done)
    best = load_model(tmp_path / "run")
    parent = read_start(str(trained.folder))
    assert best.info["descends_from"] == parent.descent
    assert best.info["descends_from"][0]["sha256"] == content_fingerprint(parent.loaded.folder)
    card = (best.folder / "README.md").read_text(encoding="utf-8")
    assert "## descends from\n\n| model | its data | SHA-256 of its manifest |\n|---|---|---|\n" in card
    assert f"| run | train.src + train.tgt | {parent.descent[0]['sha256']} |\n" in card
    assert not any(faults for faults in verify(tmp_path / "run").values())


def test_a_start_that_nothing_beats_stays_the_model_of_the_run(tmp_path: Path) -> None:
    given = {
        **{"data.name": "dates-cjk", "start.model": "demo/transformer"},  # what it knows already
        **{"training.lr": 0.09, "training.max_steps": 2, "training.warmup": 1, "training.metric": "loss"},
    }
    done = go(given, tmp_path / "run")
    assert done.score == done.start_score
    best, parent = load_model(tmp_path / "run"), load_model("demo/transformer")
    assert best.info["step"] == 0
    assert all(
        torch.equal(mine, theirs)
        for mine, theirs in zip(best.model.parameters(), parent.model.parameters(), strict=True)
    )


def test_a_run_that_has_taken_no_step_can_be_begun_with_other_settings(
    trained: TrainedRun, tmp_path: Path
) -> None:
    from jumok.run.train import RunCallbacks, RunRequest, run

    given = tuned(trained, tmp_path)
    numbers = (tmp_path / "train.src").read_text(encoding="utf-8").split()
    (tmp_path / "train.tgt").write_text("".join(f"größer {n[:2]}\n" for n in numbers), encoding="utf-8")
    stopped = RunCallbacks(interrupted=lambda: True)
    run(RunRequest(given=given, out=tmp_path / "run", device="cpu"), stopped)
    assert list(checkpoint_folders(tmp_path / "run")) == [0]
    done = go(given | {"training.lr": 1e-3, "start.extend_vocabulary": 9}, tmp_path / "run")
    assert done.config.training.lr == 1e-3
    assert load_model(tmp_path / "run").tokenizers.target.size > trained.model.tokenizers.target.size


def test_frozen_parts_stay_through_a_whole_run(trained: TrainedRun, tmp_path: Path) -> None:
    go(tuned(trained, tmp_path, training__freeze="encoder, embeddings"), tmp_path / "run")
    newest = Checkpoints(tmp_path / "run").newest()
    assert newest is not None
    before = dict(load_model(trained.folder).model.named_parameters())
    same = {name for name, tensor in newest.tensors().items() if torch.equal(tensor, before[name])}
    assert same == {name for name in before if name.startswith(("encoder", "target_embedding"))}
    assert not [key for key in newest.optimizer() if "encoder." in key or "embedding" in key]


def test_adapters_are_merged_in_what_is_saved(trained: TrainedRun, tmp_path: Path) -> None:
    go(tuned(trained, tmp_path, training__lora=2), tmp_path / "run")
    newest = Checkpoints(tmp_path / "run").newest()
    assert newest is not None
    tensors, memory, base = newest.tensors(), newest.optimizer(), kept_start(tmp_path / "run")
    changed = [name for name in tensors if not torch.equal(tensors[name], base[name])]
    assert changed
    for name in changed:
        a, b = (memory[f"weights/{name}.lora_{which}"] for which in "ab")
        torch.testing.assert_close(tensors[name], base[name] + 2 * b @ a)
    assert all("lora" in key for key in memory)


def test_python_names_the_start(trained: TrainedRun, tmp_path: Path) -> None:
    given = tuned(trained, tmp_path)
    model = given.pop("start.model")
    done = train(start_from=model, out=tmp_path / "run", overrides=given, device="cpu", quiet=True)
    assert done.config.start.model == model
    assert (tmp_path / "run" / START / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"training.anchor": 1.0}, "training.anchor=1.0 cannot work"),
        ({"training.lora": 4}, "training.lora=4 cannot work"),
        ({"training.freeze": "encoder"}, "training.freeze=encoder cannot work"),
        ({"start.keep": "dates"}, "start.keep=dates cannot work"),
        ({"start.extend_vocabulary": 9}, "start.extend_vocabulary=9 cannot work"),
    ],
)
def test_what_needs_a_start_is_refused_without_one(given: dict[str, Any], message: str, corpus: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        go(quick_settings(corpus) | given, corpus / "run")
    assert str(caught.value).startswith(message)
    assert "--from MODEL" in caught.value.hint


def test_a_run_goes_on_only_with_its_own_start(trained: TrainedRun, tmp_path: Path) -> None:
    given = tuned(trained, tmp_path)
    go(given, tmp_path / "run")
    go(given | {"training.max_steps": 7}, tmp_path / "run")
    shutil.move(tmp_path / "run" / START, tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="was started with start.model="):
        go(given | {"start.model": "demo/transformer"}, tmp_path / "run")
    shutil.copytree(trained.folder, tmp_path / "nothing")
    with pytest.raises(ConfigError) as caught:
        go({**quick_settings(trained.folder.parent), "start.model": "demo/luong"}, tmp_path / "nothing")
    assert "was started with start.model='', not 'demo/luong'" in str(caught.value)
    assert json.loads((tmp_path / "elsewhere" / "curve.json").read_bytes())["metric"] == "bleu"
