from pathlib import Path

import pytest

from jumok.errors import LimitError
from jumok.formats import xml_units
from jumok.formats.xml_tokens import XmlReader, XmlToken
from jumok.formats.xml_units import Element, base, child, children, collect, raw_of, space_before


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


def test_regions_are_one_language() -> None:
    assert base("de-AT") == base("DE_ch") == "de"
