"""ICU messages: where their texts stand, and what is none."""

import pytest

from jumok.text.icu import icu_messages


def texts(text: str) -> list[list[str]]:
    return [[text[a:b] for a, b in one.texts] for one in icu_messages(text)]


def test_the_texts_of_messages() -> None:
    message = "You have {n, plural, offset:1 =0 {no files} one {# file} other {# files in {place}}} and {x}"
    assert texts(message) == [["no files", "# file", "# files in {place}"]]
    assert [message[one.begin : one.end][-3:] for one in icu_messages(message)] == ["}}}"]


def test_outer_messages_hold_inner_ones() -> None:
    message = "{who, select, female {{n, plural, one {her file} other {her files}}} other {a file}}"
    assert texts(message) == [["{n, plural, one {her file} other {her files}}", "a file"]]
    assert not icu_messages(message)[0].counts
    assert icu_messages("{n, selectordinal, one {#st} other {#th}}")[0].counts


def test_a_quoted_brace_is_text() -> None:
    assert texts("{n, plural, other {a '{' b '}' c}}") == [["a '{' b '}' c"]]
    assert texts("{n, plural, other {don't}}") == [["don't"]]


@pytest.mark.parametrize(
    "text",
    [
        "{n, plural, one {a}",
        "{n, plural}",
        "{n, plural, }",
        "{n, number}",
        "{n, plural, one a}",
        "{n, plural, one {a} x}",
    ],
)
def test_what_is_no_message(text: str) -> None:
    assert icu_messages(text) == []


def test_two_messages_of_a_line() -> None:
    assert texts("{a, select, x {1} other {2}}{b, plural, other {3}}") == [["1", "2"], ["3"]]


def test_messages_behind_one_that_holds_another() -> None:
    inner = "{n, select, a {y}b {z}}"
    message = f"{{a, select, x {{1}}}} {{b, select, x {{{inner}}}other {{3}}}} {{c, select, other {{4}}}}"
    assert texts(message) == [["1"], [inner, "3"], ["4"]]
    assert texts(inner) == [["y", "z"]]
