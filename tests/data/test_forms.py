"""Every form of a corpus gives the same pairs, languages and numbers; what cannot be told is asked for."""

import bz2
import csv
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from pyarrow import parquet

from jumok.data.corpus import CorpusRow, UnequalLinesError, open_corpus
from jumok.data.forms import CorpusForm, kind_of, tell_form
from jumok.data.reader import examine
from jumok.errors import ConfigError, DataError, Error

PAIRS = [('A dog, a "cat".', "Ein Hund, eine „Katze“."), ("Two\nlines & more", "Zwei\nZeilen"), ("<b>", "%d")]
FLAT = [(source.replace("\n", " "), target.replace("\n", " ")) for source, target in PAIRS]


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def tmx() -> bytes:
    tu = '<tu><tuv xml:lang="{}"><seg>{}</seg></tuv><tuv xml:lang="{}"><seg>{}</seg></tuv></tu>'
    units = "".join(tu.format("de-DE", escaped(t), "en", escaped(s)) for s, t in PAIRS)
    return f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>'.encode()


def xliff() -> bytes:
    unit = "<trans-unit><source>{}</source><target>{}</target></trans-unit>"
    units = "".join(unit.format(escaped(s), escaped(t)) for s, t in PAIRS)
    return f'<xliff><file source-language="en" target-language="de">{units}</file></xliff>'.encode()


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def catalogues() -> bytes:
    sides = ({"x": [pair[side] for pair in PAIRS]} for side in (0, 1))
    return json.dumps(dict(zip(("en", "de"), sides, strict=True))).encode()


def po() -> bytes:
    head = 'msgid ""\nmsgstr "Language: de\\nX-Source-Language: en\\n"\n\n'
    return (head + "".join(f"msgid {quoted(s)}\nmsgstr {quoted(t)}\n\n" for s, t in PAIRS)).encode()


def table() -> bytes:
    file = io.StringIO()
    csv.writer(file).writerows([("id", "English", "German"), *((n, s, t) for n, (s, t) in enumerate(PAIRS))])
    return file.getvalue().encode()


def columns() -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table({"translation": [{"en": s, "de": t} for s, t in PAIRS]}), file)
    return file.getvalue()


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def moses() -> bytes:
    sides = ["".join(f"{pair[side]}\n" for pair in FLAT).encode() for side in (0, 1)]
    return zipped(**{"README": b"", "x.en-de.de": sides[1], "x.en-de.en": sides[0], "x.en-de.ids": b"1\n"})


def tsv() -> bytes:
    return "".join(f"{s}\t{t}\n" for s, t in [("en", "de"), *FLAT]).encode()


