"""Corrections are added whole: from many threads, by one process at a time, and through a kill -9."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.data.corpus import open_corpus
from jumok.errors import ConfigError, DataError, LimitError, RunError
from jumok.terms import corrections as module
from jumok.terms.corrections import CorrectionFile
from jumok.terms.memory import read_memory
from jumok.text.normalize import tidy

TEXT = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=20).filter(
    lambda t: t.strip()
)


def pairs_in(path: Path) -> list[tuple[str, str]]:
    return list(open_corpus(str(path)).pairs())


@pytest.mark.parametrize("name", ["a.tsv", "a.tmx"])
def test_what_is_added_is_a_memory_and_a_corpus(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with CorrectionFile(path) as file:
        file.add("Ja", "Yes", ("de", "en"))
        file.add("Zwei\tZeilen\nhier <b> & \x01", "Two\nlines", ("de", "en"))
    with CorrectionFile(path) as file:  # another day
        file.add("Ja", "Yeah", ("de", "en"))
    assert pairs_in(path) == [("Ja", "Yes"), ("Zwei Zeilen hier <b> &", "Two lines"), ("Ja", "Yeah")]
    assert open_corpus(str(path)).form.languages == ("de", "en")
    assert read_memory(path, ("de", "en")).exact("Ja").target == "Yeah"
    if name == "a.tmx":
        assert len(ElementTree.parse(path).findall("body/tu")) == 3


@pytest.mark.parametrize("name", ["a.tsv", "a.tmx"])
@settings(max_examples=25, deadline=None)
@given(pairs=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_every_text_comes_back_tidied(
    name: str, pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("corrections") / name
    clean = [tuple(tidy(module.CONTROL.sub(" ", text)) for text in pair) for pair in pairs]
    with CorrectionFile(path) as file:
        for pair, (source, target) in zip(pairs, clean, strict=True):
            if source and target:
                file.add(*pair, ("ko", "en"))
    kept = [pair for pair in clean if all(pair)]
    assert not kept or pairs_in(path) == kept


@pytest.mark.parametrize("name", ["a.tsv", "a.tmx"])
def test_many_threads_lose_and_mix_nothing(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with CorrectionFile(path) as file:

        def work(number: int) -> None:
            for count in range(10):
                file.add(f"source {number} {count}", f"target {number} {count}", ("de", "en"))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = pairs_in(path)
    assert len(found) == len(set(found)) == 80
    assert all(source.removeprefix("source") == target.removeprefix("target") for source, target in found)


def test_two_processes_cannot_have_one_file(tmp_path: Path) -> None:
    with CorrectionFile(tmp_path / "a.tsv"):
        code = (
            f"from jumok.terms.corrections import CorrectionFile; CorrectionFile({str(tmp_path / 'a.tsv')!r})"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "another process writes corrections to" in done.stderr
    CorrectionFile(tmp_path / "a.tsv").close()


WRITER = """
import sys
from jumok.terms.corrections import CorrectionFile
file, number = CorrectionFile(sys.argv[1]), 0
while True:
    number += 1
    file.add(f"source {number} " + "long " * 900, f"target {number} " + "long " * 900, ("de", "en"))
    print(number, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.tsv", "a.tmx"])
def test_a_process_that_is_killed_leaves_all_that_it_acknowledged(name: str, tmp_path: Path) -> None:
    path, acknowledged = tmp_path / name, 0
    for after in (1, 7, 20):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _ in range(after):
            process.stdout.readline()
            acknowledged += 1
        process.send_signal(signal.SIGKILL)
        acknowledged += len(process.stdout.read().split("\n")) - 1
        process.wait()
        process.stdout.close()
    CorrectionFile(path).close()
    found = pairs_in(path)
    assert len(found) >= acknowledged
    for source, target in found:
        assert source.split()[1:] == target.split()[1:]
        assert len(source.split()) == 902


@pytest.mark.parametrize("name", ["a.tsv", "a.tmx"])
def test_what_was_begun_is_completed_wherever_it_stopped(name: str, tmp_path: Path) -> None:
    """Every byte at which a write can be cut off, also over the end of a TMX file."""
    path, lock = tmp_path / name, tmp_path / f"{name}.lock"
    with CorrectionFile(path) as file:
        file.add("eins", "one", ("de", "en"))
        before = path.read_bytes()
        place, record = file._record(len(before), "zwei", "two", ("de", "en"))
    for cut in range(len(record) + 1):
        torn = before[:place] + record[:cut] + before[place + cut :]
        path.write_bytes(torn)
        lock.write_text(json.dumps({"place": place, "record": record.decode()}))
        CorrectionFile(path).close()
        assert pairs_in(path) == [("eins", "one"), ("zwei", "two")], cut
        assert lock.read_bytes() == b""


def test_a_long_correction_is_completed_too(tmp_path: Path) -> None:
    """Its note is longer than a MiB: each syllable has six characters there."""
    path, long = tmp_path / "a.tmx", "가" * 200_000
    with CorrectionFile(path) as file:
        file.add("eins", "one", ("de", "en"))
        before = path.read_bytes()
        place, record = file._record(len(before), "lang", long, ("de", "ko"))
    path.write_bytes(before[:place] + record[:1000])
    (tmp_path / "a.tmx.lock").write_text(json.dumps({"place": place, "record": record.decode()}))
    CorrectionFile(path).close()
    assert path.read_bytes() == before[:place] + record


def test_a_file_that_was_edited_since_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("source\ttarget\na\tb\nmine\tmeins")
    (tmp_path / "a.tsv.lock").write_text(json.dumps({"place": 18, "record": "torn\tzerrissen\n"}))
    with CorrectionFile(path) as file:
        assert path.read_text() == "source\ttarget\na\tb\nmine\tmeins"
        file.add("c", "d")
    assert pairs_in(path) == [("a", "b"), ("mine", "meins"), ("c", "d")]
    (tmp_path / "a.tsv.lock").write_text('{"place": 3, "rec')
    CorrectionFile(path).close()
    assert len(pairs_in(path)) == 3


def test_what_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="corrections cannot be kept in a.po"):
        CorrectionFile(tmp_path / "a.po")
    with pytest.raises(ConfigError, match=r"corrections cannot be written to .*: no such file or directory"):
        CorrectionFile(tmp_path / "no" / "a.tsv")
    (tmp_path / "other.tmx").write_text("<tmx><body></body></tmx>")
    with pytest.raises(DataError, match="this TMX file was not written by jumok"):
        CorrectionFile(tmp_path / "other.tmx")
    with CorrectionFile(tmp_path / "a.tsv") as file:
        with pytest.raises(DataError, match="a correction has a blank side"):
            file.add(" ", "b")
        file.add("a", "b", ("de", "en"))
        with pytest.raises(ConfigError, match="a.tsv holds de → en, not de → fr") as caught:
            file.add("a", "b", ("de", "fr"))
        assert caught.value.hint == "a TMX file holds corrections of several languages"
        monkeypatch.setattr(module, "MOST_BYTES", 10)
        with pytest.raises(LimitError, match="a.tsv has more than 0 MiB of corrections"):
            file.add("c", "d", ("de", "en"))


