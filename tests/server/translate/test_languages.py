"""Names of languages, and guessing one among the loaded ones."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.server.translate.languages import NAMES, detect, language_name, script_share, tokens_fit
from jumok.text.frame import Direction
from jumok.text.tokenizer import train_tokenizer

ENGLISH = ["the man rides the horse and the dog sees the cat", "there is a house on the hill"] * 3
GERMAN = ["der mann reitet das pferd und der hund sieht die katze", "es gibt ein haus auf dem berg"] * 3
KOREAN = ["나는 어제 영화를 봤다.", "오늘은 날씨가 좋다."] * 3


def model(language: str, lines: list[str]) -> Any:
    tokenizer = train_tokenizer(lines, TextConfig(vocabulary=420))
    translator = SimpleNamespace(tokenizers=SimpleNamespace(pictures=None, source=tokenizer))
    return SimpleNamespace(directions=(Direction(language, "xx"),), translator=translator)


@pytest.fixture(scope="module")
def loaded() -> list[Any]:
    return [model("en", ENGLISH), model("de", GERMAN), model("ko", KOREAN), model("en", KOREAN)]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the man sees the dog on the hill", "en"),
        ("der mann sieht den hund auf dem berg", "de"),
        ("나는 오늘 영화를 봤다", "ko"),
        ("영화 movie 를 봤다", "ko"),
    ],
)
def test_the_right_language_comes_first(loaded: list[Any], text: str, language: str) -> None:
    found = detect(text, loaded)
    assert found[0].language == language
    assert [one.language for one in found].count("en") == 1
    assert sorted(found, key=lambda one: -one.confidence) == found


def test_a_foreign_script_is_not_claimed(loaded: list[Any]) -> None:
    assert [one.confidence for one in detect("Привет, как дела?", loaded)] == [0.0, 0.0, 0.0]
    assert detect("Привет", [loaded[2]])[0].confidence == 0.0
    assert detect("나는 abc", [loaded[2]])[0].confidence == 40.0
    assert detect("나는 a", [loaded[2]])[0].confidence == 66.7


def test_no_models_no_languages() -> None:
    assert detect("a", []) == []


def test_languages_without_a_script_of_their_own_take_any() -> None:
    assert script_share("Привет 나는", "mul") == script_share("Привет", "und") == 1.0
    assert script_share("12:30", "ko") == 1.0
    assert script_share("日本語です", "ja") == 1.0
    assert script_share("日本語です", "zh-Hant") == 0.6


@given(st.text(st.characters(codec="utf-8"), max_size=50))
def test_confidences_stay_between_0_and_100(loaded: list[Any], text: str) -> None:
    found = detect(text, loaded)
    assert all(0 <= one.confidence <= 100 for one in found)
    assert sum(one.confidence for one in found) <= 100.2


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("ko", "Korean"),
        ("KO", "Korean"),
        ("zh-Hant", "Chinese"),
        ("pt_BR", "Portuguese"),
        ("iso8601", "iso8601"),
    ],
)
def test_a_code_has_a_name(code: str, name: str) -> None:
    assert language_name(code) == name


def test_no_two_languages_share_a_name() -> None:
    assert len(set(NAMES.values())) == len(NAMES)


def test_a_language_is_as_sure_as_its_characters_per_token_squared() -> None:
    """Twice as many characters in a token: four times the weight."""

    def counting(language: str, tokens: int) -> Any:
        source = SimpleNamespace(encode=lambda text: [0] * tokens)
        translator = SimpleNamespace(tokenizers=SimpleNamespace(pictures=None, source=source))
        return SimpleNamespace(directions=(Direction(language, "xx"),), translator=translator)

    found = detect("abcdefgh", [counting("en", 4), counting("de", 2)])
    assert [(one.language, one.confidence) for one in found] == [("de", 80.0), ("en", 20.0)]
    assert tokens_fit("", counting("en", 0)) == 0
    assert tokens_fit("abc", counting("en", 0)) == 9
