"""TMX: what another library writes is what we read, by language, the source first."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import DataError
from jumok.formats.tmx_units import read_tmx

TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=12)
XML = "{http://www.w3.org/XML/1998/namespace}lang"


def units(body: str, header: str = '<header srclang="en"/>') -> list[tuple[int, dict[str, str]]]:
    head = '<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">'
    data = f'{head}<tmx version="1.4">{header}<body>{body}</body></tmx>'
    return [(unit.number, dict(unit.texts)) for unit in read_tmx([data.encode()], "f")]


def tu(**texts: str) -> str:
    return "<tu>" + "".join(f'<tuv xml:lang="{k}"><seg>{v}</seg></tuv>' for k, v in texts.items()) + "</tu>"


@given(pairs=st.lists(st.tuples(TEXT, TEXT), max_size=4), encoding=st.sampled_from(["utf-8", "utf-16"]))
def test_what_a_library_writes_is_read(pairs: list[tuple[str, str]], encoding: str) -> None:
    root = ElementTree.Element("tmx")
    body = ElementTree.SubElement(root, "body")
    for pair in pairs:
        unit = ElementTree.SubElement(body, "tu")
        for language, text in zip(("EN_us", "de"), pair, strict=True):
            variant = ElementTree.SubElement(unit, "tuv", {XML: language})
            ElementTree.SubElement(variant, "seg").text = text
    found = [tuple(unit.texts.items()) for unit in read_tmx([ElementTree.tostring(root, encoding)], "f")]
    assert found == [(("en-us", source), ("de", target)) for source, target in pairs]


def test_the_source_language_comes_first() -> None:
    assert list(units(tu(de="b", en="a"))[0][1]) == ["en", "de"]
    assert list(units(tu(de="b", en="a"), '<header srclang="*all*"/>')[0][1]) == ["de", "en"]


def test_markup_of_the_original_is_no_text() -> None:
    text = 'a <bpt i="1">&lt;b&gt;</bpt>bold<ept i="1">&lt;/b&gt;</ept> <ph>x<sub>y</sub></ph><hi>high</hi>'
    assert units(tu(en=text))[0][1] == {"en": "a bold high"}


def test_notes_and_properties_are_no_text() -> None:
    assert units(
        '<tu tuid="9"><note>n</note><prop type="x">p</prop><tuv lang="en"><seg>a</seg></tuv></tu>'
    ) == [(1, {"en": "a"})]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<tu><tuv><seg>a</seg></tuv></tu>", "a text without xml:lang"),
        (tu(en="a") + tu(en="a").replace("</tu>", tu(en="b")[4:]), "two texts in en"),
    ],
)
def test_a_broken_unit_is_named_and_the_others_are_read(body: str, message: str) -> None:
    data = f"<tmx><body>\n{body}{tu(en='last')}</body></tmx>".encode()
    found = list(read_tmx([data], "f"))
    (fault,) = [unit.fault for unit in found if unit.fault]
    assert fault.message == message
    assert fault.where == f"f, unit {len(found) - 1} (line 2)"
    assert "a unit is <tu>" in fault.hint
    assert found[-1].texts == {"en": "last"}


def test_a_file_that_is_cut_off_gives_what_it_has() -> None:
    reading = read_tmx([f"<tmx><body>{tu(en='a')}<tu>".encode()], "f")
    assert next(reading).texts == {"en": "a"}
    with pytest.raises(DataError, match="the XML is broken: no element found"):
        next(reading)


def test_a_fault_is_named_by_the_line_of_its_language_and_a_variant_without_text_is_passed_over() -> None:
    variants = '<tuv xml:lang="en"/>' + "".join(
        f'<tuv\nxml:lang="de">\n<seg>{text}</seg></tuv>\n' for text in "ab"
    )
    (unit,) = read_tmx([f"<tmx>\n<tu>\n{variants}</tu></tmx>".encode()], "f")
    assert unit.fault is not None
    assert (unit.texts, unit.fault.where) == ({"de": "b"}, "f, unit 1 (line 6)")
