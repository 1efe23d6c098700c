from pathlib import Path

import pytest

from jumok.errors import DataError
from jumok.formats.encoding import encoded_lines, encoding_of, read_text
from jumok.formats.html_page import read_page


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


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_line_is_counted_right_behind_a_mark(tmp_path: Path, mark: bytes, before: int) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(mark + b"\n" * before + b"\xff\n")
    for read in (read_text, lambda path: list(encoded_lines(path)[1]), read_page):
        with pytest.raises(DataError, match=f"byte 0xff is no character\n.*a.html, line {before + 1}\n"):
            read(path)


def test_in_utf_16_a_byte_of_a_letter_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("ਊ\n".encode("utf-16") + b"\x00\xd8\x00\x00")  # U+0A0A; half a character
    with pytest.raises(DataError, match="the file is not UTF-16-LE: byte 0x00 is no character\n.*, line 2\n"):
        read_text(path)
