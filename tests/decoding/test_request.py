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
        ({"mbr": 1}, "decoding.mbr=1 cannot work\n  mbr is 0, or from 2 to 256"),
        ({"mbr": 257}, "decoding.mbr=257 cannot work\n  mbr is 0, or from 2 to 256"),
        ({"mbr": 4, "n_best": 5}, "decoding.n_best=5 cannot work\n  4 draws give at most 4 answers"),
        ({"mbr": 4, "utility": "bleu"}, "decoding.utility=bleu cannot work\n  choose chrf or rouge1"),
        ({"mbr": 4, "beam": 1}, "beam and mbr cannot be had together\n  mbr draws its answers by itself"),
        ({"mbr": 4, "sample": True}, "sample and mbr cannot be had together\n  mbr draws its answers by"),
    ],
)
def test_options_that_cannot_work(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_request(DecodingConfig(), options)
    assert message in str(caught.value)


@pytest.mark.parametrize("usual", [{}, {"sample": True}, {"mbr": 8}])
@pytest.mark.parametrize(
    ("options", "way"),
    [
        ({"beam": 2}, (2, False, 0)),
        ({"sample": True}, (5, True, 0)),
        ({"mbr": 3, "sample": False}, (5, False, 3)),
        ({"sample": True, "beam": 4}, (4, True, 0)),
    ],
)
def test_a_call_that_names_a_way_puts_the_folders_own_aside(usual, options, way) -> None:
    found = make_request(DecodingConfig(**usual), options).decoding
    assert (found.beam, found.sample, found.mbr) == way


def test_a_call_that_names_no_way_goes_the_folders() -> None:
    usual = DecodingConfig(mbr=8, utility="rouge1", temperature=0.5)
    assert make_request(usual, {}).decoding == usual
    found = make_request(usual, {"seed": 3, "sample": False, "n_best": 2}).decoding
    assert (found.mbr, found.utility, found.seed, found.draws) == (8, "rouge1", 3, 8)


def test_prefixes_for_all_or_for_each() -> None:
    assert make_request(DecodingConfig(), {"prefix": "a"}).prefixes(2) == ["a", "a"]
    each = make_request(DecodingConfig(), {"prefix": ["a", "", "b"]})
    assert each.prefixes(3) == ["a", "", "b"]
    with pytest.raises(ConfigError, match="there are 3 prefixes for 2 texts"):
        each.prefixes(2)


def test_a_call_that_names_its_way_gets_as_many_of_the_folders_answers_as_there_are() -> None:
    folder = DecodingConfig(mbr=8, n_best=6)
    assert make_request(folder, {"beam": 2}).decoding.n_best == 2
    assert make_request(folder, {"mbr": 3}).decoding.n_best == 3
    assert make_request(folder, {"beam": 9}).decoding.n_best == 6
    assert make_request(folder, {"sample": True}).decoding.n_best == 6
    with pytest.raises(ConfigError, match="a beam of 2 gives at most 2 answers"):
        make_request(folder, {"beam": 2, "n_best": 3})
