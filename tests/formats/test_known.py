import zipfile
from importlib import import_module
from pathlib import Path

import pytest

from jumok.errors import ConfigError, DataError
from jumok.formats.known import (
    FORMATS,
    KnownFormat,
    by_content,
    by_suffix,
    format_of,
    names,
    text_format,
    zip_format,
)
from jumok.formats.segments import Languages


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_the_list_says_what_each_format_says_itself(known: KnownFormat) -> None:
    format = known.load(Languages("de", "en"))
    assert (format.name, format.suffixes) == (known.name, known.suffixes)
    assert import_module(type(format).__module__)


def test_no_two_formats_have_one_extension_or_name() -> None:
    suffixes = [suffix for known in FORMATS for suffix in known.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert not [one for one in suffixes for other in suffixes if one != other and one.endswith(other)]
    assert len(names()) == len(set(names()))


def test_a_format_by_name_comes_before_the_extension(tmp_path: Path) -> None:
    assert format_of(tmp_path / "a.unknown", "txt").name == "txt"
    assert format_of(tmp_path / "A.TXT").name == "txt"
    assert by_suffix(tmp_path / "a.bin") is None
    with pytest.raises(ConfigError, match="there is no format 'txr'\n  did you mean 'txt'"):
        format_of(tmp_path / "a.txt", "txr")


def test_what_cannot_be_told_lists_the_formats(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x00\x01\x02")
    with pytest.raises(
        DataError, match=r"a.bin does not say what format it has\n.*\n  name it with --format: .*txt"
    ):
        format_of(tmp_path / "a.bin")


def test_columns_are_those_of_tables(tmp_path: Path) -> None:
    table = format_of(tmp_path / "a", "csv:title,,text")
    assert (table.name, getattr(table, "columns", None)) == ("csv", ("title", "text"))
    with pytest.raises(ConfigError, match="html has no columns: 'text'\n  columns are chosen in csv and tsv"):
        format_of(tmp_path / "a", "html:text")


def test_without_an_extension_the_beginning_tells(tmp_path: Path) -> None:
    path = tmp_path / "page"
    for data, name in (
        (b"<html>", "html"),
        (b" " * (4096 - len(b"<html")) + b"<html>", "html"),
        (b" " * (4097 - len(b"<html")) + b"<html>", None),
        (b"PK\x03\x04", None),
    ):
        path.write_bytes(data)
        found = by_content(path)
        assert (found.name if found else None) == name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "")
    assert format_of(path).name == "docx"
    assert by_content(tmp_path) is None
    assert by_content(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"<!DOCTYPE html><p>", "html"),
        (b"\xef\xbb\xbf <html lang='de'>", "html"),
        (b'<?xml version="1.0"?><xliff version="1.2">', "xliff"),
        ('<?xml version="1.0"?><tmx version="1.4">'.encode("utf-16"), "tmx"),
        (b'<?xml version="1.0"?><!DOCTYPE TS><TS version="2.1">', "ts"),
        (b'{"a": 1}', "json"),
        (b"WEBVTT\n\n", "vtt"),
        (b'# words\nmsgid ""\nmsgstr ""\n', "po"),
        (b"<?xml version='1.0'?><other/>", None),
        (b"just words", None),
        (b"", None),
    ],
)
def test_what_text_is_told_by_its_beginning(start: bytes, name: str | None) -> None:
    assert text_format(start) == name


@pytest.mark.parametrize(
    ("part", "content", "name"),
    [
        ("word/document.xml", "", "docx"),
        ("ppt/presentation.xml", "", "pptx"),
        ("xl/workbook.xml", "", "xlsx"),
        ("mimetype", "application/epub+zip", "epub"),
        ("mimetype", "application/vnd.oasis.opendocument.text", "odt"),
        ("other", "", None),
    ],
)
def test_what_a_zip_file_holds(tmp_path: Path, part: str, content: str, name: str | None) -> None:
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        archive.writestr(part, content)
    assert zip_format(tmp_path / "a") == name


def test_a_broken_zip_file_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"PK\x03\x04 and no more")
    assert zip_format(tmp_path / "a") is None


def test_a_missing_library_is_named_with_what_brings_it() -> None:
    missing = KnownFormat("docx", (".docx",), "missing_module.Docx")
    with pytest.raises(
        ConfigError, match=r"need jumok.formats.missing_module.*\n  pip install 'jumok\[documents\]'"
    ):
        missing.load(Languages())
