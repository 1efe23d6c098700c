"""Entries are architectures x seeds x ablations, and an ablation changes exactly what it names."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.comparison.budget import Budget
from jumok.comparison.plan import (
    ABLATIONS,
    TUNED,
    Variant,
    able,
    choose_budget,
    flat,
    given_for,
    make_entries,
    own_settings,
    read_ablations,
    read_archs,
    read_seeds,
    settings_of,
)
from jumok.config import ARCHS, Arch, RunConfig
from jumok.errors import ConfigError
from jumok.settings import Flat, check_names, nest, parse_config


def base(arch: Arch) -> Flat:
    return flat(parse_config({"model": {"arch": arch}}))


BASES = {arch: base(arch) for arch in ARCHS}


@given(
    seeds=st.lists(st.integers(0, 50), min_size=1, max_size=3, unique=True),
    names=st.lists(st.sampled_from(list(ABLATIONS)), unique=True),
)
def test_an_ablation_changes_exactly_the_settings_it_names(seeds: list[int], names: list[str]) -> None:
    entries = make_entries(BASES, seeds, [Variant(name) for name in names], 24)
    assert len({one.name for one in entries}) == len({one.folder for one in entries}) == len(entries)
    plain = {(one.arch, one.seed): one.settings for one in entries if one.group == "plain"}
    assert list(plain) == [(arch, seed) for seed in seeds for arch in ARCHS]
    for (arch, seed), settings in plain.items():
        assert settings == BASES[arch] | {"seed": seed}
    for one in entries:
        before = plain[one.arch, one.seed]
        changed = {key: value for key, value in one.settings.items() if value != before[key]}
        assert changed == one.changes
        assert bool(changed) == (one.group != "plain")
        assert one.group in ("plain", *names)
        parse_config(nest(one.settings))
    for name in names:
        assert {one.arch for one in entries if one.group == name} == set(able(Variant(name), ARCHS))


def test_names() -> None:
    variants = (Variant("no-scale"), Variant("forcing", "rnn"), Variant("positions"))
    entries = make_entries(BASES, (42, 2), variants, 24)
    kinds = ("sinusoidal-positions", "learned-positions", "rotary-positions", "no-positions")
    assert [one.name for one in entries] == [
        *("rnn", "luong", "transformer", "rnn-s2", "luong-s2", "transformer-s2"),
        *("transformer no-scale", "transformer-s2 no-scale"),
        *("rnn forcing-0.5", "rnn forcing-0.0", "rnn-s2 forcing-0.5", "rnn-s2 forcing-0.0"),
        *(f"{one} {kind}" for one in ("transformer", "transformer-s2") for kind in kinds),
    ]
    assert entries[-1].changes == {"model.positions": "none", "data.max_length": 24}


def test_what_is_not_forced_is_written_by_the_model_itself() -> None:
    entries = make_entries(BASES, (42,), (Variant("forcing", "rnn"),), 24)
    assert {one.name: one.changes for one in entries if one.group == "forcing"} == {
        "rnn forcing-0.5": {"training.teacher_forcing": 0.5, "training.rollout": True},
        "rnn forcing-0.0": {"training.teacher_forcing": 0.0, "training.rollout": True},
    }


def test_every_ablation_is_of_settings_that_exist() -> None:
    for name, variants in ABLATIONS.items():
        for changes in variants.values():
            check_names(changes, name)
        assert able(Variant(name), ARCHS)
    assert able(Variant("forcing"), ARCHS) == list(ARCHS)
    assert able(Variant("one-head"), ARCHS) == ["transformer"]


def test_lists_of_words() -> None:
    assert read_archs("transformer, rnn,rnn") == ("rnn", "transformer")
    assert read_seeds("3,1,3") == (3, 1)
    assert read_ablations("no-scale,rnn:forcing,no-scale", ARCHS) == (
        Variant("no-scale"),
        Variant("forcing", "rnn"),
    )


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: read_archs("rnn,gru"), "unknown architecture 'gru'"),
        (lambda: read_archs(" , "), "--archs names nothing"),
        (lambda: read_seeds("1,x"), "--seeds=1,x cannot be read"),
        (lambda: read_seeds("-1"), "--seeds=-1 cannot be read"),
        (lambda: read_ablations("no-scal", ARCHS), "unknown ablation 'no-scal'"),
        (lambda: read_ablations("no-scale", ("rnn", "luong")), "rnn, luong has nothing to take away"),
        (lambda: read_ablations("luong:no-norm", ARCHS), "luong has nothing to take away"),
        (lambda: read_ablations("luong:forcing", ("rnn",)), "'luong' is not compared"),
    ],
)
def test_words_that_cannot_be_read(read: object, message: str) -> None:
    assert callable(read)
    with pytest.raises(ConfigError, match=message):
        read()


def test_a_model_setting_goes_to_those_that_have_it() -> None:
    given: Flat = {"model.heads": 2, "model.cell": "lstm", "training.lr": 0.1}
    assert own_settings("rnn", given, ARCHS) == {
        "model.arch": "rnn",
        "model.cell": "lstm",
        "training.lr": 0.1,
    }
    assert own_settings("transformer", given, ARCHS)["model.heads"] == 2
    assert "model.cell" not in own_settings("transformer", given, ARCHS)
    # What none of them has stays, and is refused where settings are read.
    assert "model.heads" in own_settings("rnn", given, ("rnn", "luong"))


def test_sizes_of_a_file_that_names_an_architecture_are_its_own() -> None:
    given: Flat = {"model.arch": "transformer", "model.width": 64, "model.dropout": 0.3}
    assert own_settings("rnn", given, ARCHS) == {"model.arch": "rnn", "model.dropout": 0.3}
    assert own_settings("transformer", given, ARCHS) == given


@pytest.mark.parametrize("name", TUNED)
def test_dates_have_settings_of_their_own_and_the_user_the_last_word(name: str) -> None:
    tuned = TUNED[name]
    for arch in ARCHS:
        check_names(tuned.common | tuned.own[arch], name)
        assert {key for key in tuned.own[arch] if key.startswith("model.")} <= settings_of(arch)
        settings = given_for(arch, {"data.name": name, "training.lr": 0.5}, ARCHS)
        assert settings["training.lr"] == 0.5
        assert settings["training.metric"] == "exact"
        assert isinstance(parse_config(nest(settings)), RunConfig)
    assert "training.metric" not in given_for("rnn", {"data.name": "homeassistant-ko-en"}, ARCHS)


@pytest.mark.parametrize("name", TUNED)
@pytest.mark.parametrize("often", ["training.validate_every", "training.save_every"])
def test_the_last_update_of_dates_is_validated_and_saved_like_those_before(name: str, often: str) -> None:
    assert TUNED[name].steps / int(str(TUNED[name].common[often])) == 4


def test_of_two_settings_of_a_budget_the_time_counts() -> None:
    given: dict[str, Any] = {"training.time_limit": 5, "training.max_steps": 70, "seed": 1}
    assert choose_budget({}, given) == Budget("time", 5.0)
    assert given == {"seed": 1}
    given = {"training.max_steps": 70}
    assert choose_budget({"flops": Budget("flops", 1e9), "seconds": None}, given) == Budget("flops", 1e9)
    assert given == {}  # the option has the last word
    assert choose_budget({}, {"data.name": "homeassistant-ko-en"}) == Budget()


@pytest.mark.parametrize("name", ["", *TUNED])
def test_both_recurrent_ones_have_the_same_encoder_and_positions_are_waves(name: str) -> None:
    data = {"data.name": name} if name else {}
    models = {arch: parse_config(nest(given_for(arch, data, ARCHS))).model for arch in ARCHS}
    assert models["rnn"].bidirectional is models["luong"].bidirectional is True
    assert models["rnn"].cell == models["luong"].cell
    assert models["transformer"].placing == "sinusoidal"
    asked = given_for("rnn", data | {"model.bidirectional": False}, ARCHS)
    assert asked["model.bidirectional"] is False
