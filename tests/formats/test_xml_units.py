from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import DataError, LimitError
from jumok.formats import xml_units
from jumok.formats.xml_tokens import XmlReader, XmlToken
from jumok.formats.xml_units import (
    CorpusXml,
    Element,
    base,
    check_language,
    child,
    children,
    collect,
    raw_of,
    space_before,
    text_of,
)


def unit(tmp_path: Path, data: str) -> Element:
    (tmp_path / "a.xml").write_text(data, encoding="utf-8")
    reader = XmlReader(tmp_path / "a.xml")
    tokens = reader.tokens()
    return collect(next(tokens), tokens, reader)


def test_children_are_whole_elements_and_what_is_between(tmp_path: Path) -> None:
    parts = children(unit(tmp_path, "<u>\n  <a><b/>x</a> <c/></u>"))
    assert [raw_of(part) for part in parts] == [b"\n", b"  ", b"<a><b/>x</a>", b" ", b"<c/>"]
    first, second = child(parts, "a"), child(parts, "c")
    assert first is not None
    assert second is not None
    assert child(parts, "b") is None
    assert (space_before(parts, first), space_before(parts, second)) == (b"\n  ", b" ")
    assert isinstance(parts[0], XmlToken)


def test_a_unit_without_end_of_sense_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_units, "LARGEST", 1 << 20)
    with pytest.raises(LimitError, match="one <u> has more than 1 MiB\n.*line 1\n  split it"):
        unit(tmp_path, f"<u>{('<a/>' + 'text' * 63) * (1 << 13)}</u>")


def test_a_unit_may_be_large() -> None:
    """16 MiB with its own tag; the blocks are one object, so that the test takes no memory."""
    reader = CorpusXml("f", [])
    start, end = XmlToken("start", 1, b"<u>", "u"), XmlToken("end", 1, b"</u>", "u")
    block = XmlToken("text", 1, b"x" * (1 << 20))
    rest = XmlToken("text", 1, b"x" * ((1 << 20) - len(start.raw)))
    assert len(collect(start, iter([*[block] * 15, rest, end]), reader)) == 18
    with pytest.raises(LimitError, match="one <u> has more than 16 MiB\n  f, line 1\n  split it"):
        collect(start, iter([*[block] * 16, end]), reader)


def test_regions_are_one_language() -> None:
    assert base("de-AT") == base("DE_ch") == "de"


@given(
    texts=st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8), max_size=5),
    block=st.integers(1, 9),
    encoding=st.sampled_from(["utf-8", "utf-16"]),
)
def test_blocks_change_nothing(texts: list[str], block: int, encoding: str) -> None:
    root = ElementTree.Element("r")
    for text in texts:
        ElementTree.SubElement(root, "t").text = text
    data = ElementTree.tostring(root, encoding)
    blocks = [data[place : place + block] for place in range(0, len(data), block)]
    found = list[str]()
    for token in CorpusXml("f", blocks).tokens_below("r"):
        if token.kind == "start":
            found.append("")
        elif token.kind == "text":
            found[-1] += token.text
    assert found == ["", *texts]


@pytest.mark.parametrize(
    ("data", "message", "where"),
    [
        (b"<r><a></r>", "the XML is broken: mismatched tag, column 9", "f:1"),
        (b"<r>\n<a>", "the XML is broken: no element found", "f:2"),
        (b"<r>&nope;</r>", "the XML is broken: undefined entity", "f:1"),
        (b'<!DOCTYPE r [<!ENTITY % a "b">]><r/>', "the file declares an entity, 'a'", "f:1"),
        (b"<html/>", "the file begins with <html>, not with <r>", "f:1"),
        (b"", "the file is empty, or has no XML in it", "f:1"),
        (b"\xff\xfe<", "the XML is broken", "f:1"),
        (b'<?xml version="1.0" encoding="nope"?><r/>', "cannot read the XML: unknown encoding", "f:1"),
        (b"<r>" * 201, "elements are nested more than 200 deep", "f:1"),
    ],
)
def test_what_is_refused_in_a_corpus(data: bytes, message: str, where: str) -> None:
    with pytest.raises(DataError) as caught:
        list(CorpusXml("f", [data]).tokens_below("r"))
    assert message in caught.value.message
    assert (caught.value.where, caught.value.code) == (where, "bad_xml")
    assert caught.value.hint


def test_a_bomb_of_entities_is_refused_at_its_first_entity() -> None:
    lines = ['<!DOCTYPE r [<!ENTITY a0 "lol">']
    lines += [f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12)]
    with pytest.raises(DataError, match="the file declares an entity, 'a0'") as caught:
        list(CorpusXml("f", ["\n".join([*lines, "]><r>&a11;</r>"]).encode()]).tokens_below("r"))
    assert caught.value.where == "f:1"


def test_codes_are_no_text_and_texts_have_an_end() -> None:
    def said(data: str) -> str:
        reader = CorpusXml("f", [data.encode()])
        tokens = reader.tokens()
        start = next(token for token in tokens if token.kind == "start")
        bad = lambda message, line: DataError(message, where=f"unit 1 (line {line})")  # noqa: E731
        return text_of(collect(start, tokens, reader), frozenset({"ph"}), reader, bad)

    assert said("<r>a<ph>x<b/><ph>y</ph></ph>b<hi>c</hi><cp/>d &amp;&#65;<!-- & --><![CDATA[&e;]]></r>") == (
        "abc d &A&e;"
    )
    with pytest.raises(DataError, match="&nbsp; is not declared\n.*f:2\n  write the character itself"):
        said('<!DOCTYPE r SYSTEM "x.dtd">\n<r>a&nbsp;b</r>')
    assert len(said(f"<r>{'a' * 1_000_000}</r>")) == 1_000_000
    with pytest.raises(DataError, match="a text of more than 1,000,000 characters\n  unit 1"):
        said(f"<r>{'a' * 1_000_001}</r>")


def test_a_unit_ends_with_its_end(tmp_path: Path) -> None:
    reader = CorpusXml("f", [b"<r><u><u/>x</u><v/></r>"])
    tokens = reader.tokens_below("r")
    next(tokens)
    assert raw_of(collect(next(tokens), tokens, reader)) == b"<u><u/>x</u>"
    assert next(tokens).name == "v"


def test_a_file_for_another_language_is_refused_and_one_that_says_none_is_not() -> None:
    reader = CorpusXml("f", [])
    token = XmlToken("start", 7, attributes={"source": "de-AT", "target": ""})
    for name, language in (
        ("source", "de"),
        ("source", "DE_ch"),
        ("source", ""),
        ("target", "fr"),
        ("other", "fr"),
    ):
        check_language(reader, token, name, language)
    with pytest.raises(
        DataError, match="the file says source='de-AT', and this model has 'fr'\n  f, line 7\n"
    ):
        check_language(reader, token, "source", "fr")
