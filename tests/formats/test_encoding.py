from pathlib import Path

import pytest

from jumok.errors import DataError
from jumok.formats.encoding import encoded_lines, encoding_of, read_text


@pytest.mark.parametrize("name", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_lines_and_their_ends_whatever_the_encoding(tmp_path: Path, name: str) -> None:
    text = "Grüße\r\n한국어\n\u2028 ende"
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(name))
    encoding, lines = encoded_lines(path)
    assert list(lines) == ["Grüße\r\n", "한국어\n", "\u2028 ende"]
    assert encoding.mark + encoding.encode(text) == path.read_bytes()
    assert read_text(path) == (encoding, text)


def test_no_bytes_are_utf_8() -> None:
    assert encoding_of(b"").name == "utf-8"


def test_other_bytes_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\nGr\xfc\xdfe\n")
    with pytest.raises(
        DataError, match="not UTF-8: byte 0xfc is no character\n.*a.txt, line 3\n  save it as"
    ):
        read_text(path)
    for before in (b"", "zeile ü\n".encode() * 5_000):  # lines are decoded some at a time
        path.write_bytes(before + b"one\ntwo\nGr\xfc\xdfe\n")
        line = before.count(b"\n") + 3
        with pytest.raises(DataError, match=f"not UTF-8: byte 0xfc is no character\n.*a.txt, line {line}\n"):
            list(encoded_lines(path)[1])
