from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.laws import check_capitals, check_laws, segments, written

from jumok.errors import DataError
from jumok.formats.properties import PropertiesFormat, escaped_value, unescaped
from jumok.formats.segments import MarkedText

FULL = r"""# a note
! another
key = Value text\n more
long.key: first \
    second
space value here
empty=
alone
accent=\u00e4pfel \uD83D\uDE00 x

  indented=x y
colon\:key=abc
"""


def file(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "a.properties"
    path.write_bytes(data)
    return path


def test_values_change_and_all_else_stays(tmp_path: Path) -> None:
    path = file(tmp_path, FULL.encode())
    capitals = check_laws(PropertiesFormat(), path)
    check_capitals(PropertiesFormat(), path, capitals)
    assert [(one.where, one.source.text) for one in segments(PropertiesFormat(), path)] == [
        ("key", "Value text\n more"),
        ("long.key", "first second"),
        ("space", "value here"),
        ("accent", "äpfel 😀 x"),
        ("indented", "x y"),
        ("colon:key", "abc"),
    ]
    assert capitals.read_text("ascii") == (
        FULL.replace("Value text\\n more", "VALUE TEXT\\n MORE")
        .replace("first \\\n    second", "FIRST SECOND")
        .replace("value here", "VALUE HERE")
        .replace(r"\u00e4pfel \uD83D\uDE00 x", r"\u00C4PFEL \uD83D\uDE00 X")
        .replace("x y", "X Y")
        .replace("abc", "ABC")
    )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("k=äpfel\n".encode(), "k=Äpfel ☺\n".encode()),
        ("k=äpfel\n".encode("latin-1"), b"k=\xc4pfel \\u263A\n"),
        (b"k=apfel\n", b"k=\\u00C4pfel \\u263A\n"),
        (b"k=apfel", b"k=\\u00C4pfel \\u263A"),
    ],
)
def test_what_a_file_can_hold_is_written_so(tmp_path: Path, data: bytes, expected: bytes) -> None:
    assert written(PropertiesFormat(), file(tmp_path, data), iter([MarkedText("Äpfel ☺")])) == expected


def test_the_last_signs_that_a_file_can_hold(tmp_path: Path) -> None:
    for data, expected in (
        (b"k=ab", b"k=\x7f\\u0080\\u00FF\\u0100"),
        (b"k=\xe4b", b"k=\x7f\x80\xff\\u0100"),
    ):
        answers = iter([MarkedText("\x7f\x80\xff\u0100")])
        assert written(PropertiesFormat(), file(tmp_path, data), answers) == expected


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_value_can_be_written(text: str) -> None:
    raw = escaped_value(text)
    assert "\n" not in raw
    assert not raw.startswith(" ")
    assert unescaped(raw) == text


@given(st.text(st.sampled_from("ab =:#!\\\r\n\t u0")))
def test_any_file_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    check_laws(PropertiesFormat(), file(tmp_path_factory.mktemp("p"), text.encode()))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match="the file is UTF-16, or no text: it has zero bytes\n.*a.properties\n  save it as UTF-8",
    ):
        segments(PropertiesFormat(), file(tmp_path, b"a=\0"))
