"""Lines are lines, pairs are pairs, and every fault is named with its place."""

import gzip
import io
import json
import os
import socket
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.data import corpus as module
from jumok.data.corpus import Corpus, UnequalLinesError, first_shift, open_corpus, read_lines
from jumok.errors import ConfigError, DataError
from jumok.formats import files
from jumok.formats.lines import lines_of


@pytest.fixture
def write(tmp_path: Path):  # type: ignore[no-untyped-def]
    def _write(name: str, data: bytes | str) -> str:
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    return _write


def fails(path: str, message: str, *, where: str = "", hint: str = "", code: str = "") -> None:
    with pytest.raises(DataError) as caught:
        list(read_lines(path))
    error = caught.value
    assert message in error.message
    assert error.where == (where or path)
    assert hint in error.hint
    assert error.code == code


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\nb", ["a", "b"]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\nb\r", ["a\r", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"\n\na\n\n", ["", "", "a", ""]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\xef\xbb\xbfa", ["\ufeffa"]),
        ("a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\n".encode(), ["a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g"]),
        ("한\n국".encode(), ["한", "국"]),
    ],
)
def test_lines_end_at_line_feeds_only(write, data: bytes, lines: list[str]) -> None:  # type: ignore[no-untyped-def]
    assert list(read_lines(write("text", data))) == lines
    assert list(read_lines(write("text.gz", gzip.compress(data)))) == lines


@settings(max_examples=60, deadline=None)
@given(data=st.text(st.sampled_from("ab\n\r한\u2028\ufeff"), max_size=60), block=st.integers(1, 9))
def test_blocks_change_nothing(data: str, block: int) -> None:
    raw = data.encode()
    blocks = iter([raw[i : i + block] for i in range(0, len(raw), block)])
    if block < 3 and data.startswith("\ufeff"):
        return  # a byte-order mark is never cut: blocks are far longer
    body = data.removeprefix("\ufeff")
    expected = body.split("\n")[: -1 if body.endswith("\n") or not body else None]
    assert list(lines_of(blocks, "x", "strict")) == [line.removesuffix("\r") for line in expected]


def test_bad_bytes_are_named_by_line_and_byte(write) -> None:  # type: ignore[no-untyped-def]
    path = write("a.de", b"gut\nsch\xf6n\n")
    fails(path, "byte 0xF6 is not UTF-8", where=f"{path}:2:4", hint="--errors replace", code="bad_utf8")
    assert list(read_lines(path, encoding_errors="replace")) == ["gut", "sch\ufffdn"]


def test_a_bad_byte_far_into_a_file_has_the_right_line(write) -> None:  # type: ignore[no-untyped-def]
    path = write("big", b"some words\n" * 200_000 + b"\xc3\n")
    fails(path, "byte 0xC3 is not UTF-8", where=f"{path}:200001:1", code="bad_utf8")


def test_replacing_never_eats_a_line_break(write) -> None:  # type: ignore[no-untyped-def]
    path = write("cut", b"\xe2\x82\nb\xf0\n")
    assert list(read_lines(path, encoding_errors="replace")) == ["\ufffd", "b\ufffd"]


def test_usual_mistakes_are_called_by_name(write) -> None:  # type: ignore[no-untyped-def]
    path = write("wide", "text".encode("utf-16"))
    fails(path, "the file is UTF-16, not UTF-8", where=f"{path}:1:1", hint="iconv", code="bad_utf8")
    path = write("packed", gzip.compress(b"text"))
    fails(path, "the file is packed with gzip", where=f"{path}:1:1", hint=".gz", code="bad_utf8")
    path = write("nul", b"a\nb\0c\n")
    fails(path, "a NUL byte", where=f"{path}:2", hint="damaged or binary", code="nul_byte")


@pytest.mark.parametrize("before", [0, 3, 600_000])
def test_a_line_may_have_a_million_bytes_and_no_more(write, before: int) -> None:  # type: ignore[no-untyped-def]
    head = b"x" * before + b"\n"
    fine = write("fine", head + b"a" * 1_000_000 + b"\nb\n")
    assert [len(line) for line in read_lines(fine)] == [before, 1_000_000, 1]
    for end in (b"", b"\nb\n"):
        path = write("long", head + b"a" * 1_000_001 + end)
        fails(path, "the line has more than 1,000,000 bytes", where=f"{path}:2", code="line_too_long")


