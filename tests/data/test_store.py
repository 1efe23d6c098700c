"""Ids on disk are the ids of the text, whoever wrote them."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.data import store as module
from jumok.data.marked import PairMarker
from jumok.data.store import AnyPair, EncodedChunk, Encoder, SideWriter, build_store, open_store
from jumok.errors import DataError, RunError
from jumok.text.beginning import beginning
from jumok.text.marks import MARKS
from jumok.text.normalize import tidy
from jumok.text.tokenizer import Tokenizer, Tokenizers, train_tokenizer
from jumok.text.tokenizer_form import TokenizerForm

LINES = ["the lower the lowest 1984", "나는 어제 영화를 봤다."] * 3
BPE = train_tokenizer(LINES, TextConfig(vocabulary=330))
CHAR = train_tokenizer(LINES, TextConfig(kind="char", vocabulary=330))
BOTH = Tokenizers(BPE, CHAR)
PAIRS = [("the lower", "나는"), ("", "x"), ("the lowest", "봤다."), ("a", ""), ("the", "x" * 50)]


def test_a_store_holds_the_ids_of_its_pairs(tmp_path: Path) -> None:
    store = build_store(PAIRS, BOTH, tmp_path / "run" / "store", max_length=20)
    assert len(store) == 2
    assert store.source(1).tolist() == BPE.encode("the lowest")
    assert store.target(0).tolist() == CHAR.encode("나는")
    assert store.source_lengths.tolist() == [len(BPE.encode("the lower")), len(BPE.encode("the lowest"))]
    assert store.target_lengths.dtype == np.int32
    assert store.source(0).dtype == np.uint16
    assert store.left_out == {"blank": 2, "too_long": 1}
    assert store.tokenizers == BOTH.fingerprint
    assert store.corpora == ()  # it is of one
    assert sorted(os.listdir(tmp_path / "run")) == ["store"]


def test_opened_again_it_is_the_same(tmp_path: Path) -> None:
    built = build_store(PAIRS, BOTH, tmp_path / "store", max_length=20)
    opened = open_store(tmp_path / "store")
    assert opened.fingerprint == built.fingerprint
    assert opened.left_out == built.left_out
    assert opened.source_ids.tolist() == built.source_ids.tolist()
    with pytest.raises(ValueError, match="read-only"):
        opened.source(0)[0] = 1


def test_the_fingerprint_follows_every_id_and_its_place_however_they_are_written(tmp_path: Path) -> None:
    def fingerprint(*chunks: list[list[int]]) -> str:
        with ExitStack() as files:
            side = SideWriter(tmp_path, "source", files)
            for rows in chunks:
                side.add(np.array(sum(rows, []), "<u2"), np.array(list(map(len, rows))))
        return side.fingerprint()

    rows = [[1, 2], [3]]
    others = [[[1], [2, 3]], [[3], [1, 2]], [[1, 2], [4]], [[1, 2]], [[1, 2, 3]]]
    assert len({fingerprint(one) for one in (rows, *others)}) == 6
    assert fingerprint(rows) == fingerprint(rows[:1], rows[1:])


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12).map(tidy)


@settings(max_examples=25, deadline=None)
@given(pairs=st.lists(st.tuples(texts, texts), max_size=12))
def test_every_pair_is_in_the_store_or_counted(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("store") / "s"
    pairs = [*pairs, ("the", "x")]
    store = build_store(pairs, BOTH, folder, max_length=15)
    ids = [(BPE.encode(source), CHAR.encode(target)) for source, target in pairs if source and target]
    kept = [pair for pair in ids if max(map(len, pair)) <= 15]
    assert [(store.source(i).tolist(), store.target(i).tolist()) for i in range(len(store))] == kept
    assert len(kept) + sum(store.left_out.values()) == len(pairs)


def many(count: int) -> list[tuple[str, str]]:
    return [(f"the {i}", f"나는 {i}" if i % 7 else "") for i in range(count)]


def test_processes_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 100)
    monkeypatch.setattr(module, "SMALL", 200)
    alone = build_store(many(3_050), BOTH, tmp_path / "one", max_length=9, processes=1)
    reports: list[tuple[str, int, int | None]] = []
    together = build_store(
        many(3_050),
        BOTH,
        tmp_path / "two",
        max_length=9,
        processes=2,
        total=3_050,
        progress=lambda *report: reports.append(report),
    )
    for name in os.listdir(tmp_path / "one"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert together.fingerprint == alone.fingerprint
    assert reports[0] == ("encoding", 100, 3_050)
    assert reports[-1] == ("encoding", 3_050, 3_050)


def test_faults_of_workers_arrive_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 10)
    monkeypatch.setattr(module, "SMALL", 20)
    with pytest.raises(TypeError):  # what no reader gives: half of a character
        build_store([*many(50), ("\ud800", "x")], BOTH, tmp_path / "s", max_length=9, processes=2)
    assert os.listdir(tmp_path) == []


SCRIPT = """
import sys
from pathlib import Path
from jumok.config import TextConfig
from jumok.data import store
from jumok.text.tokenizer import Tokenizers, train_tokenizer
import time
store.CHUNK, store.SMALL = 10, 20
tokenizer = train_tokenizer(["a b c"] * 9, TextConfig(vocabulary=300))
def pairs():
    for i in range({count}):
        if i > 200: time.sleep({pause})
        yield f"a {{i}}", "b"
