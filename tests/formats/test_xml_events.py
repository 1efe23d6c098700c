"""XML in pieces is the XML in one piece; entities, depth and endless tags are refused, nothing is fetched."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import DataError
from jumok.formats import xml_events as module
from jumok.formats.xml_events import TextCollector, XmlEventStream, xml_events

TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=8)


@given(
    texts=st.lists(TEXT, max_size=5), block=st.integers(1, 9), encoding=st.sampled_from(["utf-8", "utf-16"])
)
def test_blocks_change_nothing(texts: list[str], block: int, encoding: str) -> None:
    root = ElementTree.Element("r")
    for text in texts:
        ElementTree.SubElement(root, "t").text = text
    data = ElementTree.tostring(root, encoding)
    pieces = [data[place : place + block] for place in range(0, len(data), block)]
    found, whole = list[str](), list[str]()
    for blocks, into in ((pieces, found), ([data], whole)):
        for event in xml_events(blocks, "f", "r"):
            if event.kind == "start":
                into.append("")
            elif event.kind == "text":
                into[-1] += event.name
    assert found == whole == ["", *texts]


@pytest.mark.parametrize(
    ("data", "message", "where"),
    [
        (b"<r><a></r>", "not well-formed XML: mismatched tag", "f:1:9"),
        (b"<r>\n<a>", "not well-formed XML: no element found", "f:2:4"),
        (b"<r>&nope;</r>", "not well-formed XML: undefined entity", "f:1:4"),
        (b'<!DOCTYPE r SYSTEM "x.dtd"><r>&nbsp;</r>', "&nbsp; is not declared", "f:1:31"),
        (b'<!DOCTYPE r [<!ENTITY a "b">]><r>&a;</r>', "the file declares an entity, &a;", "f:1:"),
        (
            b'<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><r>&a;</r>',
            "declares an entity, &a;",
            "f:1:",
        ),
        (b'<!DOCTYPE r [<!ENTITY % a "b">]><r/>', "the file declares an entity, &a;", "f:1:"),
        (b"<html/>", "the file begins with <html>, not with <r>", "f:1"),
        (b"", "not well-formed XML: no element found", "f:1:1"),
        (b"\xff\xfe<", "not well-formed XML", "f:"),
        (b'<?xml version="1.0" encoding="nope"?><r/>', "the encoding of the XML cannot be read", "f:1:"),
        (b"<r>" * 201, "more than 200 tags inside one another", "f:1:601"),
    ],
)
def test_what_is_refused(data: bytes, message: str, where: str) -> None:
    with pytest.raises(DataError) as caught:
        list(xml_events([data], "f", "r"))
    assert message in caught.value.message
    assert caught.value.where.startswith(where)
    assert caught.value.code == "bad_xml"
    assert caught.value.hint


def test_a_bomb_of_entities_is_refused_at_its_first_entity() -> None:
    lines = ['<!DOCTYPE r [<!ENTITY a0 "lol">']
    lines += [f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12)]
    with pytest.raises(DataError, match="the file declares an entity, &a0;") as caught:
        list(xml_events(["\n".join([*lines, "]><r>&a11;</r>"]).encode()], "f", "r"))
    assert caught.value.where.startswith("f:1:")


def test_nothing_outside_the_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "x.dtd").write_text('<!ENTITY a "read">')
    data = f'<!DOCTYPE r SYSTEM "{tmp_path}/x.dtd"><r>text</r>'.encode()
    assert [event.name for event in xml_events([data], "f", "r")] == ["r", "text", "r"]


def test_a_tag_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_MARKUP", 1_000)
    stream = XmlEventStream("f")
    stream.feed(b"<r><a b='")
    assert stream.broken is None
    for _ in range(50):
        stream.feed(b"c" * 100)
    assert "a tag or comment of more than 0 MiB" in str(stream.broken)


def test_codes_are_no_text_and_texts_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    collector = TextCollector(frozenset({"ph"}), lambda message: DataError(message))
    for event in xml_events([b"<r>a<ph>x<b/></ph>b<hi>c</hi><cp/>d</r>"], "f", "r"):
        collector.take(event)
    assert collector.text == "abc d"
    monkeypatch.setattr(module, "MOST_TEXT", 10)
    with pytest.raises(DataError, match="a text of more than 10 characters"):
        [*map(collector.take, xml_events([b"<r>" + b"a" * 11 + b"</r>"], "f", "r"))]