def test_an_endless_line_is_refused_before_it_is_read(write) -> None:  # type: ignore[no-untyped-def]
    path = write("bomb.gz", gzip.compress(b"a" * 60_000_000, 1))
    tracemalloc.start()
    fails(path, "the line has more than 1,000,000 bytes", where=f"{path}:1", code="line_too_long")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000_000


def test_a_gzip_bomb_is_refused(write, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(files, "GROWTH_FREE", 4 << 20)
    path = write("bomb.gz", gzip.compress(b"word\n" * 1_200_000))
    with pytest.raises(DataError, match="unpacks to more than 4 MiB, over 200 times its size") as caught:
        sum(1 for _ in read_lines(path))
    assert caught.value.code == "gzip_bomb"


def test_damaged_gzip_is_refused(write) -> None:  # type: ignore[no-untyped-def]
    whole = gzip.compress(os.urandom(50_000).hex().encode() + b"\n")
    path = write("cut.gz", whole[:-20])
    with pytest.raises(DataError, match="the gzip file is cut short") as caught:
        list(read_lines(path))
    assert caught.value.where.startswith(f"{path}, after ")
    for data in (b"plain text", whole[:100] + b"\0" * 50 + whole[150:]):
        with pytest.raises(DataError, match="not a sound gzip file"):
            list(read_lines(write("bad.gz", data)))


def test_paths_that_are_no_text_file(write, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    write("train.en", "a\n")
    fails(str(tmp_path), "a folder, not a file", hint="name a file in it: train.en", code="is_folder")
    fails(str(tmp_path / "train.em"), "no such file", hint="did you mean 'train.en'?", code="no_file")
    fails(str(tmp_path / "zzz"), "no such file", hint="check the path", code="no_file")
    fails(
        str(tmp_path / "no" / "a"), "no such file", hint=f"no folder {tmp_path / 'no'} either", code="no_file"
    )
    fails("/dev/zero", "a device, not a file", code="not_a_file")
    with socket.socket(socket.AF_UNIX) as endpoint:
        endpoint.bind(str(tmp_path / "s"))
        fails(str(tmp_path / "s"), "a socket, not a file", code="not_a_file")
    fails(str(tmp_path / "train.en" / "a"), "cannot read the file: not a directory", code="unreadable")


def test_a_file_that_may_not_be_read(write, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    path = write("secret", "a\n")
    if os.geteuid() == 0:  # root may read everything: let open() answer as it does to others

        def refuse(*_: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(files, "open", refuse, raising=False)
    else:
        os.chmod(path, 0)
    fails(path, "cannot read the file: permission denied", hint="check who may read it", code="unreadable")


def test_parallel_files_give_pairs_again_and_again(write) -> None:  # type: ignore[no-untyped-def]
    corpus = open_corpus(write("a.en", "one\n\nthree"), write("a.de", "eins\nzwei\ndrei\n"))
    assert list(corpus.pairs()) == list(corpus.pairs()) == [("one", "eins"), ("", "zwei"), ("three", "drei")]
    assert corpus.name == "a.en + a.de"


def test_tsv_and_jsonl_hold_both_sides(write) -> None:  # type: ignore[no-untyped-def]
    tsv = 'one\t"eins\ntwo\tzwei\n'
    assert list(open_corpus(write("a.tsv", tsv)).pairs()) == [("one", '"eins'), ("two", "zwei")]
    assert list(open_corpus(write("a.TSV.gz", gzip.compress(tsv.encode()))).pairs())[1] == ("two", "zwei")
    lines = '{"src": "one", "tgt": "eins", "id": 7}\n{"translation": {"en": "two", "de": "zw\\nei"}}\n'
    assert list(open_corpus(write("a.jsonl", lines)).pairs()) == [("one", "eins"), ("two", "zw\nei")]


@pytest.mark.parametrize(
    ("line", "message"),
    [("one", "1 column instead of 2"), ("", "1 column instead of 2"), ("a\tb\tc", "3 columns instead of 2")],
)
def test_tsv_has_exactly_two_columns(write, line: str, message: str) -> None:  # type: ignore[no-untyped-def]
    path = write("a.tsv", f"a\tb\n{line}\nc\td\n")
    with pytest.raises(DataError, match=message) as caught:
        list(open_corpus(path).pairs())
    assert caught.value.where == f"{path}:2"
    assert "source, tab, target" in caught.value.hint


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", r"not a JSON object \(Expecting value\)"),
        ("{", "not a JSON object"),
        ("[1]", "not a JSON object"),
        ("[" * 100_000, "not a JSON object"),
        ('{"src": "a"}', "the object does not hold two texts"),
        ('{"src": "a", "tgt": 3}', "the object does not hold two texts"),
        ('{"translation": {"en": "a"}}', "the object does not hold two texts"),
        ('{"src": "a", "tgt": "\\ud800"}', r"lone surrogate U\+D800"),
        ('{"src": "a\\u0000", "tgt": "b"}', "a NUL byte"),
    ],
)
def test_jsonl_lines_hold_two_texts(write, line: str, message: str) -> None:  # type: ignore[no-untyped-def]
    path = write("a.jsonl", f'{{"src": "a", "tgt": "b"}}\n{line}\n')
    with pytest.raises(DataError, match=message) as caught:
        list(open_corpus(path).pairs())
    assert caught.value.where == f"{path}:2"
    assert caught.value.hint


def sentences(count: int, stretch: float) -> list[str]:
    lengths = np.random.default_rng(5).integers(5, 80, count)
    return ["x" * int(length * stretch) for length in lengths]


@pytest.mark.parametrize("at", [0, 40, 199])
def test_unequal_files_name_both_counts_and_the_first_suspect(write, at: int) -> None:  # type: ignore[no-untyped-def]
    source, target = sentences(200, 1), sentences(200, 1.3)
    source[at : at + 1] = ["the first half", "and the second half of this one"]
    a, b = write("a.en", "\n".join(source) + "\n"), write("a.de", "\n".join(target) + "\n")
    for left, right, counts in ((a, b, "201 lines and .* has 200"), (b, a, "200 lines and .* has 201")):
        with pytest.raises(DataError, match=counts) as caught:
            list(open_corpus(left, right).pairs())
        assert "line n of one must translate line n of the other" in caught.value.message
        path, line, told = caught.value.where.rsplit(":", 2)
        assert path == a
        assert abs(int(line) - (at + 1)) <= 2
        assert told == " the first line that seems to have no partner"
        assert caught.value.code == "unequal_lines"


def test_a_file_that_was_cut_off_is_suspected_at_its_end() -> None:
    whole = np.array([len(line) for line in sentences(300, 1)], dtype=np.int32)
    assert first_shift(whole, whole[:220]) == 220
    assert first_shift(whole, whole[:0]) == 0


@pytest.mark.parametrize("names", [("a.tsv", ""), ("a.en", "a.de")])
def test_an_empty_corpus_is_an_error(write, names: tuple[str, str]) -> None:  # type: ignore[no-untyped-def]
    paths = [write(name, "") for name in names if name]
    with pytest.raises(DataError, match="is empty") as caught:
        list(open_corpus(*paths).pairs())
    assert caught.value.where == paths[0]
    assert caught.value.code == "empty"


def test_one_file_must_say_how_it_holds_both_sides(write) -> None:  # type: ignore[no-untyped-def]
    path = write("train.en", "a\n")
    with pytest.raises(ConfigError, match="its name does not say how it holds both sides") as caught:
        open_corpus(path)
    assert "give the target file too" in caught.value.hint


def test_the_fingerprint_follows_the_bytes(write) -> None:  # type: ignore[no-untyped-def]
    def fingerprint(source: str, target: str) -> str:
        return open_corpus(write("a", source), write("b", target)).fingerprint()

    assert fingerprint("a\n", "b\n") == fingerprint("a\n", "b\n")
    assert len({fingerprint("a\n", "b\n"), fingerprint("a\n", "c\n"), fingerprint("a\nb\n", "")}) == 3


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"a\nb\xff\n")
    with pytest.raises(DataError) as caught:
        list(read_lines("-"))
    assert caught.value.where == "standard input:2:2"


@pytest.mark.parametrize(
    ("data", "pairs"),
    [(b"a\tb\nc\td\n", [("a", "b"), ("c", "d")]), (b'{"src": "a", "tgt": "b"}\n', [("a", "b")])],
)
def test_standard_input_as_a_corpus_can_be_read_twice(
    monkeypatch: pytest.MonkeyPatch, data: bytes, pairs: list[tuple[str, str]]
) -> None:
    feed(monkeypatch, data)
    corpus = open_corpus("-")
    assert list(corpus.pairs()) == list(corpus.pairs()) == pairs
    assert corpus.name == "standard input"
    module._forget(corpus.source)
    assert not Path(corpus.source).exists()


def test_standard_input_as_one_side(monkeypatch: pytest.MonkeyPatch, write) -> None:  # type: ignore[no-untyped-def]
    feed(monkeypatch, b"a\nb\n")
    corpus = open_corpus("-", write("x.de", "A\n"))
    with pytest.raises(DataError, match=r"standard input has 2 lines and .*x\.de has 1"):
        list(corpus.pairs())
    with pytest.raises(ConfigError, match="cannot be both the source and the target"):
        open_corpus("-", "-")


def test_a_named_pipe_is_copied(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.tsv"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=(b"a\tb\nc\n",), daemon=True).start()
    corpus = open_corpus(str(pipe))
    with pytest.raises(DataError, match="1 column instead of 2") as caught:
        list(corpus.pairs())
    assert caught.value.where == f"{pipe}:2"


def test_a_corpus_is_a_value() -> None:
    assert Corpus("a", "b") == Corpus("a", "b")


def test_named_columns_are_read(write) -> None:  # type: ignore[no-untyped-def]
    tsv = write("a.tsv", "1\tsource\ttarget\tother\n2\tleft\tright\n")
    corpus = open_corpus(tsv, columns="2,3,4")
    assert list(corpus.pairs()) == [("source", "target"), ("left", "right")]
    assert list(corpus.texts()) == [("source", "target", "other"), ("left", "right")]
    jsonl = write("a.jsonl", '{"body": "b", "subject": "s"}\n')
    assert list(open_corpus(jsonl, columns="body,subject").pairs()) == [("b", "s")]


def test_other_columns_are_other_data(write) -> None:  # type: ignore[no-untyped-def]
    tsv = write("a.tsv", "a\tb\tc\n")
    prints = {open_corpus(tsv, columns=columns).fingerprint() for columns in ("", "1,2", "1,3")}
    assert len(prints) == 3


def test_units_are_read_like_lines(write) -> None:  # type: ignore[no-untyped-def]
    """All of them, or up to the first that is no pair; `jumok check` goes on behind it."""
    good, bad = '{"en": "a", "de": "b"}', '{"en": "a", "de": 7}'
    corpus = open_corpus(write("a.json", f"[{good}, {good}]"), columns="en,de")
    assert list(corpus.pairs()) == [("a", "b")] * 2
    broken = open_corpus(write("b.json", f"[{good}, {bad}, {good}]"), columns="en,de")
    reading = broken.pairs()
    assert next(reading) == ("a", "b")
    with pytest.raises(DataError, match='"de" is not a text'):
        next(reading)
    assert [row.fault is None for row in broken.rows(strict=False)] == [True, False, True]


def test_what_was_taken_for_what_is_said_where_there_was_a_choice(write) -> None:  # type: ignore[no-untyped-def]
    headed = open_corpus(write("a.tsv", "en\tde\n" + "a black dog runs\tein schwarzer Hund rennt\n" * 3))
    assert headed.note == "a.tsv:1 names the columns (en, de) and is left out"
    table = open_corpus(write("a.csv", "id,en,de\n1,a dog,ein Hund\n"))
    assert table.note == "a.csv: en → de"
    assert open_corpus(write("b.csv", "id,en,de\n1,a dog,ein Hund\n"), columns="en,de").note == ""
    assert open_corpus(write("c.tsv", "a dog\tein Hund\n")).note == ""
    assert open_corpus(write("a", "a dog\n"), write("b", "ein Hund\n")).note == ""


def test_columns_that_cannot_be_read_are_refused_before_the_file_is(write) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError, match="columns=1,1 cannot work: a column is named twice"):
        open_corpus(write("a.tsv", "no columns"), columns="1,1")
    with pytest.raises(ConfigError, match="columns are those of one file with both sides, and two files"):
        open_corpus(write("a", ""), write("b", ""), columns="1,2")


def test_questions_are_pairs(write) -> None:  # type: ignore[no-untyped-def]
    lines = (
        '{"context": "The lamp is on.", "question": "Is it on?", "answer": "yes"}\n{"src": "a", "tgt": "b"}\n'
    )
    corpus = open_corpus(write("q.jsonl", lines))
    assert list(corpus.pairs()) == [("␞ Is it on? ␟ The lamp is on.", "yes"), ("a", "b")]
    empty = write("e.jsonl", lines + '{"context": "c", "question": "q", "answer": ""}\n')
    with pytest.raises(DataError, match=r"the answer is empty\n  .*e.jsonl:3\n"):
        list(open_corpus(empty).pairs())


def kinds(corpus: Corpus) -> list[str]:
    return [row.fault.code if row.fault else "" for row in corpus.rows(strict=False)]


def test_reading_can_go_on_after_a_bad_byte(write) -> None:  # type: ignore[no-untyped-def]
    corpus = open_corpus(write("a.en", b"ok\nb\xffd\nok\n\xc3\n"), write("a.de", b"1\n2\n3\n4\n"))
    assert kinds(corpus) == ["", "bad_utf8", "", "bad_utf8"]
    row = list(corpus.rows(strict=False))[1]
    assert (row.number, row.texts) == (2, ())
    assert row.fault is not None
    assert row.fault.where == f"{corpus.source}:2:2"
    assert [row.texts for row in corpus.rows(strict=False) if row.texts] == [("ok", "1"), ("ok", "3")]


def test_reading_ends_at_the_first_line_without_a_partner(write) -> None:  # type: ignore[no-untyped-def]
    corpus = open_corpus(write("a.en", "1\n2\n3\n"), write("a.de", "eins\n"))
    assert kinds(corpus) == ["", "unequal_lines"]
    fault = list(corpus.rows(strict=False))[1].fault
    assert isinstance(fault, UnequalLinesError)
    assert (fault.counts, fault.suspect) == ((3, 1), 2)


def test_lines_that_hold_no_pair_are_rows_with_a_fault(write) -> None:  # type: ignore[no-untyped-def]
    assert kinds(open_corpus(write("p.tsv", b"a\tb\nalone\n1\t2\t3\n\xff\n"))) == [
        "", "bad_columns", "bad_columns", "bad_utf8",
    ]  # fmt: skip
    texts = ("a", "\\ud800", "\\u0000")
    lines = ["{broken", *(f'{{"src": "{text}", "tgt": "b"}}' for text in texts)]
    corpus = open_corpus(write("p.jsonl", "\n".join(lines)))
    assert kinds(corpus) == ["bad_json", "", "bad_unicode", "nul_byte"]


def test_a_nul_is_left_to_the_checks(write) -> None:  # type: ignore[no-untyped-def]
    corpus = open_corpus(write("p.tsv", b"a\0\tb\n"))
    assert [row.texts for row in corpus.rows(strict=False)] == [("a\0", "b")]


def test_an_endless_line_ends_every_reading(write) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError, match="more than 1,000,000 bytes"):
        list(open_corpus(write("p.tsv", b"x" * 3_000_000)).rows(strict=False))