@pytest.mark.parametrize("name", ["a.tsv", "a.tmx"])
def test_a_disk_that_is_full_leaves_the_file_as_it_was(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / name, module._write_all
    with CorrectionFile(path) as file:
        file.add("a", "b", ("de", "en"))
        before = path.read_bytes()

        def full(handle: int, data: bytes, place: int) -> None:
            if handle == file.file and b"new" in data:
                os.pwrite(handle, data[:20], place)
                raise OSError(28, "No space left on device")
            write(handle, data, place)

        monkeypatch.setattr(module, "_write_all", full)
        with pytest.raises(RunError, match="the correction could not be written: no space left on device"):
            file.add("new", "neu", ("de", "en"))
        assert path.read_bytes() == before
        file.add("c", "d", ("de", "en"))
    assert pairs_in(path) == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize("name", ["a.tsv", "a.tmx"])
def test_the_first_correction_is_completed_too(name: str, tmp_path: Path) -> None:
    with CorrectionFile(tmp_path / name) as file:
        place, record = file._record(0, "eins", "one", ("de", "en"))
    assert place == 0
    for cut in (0, 1, len(record) - 1, len(record)):
        (tmp_path / name).write_bytes(record[:cut])
        (tmp_path / f"{name}.lock").write_text(json.dumps({"place": 0, "record": record.decode()}))
        CorrectionFile(tmp_path / name).close()
        assert (tmp_path / name).read_bytes() == record


def test_what_was_written_behind_a_correction_stays(tmp_path: Path) -> None:
    path, record = tmp_path / "a.tsv", "c\td\n"
    for rest in (record, record + "e", record + "e\tf\n", "c\tde\n", "c\td,"):
        path.write_text(f"source\ttarget\n{rest}")
        (tmp_path / "a.tsv.lock").write_text(json.dumps({"place": 14, "record": record}))
        CorrectionFile(path).close()
        assert path.read_text() == f"source\ttarget\n{rest}"


def test_a_file_takes_corrections_up_to_256_mib(tmp_path: Path) -> None:
    """It is all hole."""
    with CorrectionFile(tmp_path / "a.tsv") as file:
        file.add("a", "b")
        os.truncate(tmp_path / "a.tsv", 256 * 1024 * 1024)
        file.add("c", "d")
        os.truncate(tmp_path / "a.tsv", 256 * 1024 * 1024 + 1)
        with pytest.raises(
            LimitError, match="a.tsv has more than 256 MiB of corrections\n  start with another"
        ):
            file.add("e", "f")


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("name", ["a.tsv", "a.tmx"])
def test_what_is_noted_before_it_is_written_is_read_back(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, write = tmp_path / f"{name}.lock", module._write_all
    with CorrectionFile(tmp_path / name) as file:
        file.add("a", "b", ("de", "en"))
        assert lock.read_bytes() == b""

        def killed(handle: int, data: bytes, place: int) -> None:
            if handle == file.file:
                raise Killed
            write(handle, data, place)

        monkeypatch.setattr(module, "_write_all", killed)
        with pytest.raises(Killed):
            file.add("c", "d", ("de", "en"))
        assert json.loads(lock.read_bytes()).keys() == {"place", "record"}
        monkeypatch.setattr(module, "_write_all", write)
    CorrectionFile(tmp_path / name).close()
    assert pairs_in(tmp_path / name) == [("a", "b"), ("c", "d")]
