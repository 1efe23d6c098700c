"""An experiment is planned once: opened again it is the same, and what would make it another is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from jumok.comparison.budget import WITHIN, Budget, spread
from jumok.comparison.entry import ComparisonEntry, TestPairs
from jumok.comparison.experiment import (
    ComparisonRequest,
    ExperimentPlanner,
    data_folder,
    open_experiment,
    shorter,
)
from jumok.comparison.plan import SAME, Variant
from jumok.comparison.publish import parameter_counts
from jumok.config import TextConfig
from jumok.data.store import build_store
from jumok.errors import ConfigError, Error
from jumok.progress import silent
from jumok.text.tokenizer import Tokenizers, train_tokenizer
from tests.comparison.conftest import tiny_request


def without(comparison_request: ComparisonRequest, *keys: str) -> ComparisonRequest:
    return replace(
        comparison_request,
        given={key: value for key, value in comparison_request.given.items() if key not in keys},
    )


def test_all_share_text_data_and_budget_and_have_complete_settings(
    comparison_request: ComparisonRequest,
) -> None:
    experiment = open_experiment(replace(comparison_request, seeds=(1, 2), variants=(Variant("no-scale"),)))
    assert [one.name for one in experiment.entries] == [
        *("rnn-s1", "transformer-s1", "rnn-s2", "transformer-s2"),
        *("transformer-s1 no-scale", "transformer-s2 no-scale"),
    ]
    common = [
        {key: value for key, value in one.settings.items() if key.startswith(("text.", "data."))}
        | {key: one.settings[key] for key in ("training.max_steps", "training.batch_tokens")}
        for one in experiment.entries
    ]
    assert all(one == common[0] for one in common)
    assert (comparison_request.out / "data" / "prepared.json").is_file()
    pairs = TypeAdapter(TestPairs).validate_json((comparison_request.out / "test.json").read_bytes())
    assert pairs == experiment.test
    assert experiment.options.metrics == ("bleu", "chrf")
    (note,) = experiment.notes
    assert note.startswith("no test files are given: tested on the validation pairs")


def test_sizes_are_matched_unless_given_or_not_wanted(comparison_request: ComparisonRequest) -> None:
    free = without(comparison_request, "model.width")
    matched = open_experiment(
        replace(free, archs=("rnn", "luong", "transformer"), out=comparison_request.out / "a")
    )
    assert spread(parameter_counts(matched).values()) <= WITHIN
    assert matched.bases["transformer"]["model.width"] == 128  # the plan's; the others follow it
    apart = open_experiment(replace(free, match=False, out=comparison_request.out / "b"))
    assert apart.bases["rnn"]["model.width"] == 256
    given = open_experiment(replace(comparison_request, out=comparison_request.out / "c"))
    assert {one["model.width"] for one in given.bases.values()} == {16}


def test_a_named_architecture_sets_the_size_for_all(comparison_request: ComparisonRequest) -> None:
    named = replace(
        comparison_request, given=comparison_request.given | {"model.arch": "rnn", "model.width": 50}
    )
    experiment = open_experiment(named)
    assert experiment.bases["rnn"]["model.width"] == 50
    assert spread(parameter_counts(experiment).values()) <= WITHIN


def test_opened_again_it_has_the_settings_of_before_and_may_grow(
    comparison_request: ComparisonRequest, monkeypatch: Any
) -> None:
    before = open_experiment(without(comparison_request, "model.width"))

    def no_survey(*args: object) -> None:
        pytest.fail("the text is read again")

    with monkeypatch.context() as patch:
        patch.setattr("jumok.comparison.experiment.read_corpora", no_survey)
        again = open_experiment(without(comparison_request, "model.width"))
    assert again.entries == before.entries
    assert f"goes on with the experiment in {comparison_request.out}" in again.notes

    more = open_experiment(
        replace(
            without(comparison_request, "model.width"), archs=("rnn", "luong", "transformer"), seeds=(42, 7)
        )
    )
    assert {one.name: one for one in more.entries}.items() >= {
        one.name: one for one in before.entries
    }.items()
    assert {one.name for one in more.entries if one not in before.entries} == {
        *("luong", "rnn-s7", "luong-s7", "transformer-s7")
    }
    assert spread(parameter_counts(more).values()) <= WITHIN
    assert (
        open_experiment(without(comparison_request, "model.width")).entries == before.entries
    )  # nor is luong forgotten
    assert "luong" in json.loads((comparison_request.out / "experiment.json").read_bytes())["bases"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": Budget("steps", 7)}, r'started with budget={"kind": "steps", "value": 6}, not'),
        ({"match": False}, "started with match=true, not false"),
        ({"training__lr": 0.5}, "started with training.lr=nothing, not 0.5"),
    ],
)
def test_another_experiment_in_the_same_folder_is_refused(
    corpus: Path, change: dict[str, Any], message: str
) -> None:
    open_experiment(tiny_request(corpus))
    with pytest.raises(ConfigError, match=message):
        open_experiment(tiny_request(corpus, **change))


def test_other_data_is_refused(corpus: Path, comparison_request: ComparisonRequest) -> None:
    open_experiment(comparison_request)
    with (corpus / "train.src").open("a") as source, (corpus / "train.tgt").open("a") as target:
        source.write("77\n")
        target.write("77\n")
    with pytest.raises(ConfigError, match="was started with data="):
        open_experiment(comparison_request)


def test_folders_that_hold_something_else(comparison_request: ComparisonRequest) -> None:
    comparison_request.out.write_text("a file")
    with pytest.raises(ConfigError, match="plain is a file"):
        open_experiment(comparison_request)
    comparison_request.out.unlink()
    comparison_request.out.mkdir()
    (comparison_request.out / "letter.txt").write_text("dear")
    with pytest.raises(ConfigError, match="is not empty and holds no experiment"):
        open_experiment(comparison_request)
    (comparison_request.out / "experiment.json").write_text("[]")
    with pytest.raises(ConfigError, match="is not the record of an experiment"):
        open_experiment(comparison_request)


MISTAKES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "unknown setting 'training.lrr'": ({}, {"training.lrr": 1}),
    "model.width": ({}, {"model.width": -1}),
    "missing.en": ({"test_source": "missing.en", "test_target": "missing.de"}, {}),
    "this architecture has no setting 'model.heads'": ({"archs": ("rnn",)}, {}),
    "no data": ({"given": {}}, {}),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_leave_no_folder(comparison_request: ComparisonRequest, text: str) -> None:
    changes, settings = MISTAKES[text]
    wrong = replace(comparison_request, **({"given": comparison_request.given | settings} | changes))
    with pytest.raises(Error, match=text):
        open_experiment(wrong)
    assert not comparison_request.out.exists()


def test_what_is_wrong_with_the_data_is_told_once(
    corpus: Path, comparison_request: ComparisonRequest
) -> None:
    lines = (corpus / "train.tgt").read_text().splitlines()
    (corpus / "train.tgt").write_text("".join(f"{line}\n" for line in ["", *lines[1:]]))
    _, note = open_experiment(comparison_request).notes
    assert note.startswith("data: ")
    assert "1 blank on one side" in note
    assert "jumok check " in note
    assert not any(note.startswith("data: ") for note in open_experiment(comparison_request).notes)


def test_test_sources_that_training_has_seen_are_told(
    corpus: Path, comparison_request: ComparisonRequest
) -> None:
    lines = (corpus / "train.src").read_text().splitlines()
    (corpus / "test.src").write_text(f"{lines[3]}\n12\n")
    (corpus / "test.tgt").write_text("1\n21\n")
    files = {"test_source": str(corpus / "test.src"), "test_target": str(corpus / "test.tgt")}
    experiment = open_experiment(replace(comparison_request, **files))
    assert experiment.notes == ("1 of the 2 test sources are training sources, too",)


def test_validation_pairs_of_their_own_may_be_training_pairs_too(corpus: Path) -> None:
    """Those that were held out are not, so nothing is counted."""
    lines = (corpus / "train.src").read_text().splitlines()
    (corpus / "own.src").write_text(f"{lines[3]}\n12\n")
    (corpus / "own.tgt").write_text("1\n21\n")
    files = {
        f"data__valid_{side}": str(corpus / f"own.{end}")
        for side, end in (("source", "src"), ("target", "tgt"))
    }
    first, second = open_experiment(tiny_request(corpus, **files)).notes
    assert first.startswith("no test files are given: ")
    assert second == "1 of the 2 test sources are training sources, too"


def test_settings_that_suit_the_data_give_way_to_a_short_budget(
    comparison_request: ComparisonRequest, monkeypatch: Any
) -> None:
    tuned = {"training.warmup": 100, "training.validate_every": 200}
    monkeypatch.setattr("jumok.comparison.plan.SAME", SAME | tuned)
    free = without(comparison_request, *tuned)
    short = open_experiment(replace(free, out=comparison_request.out / "short")).bases["rnn"]
    assert short["training.warmup"] < 6
    assert short["training.validate_every"] < 200
    long = open_experiment(
        replace(free, out=comparison_request.out / "long", budget=Budget("steps", 5000))
    ).bases["rnn"]
    assert tuned.items() <= long.items()


@pytest.mark.parametrize(("steps", "kept"), [(400, True), (399, False)])
def test_what_takes_no_more_than_a_quarter_of_the_run_stays(
    comparison_request: ComparisonRequest,
    steps: int,
    kept: bool,  # noqa: FBT001
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr("jumok.comparison.plan.SAME", SAME | {"training.warmup": 100})
    free = without(comparison_request, "training.warmup")
    planner = ExperimentPlanner(replace(free, budget=Budget("steps", steps)), silent)
    assert (planner.draft("rnn").training.warmup == 100) is kept


def test_what_shows_the_lengths_beyond_learns_from_the_shorter_pairs(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(["a b c d e f"], TextConfig(kind="char", vocabulary=300))
    pairs = [("abcdef"[:n], "a") for n in (1, 2, 3, 4, 5, 6)]
    store = build_store(pairs, Tokenizers(tokenizer, tokenizer), tmp_path / "store", max_length=9)
    assert shorter(store) == 4


def test_an_ablation_that_changes_the_data_has_its_own_stores() -> None:
    plain = ComparisonEntry(name="transformer", arch="transformer")
    short = ComparisonEntry(
        name="transformer no-positions", arch="transformer", changes={"data.max_length": 24}
    )
    scale = ComparisonEntry(name="transformer no-scale", arch="transformer", changes={"model.scaled": False})
    folders = [data_folder(Path("out"), one).name for one in (plain, short, scale)]
    assert folders == ["data", "data-24", "data"]
