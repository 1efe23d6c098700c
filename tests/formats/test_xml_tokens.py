from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import DataError
from jumok.formats import xml_tokens
from jumok.formats.xml_tokens import CHUNK, XmlReader, XmlToken

PARTS = st.recursive(
    st.sampled_from(["text", "ü&amp;&#65;", "<e/>", "<!-- c -->", "<?p i?>", "<![CDATA[<x]]>", "\n", "한"]),
    lambda inner: st.lists(inner, max_size=4).map(lambda parts: f'<a b="1">{"".join(parts)}</a>'),
    max_leaves=12,
)


def read(path: Path, data: bytes) -> list[XmlToken]:
    path.write_bytes(data)
    return list(XmlReader(path).tokens())


@given(PARTS, st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_the_bytes_of_all_tokens_are_the_file(
    tmp_path_factory: pytest.TempPathFactory, inner: str, encoding: str
) -> None:
    data = f'<?xml version="1.0"?>\n<root>{inner}</root>\n'.encode(encoding)
    tokens = read(tmp_path_factory.mktemp("xml") / "a.xml", data)
    assert b"".join(token.raw for token in tokens) == data
    starts, ends = ([one.name for one in tokens if one.kind == kind] for kind in ("start", "end"))
    assert sorted(starts) == sorted(ends)


def test_text_is_resolved_and_an_element_without_content_has_all_in_its_start(tmp_path: Path) -> None:
    tokens = read(tmp_path / "a.xml", b'<r a="&lt;1">x&amp;<e/><![CDATA[<]]></r>')
    assert "".join(token.text for token in tokens) == "x&<"
    assert [(one.kind, one.raw) for one in tokens if one.name == "e"] == [("start", b"<e/>"), ("end", b"")]
    assert tokens[0].attributes == {"a": "<1"}


def test_a_long_file_is_read_in_pieces(tmp_path: Path) -> None:
    data = b"<r>" + b"<a>text</a>\n" * (CHUNK // 4) + b"</r>"
    tokens = read(tmp_path / "a.xml", data)
    assert b"".join(token.raw for token in tokens) == data
    assert tokens[-1].line == CHUNK // 4 + 1


def test_latin_1_as_it_declares(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes('<?xml version="1.0" encoding="iso-8859-1"?><r>Grüße</r>'.encode("latin-1"))
    reader = XmlReader(path)
    assert "".join(token.text for token in reader.tokens()) == "Grüße"
    assert reader.encode("Grüße …") == "Grüße &#8230;".encode("latin-1")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"<r>\n<a></b></r>",
            "the XML is broken: mismatched tag, column 6\n.*a.xml, line 2\n  correct the file",
        ),
        (b"", "the file is empty, or has no XML in it"),
        (b"<r>\xff</r>", r"the XML is broken: not well-formed \(invalid token\), column 4"),
        (
            b'<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><r>&b;</r>',
            "declares an entity, 'a': that is refused\n.*line 1\n  write what it stands for",
        ),
        (
            b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>',
            "declares an entity, 'x': that is refused",
        ),
        (b"<a>" * 2000, "elements are nested more than 1000 deep"),
        (b'<?xml version="1.0" encoding="klingon"?><r/>', "unknown encoding"),
    ],
)
def test_what_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path / "a.xml", data)


def test_a_declaration_elsewhere_is_never_fetched(tmp_path: Path) -> None:
    (tmp_path / "x.dtd").write_text('<!ENTITY name "read from another file">', encoding="utf-8")
    data = f'<!DOCTYPE r SYSTEM "{tmp_path}/x.dtd"><r>a &name; b</r>'.encode()
    tokens = read(tmp_path / "a.xml", data)
    assert "".join(token.text for token in tokens) == "a  b"
    assert b"&name;" in [token.raw for token in tokens]


def test_what_stands_before_a_fault_is_given(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"<r><a>x</a><b>y</r>")
    tokens, found = XmlReader(tmp_path / "a.xml").tokens(), list[XmlToken]()
    with pytest.raises(DataError, match="mismatched tag"):
        found.extend(token for token in tokens)
    assert [(token.kind, token.name or token.text) for token in found] == [
        ("start", "r"),
        ("start", "a"),
        ("text", "x"),
        ("end", "a"),
        ("start", "b"),
        ("text", "y"),
    ]
    assert b"".join(token.raw for token in found).startswith(b"<r><a>x</a><b>y")


