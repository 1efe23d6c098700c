"""Texts that are unlike the others of their side, or were spoilt on the way to us."""

from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.data.parallel import parallel

from jumok.data.builtin import builtin_corpus
from jumok.data.habits import (
    FEW_WORDS,
    SideHabits,
    has_html,
    is_capitals,
    is_misread,
    learn_habits,
    may_be_spoilt,
    read_again,
    script_of,
    spoilt_kinds,
    stems,
)

ENGLISH = [target for _, target in builtin_corpus("homeassistant-ko-en", "train").pairs()]
KOREAN = [source for source, _ in builtin_corpus("homeassistant-ko-en", "train").pairs()]
GERMAN = [
    "Das Gerät konnte nicht gefunden werden, weil es ausgeschaltet ist.",
    "Bitte geben Sie das Kennwort noch einmal ein und drücken Sie auf Weiter.",
    "Die Verbindung wurde unterbrochen, bevor alle Daten gelesen waren.",
    "Wählen Sie aus, welche Räume Sie im Erdgeschoss steuern möchten.",
    "Ist die Lampe im Flur schon länger kaputt als die im Keller?",
]


@pytest.fixture(scope="module")
def english() -> SideHabits:
    return learn_habits(ENGLISH)


@pytest.fixture(scope="module")
def korean() -> SideHabits:
    return learn_habits(KOREAN)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("stone &amp; tile", True),
        ("caf&#233;", True),
        ("caf&#xE9;", True),
        ("a <b>bold</b> word", True),
        ('<a href="x">here</a>', True),
        ("line<br/>line", True),
        ("AT&T; and R&D", False),
        ("a < b and c > d", False),
        ("&nonsense; here", False),
        ("<name> of the <device>", False),
        ("if x<y then y>x", False),
    ],
)
def test_marks_of_html(text: str, found: bool) -> None:  # noqa: FBT001
    assert has_html(text) == found
    assert not found or may_be_spoilt(text)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
@pytest.mark.parametrize(
    "text", ["Ein Café – „schön“ für 5 €", "한국어 문장", "Привет, мир", "日本語の文", "fine 😀"]
)
def test_utf8_that_was_read_as_something_else_is_read_again(text: str, encoding: str) -> None:
    try:
        once = text.encode().decode(encoding)
        twice = once.encode().decode(encoding)
    except UnicodeDecodeError:
        once = twice = text.encode().decode("latin-1")  # a byte that Windows-1252 has no character for
    for spoilt in {once, twice}:
        assert is_misread(spoilt)
        assert may_be_spoilt(spoilt)
        assert read_again(spoilt) == text


@pytest.mark.parametrize(
    "text",
    [
        "Ein Café – „schön“ für 5 €",
        "NÃO À TOA",
        "« Passé »",
        "Œuvre d’été…",
        "ÄÖÜ äöü ß",
        "naïve façade",
        "“Il est passé…”",
    ],
)
def test_text_with_accents_is_not_misread(text: str) -> None:
    assert not is_misread(text)


def test_another_encoding_read_as_latin_1_is_found_and_left_as_it_is() -> None:
    spoilt = "안녕하세요".encode("euc-kr").decode("latin-1")
    assert is_misread(spoilt)
    assert read_again(spoilt) == spoilt
    assert list(spoilt_kinds(f"{spoilt} &amp;")) == ["html", "misread"]


@given(st.text(st.characters(max_codepoint=0x17F)))
def test_what_is_not_misread_is_left_alone(text: str) -> None:
    assume(not is_misread(text))
    assert read_again(text) == text


@given(st.text(max_size=20))
def test_a_quick_look_misses_nothing(text: str) -> None:
    assert may_be_spoilt(text) or not list(spoilt_kinds(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("THIS LINE IS LOUD", True),
        ("This line is not", False),
        ("OK", False),
        ("시간은 YYYY-MM-DD 형식입니다", False),
        ("TWELVE, A DOZEN", True),
        ("TWELVE, A LOT", False),
        ("TWELVE CAPITALS" + "가" * 13, True),  # they are more than half of the letters
        ("TWELVE CAPITALS" + "가" * 14, False),
    ],
)
def test_capitals(text: str, found: bool) -> None:  # noqa: FBT001
    assert is_capitals(text) == found


