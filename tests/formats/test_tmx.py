import re
import tracemalloc
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.formats.copies import capitals, doubted, texts, written

from jumok.errors import ConfigError, DataError
from jumok.formats.segments import Languages
from jumok.formats.tmx import TmxFormat

MEMORY = """<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="de"/><body>
 <tu>
   <tuv xml:lang="de-DE"><seg>Ein <bpt i="1">x</bpt>Wort<ept i="1"/></seg></tuv>
 </tu>
 <tu><tuv xml:lang="de"><seg>leer</seg></tuv><tuv xml:lang="en"><prop>p</prop><seg/></tuv></tu>
 <tu><tuv lang="de"><seg>a<![CDATA[<b]]></seg></tuv><tuv lang="en"/></tu>
 <tu><tuv xml:lang="de"><seg>da</seg></tuv><tuv xml:lang="EN-us"><seg>there</seg></tuv></tu>
 <tu><tuv xml:lang="fr"><seg>ici</seg></tuv></tu>
</body></tmx>
"""
FORMAT = TmxFormat(Languages("de", "en"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "a.tmx").write_text(MEMORY, encoding="utf-8")
    return tmp_path / "a.tmx"


def test_entries_with_the_source_language(path: Path) -> None:
    found = list(FORMAT.read(path))
    assert [(one.source.text, one.target and one.target.text, one.where) for one in found] == [
        ("Ein Wort", None, "line 3"),
        ("leer", None, "line 6"),
        ("a<b", None, "line 7"),
        ("da", "there", "line 8"),
    ]
    assert written(FORMAT, path) == path.read_bytes()


def test_the_target_language_is_added_or_filled(path: Path) -> None:
    result = written(FORMAT, path, lambda one: None if one.target else capitals(one)).decode()
    variant = '<tuv xml:lang="en"><seg>EIN <bpt i="1">x</bpt>WORT<ept i="1"/></seg></tuv>'
    assert f"</seg></tuv>\n   {variant}\n </tu>" in result
    assert '<tuv xml:lang="en"><prop>p</prop><seg>LEER</seg></tuv>' in result
    assert '<tuv lang="en"><seg>A&lt;B</seg></tuv>' in result
    assert "<seg>there</seg>" in result
    assert len(ElementTree.fromstring(result).findall(".//tuv")) == 9


def test_other_languages(path: Path) -> None:
    assert texts(TmxFormat(Languages("", "en")), path)[0] == "Ein Wort"
    assert texts(TmxFormat(Languages("fr", "en")), path) == ["ici"]
    with pytest.raises(ConfigError, match="does not say which language it writes"):
        texts(TmxFormat(), path)
    (path).write_text("<x/>", encoding="utf-8")
    with pytest.raises(DataError, match="there is no <tmx> in the file"):
        texts(FORMAT, path)


def test_a_memory_in_other_languages_is_refused(path: Path) -> None:
    """Else all of it would come out as it went in, without a word."""
    message = "no entry has a text in ja, which the model reads; they are in de, en, fr"
    with pytest.raises(DataError, match=f"^{re.escape(message)}"):
        list(TmxFormat(Languages("ja", "en")).pieces(path))


def test_a_memory_four_times_as_large_takes_no_more_memory(tmp_path: Path) -> None:
    entry = "<tu><tuv xml:lang='de'><seg>Ein Satz mit einigen Wörtern darin.</seg></tuv></tu>\n"
    peaks = []
    for count in (1_500, 6_000):
        (tmp_path / "a.tmx").write_text(f"<tmx><body>{entry * count}</body></tmx>", encoding="utf-8")
        tracemalloc.start()
        assert sum(1 for _ in FORMAT.read(tmp_path / "a.tmx")) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


def test_how_sure_a_model_is_stands_beside_its_text(path: Path) -> None:
    tree = ElementTree.fromstring(written(FORMAT, path, doubted))
    said = [(one.get("type"), one.text) for one in tree.iter("prop")]
    assert ("x-confidence", "0.82") in said


def memory(tmp_path: Path, header: str, *units: list[str]) -> Path:
    """Of each unit the languages; their texts are their names and the number of the unit."""
    variants = (
        "".join(f'<tuv xml:lang="{code}"><seg>{code} {n}</seg></tuv>' for code in unit)
        for n, unit in enumerate(units)
    )
    body = "".join(f"<tu>{one}</tu>" for one in variants)
    (tmp_path / "b.tmx").write_text(f"<tmx>{header}<body>{body}</body></tmx>", encoding="utf-8")
    return tmp_path / "b.tmx"


def test_a_model_without_a_source_language_reads_that_of_the_file(tmp_path: Path) -> None:
    units = (["de", "fr"], [], ["it", "FR-ca", "fr"])
    for header, expected in (
        ('<header srclang="fr"/>', ["fr 0", "fr 2"]),
        ('<header srclang="fr-CA"/>', ["fr 0", "FR-ca 2"]),
        ('<header srclang="*all*"/>', ["de 0", "it 2"]),
        ("<header/>", ["de 0", "it 2"]),
    ):
        assert texts(TmxFormat(Languages("", "en")), memory(tmp_path, header, *units)) == expected
    assert texts(TmxFormat(Languages("it", "en")), memory(tmp_path, '<header srclang="fr"/>', *units)) == [
        "it 2"
    ]


def test_an_error_names_ten_languages(tmp_path: Path) -> None:
    path = memory(tmp_path, "", *([f"{code}x"] for code in "abcdefghijkl"))
    named = ", ".join(f"{code}x" for code in "abcdefghij")
    with pytest.raises(DataError, match=f"which the model reads; they are in {named}\n"):
        texts(FORMAT, path)
