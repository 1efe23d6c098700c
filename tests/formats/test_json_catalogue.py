import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.laws import check_capitals, check_laws, check_mark, segments, texts, upper, written

from jumok.errors import DataError
from jumok.formats.json_catalogue import ArbFormat, JsonFormat
from jumok.formats.segments import MarkedText

FULL = """{
  "title" : "Hello <b>you</b>",   "n": 1.50,
\t"list": ["One two", null, true, {"key": "Deep \\"text\\" \\u00e9"}],
  "empty": "", "same": "Hello <b>you</b>"
}
"""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def test_values_change_and_keys_numbers_and_layout_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(FULL, encoding="utf-8")
    capitals = check_laws(JsonFormat(), path)
    check_capitals(JsonFormat(), path, capitals)
    assert (
        capitals.read_text("utf-8")
        == """{
  "title" : "HELLO <b>YOU</b>",   "n": 1.50,
\t"list": ["ONE TWO", null, true, {"key": "DEEP \\"TEXT\\" \\u00c9"}],
  "empty": "", "same": "HELLO <b>YOU</b>"
}
"""
    )
    assert [one.where for one in segments(JsonFormat(), path)] == ["title", "list.0", "list.3.key", "same"]
    check_mark(JsonFormat(), path)


@pytest.mark.parametrize(
    ("old", "new"), [("words", "größe"), ("\\u0041b", "gr\\u00f6\\u00dfe"), ("\\u0041b ü", "größe")]
)
def test_signs_are_written_as_numbers_where_all_are_and_some_is(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'"{old}"', encoding="utf-8")
    assert written(JsonFormat(), path, iter([MarkedText("größe")])).decode() == f'"{new}"'
    assert [one.where for one in segments(JsonFormat(), path)] == ["the value"]


def capitals_of(value: Any) -> Any:
    """The slow twin: the whole tree in capitals."""
    match value:
        case str() if any(map(str.isalpha, value)):
            return upper(value)
        case list():
            return [capitals_of(one) for one in value]
        case dict():
            return {key: capitals_of(one) for key, one in value.items()}
    return value


@given(value=VALUES, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_any_json_comes_back(
    tmp_path_factory: pytest.TempPathFactory, value: Any, indent: int | None, *, ascii_only: bool
) -> None:
    path = tmp_path_factory.mktemp("json") / "a.json"
    path.write_bytes(json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace"))
    again = json.loads(path.read_bytes())
    assert json.loads(check_laws(JsonFormat(), path).read_bytes()) == capitals_of(again)


def test_what_describes_others_stays_in_arb(tmp_path: Path) -> None:
    path = tmp_path / "app_en.arb"
    path.write_text(
        '{"@@locale": "en", "hi": "Hi {name}", "@hi": {"description": "A greeting", "placeholders": {"name": '
        '{"example": "Bob"}}}, "n": "{n, plural, =0{none} other{{n} things}}", "@@x": "y z"}'
    )
    assert texts(ArbFormat(), path) == ["Hi {name}", "none", "{n} things"]
    new = json.loads(check_laws(ArbFormat(), path).read_bytes())
    assert new["@hi"]["description"] == "A greeting"
    assert new["n"] == "{n, plural, =0{NONE} other{{N} THINGS}}"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a":\n "b",}', "broken JSON: .*\n.*a.json, line 2, column .*\n  mend it there"),
        (b"", "the file is empty"),
        (b'{"a": "\xff"}', "not UTF-8: byte 0xff"),
        (b"[" * 100_000, "nested too deeply"),
        (b"1" * 5000, "broken JSON: Exceeds the limit"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(data)
    with pytest.raises(DataError, match=message):
        segments(JsonFormat(), path)