def test_capitals_are_noted_unless_they_are_a_habit(english: SideHabits) -> None:
    assert list(english.kinds("TURN ON THE LIGHT IN THE KITCHEN")) == ["capitals"]
    loud = learn_habits([text.upper() for text in ENGLISH[:500]])
    assert list(loud.kinds("TURN ON THE LIGHT IN THE KITCHEN")) == []


def test_lines_in_another_language_are_found(english: SideHabits, korean: SideHabits) -> None:
    assert all("foreign" in english.kinds(text) for text in GERMAN)
    assert all("foreign" in korean.kinds(text) for text in GERMAN)
    assert "foreign" in english.kinds("주방의 불을 켜고 거실의 커튼을 닫아 주세요")


def test_four_words_are_too_few_to_be_called_foreign(english: SideHabits) -> None:
    assert list(english.kinds("Das Gerät funktioniert nicht")) == []
    assert list(english.kinds("Das Gerät funktioniert leider nicht")) == ["foreign"]


def test_another_language_is_found_although_it_comes_back() -> None:
    sources, targets = parallel(3_000)
    places = Random(0).sample(range(3_000), 60)
    for place in places:
        sources[place] = targets[place]
    habits = learn_habits(sources)
    found = [place for place, text in enumerate(sources) if "foreign" in habits.kinds(text)]
    assert set(found) <= set(places)
    assert len(found) > 0.9 * sum(len(stems(sources[place])) >= FEW_WORDS for place in places)


def test_real_lines_are_seldom_called_foreign(english: SideHabits, korean: SideHabits) -> None:
    for habits, texts in ((english, ENGLISH), (korean, KOREAN)):
        assert sum("foreign" in habits.kinds(text) for text in texts) < 0.002 * len(texts)


def test_few_lines_show_no_language() -> None:
    assert learn_habits(ENGLISH[:500]).strange == 0
    assert list(SideHabits().kinds("ANYTHING AT ALL IN THESE FEW WORDS")) == []


@pytest.mark.parametrize(
    ("texts", "longest"), [(["x" * 60] * 50, 2_000), (["x" * 900] * 50, 9_000), ([], 2_000)]
)
def test_how_long_a_text_may_be(texts: list[str], longest: float) -> None:
    assert learn_habits(texts).longest == longest


def test_the_first_letters_tell_the_script() -> None:
    """2,000 are looked at: of as many of each script the first one is taken."""
    assert script_of("ab" * 500 + "яю" * 500) == "LATIN"
    assert script_of("ab" * 500 + "я" * 1_001) == "LATIN"
    assert script_of("a" + "ab" * 499 + "я" * 1_001) == "CYRILLIC"


def test_a_thousand_lines_of_five_words_show_a_language() -> None:
    lines = ["one two three four five"] * 1_000
    assert learn_habits(lines).strange == 0.3
    assert learn_habits(lines[1:]).strange == 0
    assert learn_habits(["one two three four"] * 1_000).strange == 0


def test_one_line_in_twenty_in_capitals_is_no_habit() -> None:
    found = [learn_habits(["ABCDEFGHIJKL"] * n + ["abc"] * (100 - n)).capitals for n in (5, 6)]
    assert found == [False, True]


def test_one_character_is_no_sign_of_another_encoding_unless_it_is_a_usual_one() -> None:
    assert read_again("see Ð¿ here") == "see Ð¿ here"
    assert read_again("see Ð¿ and Ð¿ here") == "see п and п here"
    assert read_again("sÃ¼dlich von Ā") == "südlich von Ā"


def test_stems_and_scripts() -> None:
    assert stems("Turning, 학교에서 日本 2024") == {"turni", "학교", "日", "本"}
    assert [script_of(text) for text in ("abc", "학교 a", "привет", "123 …")] == [
        "LATIN",
        "HANGUL",
        "CYRILLIC",
        "",
    ]