def test_units_that_are_broken_or_not_translated_are_rows(write) -> None:  # type: ignore[no-untyped-def]
    units = [
        *({"en": "a", "de": "b"}, {"en": "left", "de": " "}, {"en": " ", "de": ""}),
        *({"en": "c", "de": 7}, {"en": "d", "de": "e"}),
    ]
    path = write("a.json", json.dumps(units))
    corpus = open_corpus(path, columns="en,de")
    rows = list(corpus.rows(strict=False))
    assert [row.number for row in rows] == [1, 2, 3, 4, 5]
    assert [row.texts for row in rows] == [("a", "b"), ("left",), (" ", ""), (), ("d", "e")]
    assert [row.fault.where if row.fault else "" for row in rows] == ["", "", "", f"{path}, object 4", ""]
    cut = open_corpus(write("b.json", json.dumps(units)[:40]), columns="en,de")
    *before, last = cut.rows(strict=False)
    assert [row.texts for row in before] == [("a", "b")]
    assert (last.number, last.texts, last.fault is None) == (2, (), False)


def test_a_header_is_no_pair_and_keeps_its_number(write) -> None:  # type: ignore[no-untyped-def]
    lines = "en\tde\n" + "a black dog runs\tein schwarzer Hund rennt\n" * 3
    rows = list(open_corpus(write("a.tsv", lines)).rows())
    assert [row.number for row in rows] == [2, 3, 4]
    assert {row.texts for row in rows} == {("a black dog runs", "ein schwarzer Hund rennt")}