def show(what, done, total): print(done, flush=True)
both = Tokenizers(tokenizer, tokenizer)
{guard}store.build_store(pairs(), both, Path(sys.argv[1]), max_length=9, processes=2, progress=show)
"""


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(count=10**6, pause=0.01, guard='if __name__ == "__main__": '))
    parent = subprocess.Popen(
        [sys.executable, script, tmp_path / "store"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert parent.stdout is not None
    with parent:
        assert parent.stdout.readline().strip() == b"10"
        workers = psutil.Process(parent.pid).children(recursive=True)
        assert len(workers) >= 2
        parent.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(workers, timeout=120)
    assert alive == []
    assert not (tmp_path / "store").exists()
    assert len(build_store(PAIRS, BOTH, tmp_path / "store", max_length=20)) == 2


def test_a_script_without_main_guard_still_gets_its_store(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(count=105, pause=0, guard=""))
    command = [sys.executable, script, tmp_path / "store"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert len(open_store(tmp_path / "store")) == 105


def test_a_store_replaces_an_older_one(tmp_path: Path) -> None:
    build_store(many(50), BOTH, tmp_path / "s", max_length=20)
    assert len(build_store(PAIRS, BOTH, tmp_path / "s", max_length=20)) == 2
    assert os.listdir(tmp_path) == ["s"]


@pytest.mark.parametrize(
    ("pairs", "message", "hint"),
    [
        ([], "the corpus has no pairs", "one sentence per line"),
        (
            [("", "a"), ("b", "")],
            "no pair is left of 2: 2 have a blank side, 0 have more than 9",
            "one sentence",
        ),
        (
            [("", "a"), ("b", "x" * 30)],
            "no pair is left of 2: 1 have a blank side, 1 have more",
            "max_length",
        ),
    ],
)
def test_a_store_of_nothing_is_refused(
    tmp_path: Path, pairs: list[tuple[str, str]], message: str, hint: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        build_store(pairs, BOTH, tmp_path / "s", max_length=9)
    assert hint in caught.value.hint
    assert os.listdir(tmp_path) == []


def test_wide_ids_for_large_vocabularies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Tokenizer(TokenizerForm(tuple(chr(0x10000 + i) for i in range(70_000)), (), "char"))
    store = build_store(
        [(chr(0x10000 + 69_999), "\U00010000")], Tokenizers(wide, BPE), tmp_path / "s", max_length=9
    )
    assert store.source(0).tolist() == [70_259]
    assert store.source(0).dtype == np.uint32


def damage(folder: Path, name: str, change: bytes | None) -> None:
    if change is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(change)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("header.json", None, "No such file or directory"),
        ("header.json", b"{", "Expecting property name"),
        ("header.json", b"{}", "'format'"),
        (
            "header.json",
            json.dumps({"format": "other/9"}).encode(),
            "format 'other/9' instead of 'jumok-store/1'",
        ),
        ("source.ids", b"123", "source.ids has 3 bytes instead of"),
        ("target.offsets", b"", "target.offsets has 0 bytes instead of 24"),
    ],
)
def test_a_damaged_store_is_refused(tmp_path: Path, name: str, change: bytes | None, message: str) -> None:
    build_store(PAIRS, BOTH, tmp_path / "s", max_length=20)
    damage(tmp_path / "s", name, change)
    with pytest.raises(DataError, match="the prepared data cannot be read") as caught:
        open_store(tmp_path / "s")
    assert message in caught.value.message
    assert caught.value.where == str(tmp_path / "s")
    assert "remove the folder" in caught.value.hint


@pytest.mark.parametrize(
    ("number", "code", "hint"),
    [(errno.ENOSPC, "disk_full", "free some disk"), (errno.EROFS, "io_error", "choose")],
)
def test_a_disk_that_takes_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str, hint: str
) -> None:
    def refuse(_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module, "_sync", refuse)
    with pytest.raises(RunError, match="cannot write the prepared data") as caught:
        build_store(PAIRS, BOTH, tmp_path / "s", max_length=20)
    assert caught.value.code == code
    assert hint in caught.value.hint
    assert os.listdir(tmp_path) == []


@settings(max_examples=25, deadline=None)
@given(pairs=st.lists(st.tuples(texts, texts), max_size=12))
def test_a_long_source_is_cut_when_asked(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("store") / "s"
    pairs = [*pairs, ("the lower the lowest", "x"), ("a", "x" * 50)]
    store = build_store(pairs, BOTH, folder, max_length=30, cut=5)
    ids = [(BPE.encode(source), CHAR.encode(target)) for source, target in pairs if source and target]
    kept = [(beginning(source, 5), target) for source, target in ids if len(target) <= 30]
    assert [(store.source(i).tolist(), store.target(i).tolist()) for i in range(len(store))] == kept
    assert store.left_out["too_long"] == len(ids) - len(kept)
    assert store.cut == sum(len(source) > 5 for source, target in ids if len(target) <= 30)


def test_marks_are_the_same_whoever_encodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 50)
    monkeypatch.setattr(module, "SMALL", 200)
    both = Tokenizers(*[train_tokenizer(["the 나는"], TextConfig(vocabulary=300, marks=True))] * 2)
    pairs = [(f"the {{x{i}}} {i}", f"나는 {{x{i}}} {i}") for i in range(1_050)]
    stores = [
        build_store(
            pairs, both, tmp_path / f"{n}", max_length=40, processes=n, marker=PairMarker(seed=3, share=0.5)
        )
        for n in (1, 2)
    ]
    assert stores[0].fingerprint == stores[1].fingerprint
    text = both.target.decode(stores[0].target(7).tolist())
    assert "{" not in text
    assert any(mark in text for mark in MARKS)


def test_the_header_says_what_the_files_hold(tmp_path: Path) -> None:
    pairs = [*PAIRS, ("the lower the lowest", "x")]
    store = build_store(pairs, BOTH, tmp_path / "s", max_length=20, cut=3)
    header = json.loads((tmp_path / "s" / "header.json").read_bytes())
    assert header == {
        "format": "jumok-store/1",
        "pairs": 3,
        "dtype": "<u2",
        "source_ids": int(store.source_lengths.sum()),
        "target_ids": int(store.target_lengths.sum()),
        "left_out": {"blank": 2, "too_long": 1},
        "cut": store.cut,
        "max_length": 20,
        "tokenizers": BOTH.fingerprint,
        "fingerprint": store.fingerprint,
    }
    assert store.cut == 1
    assert store.target_offsets.tolist() == [0, *np.cumsum(store.target_lengths).tolist()]
    assert sorted(os.listdir(tmp_path / "s")) == [
        "header.json", "source.ids", "source.offsets", "target.ids", "target.offsets",
    ]  # fmt: skip


@pytest.mark.parametrize("most", [4, 5])
def test_as_many_tokens_as_allowed_are_not_too_many(tmp_path: Path, most: int) -> None:
    pairs = [("the", "xxxxx"), ("the", "x"), ("1984", "x")]
    sides = [(len(BPE.encode(source)), len(CHAR.encode(target))) for source, target in pairs]
    assert sides == [(1, 5), (1, 1), (4, 1)]
    assert build_store(pairs, BOTH, tmp_path / "s", max_length=most).left_out["too_long"] == 5 - most


@pytest.mark.parametrize(
    ("chunk", "text", "sizes"),
    [(3, 1_000, [3, 3, 3, 1]), (5, 1_000, [5, 5]), (99, 11, [4, 4, 2]), (99, 12, [5, 5]), (99, 1_000, [10])],
)
def test_so_many_pairs_or_characters_are_encoded_at_a_time(
    monkeypatch: pytest.MonkeyPatch, chunk: int, text: int, sizes: list[int]
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    monkeypatch.setattr(module, "CHUNK_TEXT", text)
    chunks = list(module._chunks(("ab", str(n)) for n in range(10)))
    assert list(map(len, chunks)) == sizes
    assert sum(chunks, []) == [("ab", str(n)) for n in range(10)]
    assert list(module._chunks([])) == []


def test_a_pool_is_for_corpora_that_are_large_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 10)
    monkeypatch.setattr(module, "SMALL", 20)
    asked = list[int]()

    def together(chunks: Iterable[list[AnyPair]], encoder: Encoder, processes: int) -> Iterator[EncodedChunk]:
        asked.append(processes)
        return map(encoder, chunks)

    monkeypatch.setattr(module, "_in_parallel", together)
    encoder = Encoder(BOTH, 9, 0, None, ())
    for pairs, processes in ((10, 3), (11, 3), (40, 1), (40, 5)):
        read = sum(chunk.pairs for chunk in module._encoded(many(pairs), encoder, processes))
        assert read == pairs
    assert asked == [3, 5]  # of 11 pairs and of 40


def test_as_many_processes_as_cores_and_no_more_than_sixteen(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, processes in ((1, 1), (3, 3), (16, 16), (64, 16)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=cores: set(range(n)), raising=False)
        assert module._cores() == processes
    monkeypatch.delattr(os, "sched_getaffinity")
    for count, processes in ((None, 1), (5, 5), (17, 16)):
        monkeypatch.setattr(os, "cpu_count", lambda n=count: n)
        assert module._cores() == processes
