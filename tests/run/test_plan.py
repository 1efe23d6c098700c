"""The plan: complete, reasoned, never against the user's word, and never against itself."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import ARCHS
from jumok.data.survey import Survey
from jumok.errors import ConfigError
from jumok.run.forecast import active_weights
from jumok.run.machine import Machine
from jumok.run.plan import Plan, fitting_batch, fitting_dropout, is_language, make_plan
from jumok.settings import check_given, config_to_dict, flatten, known_names, parse_config, read_toml

CPU = Machine("cpu", "CPU", 2, 8 * 2**30, bf16=False, gflops=50.0)
GPU = Machine("cuda", "GPU", 8, 80 * 2**30, bf16=True, gflops=700_000.0)
OLD_GPU = Machine("cuda:1", "Old GPU", 4, 8 * 2**30, bf16=False, gflops=8000.0)


def found(pairs: int = 20_000, words: int = 10, characters: int = 60, longest: int = 80) -> Survey:
    """A survey of `pairs` sentences of so many words and characters a side."""
    hashes = np.arange(1, pairs + 1, dtype=np.uint64)
    sizes = (characters * pairs, characters * pairs, words * pairs, words * pairs)
    return Survey(pairs, *sizes, longest, hashes, hashes)


def test_a_setting_given_at_its_default_is_given() -> None:
    given = {"data.source": "a.en", "data.target": "a.de"}
    defaults = flatten(config_to_dict(parse_config({"training": {"warmup": 0}})))
    for machine in (CPU, GPU):
        plan = make_plan(given, found(), machine)
        chosen = {choice.key for choice in plan.choices} - {"data.hold_out"}  # its 0 means the usual number
        kept = 0
        for key in sorted(chosen & defaults.keys()):
            try:
                again = make_plan(given | {key: defaults[key]}, found(), machine)
            except ConfigError:  # refused by name, so it was not passed over
                continue
            assert flatten(config_to_dict(again.config))[key] == defaults[key], key
            assert key not in reasons(again)
            kept += 1
        assert kept > 12


def test_empty_names_of_files_are_no_files() -> None:
    given = {"data.source": "a.en", "data.target": "a.de", "data.name": "", "data.valid_source": ""}
    assert make_plan(given, found(), CPU).config.data.hold_out > 0


def reasons(plan: Plan) -> dict[str, str]:
    return {choice.key: choice.reason for choice in plan.choices}


surveys = st.builds(
    found,
    pairs=st.sampled_from([20, 100, 1000, 4999, 30_000, 250_000]),
    words=st.integers(1, 60),
    characters=st.integers(1, 400),
    longest=st.integers(1, 10_000),
)
machines = st.sampled_from([CPU, GPU, OLD_GPU, replace(GPU, processes=4)])


@given(surveys, machines, st.sampled_from(ARCHS), st.sampled_from([None, 1, 2, 9, 5000, 10**6]))
def test_the_plan_accepts_its_own_choices(
    survey: Survey, machine: Machine, arch: str, steps: int | None
) -> None:
    asked: dict[str, Any] = {"model.arch": arch} | ({"training.max_steps": steps} if steps else {})
    plan = make_plan(asked, survey, machine)
    assert 0 < plan.seconds < float("inf")
    assert plan.tokens_per_second > 0
    assert plan.config.training.warmup <= max(1, plan.config.training.max_steps // 2)
    assert plan.config.data.hold_out * 2 <= survey.usable
    assert set(reasons(plan)) <= known_names()
    assert all(reasons(plan).values())


GIVEN = {
    "training.lr": 3e-4,
    "training.max_steps": 777,
    "training.warmup": 5,
    "training.batch_tokens": 512,
    "training.time_limit": 30.0,
    "training.validate_every": 11,
    "text.vocabulary": 300,
    "data.max_length": 40,
    "data.hold_out": 12,
    "data.source_language": "xx",
    "model.dropout": 0.05,
    "model.width": 96,
    "decoding.beam": 2,
    "seed": 9,
}


@given(st.sets(st.sampled_from(sorted(GIVEN))), machines, st.sampled_from(ARCHS))
def test_what_the_user_said_is_never_chosen_again(names: set[str], machine: Machine, arch: str) -> None:
    asked = {name: GIVEN[name] for name in names} | {"model.arch": arch}
    plan = make_plan(asked, found(), machine)
    settings = flatten(config_to_dict(plan.config))
    assert {name: settings[name] for name in asked} == asked
    assert not reasons(plan).keys() & asked.keys()
    for choice in plan.choices:
        assert settings[choice.key] == choice.value


@given(st.integers(20, 10**5), st.integers(20, 10**5))
def test_more_text_never_means_a_smaller_vocabulary(one: int, other: int) -> None:
    few, many = sorted((one, other))
    plans = [make_plan({}, found(pairs), CPU).config.text.vocabulary for pairs in (few, many)]
    assert plans == sorted(plans)


def test_a_time_limit_bounds_the_forecast() -> None:
    assert make_plan({"training.time_limit": 60.0}, found(250_000), CPU).seconds <= 60


def test_a_bigger_machine_gets_no_smaller_model() -> None:
    sizes = [
        active_weights(make_plan({}, found(250_000), machine).config.model, 8000) for machine in (CPU, GPU)
    ]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("corpus/train.en", "corpus/train.de.gz", ("en", "de")),
        ("train.kor", "train.eng", ("kor", "eng")),
        ("train.src", "train.tgt", ("", "")),
        ("english.txt", "german.txt", ("", "")),
        ("pairs.tsv", "", ("", "")),
        ("train.en", "train.translated", ("", "")),
    ],
)
def test_languages_by_file_names(source: str, target: str, languages: tuple[str, str]) -> None:
    plan = make_plan({"data.source": source, "data.target": target}, found(), CPU)
    assert (plan.config.data.source_language, plan.config.data.target_language) == languages


def test_languages_as_the_file_says() -> None:
    told = replace(found(), languages=("de", "en"))
    plan = make_plan({"data.source": "train.tmx"}, told, CPU)
    assert (plan.config.data.source_language, plan.config.data.target_language) == ("de", "en")
    assert reasons(plan)["data.source_language"] == "as the file says"
    plan = make_plan({"data.source": "a.po"}, replace(found(), languages=("", "en")), CPU)
    assert (plan.config.data.source_language, plan.config.data.target_language) == ("", "en")
    plan = make_plan({"data.source": "a.tmx", "data.source_language": "nl"}, told, CPU)
    assert (plan.config.data.source_language, plan.config.data.target_language) == ("nl", "en")


@pytest.mark.parametrize(
    ("given", "marks"),
    [
        ({"data.source": "train.en", "data.target": "train.ko"}, True),
        ({"data.source": "train.en", "data.target": "train.ko", "text.marks": False}, False),
        ({"data.source": "train.en", "data.target": "train.ko", "text.kind": "word"}, False),
        ({"data.source": "train.en", "data.target": "other.en"}, False),
        ({"data.source": "a.tsv"}, False),
        ({"data.name": "dates"}, False),
    ],
)
def test_models_that_translate_learn_marks(given: dict[str, Any], *, marks: bool) -> None:
    assert make_plan(given, found(), CPU).config.text.marks is marks


def test_a_transformer_that_translates_on_a_cpu_is_taught_to_align() -> None:
    given = {"data.source": "train.en", "data.target": "train.ko", "model.arch": "transformer"}
    plan = make_plan(given, found(), CPU)
    assert plan.config.training.align == 0.5
    assert reasons(plan)["training.align"].startswith("a head learns which word is from which")
    others = [{"model.arch": "luong"}, {"training.batches": "packed"}, {"training.align": 0.0}]
    for other in (*others, {"data.target": "other.en"}):
        assert make_plan(given | other, found(), CPU).config.training.align == 0
    assert make_plan(given, found(), GPU).config.training.align == 0


def test_single_characters_are_more_pieces() -> None:
    """A run that goes through the data as often takes more steps."""
    kinds: list[dict[str, Any]] = [
        {},
        {"text.kind": "char", "text.target_kind": "word"},
        {"text.kind": "char"},
    ]
    words, mixed, characters = (
        make_plan(one | {"training.batch_tokens": 1000}, found(), CPU) for one in kinds
    )
    steps = [plan.config.training.max_steps for plan in (words, mixed, characters)]
    assert steps == sorted(steps)
    assert steps[2] == 4 * steps[0]


def test_languages_of_a_built_in_set() -> None:
    plan = make_plan({"data.name": "homeassistant-ko-en"}, found(), CPU)
    assert (plan.config.data.source_language, plan.config.data.target_language) == ("ko", "en")
    assert reasons(plan)["data.source_language"] == "what the built-in set holds"
    assert not is_language("txt")


def test_the_reason_for_a_vocabulary_of_characters_is_not_about_words() -> None:
    assert "words" in reasons(make_plan({"data.name": "dates"}, found(), CPU))["text.vocabulary"]
    assert reasons(make_plan({"text.kind": "char"}, found(), CPU))["text.vocabulary"].startswith("at most")


def test_pictures_have_no_language() -> None:
    plan = make_plan({"data.name": "emoji-captions"}, found(), CPU)
    assert (plan.config.data.source_language, plan.config.data.target_language) == ("", "en")
    assert "data.source_language" not in reasons(plan)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"text.vocabulary": 32_000},
            "text.vocabulary=32000 is more than this data supports: 2,000 words would show each token 0.1 "
            "times on average\n  choose at most 666, or leave it to the plan",
        ),
        (
            {"model.positions": "learned", "model.max_positions": 64, "data.max_length": 64},
            "model.max_positions=64 cannot hold data.max_length=64 and an end\n"
            "  set model.max_positions to 65 or more",
        ),
        ({"training.lr": 0.5}, "training.lr=0.5 diverges with adamw\n  choose 1e-4 to 1e-2"),
    ],
)
def test_what_cannot_learn_is_refused_with_the_reason(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_plan(asked, found(100), CPU)
    assert str(caught.value) == message
    assert caught.value.code == "cannot_learn"


@pytest.mark.parametrize("schedule", ["constant", "inverse_sqrt", "noam", "cosine"])
def test_a_warm_up_as_long_as_the_run_is_refused(schedule: str) -> None:
    asked = {"training.max_steps": 500, "training.schedule": schedule}
    for warmup in (600, 500):
        why = "is as long as the run or longer" if schedule == "constant" else "cannot work"
        with pytest.raises(ConfigError, match=f"training.warmup={warmup} {why}") as caught:
            make_plan(asked | {"training.warmup": warmup}, found(), CPU)
        assert "500 steps" in caught.value.hint
    assert make_plan(asked | {"training.warmup": 499}, found(), CPU).config.training.warmup == 499


@pytest.mark.parametrize(("steps", "warmup"), [(1, 0), (2, 1), (25, 1), (50, 2)])
def test_the_shortest_runs_have_a_warm_up_that_ends_before_they_do(steps: int, warmup: int) -> None:
    """Also where the whole plan is given to another run, as a comparison does."""
    asked = {"training.max_steps": steps}
    planned = make_plan(asked, found(), CPU).config.training.warmup
    assert planned == warmup
    again = make_plan(asked | {"training.warmup": planned}, found(), CPU)
    assert again.config.training.warmup == warmup


def test_sgd_may_have_a_high_rate() -> None:
    assert (
        make_plan({"training.lr": 0.5, "training.optimizer": "sgd"}, found(), CPU).config.training.lr == 0.5
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"training.max_steps": "many"}, "training.max_steps='many': "),
        ({"training.time_limit": "soon"}, "training.time_limit='soon': "),
        ({"training.batch_tokens": 0}, "training.batch_tokens=0 cannot work"),
        ({"model.arch": "transfomer"}, "unknown architecture 'transfomer'\n  your settings\n  did you mean"),
        ({"model.arch": 5}, "unknown architecture 5"),
        ({"data.hold_out": -1}, "data.hold_out=-1 cannot work"),
        ({"trainin.lr": 1.0}, "unknown setting 'trainin.lr'\n  your settings\n  did you mean 'training.lr'?"),
    ],
)
def test_wrong_values_are_found_before_the_data_is_read(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_given(asked)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"model.width": -10}, "model.width=-10 cannot work"),
        ({"model.width": "wide"}, "model.width='wide': "),
        ({"model.width": 100, "model.heads": 3}, "model.width=100 does not split into model.heads=3"),
        ({"model.arch": "rnn", "model.heads": 3}, "this architecture has no setting 'model.heads'"),
        *(
            ({"model.copy": True, **apart}, "copied must be a token of both sides: it needs text.shared=true")
            for apart in (
                {"data.name": "emoji-captions"},
                {"text.target_kind": "word"},
                {"text.shared": False},
            )
        ),
    ],
)
@pytest.mark.parametrize("limit", [{}, {"training.time_limit": 60.0}], ids=["free", "limited"])
def test_wrong_sizes_are_found_by_the_plan(
    limit: dict[str, Any], asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        make_plan({"model.arch": "transformer"} | asked | limit, found(), CPU)
    assert message in str(caught.value)


def test_good_values_pass_even_where_only_the_plan_makes_them_fit() -> None:
    checked = check_given(
        {"training.max_steps": 5, "model.width": 100, "data.source": "a", "data.target": "b"}
    )
    assert checked.data.source == "a"
    plan = make_plan({"training.max_steps": 5, "model.width": 100}, found(), CPU)
    assert plan.config.training.max_steps == 5


# On a GPU


def test_a_gpu_gets_packed_batches_and_few_looks() -> None:
    plan = make_plan({}, found(250_000), GPU)
    training = plan.config.training
    assert training.batches == "packed"
    assert reasons(plan)["training.batches"] == "batches of one size: steps are captured once and replayed"
    assert training.max_steps // 13 <= training.validate_every <= training.max_steps // 12
    assert reasons(plan)["training.validate_every"] == "about 12 looks at the validation set"
    assert training.precision == "auto"
    assert training.accumulate == 1
    assert make_plan({}, found(250_000), CPU).config.training.batches == "sorted"


@given(st.integers(20, 3_000_000), st.integers(20, 3_000_000))
def test_more_data_never_means_smaller_updates_on_a_gpu(one: int, other: int) -> None:
    class Counted:
        def __init__(self, usable: int) -> None:
            self.usable = usable

    sizes = [fitting_batch(Counted(pairs), GPU)[0] for pairs in sorted((one, other))]
    assert sizes == sorted(sizes)


def test_an_old_gpu_computes_in_fp32_and_the_plan_says_so() -> None:
    plan = make_plan({}, found(), OLD_GPU)
    assert plan.config.training.precision == "fp32"
    assert (
        reasons(plan)["training.precision"] == "Old GPU computes no bf16, which needs an Ampere GPU or newer"
    )
    assert make_plan({"training.precision": "auto"}, found(), OLD_GPU).config.training.precision == "fp32"


@pytest.mark.parametrize(
    ("gain", "given", "precision"),
    [
        (1.9, {}, "bf16"),
        (1.9, {"training.precision": "auto"}, "bf16"),
        (1.9, {"model.arch": "luong"}, "bf16"),
        (1.9, {"training.precision": "fp32"}, "fp32"),
        (1.24, {}, "auto"),
        (1.9, {"model.width": 32, "model.heads": 2}, "auto"),
        (1.9, {"training.shard": True}, "auto"),
    ],
)
def test_a_cpu_computes_in_what_was_measured_to_be_fastest(
    gain: float, given: dict[str, Any], precision: str
) -> None:
    plan = make_plan(given, found(), replace(CPU, gain=gain))
    assert plan.config.training.precision == precision
    if precision == "bf16":
        assert reasons(plan)["training.precision"] == "matrix products are 1.9 times as fast here as in fp32"
        slower = make_plan({**given, "training.precision": "fp32"}, found(), replace(CPU, gain=gain))
        assert plan.tokens_per_second >= slower.tokens_per_second


@pytest.mark.parametrize(("cores", "precision"), [(5, "bf16"), (6, "auto")])
def test_cores_that_share_a_part_of_an_update_multiply_in_fp32(cores: int, precision: str) -> None:
    """Ours has one thread for each part of at least 512 of the 2,000 pieces."""
    plan = make_plan({}, found(), replace(CPU, gain=2.0, cores=cores))
    assert plan.config.training.precision == precision


def test_weights_that_are_shared_out_read_sorted_batches() -> None:
    plan = make_plan({"training.shard": True}, found(), replace(GPU, processes=2))
    assert plan.config.training.batches == "sorted"
    assert (
        reasons(plan)["training.batches"] == "processes that share the weights out read pairs of like lengths"
    )


def test_updates_too_small_for_the_longest_pair_are_sorted() -> None:
    asked = {"training.batch_tokens": 200, "data.max_length": 128}
    plan = make_plan(asked, found(), GPU)
    assert plan.config.training.batches == "sorted"
    reason = "a pair of 258 tokens would not fit into a packed part of 200"
    assert reasons(plan)["training.batches"] == reason
    with pytest.raises(ConfigError) as caught:
        make_plan(asked | {"training.batches": "packed"}, found(), GPU)
    assert str(caught.value) == (
        "training.batch_tokens=200 leaves 200 tokens for one pass, "
        "and a pair of data.max_length=128 needs 258\n"
        "  set training.batch_tokens to 258 or more, data.max_length to 99 or less, "
        "or training.batches=sorted"
    )


def test_the_plan_splits_its_own_updates_where_memory_is_short() -> None:
    tight = replace(GPU, name="Small GPU", memory=5 * 2**30)
    asked = {"model.width": 512, "model.feedforward": 2048, "model.heads": 8, "text.vocabulary": 8000}
    plan = make_plan(asked, found(1_200_000), tight)
    parts = plan.config.training.accumulate
    assert parts > 1
    assert (
        reasons(plan)["training.accumulate"]
        == f"the memory of Small GPU holds 50,000 tokens in {parts} parts"
    )
    make_plan(
        asked | {"training.batch_tokens": 50_000, "training.accumulate": parts}, found(1_200_000), tight
    )


def test_a_batch_that_cannot_fit_is_refused_with_what_would() -> None:
    asked: dict[str, Any] = {"training.batch_tokens": 9_000_000}
    with pytest.raises(
        ConfigError, match=r"^training.batch_tokens=9000000 needs about \d+ GiB, and GPU has 80 GiB\n"
    ):
        make_plan(asked, found(250_000), GPU)
    with pytest.raises(ConfigError) as caught:
        make_plan(asked, found(250_000), GPU)
    assert caught.value.code == "out_of_memory"
    words = re.match(
        r"set training.accumulate=(\d+): .*; or training.batch_tokens to (\d+) or less", caught.value.hint
    )
    assert words is not None
    parts, tokens = map(int, words.groups())
    make_plan(asked | {"training.accumulate": parts}, found(250_000), GPU)
    make_plan({"training.batch_tokens": tokens}, found(250_000), GPU)
    with pytest.raises(ConfigError, match="GiB"):
        make_plan(asked | {"training.accumulate": parts - 1}, found(250_000), GPU)


def test_a_model_that_cannot_fit_is_refused() -> None:
    asked = {"model.arch": "transformer", "model.width": 8192, "model.heads": 64, "model.feedforward": 32768}
    with pytest.raises(
        ConfigError, match=r"this model needs about [\d.]+ GiB before the first sentence, and GPU has"
    ) as caught:
        make_plan(asked, found(250_000), GPU)
    assert "training.shard=true" in caught.value.hint


def test_sides_of_different_kinds_share_no_vocabulary() -> None:
    kinds = {"text.kind": "char", "text.target_kind": "word"}
    plan = make_plan(kinds, found(), GPU)
    assert not plan.config.text.shared
    assert reasons(plan)["text.shared"] == "sources are cut as char, targets as word"
    assert "text.dropout" not in reasons(plan)
    assert make_plan({"text.target_kind": "char"}, found(), GPU).config.text.dropout > 0
    assert make_plan({"text.kind": "char", "text.target_kind": "char"}, found(), CPU).config.text.shared
    with pytest.raises(
        ConfigError, match="text.shared=true cannot work: text.target_kind=word needs a vocab"
    ):
        make_plan({**kinds, "text.shared": True}, found(), CPU)


def test_a_model_that_copies_is_a_transformer_even_in_a_hurry() -> None:
    hurry = {"training.time_limit": 60.0}
    assert make_plan(hurry, found(), CPU).config.model.arch == "luong"
    plan = make_plan({**hurry, "model.copy": True}, found(), CPU)
    assert plan.config.model.arch == "transformer"
    assert reasons(plan)["model.arch"] == "the one that copies (model.copy)"


def test_what_a_short_limit_on_a_cpu_costs_is_said() -> None:
    files = {"data.source": "a.en", "data.target": "a.de"}
    hasty = make_plan(files | {"training.time_limit": 3600.0}, found(), CPU)
    assert hasty.config.model.arch == "luong"
    assert reasons(hasty)["model.arch"] == (
        "learns most in a short time on a CPU; CTranslate2, transformers and Argos need --arch transformer"
    )
    for limit, machine in ((3601.0, CPU), (0.0, CPU), (60.0, GPU)):
        assert (
            make_plan(files | {"training.time_limit": limit}, found(), machine).config.model.arch
            == "transformer"
        )


def test_it_saves_when_it_looks_also_as_told() -> None:
    files = {"data.source": "a.en", "data.target": "a.de"}
    for asked in ({}, {"training.validate_every": 15}):
        training = make_plan(files | asked, found(), CPU).config.training
        assert training.save_every == training.validate_every
    assert make_plan(files | {"training.save_every": 7}, found(), CPU).config.training.save_every == 7


def test_how_often_a_sentence_is_seen_in_words() -> None:
    files = {"data.source": "a.en", "data.target": "a.de"}
    for steps, words in ((400, "about once"), (30_000, "about 25 times")):
        plan = make_plan(files | {"training.max_steps": steps}, found(80_000), CPU)
        assert reasons(plan)["model.dropout"] == f"each sentence is seen {words}"


def test_dropout_falls_with_the_pairs_and_rises_with_the_times_they_are_seen() -> None:
    pairs = (9_999, 10_000, 99_999, 100_000, 499_999, 500_000)
    shares = [fitting_dropout("luong", found(count), 1.0)[0] for count in pairs]
    assert shares == [0.4, 0.3, 0.3, 0.2, 0.2, 0.1]
    few = found()
    seen = [fitting_dropout("transformer", few, times) for times in (1.0, 1.5, 19.9, 20.0, 49.9, 50.0)]
    assert [share for share, _ in seen] == [0.1, 0.1, 0.1, 0.2, 0.2, 0.3]
    words = [reason.removeprefix("each sentence is seen about ") for _, reason in seen[:3]]
    assert words == ["once", "2 times", "20 times"]


def test_the_rate_rises_in_a_25th_of_the_run_and_at_most_400_steps() -> None:
    files = {"data.source": "a.en", "data.target": "a.de"}
    for steps, rise in ((10, 1), (1_000, 40), (10_000, 400), (20_000, 400)):
        plan = make_plan(files | {"training.max_steps": steps}, found(100_000), CPU)
        assert plan.config.training.warmup == rise


def test_few_pairs_are_gone_through_more_often() -> None:
    files = {"data.source": "a.en", "data.target": "a.de", "model.arch": "transformer"}
    pairs = (19_999, 20_000, 199_999, 200_000)
    for machine, epochs in ((CPU, (60, 30, 30, 10)), (GPU, (60, 60, 60, 10))):
        plans = [make_plan(files, found(count), machine) for count in pairs]
        told = [reasons(plan)["training.max_steps"] for plan in plans]
        assert told == [f"about {times} times through the data at most" for times in epochs]


def test_few_pairs_on_a_gpu_are_trained_as_the_recipe_that_was_measured() -> None:
    recipe = read_toml(Path(__file__).parents[2] / "recipes" / "multi30k-en-de-transformer.toml")
    files = {"data.source": "a.en", "data.target": "a.de", "model.arch": "transformer"}
    few, many = (make_plan(files, found(pairs), GPU).config.training for pairs in (29_000, 200_000))
    assert (few.rdrop, few.ema) == (recipe["training.rdrop"], recipe["training.ema"])
    assert (many.rdrop, many.ema) == (0, 0)