@pytest.mark.parametrize(
    ("longer", "shorter", "at"),
    [
        ([9, 9, 90, 9], [9, 9, 9], 2),
        ([90, 9, 9, 9], [9, 9, 9], 0),
        ([9, 9, 9, 90], [9, 9, 9], 3),
        ([9, 9, 9, 9], [9, 9, 9], 3),  # none is more likely: a file that was cut off
        ([5, 20, 80, 5, 20], [5, 20, 20], 2),
        ([7], [], 0),
    ],
)
def test_where_the_lines_that_are_too_many_begin(longer: list[int], shorter: list[int], at: int) -> None:
    assert first_shift(np.array(longer, np.int32), np.array(shorter, np.int32)) == at


def test_what_comes_through_a_pipe_is_one_of_two_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    for data, ending in ((b"{}", ".jsonl"), (b"a\tb", ".tsv"), (b"", ".tsv")):
        feed(monkeypatch, data)
        path, name = module._settle("-", both_sides=True)
        assert (Path(path).suffix, Path(path).read_bytes(), name) == (ending, data, "standard input")
        module._forget(path)
        module._forget(path)  # gone already
    feed(monkeypatch, b"{}")
    path, _ = module._settle("-", both_sides=False)
    assert Path(path).suffix == ""
    module._forget(path)


