import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import DataError
from jumok.formats.xml_stream import NamedToken, XmlStream, element, escaped, prefix_of, raw_of, recorded

FULL = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE a [<!ENTITY own "words">]>
<!-- note --><a xmlns:q='urn:oasis:names:tc:opendocument:xmlns:text:1.0'><q:p  one = "1"/>
x &lt; &#233; <![CDATA[<b>]]>&own;<?go on?></a>
"""


def stream(data: bytes) -> XmlStream:
    return XmlStream(io.BytesIO(data), "part")


@pytest.mark.parametrize("code", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_all_tokens_together_are_the_file(code: str) -> None:
    name = {"utf-8-sig": "utf-8", "utf-16-le": "utf-16"}.get(code, code)
    data = FULL.replace("utf-8", name, 1).encode(code)
    reader = stream(data)
    tokens = list(reader)
    assert b"".join(reader.encode(token.raw) for token in tokens) == data
    assert [token.text for token in tokens if token.kind == "text" and token.text.strip()][0] == "x "


def test_names_are_ours_whatever_the_file_calls_them() -> None:
    start = next(token for token in stream(FULL.encode()) if token.name == "text:p")
    assert start.raw == '<q:p  one = "1"/>'
    assert start.attributes == {"one": "1"}
    assert prefix_of(start) == "q:"


def test_entities_are_neither_fetched_nor_expanded() -> None:
    data = b'<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd"><!ENTITY g "words">]><a>&f;&g;</a>'
    tokens = list(stream(data))
    assert [token.raw for token in tokens if token.raw.startswith("&")] == ["&f;", "&g;"]
    assert not any(token.text for token in tokens)


def test_entities_that_grow_are_refused() -> None:
    lines = [f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12)]
    data = f'<!DOCTYPE a [<!ENTITY l0 "{"ha" * 100}">{"".join(lines)}]><a b="&l11;"/>'
    with pytest.raises(DataError, match="limit on input amplification factor"):
        list(stream(data.encode()))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<a>\n<b></a>", "mismatched tag, column 6\n  part, line 2"),
        (b"<a>\n", "no element found, column 1\n  part, line 2"),
        (b"", "the file is empty, or has no XML in it"),
        (b"<a>\xff</a>", "not well-formed"),
        (b"<a:b/>", "unbound prefix"),
        (b"<a>&none;</a>", "undefined entity"),
        (b"<a>" * 300, "elements are nested more than 200 deep"),
        (b'<?xml version="1.0" encoding="klingon"?><a/>', "unknown encoding"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(stream(data))


def test_a_file_larger_than_its_pieces_is_whole() -> None:
    data = b"<a>" + b"".join(b"<b>%d \xed\x95\x9c</b>\n" % n for n in range(8192)) + b"</a>"
    reader = stream(data)
    assert b"".join(reader.encode(token.raw) for token in reader) == data


@given(st.text())
def test_any_text_can_be_written(text: str) -> None:
    """Characters that XML cannot have become spaces; all others come back."""
    data = f"<a>{escaped(text)}</a>".encode("utf-8", "replace")
    back = "".join(token.text for token in stream(data) if token.kind == "text")
    assert len(back) == len(text)
    assert all(one == other for one, other in zip(text, back, strict=True) if one.isprintable())


def test_an_element_with_all_that_it_has() -> None:
    tokens = iter(stream(b"<a><b><b/>x</b>y</a>"))
    start = next(token for token in tokens if token.name == "b")
    assert raw_of(element(start, tokens)) == "<b><b/>x</b>"


def test_a_prefix_is_that_of_the_name_alone() -> None:
    for raw, prefix in (("<p>", ""), ("<p xml:lang='de'>", ""), ("<q:p/>", "q:"), ("<q:p\n a:b='c'>", "q:")):
        assert prefix_of(NamedToken("start", raw)) == prefix


def test_tokens_are_recorded_as_they_are_taken() -> None:
    seen = list[str]()
    tokens = recorded(iter(stream(b"<a><b/>x</a>")), seen)
    next(tokens)
    next(tokens)
    assert seen == ["<a>", "<b/>"]


def test_a_part_may_be_written_in_another_encoding() -> None:
    reader = stream(b"<a/>")
    reader.use("utf-16-le")
    assert reader.encode("a") == b"a\0"
