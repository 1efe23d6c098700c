from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.formats.laws import check_laws, in_capitals, segments, written

from jumok.errors import DataError
from jumok.formats.qt_ts import TsFormat

FULL = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de">
<context>
    <name>Main</name>
    <message>
        <location filename="a.cpp" line="3"/>
        <source>&amp;Open &lt;b&gt;it&lt;/b&gt;</source>
        <comment>a button</comment>
        <translation type="unfinished"></translation>
    </message>
    <message><source>Done</source><translation>Fertig</translation></message>
    <message numerus="yes"><source>%n file(s)</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform/></translation></message>
    <message><source>Gone</source><translation type="vanished">Weg</translation></message>
    <message><source>Old</source><translation type="obsolete">Alt</translation></message>
    <message><source>Byte</source><translation>x<byte value="x1f"/></translation></message>
</context>
</TS>
"""


def source(tmp_path: Path, text: str = FULL) -> Path:
    path = tmp_path / "a.ts"
    path.write_text(text, encoding="utf-8")
    return path


def test_translations_change_and_all_else_stays(tmp_path: Path) -> None:
    path = source(tmp_path)
    capitals = check_laws(TsFormat(), path)
    assert [
        (one.where, one.source.text, one.target.text if one.target else None)
        for one in segments(TsFormat(), path)
    ] == [
        ("a.cpp:3", "&Open it", None),
        ("Done", "Done", "Fertig"),
        ("%n file(s), form 0", "%n file(s)", None),
        ("%n file(s), form 1", "%n file(s)", None),
    ]
    new = ElementTree.fromstring(capitals.read_text("utf-8"))
    assert [one.findtext("translation") for one in new.iter("message")] == [
        "&OPEN <b>IT</b>",
        "DONE",
        "",
        "Weg",
        "Alt",
        "x",
    ]
    assert [one.text for one in new.iter("numerusform")] == ["%N FILE(S)", "%N FILE(S)"]
    assert new.find(".//translation").attrib == {"type": "unfinished"}  # type: ignore[union-attr]


def test_what_is_finished_stays_without_an_answer(tmp_path: Path) -> None:
    path = source(tmp_path)
    answers = (None if one.target else in_capitals(one.source) for one in segments(TsFormat(), path))
    new = written(TsFormat(), path, answers).decode()
    assert "<translation>Fertig</translation>" in new
    assert new.count("unfinished") == 2


def test_a_message_without_a_place_is_found_by_its_id_or_the_beginning_of_its_source(tmp_path: Path) -> None:
    message = "<message{}><source>{}</source><translation/></message>"
    long = "abcdefghij" * 4 + "x"
    messages = (message.format(' id="main"', "text"), message.format("", long), message.format("", long[:40]))
    path = source(tmp_path, f"<TS>{''.join(messages)}</TS>")
    assert [one.where for one in segments(TsFormat(), path)] == ["main", long[:40], long[:40]]


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="not a translation source of Qt: <html>\n.*a.ts\n  its first element is <TS>"
    ):
        segments(TsFormat(), source(tmp_path, "<html/>"))
    with pytest.raises(DataError, match="XML is broken: syntax error, .*\n.*a.ts, line 1"):
        segments(TsFormat(), source(tmp_path, "const a = 1 < 2;"))


def test_forms_that_are_there_are_targets(tmp_path: Path) -> None:
    forms = "<numerusform>%n Datei</numerusform>\n<numerusform> </numerusform><numerusform></numerusform>"
    message = (
        f"<message numerus='yes'><source>%n file(s)</source><translation>{forms}</translation></message>"
    )
    path = source(tmp_path, f"<TS>{message}{message}</TS>")
    assert [(one.where[-6:], one.target and one.target.text) for one in segments(TsFormat(), path)] == [
        ("form 0", "%n Datei"),
        ("form 1", " "),
        ("form 2", None),
    ] * 2
    check_laws(TsFormat(), path)
