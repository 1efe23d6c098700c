import pytest

from jumok.config import DecodingConfig
from jumok.decoding.engines import ENGINES, cannot, check_engine, first_lack
from jumok.decoding.request import make_request
from jumok.errors import ConfigError


def test_names_are_checked() -> None:
    assert [check_engine(name) for name in ENGINES] == list(ENGINES)
    with pytest.raises(ConfigError, match="there is no engine 'nativ'\n  did you mean 'native'?"):
        check_engine("nativ")
    with pytest.raises(ConfigError, match="jumok does not run CTranslate2\n  choose native on a CPU"):
        check_engine("ctranslate2")


@pytest.mark.parametrize(
    ("options", "lack"),
    [
        ({}, ""),
        ({"beam": 3, "n_best": 2, "min_len": 4, "max_len": 9, "length_penalty": 0.5, "prefix": "a"}, ""),
        ({"sample": True, "temperature": 0.5}, "sample"),
        ({"mbr": 4}, "mbr"),
        ({"ban": "a"}, "ban"),
        ({"require": ["a", "b"]}, "require"),
        ({"no_repeat_ngram": 2}, "no_repeat_ngram"),
    ],
)
def test_what_only_torch_has(options: dict[str, object], lack: str) -> None:
    assert first_lack(make_request(DecodingConfig(), options)) == lack


def test_the_error_names_the_engine_and_the_option() -> None:
    assert str(cannot("native", "ban")) == (
        "the native engine has no ban\n  leave out ban, or choose --engine auto or torch"
    )
