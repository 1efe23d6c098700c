import pytest

from jumok.config import DecodingConfig
from jumok.decoding.request import make_request
from jumok.errors import ConfigError


def test_options_go_over_the_models_own() -> None:
    request = make_request(DecodingConfig(beam=3, max_len=50), {"beam": 7, "ban": "x", "prefix": " a  b "})
    assert (request.decoding.beam, request.decoding.max_len) == (7, 50)
    assert (request.ban, request.prefix, request.require) == (("x",), "a b", ())


def test_a_misspelt_option_is_offered_the_right_name() -> None:
    with pytest.raises(TypeError, match="unknown option 'beams'; did you mean 'beam'"):
        make_request(DecodingConfig(), {"beams": 2})
    with pytest.raises(TypeError, match="unknown option 'prefixes'; did you mean 'prefix'"):
        make_request(DecodingConfig(), {"prefixes": "a"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"long": "spilt"}, "long='spilt' is unknown\n  did you mean 'split'"),
        ({"ban": [""]}, "ban has an empty text\n  give at least one character"),
        ({"require": " "}, "require has an empty text"),
        ({"ban": "at", "require": "cat"}, "ban='at' and require='cat' cannot both be kept"),
        ({"ban": "at", "prefix": ["", "A hat"]}, "ban='at' and prefix='A hat' cannot both be kept"),
        ({"n_best": 9}, "decoding.n_best=9 cannot work"),
    ],
)
def test_options_that_cannot_work(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_request(DecodingConfig(), options)
    assert message in str(caught.value)


def test_prefixes_for_all_or_for_each() -> None:
    assert make_request(DecodingConfig(), {"prefix": "a"}).prefixes(2) == ["a", "a"]
    each = make_request(DecodingConfig(), {"prefix": ["a", "", "b"]})
    assert each.prefixes(3) == ["a", "", "b"]
    with pytest.raises(ConfigError, match="there are 3 prefixes for 2 texts"):
        each.prefixes(2)