FILES: dict[str, tuple[Callable[[], bytes], str, int]] = {
    "a.tmx": (tmx, "unit", 1),
    "a.xlf": (xliff, "unit", 1),
    "a.po": (po, "entry", 1),
    "a.csv": (table, "row", 2),
    "a.json": (lambda: json.dumps([{"en": s, "de": t} for s, t in PAIRS]).encode(), "object", 1),
    "b.json": (catalogues, "object", 1),
    "a.jsonl": (lambda: "\n".join(json.dumps({"en": s, "de": t}) for s, t in PAIRS).encode(), "line", 1),
    "a.parquet": (columns, "row", 1),
    "a.zip": (moses, "line", 1),
    "b.zip": (lambda: zipped(**{"a/pairs.csv": table(), "LICENSE": b""}), "row", 2),
    "a.tsv": (tsv, "line", 2),
    "a.tmx.bz2": (lambda: bz2.compress(tmx()), "unit", 1),
    "a.tsv.xz": (lambda: lzma.compress(tsv()), "line", 2),
    "a.po.zst": (lambda: zstandard.compress(po()), "entry", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_form_gives_the_same_pairs_languages_and_numbers(name: str, tmp_path: Path) -> None:
    make, unit, first = FILES[name]
    (tmp_path / name).write_bytes(make())
    corpus = open_corpus(str(tmp_path / name))
    assert list(corpus.pairs()) == (FLAT if name in ("a.zip", "a.tsv", "a.tsv.xz") else PAIRS)
    assert (corpus.form.unit, corpus.form.languages) == (unit, ("en", "de"))
    assert [row.number for row in corpus.rows(strict=False)] == [first, first + 1, first + 2]
    assert corpus.note.startswith(name)
    report = examine(corpus)
    assert (report.train.pairs, report.train.languages, report.train.unit) == (3, ("en", "de"), unit)


@pytest.mark.parametrize("name", [name for name in FILES if "tsv" not in name])
def test_sides_can_be_turned_round_by_name(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name][0]())
    sides = "German,English" if name in ("a.csv", "b.zip") else "de,en"
    corpus = open_corpus(str(tmp_path / name), columns=sides)
    expected = FLAT if name == "a.zip" else PAIRS
    assert list(corpus.pairs()) == [(target, source) for source, target in expected]


def test_columns_of_a_tsv_and_a_csv_by_name_and_number(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("id\tbody\tsubject\n1\tlong text\tshort\n")
    assert list(open_corpus(str(path), columns="body,subject").pairs()) == [("long text", "short")]
    assert list(open_corpus(str(path), columns="subject,2").pairs()) == [("short", "long text")]
    (tmp_path / "a.csv").write_text("id,body,subject\n1,long text,short\n")
    for chosen in ("2,3", "body,subject", "BODY,3"):
        assert list(open_corpus(str(tmp_path / "a.csv"), columns=chosen).pairs()) == [("long text", "short")]


TEXTS = "a long line\teine lange Zeile\n"
TSV, JSONL, EN_DE = ".tsv", ".jsonl", ("en", "de")
TOLD: list[tuple[str, bytes | dict[str, bytes], str, CorpusForm]] = [
    ("a.tsv", b"", "", CorpusForm(TSV)),
    ("a.tsv", TEXTS.encode(), "", CorpusForm(TSV)),
    ("a.tsv", TEXTS.encode(), "2,1", CorpusForm(TSV, "2,1")),
    ("a.tsv", f"en\tde\n{TEXTS}".encode(), "", CorpusForm(TSV, "", EN_DE, EN_DE)),
    ("a.tsv", f"en\tde\n{TEXTS}".encode(), "2,1", CorpusForm(TSV, "2,1", ("de", "en"), ("de", "en"))),
    ("a.tsv", f"en\tde\n{TEXTS}".encode(), "1,3", CorpusForm(TSV, "1,3", ("", ""), ("en",))),
    ("a.tsv", f"target\tsource\n{TEXTS}".encode(), "", CorpusForm(TSV, "2,1", header=("source", "target"))),
    ("a.tsv", f"en\tde\tid\n{TEXTS}".encode(), "", CorpusForm(TSV, "1,2", EN_DE, EN_DE)),
    ("a.tsv", f"id\ten\tde\n{TEXTS}".encode(), "", CorpusForm(TSV, "2,3", EN_DE, EN_DE)),
    ("a.tsv", f"en\tde\tx\n{TEXTS}".encode(), "en,de,x", CorpusForm(TSV, "1,2,3", EN_DE, EN_DE)),
    ("a.tsv", f"x\ten\tde\n{TEXTS}".encode(), "de,en+", CorpusForm(TSV, "3,2+", ("de", "en"), ("de", "en"))),
    ("a.tsv", f"de\ten+\n{TEXTS}".encode(), "en+,de", CorpusForm(TSV, "2,1", EN_DE, ("en+", "de"))),
    ("a.jsonl", b'{"source": "a", "target": "b"}', "", CorpusForm(JSONL)),
    ("a.jsonl", b'{"en": "a", "de": "b"}', "", CorpusForm(JSONL, "en,de", EN_DE)),
    ("a.jsonl", b'[1]\n{"en": "a", "de": "b"}', "", CorpusForm(JSONL)),
    ("a.jsonl", b'{"translation": {"en": "a", "de": "b"}}', "", CorpusForm(JSONL, "en,de", EN_DE)),
    ("a.jsonl", b'{"translation": {"en": "a"}}', "", CorpusForm(JSONL)),
    ("a.jsonl", b'{"translation": {"en,us": "a", "de": "b"}}', "", CorpusForm(JSONL)),
    ("a.jsonl", b'{"question": "a", "context": "b", "answer": "c"}', "", CorpusForm(JSONL)),
    ("a.csv", b"target,source\nb,a\n", "", CorpusForm(".csv", "source,target")),
    ("a.zip", {"a.tsv": f"en\tde\n{TEXTS}".encode()}, "", CorpusForm(TSV, "", EN_DE, EN_DE, ("a.tsv",))),
    ("a.zip", {"a.jsonl": b'{"a": "b", "c": "d"}'}, "c,a", CorpusForm(JSONL, "c,a", members=("a.jsonl",))),
    ("a.zip", {"one.txt": b"", "two.txt": b""}, "", CorpusForm(members=("one.txt", "two.txt"))),
    ("a.zip", {"a.en": b"", "a.de": b"", "b.fr": b""}, "", CorpusForm("", "", EN_DE, (), ("a.en", "a.de"))),
    ("a.zip", {"x.en-de.de": b"", "y.en": b""}, "", CorpusForm("", "", EN_DE, (), ("y.en", "x.en-de.de"))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "columns", "form"), TOLD)
def test_the_form_of_a_file_is_told_by_its_beginning(
    name: str, content: bytes | dict[str, bytes], columns: str, form: CorpusForm, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else zipped(**content))
    assert tell_form(str(tmp_path / name), name, columns) == form


def test_a_file_with_one_text_is_asked_for_two(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text('<tmx><tu><tuv xml:lang="en"><seg>a</seg></tuv></tu></tmx>')
    with pytest.raises(ConfigError, match=r"cannot be told: there is en\n") as caught:
        tell_form(str(tmp_path / "a.tmx"), "a.tmx")
    assert caught.value.hint == "name them: --columns SOURCE,TARGET"
    (tmp_path / "a.zip").write_bytes(zipped(**{"a.txt": b""}))
    with pytest.raises(DataError, match=r"1 files, and which two are the sides cannot be told: a\.txt"):
        tell_form(str(tmp_path / "a.zip"), "a.zip", "en,de")


def test_units_without_a_translation_are_no_pairs(tmp_path: Path) -> None:
    path = tmp_path / "a.po"
    path.write_text('msgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr ""\n')
    assert list(open_corpus(str(path)).pairs()) == [("a", "b")]
    assert list(open_corpus(str(path)).rows())[1] == CorpusRow(2, ("c",))
    found = {one.kind: one for one in examine(open_corpus(str(path))).findings}
    assert (found["untranslated"].count, found["untranslated"].lines) == (1, (2,))
    assert found["untranslated"].unit == "entry"


def test_of_a_memory_in_many_languages_two_are_asked_for(tmp_path: Path) -> None:
    tuv = '<tuv xml:lang="{0}"><seg>{0}!</seg></tuv>'
    units = "".join(
        f"<tu>{''.join(map(tuv.format, tags))}</tu>" for tags in (["en", "de", "fr"], ["fr"], ["en-GB"])
    )
    path = tmp_path / "a.tmx"
    path.write_text(f"<tmx><body>{units}</body></tmx>")
    with pytest.raises(ConfigError, match="cannot be told: there is en, de, fr, en-gb") as caught:
        open_corpus(str(path))
    assert caught.value.hint == "name them: --columns en,de"
    corpus = open_corpus(str(path), columns="en,fr")
    assert [(row.number, row.texts) for row in corpus.rows()] == [(1, ("en!", "fr!")), (3, ("en-GB!",))]
    with pytest.raises(ConfigError, match="columns=en,nl cannot work: there is no 'nl'"):
        open_corpus(str(path), columns="en,nl")


def test_spellings_of_a_language_are_one(tmp_path: Path) -> None:
    tu = '<tu><tuv xml:lang="{}"><seg>a</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>'
    path = tmp_path / "a.tmx"
    path.write_text(f"<tmx><body>{tu.format('en')}{tu.format('en-US')}</body></tmx>")
    assert list(open_corpus(str(path)).pairs()) == [("a", "b")] * 2


BROKEN: list[tuple[str, bytes, str, str]] = [
    ("a.tmx", tmx()[:-60], "the XML is broken: no element found", "a.tmx:"),
    ("a.tmx", b"<html></html>", "the file begins with <html>, not with <tmx>", "a.tmx:1"),
    ("a.xliff", b'<!DOCTYPE x [<!ENTITY a "b">]><xliff/>', "the file declares an entity, 'a'", "a.xliff:1"),
    ("a.po", b'msgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr "\xff"\n', "byte 0xFF is not UTF-8", "a.po:5:9"),
    ("a.csv", b'en,de\n"stray,b\nc,d\n', "not a row of CSV", "a.csv, row 2 (line 2)"),
    ("a.csv", b"en,de\na,b,c\n", "3 cells, and the header has 2", "a.csv, row 2 (line 2)"),
    ("a.csv", b"\xff\xfee\0n\0", "the file is UTF-16, not UTF-8", "a.csv:1:1"),
    ("a.csv", b"en,de\na,\xe4\n", "byte 0xE4 is not UTF-8", "a.csv:2:3"),
    ("a.json", b'[{"en": "a", "de": "b"}, {"en": "a"}]', 'the object has no "de"', "a.json, object 2"),
    ("a.json", b'[{"en": {"x": "a"}, "de": "b"}]', "the object does not hold two texts", "a.json, object 1"),
    ("a.json", b'[{"x": "a", "y": "b"}]', '"src" and "tgt"; its texts are "x", "y"', "a.json, obj"),
    ("a.json", b'[{"en": "\\u0000", "de": "b"}]', "a NUL byte", "a.json, object 1"),
    ("a.json", b'{"en": "a"}', "neither an array of objects nor two catalogues", "a.json:1"),
    ("a.parquet", b"plain text", "not a sound parquet file", "a.parquet"),
    ("a.zip", moses()[:-30], "not a sound zip file", "a.zip"),
    ("a.zip", zipped(**{f"{n}.txt": b"" for n in range(10)}), "10 files, and which two", "a.zip"),
    ("a.zip", zipped(README=b""), "0 files, and which two are the sides cannot be told: none", "a.zip"),
    ("a.zip", zipped(**{"a.de": b"1\n2\n", "a.en": b"1\n"}), "a.zip/a.de has 2 lines and", "a.zip/a.de:2"),
    ("a.csv.gz", b"en,de\n", "not a sound gzip file", "a.csv.gz"),
    ("a.csv", b"", "the header names 0 columns", "a.csv:1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "message", "where"), BROKEN)
def test_what_is_broken_is_named_with_its_place(
    name: str, data: bytes, message: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(data)
    with pytest.raises(Error) as caught:
        list(open_corpus(name).pairs())
    assert message in caught.value.message
    assert caught.value.where.startswith(where)
    assert caught.value.hint


def test_check_goes_on_behind_what_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'en,de\na,b\n"c,d\ne,f\ng,\xff\nh,i\n')
    rows = list(open_corpus(str(path)).rows(strict=False))
    assert [(row.number, row.texts) for row in rows if not row.fault] == [
        (2, ("a", "b")),
        (4, ("e", "f")),
        (6, ("h", "i")),
    ]
    assert [row.fault.code for row in rows if row.fault] == ["bad_unit", "bad_utf8"]
    path = tmp_path / "a.tmx"
    path.write_bytes(tmx().replace(b"</body>", b"<tu></body>"))
    *good, last = open_corpus(str(path)).rows(strict=False)
    assert len(good) == 3
    assert last.number == 4
    assert "mismatched tag" in str(last.fault)


def test_an_archive_of_unequal_sides(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(**{"x.de": b"1\n2\n", "x.en": b"1\n", "other.txt": b""}))
    *_, last = open_corpus(str(path)).rows(strict=False)
    assert isinstance(last.fault, UnequalLinesError)


def test_files_of_an_archive_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(**{f"t/{n}.txt": n.encode() for n in "abc"}))
    assert list(open_corpus(str(path), columns="c.txt,t/a.txt").pairs()) == [("c", "a")]
    with pytest.raises(
        ConfigError, match="columns=d.txt,a.txt cannot work: the zip file has t/a.txt"
    ) as caught:
        open_corpus(str(path), columns="d.txt,a.txt")
    assert "name two files in it" in caught.value.hint


@pytest.mark.parametrize(("count", "more"), [(6, "; "), (7, ", …; ")])
def test_of_many_files_of_an_archive_six_are_named(count: int, more: str, tmp_path: Path) -> None:
    names = [f"{n}.txt" for n in range(count)]
    (tmp_path / "a.zip").write_bytes(zipped(**dict.fromkeys(names, b"a\n")))
    with pytest.raises(ConfigError, match="columns=x,y cannot work: the zip file has ") as caught:
        open_corpus(str(tmp_path / "a.zip"), columns="x,y")
    assert f"{caught.value.message}; ".endswith(", ".join(names[:6]) + more)


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("one\ttwo\nthree\tfour\n")
    with pytest.raises(ConfigError, match="no column is called 'body'; the first line has 'one', 'two'"):
        open_corpus(str(path), columns="body,two")
    path.write_text("\t".join("x" * n for n in range(36, 48)) + "\n")  # no wall of text
    with pytest.raises(ConfigError) as caught:
        open_corpus(str(path), columns="body,two")
    first = ", ".join(repr("x" * n) for n in (36, 37, 38, 39, 40, 40, 40, 40))
    assert caught.value.message.endswith(f"the first line has {first}")
    (tmp_path / "a.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(ConfigError, match="cannot be told: there is a, b, c"):
        open_corpus(str(tmp_path / "a.csv"))


@pytest.mark.parametrize(
    ("columns", "reason"), [("a", "two are needed"), ("a,b,a", "a column is named twice")]
)
def test_keys_that_cannot_work_are_refused_before_a_line_is_read(
    tmp_path: Path, columns: str, reason: str
) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": "one", "b": "two"}\n')
    with pytest.raises(ConfigError, match=reason):
        open_corpus(str(tmp_path / "a.jsonl"), columns=columns)


def test_two_columns_are_source_and_target_whatever_they_are_called(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("one,two\nwho,he\n")
    assert list(open_corpus(str(tmp_path / "a.csv")).pairs()) == [("who", "he")]


def test_of_many_columns_the_first_are_named(tmp_path: Path) -> None:
    names = [f"column{n}" for n in range(13)]
    for count, more in ((12, ""), (13, ", …")):
        (tmp_path / "a.csv").write_text(",".join(names[:count]) + "\n" + ",".join("x" * count) + "\n")
        with pytest.raises(ConfigError, match="cannot be told: there is") as caught:
            open_corpus(str(tmp_path / "a.csv"))
        assert caught.value.message.endswith(": there is " + ", ".join(names[:12]) + more)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.TMX", ".tmx"),
        ("a.xlf.gz", ".xliff"),
        ("a.parquet.gz", ""),
        ("a.zip.xz", ""),
        ("a.txt", ""),
        ("a.ndjson.zst", ".jsonl"),
    ],
)
def test_kinds_by_name(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_a_name_that_does_not_say_lists_what_would(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    with pytest.raises(ConfigError, match="its name does not say how it holds both sides") as caught:
        open_corpus(str(tmp_path / "a.txt"))
    assert ".tsv, .jsonl, .csv, .json, .tmx, .xliff, .po, .parquet, .zip" in caught.value.hint


def test_a_file_with_a_header_alone_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("en,de\n")
    with pytest.raises(DataError, match="a.csv is empty"):
        list(open_corpus(str(tmp_path / "a.csv")).pairs())
    assert CorpusForm().unit == "line"
