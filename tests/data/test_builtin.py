"""The built-in data sets: named, complete, and readable as corpora."""

import re
from importlib.resources import files

import pytest

from jumok.data.builtin import BUILTIN, SPLITS, Split, builtin_corpus, builtin_file, builtin_info
from jumok.errors import ConfigError
from jumok.settings import config_to_dict, flatten, nest, parse_config


@pytest.mark.parametrize("name", BUILTIN)
@pytest.mark.parametrize("split", SPLITS)
def test_a_split_has_as_many_pairs_as_it_says(name: str, split: Split) -> None:
    pairs = list(builtin_corpus(name, split).pairs())
    assert len(pairs) == builtin_info(name).sizes[split]
    assert all(source and target for source, target in pairs)


def test_these_sets_come_with_the_package() -> None:
    assert set(BUILTIN) == {
        "dates",
        "dates-cjk",
        "homeassistant-ko-en",
        "homeassistant-de-en",
        "cmudict",
        "emoji-captions",
    }
    assert builtin_info("homeassistant-ko-en").licence == "Apache-2.0"


def test_a_word_may_be_said_in_several_ways() -> None:
    texts = list(builtin_corpus("cmudict", "test").texts())
    assert ("aalen", "AE L AH N", "AA L AH N") in texts
    assert {len(one) for one in builtin_corpus("cmudict", "train").texts()} == {2}


def test_what_suits_a_set_can_work() -> None:
    for info in BUILTIN.values():
        parsed = flatten(config_to_dict(parse_config(nest(info.settings), info.name)))
        assert info.settings.items() <= parsed.items()


def test_korean_and_english_are_on_their_sides() -> None:
    for source, target in list(builtin_corpus("homeassistant-ko-en", "test").pairs())[:200]:
        assert any("가" <= character <= "힣" for character in source)
        assert not any("가" <= character <= "힣" for character in target)


@pytest.mark.parametrize("name", ["homeassistant-ko-en", "homeassistant-de-en"])
def test_no_held_out_sentence_is_in_train(name: str) -> None:
    sides = {split: list(builtin_corpus(name, split).pairs()) for split in SPLITS}
    for side in (0, 1):
        train = {pair[side] for pair in sides["train"]}
        assert not train & {pair[side] for pair in sides["valid"] + sides["test"]}


@pytest.mark.parametrize("split", SPLITS)
def test_a_part_of_a_set_has_its_lines_and_no_others(split: Split) -> None:
    """Chinese, Japanese and Korean: told apart by their letters, where a date has any."""
    whole, part = (builtin_corpus(name, split) for name in ("dates", "dates-cjk"))
    taken = set(part.pairs())
    numeric = 0
    for source, target in whole.pairs():
        letters = "".join(re.findall(r"[^\W\d_]", source))
        if letters:
            assert ((source, target) in taken) == bool(re.fullmatch("[가-힣一-鿿ぁ-ん]+", letters)), source
        else:
            numeric += (source, target) in taken
    assert numeric > 0
    assert taken <= set(whole.pairs())
    assert part.fingerprint() != whole.fingerprint() == builtin_corpus("dates", split).fingerprint()
    numbers = [row.number for row in part.rows()]
    assert max(numbers) > len(numbers)  # of the file, so that messages name the right line


@pytest.mark.parametrize("name", ["homeassistant-ko-en", "homeassistant-de-en"])
def test_the_notice_travels_with_the_data(name: str) -> None:
    notice = (files("jumok.data") / "sets" / name / "NOTICE").read_text(encoding="utf-8")
    assert "Apache License, Version 2.0" in notice
    assert "Home Assistant" in notice


def test_files_stay_small() -> None:
    assert sum(builtin_file(name, split).stat().st_size for name in BUILTIN for split in SPLITS) < 5_000_000


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match="no built-in data set is called 'date'") as caught:
        builtin_corpus("date", "train")
    assert caught.value.hint == "did you mean 'dates'?"
    assert caught.value.code == "unknown_data"


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(ConfigError, match="dates has no split 'tset'") as caught:
        builtin_corpus("dates", "tset")  # type: ignore[arg-type]
    assert caught.value.hint == "did you mean 'test'?"
