"""XLIFF in both versions: targets are written, everything else is left byte by byte."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.formats.copies import as_source, capitals, doubted, texts, written

from jumok.errors import DataError
from jumok.formats.segments import Languages
from jumok.formats.xliff import ITS, XliffFormat

ONE = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file source-language="de-DE" datatype="html" original="a.html"><body>
    <trans-unit id="1">
      <source>Klicken <g id="1">Sie <x id="2"/></g> &amp; <bpt id="3">&lt;</bpt>los<ept id="3"/>.</source>
      <note>a note</note>
    </trans-unit>
    <trans-unit id="2"><source>zwei</source><target state="new" xml:lang="en"/></trans-unit>
    <trans-unit id="3" translate="no"><source>nie</source></trans-unit>
    <group translate="no"><trans-unit id="4"><source>auch nie</source></trans-unit></group>
    <trans-unit id="5"><source>da</source><target>there</target>
      <alt-trans><source>x</source></alt-trans></trans-unit>
  </body></file>
</xliff>
"""
TWO = """<xliff version="2.1" srcLang="de" xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f">
 <unit id="u">
  <segment id="s"><source>Ein <pc id="1">Wort</pc> <sc id="2"/>mehr<ec startRef="2"/></source></segment>
 <ignorable><source> </source></ignorable>
 <segment state="initial"><source>zwei</source><target>foo</target></segment>
 <segment state="final"><source>drei</source><target>three</target></segment></unit></file></xliff>
"""
FORMAT = XliffFormat(Languages("de", "en"))


@pytest.fixture(params=[ONE, TWO], ids=["1.2", "2.1"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    (tmp_path / "a.xlf").write_text(request.param, encoding="utf-8")
    return tmp_path / "a.xlf"


def test_units_without_a_target_are_to_be_translated(path: Path) -> None:
    found = list(FORMAT.read(path))
    todo = [one.source.text for one in found if one.target is None]
    assert todo in (["Klicken Sie  & los.", "zwei"], ["Ein Wort mehr", "zwei"])
    assert [one.target.text for one in found if one.target] in (["there"], ["three"])
    assert found[0].where in ("unit 1, line 4", "unit u, line 2")


def test_nothing_but_targets_changes(path: Path) -> None:
    assert written(XliffFormat(), path) == path.read_bytes()
    before, after = (
        ElementTree.fromstring(data) for data in (path.read_bytes(), written(FORMAT, path, as_source))
    )
    name = "{urn:oasis:names:tc:xliff:document:%s}" % ("1.2" if b"1.2" in path.read_bytes() else "2.0")
    kept = ("source", "note", "ignorable")
    for tag in kept:
        old, new = ([ElementTree.tostring(one) for one in tree.iter(name + tag)] for tree in (before, after))
        assert old == new


def test_targets_have_the_markup_of_their_sources_and_a_state(tmp_path: Path) -> None:
    (tmp_path / "a.xlf").write_text(ONE, encoding="utf-8")
    result = written(FORMAT, tmp_path / "a.xlf", lambda one: None if one.target else capitals(one)).decode()
    target = 'KLICKEN <g id="1">SIE <x id="2"/></g> &amp; <bpt id="3">&lt;</bpt>LOS<ept id="3"/>.</target>'
    state = 'state="needs-review-translation" state-qualifier="mt-suggestion"'
    assert f"</source>\n      <target {state}>{target}\n      <note>" in result
    assert (
        '<target state="needs-review-translation" xml:lang="en" state-qualifier="mt-suggestion">ZWEI<'
        in result
    )
    assert 'original="a.html" target-language="en">' in result
    assert "<target>there</target>" in result
    (tmp_path / "a.xlf").write_text(TWO, encoding="utf-8")
    result = written(FORMAT, tmp_path / "a.xlf", lambda one: None if one.target else capitals(one)).decode()
    assert 'srcLang="de" xmlns="urn:oasis:names:tc:xliff:document:2.0" trgLang="en"' in result
    assert '<segment id="s" state="translated"><source>' in result
    assert '<target>EIN <pc id="1">WORT</pc> <sc id="2"/>MEHR<ec startRef="2"/></target></segment>' in result


def test_what_was_translated_is_left_alone_the_next_time(path: Path) -> None:
    path.write_bytes(written(FORMAT, path, capitals))
    assert all(one.target is not None for one in FORMAT.read(path))


def test_a_file_for_other_languages_is_refused(path: Path) -> None:
    with pytest.raises(
        DataError, match="the file says .*'de.*', and this model has 'fr'\n.*\n  choose a model"
    ):
        texts(XliffFormat(Languages("fr", "en")), path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("<other/>", "there is no <xliff> in the file\n.*a.xlf, line 1\n  is it another format"),
        (
            '<xliff version="1.2"><file source-language="de" target-language="fr"/></xliff>',
            "the file says target-language='fr', and this model has 'en'",
        ),
        (
            '<xliff version="2.0" srcLang="de" trgLang="fr"/>',
            "the file says trgLang='fr', and this model has 'en'",
        ),
        ('<xliff version="3.0"/>', "this is XLIFF of version '3.0'\n.*\n  versions 1.2, 2.0 and 2.1"),
        ('<xliff version="1.2"><file>', "the XML is broken: no element found"),
    ],
)
def test_what_is_refused(tmp_path: Path, data: str, message: str) -> None:
    (tmp_path / "a.xlf").write_text(data, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        texts(FORMAT, tmp_path / "a.xlf")


def test_how_sure_a_model_is_stands_in_the_file(path: Path) -> None:
    tree = ElementTree.fromstring(written(FORMAT, path, doubted))
    if tree.get("version") == "1.2":
        said = [one.get(f"{{{ITS}}}mtConfidence") for one in tree.iter() if one.tag.endswith("}target")]
    else:
        said = [one.get("subState") for one in tree.iter() if one.tag.endswith("}segment")]
    assert set(filter(None, said)) <= {"0.82", "jumok:confidence-0.82"}
    assert said.count(None) < len(said)


def test_a_unit_without_a_source_stays(tmp_path: Path) -> None:
    unit = '<trans-unit id="{}"><note>x</note>{}</trans-unit>'
    units = unit.format(1, "") + unit.format(2, "<source>zwei</source>")
    path = tmp_path / "a.xlf"
    path.write_text(f'<xliff version="1.2"><file source-language="de"><body>{units}</body></file></xliff>')
    assert [(one.source.text, one.where) for one in FORMAT.read(path)] == [("zwei", "unit 2, line 1")]
    assert unit.format(1, "").encode() in written(FORMAT, path, capitals)
