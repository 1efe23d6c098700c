from pathlib import Path

from jumok.formats.inline import render
from jumok.formats.segments import MarkedText
from jumok.formats.xml_inline import Role, content, inline_of, is_allowed, opened, with_attributes, xml_of
from jumok.formats.xml_tokens import XmlReader

ROLES: dict[str, Role] = {"g": "pair", "mrk": "pair", "bx": "begin", "ex": "end"}


def inline(tmp_path: Path, inner: str) -> MarkedText:
    (tmp_path / "a.xml").write_text(f"<r>{inner}</r>", encoding="utf-8")
    reader = XmlReader(tmp_path / "a.xml")
    tokens = [token for token in reader.tokens() if token.raw or token.kind == "end"]
    return inline_of(content(tokens), reader, ROLES)


def test_pairs_halves_and_code(tmp_path: Path) -> None:
    found = inline(tmp_path, 'a <g id="1">b</g> <bx id="2"/>c<ex id="2"/> <ph>code</ph><!-- d --> &lt;')
    assert found.text == "a b c  <"
    assert [(tag.begin, tag.end, tag.open, tag.close) for tag in found.tags] == [
        (2, 3, '<g id="1">', "</g>"),
        (4, 5, '<bx id="2"/>', '<ex id="2"/>'),
        (6, 6, "<ph>code</ph>", ""),
        (6, 6, "<!-- d -->", ""),
    ]
    assert xml_of(found).endswith("&lt;")


def test_halves_across_an_element_are_points(tmp_path: Path) -> None:
    inner = '<g id="1">a<bx id="2"/>b</g>c<ex id="2"/>'
    found = inline(tmp_path, inner)
    assert render(found) == inner
    assert [tag.open for tag in found.tags if tag.is_point] == ['<bx id="2"/>', '<ex id="2"/>']


def test_halves_in_halves_find_their_own_and_a_third_one_is_a_point(tmp_path: Path) -> None:
    one, two = '<bx id="1"/>a<g>b</g><bx id="2"/>c<ex id="2"/>d<ex id="1"/>', 'e<ex id="1"/>'
    found = inline(tmp_path, f"<g>{one}{two}f</g>g")
    assert [(tag.begin, tag.end, tag.open, tag.close) for tag in found.tags] == [
        (0, 6, "<g>", "</g>"),
        (0, 4, '<bx id="1"/>', '<ex id="1"/>'),
        (1, 2, "<g>", "</g>"),
        (2, 3, '<bx id="2"/>', '<ex id="2"/>'),
        (5, 5, '<ex id="1"/>', ""),
    ]
    assert render(found) == f"<g>{one}{two}f</g>g"


def test_halves_that_cross_are_points(tmp_path: Path) -> None:
    found = inline(tmp_path, '<bx id="1"/>a<bx id="2"/>b<ex id="1"/>c<ex id="2"/>')
    assert [(tag.begin, tag.end, tag.open) for tag in found.tags] == [
        (0, 0, '<bx id="1"/>'),
        (1, 3, '<bx id="2"/>'),
        (2, 2, '<ex id="1"/>'),
    ]


def test_what_says_that_it_is_kept(tmp_path: Path) -> None:
    found = inline(tmp_path, '<mrk mtype="protected">a</mrk><g translate="no">b</g><g>c</g>')
    assert [tag.keep for tag in found.tags] == [True, True, False]


def test_attributes_are_changed_or_added(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<t state = 'new' x='1'/>", encoding="utf-8")
    reader = XmlReader(tmp_path / "a.xml")
    token = next(reader.tokens())
    assert with_attributes(token, reader, {"state": 'a"b', "y": "2"}) == b"""<t state = 'a"b' x='1' y="2"/>"""
    assert opened(token, reader).raw == b"<t state = 'new' x='1'>"
    whole = token._replace(raw=b"<t x='1' >")
    assert with_attributes(whole, reader, {"x": "2", "y": "3"}) == b"""<t x="2" y="3">"""
    assert opened(whole, reader) is whole


def test_characters_that_xml_cannot_have() -> None:
    assert xml_of(MarkedText("a\x00b\x0b\tc")) == "ab\tc"
    allowed = [
        one for one in "\x00\x08\t\n\x0b\r\x1f \x7f\ud7ff\ufffd\ufffe\uffff\U0001f600" if is_allowed(one)
    ]
    assert allowed == ["\t", "\n", "\r", " ", "\x7f", "\ud7ff", "\ufffd", "\U0001f600"]