def test_a_tag_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_tokens, "MOST_MARKUP", 1 << 20)
    with pytest.raises(DataError, match="a tag or comment of more than 1 MiB\n.*line 2"):
        read(tmp_path / "a.xml", b"<r>\n<a b='" + b"c" * (3 << 20))


FULL = """<?xml version="1.0"{}?>
<!-- c --><r xmlns:p='n'
 p:b="1"><p:e/>x &lt; é<![CDATA[<]]>
</r>
"""
KINDS = [
    ("other", 1, "", ""),
    ("other", 1, "", ""),
    ("other", 2, "", ""),
    ("start", 2, "r", ""),
    ("start", 3, "e", ""),
    ("end", 3, "e", ""),
    ("text", 3, "", "x "),
    ("text", 3, "", "<"),
    ("text", 3, "", " é"),
    ("cdata", 3, "", ""),
    ("text", 3, "", "<"),
    ("cdata", 3, "", ""),
    ("text", 3, "", "\n"),
    ("end", 4, "r", ""),
    ("other", 4, "", ""),
]


@pytest.mark.parametrize(
    ("code", "said", "known"),
    [
        ("utf-8", "", "utf-8"),
        ("utf-8-sig", "", "utf-8"),
        ("utf-16", "", "utf-16-le"),
        ("utf-16-le", ' encoding="utf-16"', "utf-16-le"),
        ("utf-16-be", ' encoding="utf-16"', "utf-16-be"),
        ("latin-1", ' encoding="ISO-8859-1"', "iso-8859-1"),
    ],
)
def test_tokens_whatever_the_encoding(tmp_path: Path, code: str, said: str, known: str) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(FULL.format(said).encode(code))
    reader = XmlReader(path)
    tokens = list(reader.tokens())
    assert reader.encoding == known
    decoded = [reader.decode(one.raw) for one in tokens]
    marked = decoded[0] == "\ufeff"
    assert not marked or (tokens[0].kind, tokens[0].line) == ("other", 1)
    told = tokens[marked:]  # a mark is a token of its own
    assert [(one.kind, one.line, one.local, one.text) for one in told] == KINDS
    assert "".join(decoded).removeprefix("\ufeff") == FULL.format(said)
    assert reader.encode("".join(decoded)) == path.read_bytes()
    assert [one.raw for one in told if one.text == " é"] == [reader.encode(" é")]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<r>", "the XML is broken: no element found, column 4\n.*line 1"),
        (b"x", "the XML is broken: syntax error, column 1\n.*line 1"),
        (b"<!-- c -->\n", "the XML is broken: no element found, column 1\n.*line 2"),
        (
            b'<?xml version="1.0" encoding="klingon"?><r/>',
            "cannot read the XML: unknown .*\n.*line 1\n  save it as",
        ),
        (b"<a><b/><b/><b/><b><c/></b></a>", "elements are nested more than 2 deep\n.*line 1"),
        (b"<a><b><c/></b></a>", "elements are nested more than 2 deep\n.*line 1\n  correct the file"),
    ],
)
def test_faults_at_the_edges(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "a.xml").write_bytes(data)
    with pytest.raises(DataError, match=message):
        list(XmlReader(tmp_path / "a.xml", depth=2).tokens())


def test_only_what_is_open_is_deep(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"<a>" + b"<b/><b>x</b>" * 5 + b"</a>")
    assert sum(one.kind == "start" for one in XmlReader(tmp_path / "a.xml", depth=2).tokens()) == 11


def test_the_encoding_of_a_long_beginning_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(f"<!-- {'x' * CHUNK} --><r>é</r>".encode("utf-16"))
    reader = XmlReader(tmp_path / "a.xml")
    assert [reader.decode(one.raw) for one in reader.tokens()][-3:] == ["<r>", "é", "</r>"]
