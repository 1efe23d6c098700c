"""Outside input becomes one checked RunConfig, or an error that names its key."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import (
    DataConfig,
    DecodingConfig,
    LuongConfig,
    RnnConfig,
    RunConfig,
    TextConfig,
    TrainingConfig,
    TransformerConfig,
)
from jumok.errors import ConfigError
from jumok.settings import (
    config_to_dict,
    config_to_toml,
    flatten,
    known_names,
    nest,
    parse_config,
    quick_config,
    read_environment,
    read_toml,
    read_words,
    with_new_names,
)

count = st.integers(1, 10**6)
depth = st.integers(1, 1024)
share = st.floats(0, 1, exclude_max=True)
text = st.text(st.characters(exclude_categories=["Cs"]))
amount = st.floats(0, 1e9)
recurrent = {
    "cell": st.sampled_from(["rnn", "gru", "lstm"]),
    "width": st.integers(1, 32_768).map(lambda half: 2 * half),
    "layers": depth,
    "bidirectional": st.booleans(),
    "dropout": share,
    "tied": st.booleans(),
}


@st.composite
def transformers(draw: st.DrawFn) -> TransformerConfig:
    heads = draw(st.integers(1, 64))
    return TransformerConfig(
        heads=heads,
        width=heads * 2 * draw(st.integers(1, 64)),
        encoder_layers=draw(depth),
        decoder_layers=draw(depth),
        feedforward=draw(count),
        dropout=draw(share),
        norm=draw(st.sampled_from(["post", "pre"])),
        positions=draw(st.sampled_from(["sinusoidal", "learned", "rotary", "none"])),
        max_positions=draw(count),
        projection=draw(st.sampled_from(["merged", "split"])),
        tied=draw(st.booleans()),
    )


models = st.one_of(
    st.builds(RnnConfig, **recurrent),
    st.builds(
        LuongConfig,
        **recurrent,
        score=st.sampled_from(["dot", "general", "concat"]),
        input_feeding=st.booleans(),
    ),
    transformers(),
)
trainings = st.builds(
    TrainingConfig,
    batch_tokens=count,
    accumulate=count,
    max_steps=st.integers(1001, 10**6),
    time_limit=amount,
    optimizer=st.sampled_from(["sgd", "adam", "adamw", "muon"]),
    lr=st.floats(1e-300, 1e3),
    schedule=st.sampled_from(["noam", "inverse_sqrt", "cosine", "constant"]),
    warmup=st.integers(0, 1000),
    cooldown=st.floats(0, 1),
    momentum=share,
    beta2=share,
    weight_decay=amount,
    clip=amount,
    label_smoothing=share,
    teacher_forcing=st.floats(0, 1),
    ema=share,
    average=count,
    precision=st.sampled_from(["auto", "fp32", "bf16", "fp8"]),
    metric=st.sampled_from(["bleu", "chrf", "exact", "loss"]),
)
decodings = st.builds(
    DecodingConfig,
    beam=st.integers(5, 99),
    n_best=st.integers(1, 5),
    length_penalty=amount,
    max_len=st.integers(100, 999),
    min_len=st.integers(0, 100),
    sample=st.booleans(),
    temperature=st.floats(1e-9, 1e9),
    top_p=st.floats(0, 1, exclude_min=True),
    seed=st.integers(),
)
configs = st.builds(
    RunConfig,
    model=models,
    text=st.builds(
        TextConfig,
        kind=st.sampled_from(["bpe", "char"]),
        vocabulary=st.integers(300, 10**6),
        shared=st.booleans(),
    ),
    data=st.builds(DataConfig, name=text, source=text, target=text, valid_source=text, max_length=count),
    training=trainings,
    decoding=decodings,
    seed=st.integers(0, 2**63 - 1),
)


def said(data: dict[str, Any], origin: str = "configuration") -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse_config(data, origin)
    return caught.value


@settings(max_examples=60, deadline=None)
@given(configs)
def test_a_configuration_survives_a_dictionary(config: RunConfig) -> None:
    assert parse_config(config_to_dict(config)) == config


@settings(max_examples=60, deadline=None)
@given(configs)
def test_what_was_written_is_read_without_pydantic(config: RunConfig) -> None:
    assert quick_config(config_to_dict(config)) == config


def test_values_that_pydantic_converts_are_still_taken() -> None:
    assert parse_config({"seed": "1", "training": {"lr": "0.5"}}) == RunConfig(
        seed=1, training=TrainingConfig(lr=0.5)
    )


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"seed": "1"}, TypeError),
        ({"seed": True}, TypeError),
        ({"training": {"lr": 10**400}}, TypeError),
        ({"model": {"arch": "cnn"}}, TypeError),
        ({"model": {"arch": ["rnn"]}}, TypeError),
        ({"model": {"arch": "rnn", "heads": 2}}, TypeError),
        ({"text": {"kind": "letters"}}, TypeError),
        ({"training": {"lr": -1}}, ConfigError),
    ],
)
def test_what_is_not_plain_is_left_to_pydantic(data: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        quick_config(data)


@given(configs)
def test_a_configuration_survives_toml(config: RunConfig) -> None:
    assert parse_config(tomllib.loads(config_to_toml(config))) == config


@settings(max_examples=30, deadline=None)
@given(configs)
def test_a_configuration_survives_full_names(config: RunConfig) -> None:
    flat = flatten(config_to_dict(config))
    assert flat.keys() <= known_names()
    assert parse_config(nest(flat)) == config


def test_a_written_file_reads_back(tmp_path: Path) -> None:
    config = RunConfig(model=RnnConfig(width=64), data=DataConfig(source='주목 "a" \\ b\t.txt'), seed=7)
    path = tmp_path / "run.toml"
    path.write_text(config_to_toml(config), encoding="utf-8")
    assert parse_config(nest(read_toml(path))) == config


def test_nothing_given_is_the_default() -> None:
    assert parse_config({}) == RunConfig()


def test_a_model_without_arch_is_a_transformer() -> None:
    assert parse_config({"model": {"width": 64}}).model == TransformerConfig(width=64)


def test_an_unknown_setting_offers_the_nearest() -> None:
    error = said({"training": {"lrr": 1}}, "in run.toml")
    assert error.code == "unknown_setting"
    assert str(error) == (
        "unknown setting 'training.lrr'\n  in run.toml\n"
        "  did you mean 'training.lr'?   jumok train --print-config shows all settings"
    )


@pytest.mark.parametrize(
    "data", [{"model": 3}, {"training": None}, {"nonsense": {"x": 1}}, {"seed": {"x": 1}}]
)
def test_a_section_that_is_none_is_an_unknown_setting(data: dict[str, Any]) -> None:
    error = said(data)
    assert error.message.startswith("unknown setting '")
    assert error.code == "unknown_setting"


@pytest.mark.parametrize(
    ("arch", "name", "value"), [("rnn", "heads", 4), ("rnn", "copy", True), ("luong", "copy", True)]
)
def test_a_setting_of_another_architecture_is_refused(arch: str, name: str, value: object) -> None:
    error = said({"model": {"arch": arch, name: value}})
    assert str(error) == (
        f"this architecture has no setting 'model.{name}'\n  configuration\n"
        "  jumok train --print-config shows what it has"
    )
    assert error.code == "unknown_setting"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"training": {"lr": "fast"}},
            "training.lr='fast': should be a valid number, unable to parse string as a number",
        ),
        (
            {"training": {"optimizer": "adamx"}},
            "training.optimizer='adamx': should be 'sgd', 'adam', 'adamw' or 'muon'",
        ),
        (
            {"model": {"dropout": "x"}},
            "model.dropout='x': should be a valid number, unable to parse string as a number",
        ),
        ({"model": {"arch": "rnn", "cell": 3}}, "model.cell=3: should be 'rnn', 'gru' or 'lstm'"),
        (
            {"text": {"shared": "maybe"}},
            "text.shared='maybe': should be a valid boolean, unable to interpret input",
        ),
        ({"data": {"name": 3}}, "data.name=3: should be a valid string"),
        ({"seed": 1.5}, "seed=1.5: should be a valid integer, got a number with a fractional part"),
    ],
)
def test_a_wrong_type_is_told_by_its_key_and_value(data: dict[str, Any], message: str) -> None:
    error = said(data)
    assert str(error) == f"{message}\n  configuration"
    assert error.code == "bad_value"


def test_an_impossible_value_keeps_its_own_words_and_gets_its_origin() -> None:
    error = said({"model": {"width": 500}}, "in run.toml")
    assert str(error) == (
        "model.width=500 does not split into model.heads=8 equal heads\n  in run.toml\n"
        "  set model.width to 496 or 504, or change model.heads"
    )
    error = said({"training": {"lr": -1}})
    assert str(error) == "training.lr=-1.0 cannot work\n  configuration\n  choose a number above 0"


@pytest.mark.parametrize(
    ("arch", "hint"),
    [
        ("transfomer", "did you mean 'transformer'?"),
        ("xyz", "known: luong, rnn, transformer"),
        (3, "known: "),
    ],
)
def test_an_unknown_architecture_offers_the_nearest(arch: object, hint: str) -> None:
    error = said({"model": {"arch": arch}})
    assert str(error).startswith(f"unknown architecture {arch!r}\n  configuration\n  {hint}")
    assert error.code == "unknown_arch"


def test_words_are_read_as_toml_and_else_as_text() -> None:
    words = ("training.lr=1e-3", "model.layers = 2", "data.source=a b.txt", "text.shared=false", "data.name=")
    assert read_words(words) == {
        "training.lr": 1e-3,
        "model.layers": 2,
        "data.source": "a b.txt",
        "text.shared": False,
        "data.name": "",
    }


def test_a_value_may_hold_an_equals_sign() -> None:
    assert read_words(["data.source=a=b"]) == {"data.source": "a=b"}


def test_a_word_without_equals_sign_shows_how() -> None:
    with pytest.raises(ConfigError) as caught:
        read_words(["training.lr"])
    assert str(caught.value) == (
        "--set takes name=value, not 'training.lr'\n  for example --set training.lr=1e-3"
    )


def test_a_word_with_an_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        read_words(["model.witdh=3"])
    assert caught.value.message == "unknown setting 'model.witdh'"
    assert caught.value.where == "given by --set"
    assert caught.value.hint.startswith("did you mean 'model.width'?")


def test_a_toml_file_is_read_by_full_names(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('seed = 3\n[model]\narch = "luong"\n[training]\nlr = 1e-4\n', encoding="utf-8")
    assert read_toml(path) == {"seed": 3, "model.arch": "luong", "training.lr": 1e-4}


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        read_toml("no/such.toml")
    assert str(caught.value) == "there is no configuration file no/such.toml\n  check the path"


def test_a_folder_or_bytes_that_are_no_text_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the configuration file .*: .*Is a directory"):
        read_toml(tmp_path)
    path = tmp_path / "run.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot read the configuration file .*run.toml: 'utf-8' codec"):
        read_toml(path)


def test_bad_toml_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[training]\nlr = = 1\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_toml(path)
    assert str(caught.value) == f"{path} is not valid TOML: Invalid value (at line 2, column 6)\n  in {path}"


def test_an_unknown_name_in_a_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("sed = 3\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_toml(path)
    assert caught.value.message == "unknown setting 'sed'"
    assert caught.value.where == f"in {path}"
    assert caught.value.hint.startswith("did you mean 'seed'?")


def test_the_environment_sets_what_it_names() -> None:
    environment = {
        "JUMOK_TRAINING__LR": "1e-4",
        "JUMOK_DATA__SOURCE": "a.txt",
        "JUMOK_TRAINING__MAX_STEPS": "7",
        "JUMOK_SEED": "3",
        "JUMOK_OTHER": "not a setting",
        "TRAINING__LR": "5",
        "PATH": "/bin",
    }
    assert read_environment(environment) == {
        "training.lr": 1e-4,
        "data.source": "a.txt",
        "training.max_steps": 7,
        "seed": 3,
    }


def test_the_environment_is_the_processs_own_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMOK_MODEL__WIDTH", "64")
    assert read_environment()["model.width"] == 64


def test_every_setting_can_be_named_once_in_the_environment() -> None:
    environment = {f"JUMOK_{name.upper().replace('.', '__')}": "1" for name in known_names()}
    assert read_environment(environment).keys() == known_names()


def test_full_names_cover_every_architecture() -> None:
    assert {"seed", "model.heads", "model.cell", "model.score", "training.lr", "data.source"} <= known_names()


@given(st.dictionaries(st.sampled_from(sorted(known_names())), st.integers()))
def test_flatten_undoes_nest(flat: dict[str, int]) -> None:
    assert flatten(nest(flat)) == flat


def test_the_name_that_version_0_1_had_for_sorted_batches_is_still_read() -> None:
    assert parse_config({"training": {"batches": "padded"}}).training.batches == "sorted"
    assert with_new_names({"training.batches": "padded", "seed": 1}) == {
        "training.batches": "sorted",
        "seed": 1,
    }
    assert with_new_names({"training.batches": "packed"}) == {"training.batches": "packed"}
    with pytest.raises(ConfigError) as caught:
        parse_config({"training": {"batches": "boxed"}})
    assert "padded" not in str(caught.value)
    assert "sorted" in str(caught.value)