def test_names_and_errors_of_a_corpus_in_full(write) -> None:  # type: ignore[no-untyped-def]
    one, other = write("a.en", "1\n2\n3\n"), write("b.de", "eins\n")
    corpus = open_corpus(one, other)
    assert (corpus.name, corpus.shown, corpus.note) == ("a.en + b.de", (one, other), "")
    with pytest.raises(UnequalLinesError) as caught:
        list(corpus.pairs())
    assert str(caught.value) == (
        f"{one} has 3 lines and {other} has 1: line n of one must translate line n of the other\n"
        f"  {one}:2: the first line that seems to have no partner\n"
        "  look there for a line break inside a sentence, a missing line or a file that was cut off"
    )
    with pytest.raises(UnequalLinesError) as turned:
        list(open_corpus(other, one).pairs())
    assert turned.value.where == f"{one}:2: the first line that seems to have no partner"
    with pytest.raises(ConfigError) as both:
        open_corpus("-", "-")
    assert str(both.value) == (
        "standard input cannot be both the source and the target\n  give one side as a file, or both "
        'sides as TSV on standard input with the source "-" alone'
    )


@pytest.mark.parametrize(
    ("read", "blank", "long", "said"),
    [
        (0, 0, 0, "the corpus has no pairs\n  give files with one sentence per line"),
        (
            1_234,
            1_000,
            234,
            "no pair is left of 1,234: 1,000 have a blank side, 234 have more than 9 tokens on one\n"
            "  raise data.max_length",
        ),
        (
            2,
            2,
            0,
            "no pair is left of 2: 2 have a blank side, 0 have more than 9 tokens on one\n"
            "  give files with one sentence per line",
        ),
    ],
)
def test_why_nothing_is_left(read: int, blank: int, long: int, said: str) -> None:
    error = module.nothing_left(read, {"blank": blank, "too_long": long}, 9)
    assert (str(error), error.code) == (said, "empty")
