"""XLIFF of both versions: sources and targets by language; what is not done has no target."""

import pytest

from jumok.errors import DataError
from jumok.formats.xliff_units import read_xliff

ONE = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en-US" target-language="de" original="a"><body><group>
<trans-unit id="1"><source>Hello <g id="1">you</g><x id="2"/></source><seg-source>no</seg-source>
<target>Hallo du</target>
<alt-trans><source>other</source><target>anderes</target></alt-trans></trans-unit>
<trans-unit id="2"><source>new</source></trans-unit>
<trans-unit id="3"><source>raw <ph id="1">%s</ph></source>
<target state="needs-translation">raw</target></trans-unit>
</group></body></file></xliff>"""
TWO = """<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en"
trgLang="fr"><x:file id="f">
<x:unit id="u"><x:notes><x:note>n</x:note></x:notes>
<x:originalData><x:data id="d">b</x:data></x:originalData>
<x:segment><x:source>One.</x:source><x:target>Un.</x:target></x:segment>
<x:ignorable><x:source> </x:source></x:ignorable>
<x:segment state="initial"><x:source><x:pc id="1">Two.</x:pc></x:source><x:target>Two.</x:target></x:segment>
</x:unit></x:file></x:xliff>"""


def read(text: str) -> list[tuple[int, dict[str, str]]]:
    return [(unit.number, dict(unit.texts)) for unit in read_xliff([text.encode()], "f")]


def test_version_one() -> None:
    assert read(ONE) == [
        (1, {"en-us": "Hello you", "de": "Hallo du"}),
        (2, {"en-us": "new", "de": ""}),
        (3, {"en-us": "raw ", "de": ""}),
    ]


def test_version_two() -> None:
    assert read(TWO) == [(1, {"en": "One.", "fr": "Un."}), (2, {"en": "Two.", "fr": ""})]


@pytest.mark.parametrize("languages", ["", 'source-language="en" target-language="en"'])
def test_languages_that_do_not_tell_the_sides(languages: str) -> None:
    unit = "<trans-unit><source>a</source><target>b</target></trans-unit>"
    assert read(f"<xliff><file {languages}>{unit}</file></xliff>") == [(1, {"source": "a", "target": "b"})]


def test_another_format_is_named() -> None:
    with pytest.raises(DataError, match="the file begins with <tmx>, not with <xliff>"):
        read("<tmx/>")


def test_a_text_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumok.formats.xml_units.MOST_TEXT", 3)
    with pytest.raises(DataError, match="a text of more than 3 characters") as caught:
        read("<xliff><file><trans-unit><source>long</source></trans-unit></file></xliff>")
    assert caught.value.where == "f, unit 1 (line 1)"
    assert "a unit has a <source>" in caught.value.hint
