"""Every kind of bad input: a clear error, the right exit code, no traceback, and nothing lost."""

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.run.conftest import quick_settings

import jumok
from jumok.checkpoint.folder import run_lock
from jumok.checkpoint.manifest import checkpoint_folders, verify_folder
from jumok.run.train import TrainedRun

Call = Callable[..., int]
Captured = pytest.CaptureFixture[str]


def as_words(given: dict[str, Any]) -> list[str]:
    return [part for key, value in given.items() for part in ("--set", f"{key}={value}")]


def refused(captured: Captured) -> str:
    """What was said on stderr; nothing may be on stdout, and no traceback anywhere."""
    out, err = captured.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert err.startswith("error: ")
    return err


def hashes(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


# Text files.


def lines(text: str, count: int = 40) -> bytes:
    return "".join(f"{text} {i}\n" for i in range(count)).encode()


TEXT_FILES = {
    "unequal files": (
        lines("one"),
        lines("eins").replace(b"eins 6\n", b""),
        "error: a.src has 40 lines and a.tgt has 39: line n of one must translate line n of the other\n  a",
    ),
    "invalid UTF-8": (
        lines("one"),
        lines("eins").replace(b"eins 2\n", b"ei\xffns\n"),
        "error: byte 0xFF is not UTF-8\n  a.tgt:3:3\n  convert the file to UTF-8",
    ),
    "empty corpus": (b"", b"", "error: a.src + a.tgt is empty\n  a.src\n  give files with one sentence"),
    "blank lines only": (
        b"\n" * 30,
        b"\n" * 30,
        "error: every source and every target of a.src + a.tgt is blank\n  are these the right files",
    ),
    "one line": (
        b"one\n",
        b"eins\n",
        "error: a.src + a.tgt has 1 pair with text on both sides\n  a model needs at least 20",
    ),
    "a 1 MB line": (
        lines("one") + b"x" * 1_000_001 + b"\n",
        lines("eins", 41),
        "error: the line has more than 1,000,000 bytes\n  a.src:41\n",
    ),
    "NUL bytes": (
        lines("one").replace(b"one 4\n", b"o\0e\n"),
        lines("eins"),
        "error: a NUL byte, which no text has\n  a.src:5\n  the file is damaged or binary\n",
    ),
    "UTF-16": (
        b"\xff\xfe" + "one\n".encode("utf-16-le") * 30,
        lines("eins", 30),
        "error: the file is UTF-16, not UTF-8\n  a.src:1:1\n  convert it: iconv",
    ),
    "every source the same": (
        b"one\n" * 40,
        lines("eins"),
        "error: cannot hold out 10 pairs for validation: only 0 sources occur just once\n  give validation",
    ),
}


@pytest.mark.parametrize("case", TEXT_FILES)
def test_text_that_cannot_be_used(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call, capsys: Captured
) -> None:
    source, target, message = TEXT_FILES[case]
    monkeypatch.chdir(tmp_path)
    Path("a.src").write_bytes(source)
    Path("a.tgt").write_bytes(target)
    assert call("train", "--source", "a.src", "--target", "a.tgt", "--out", "run", "-q") == 3
    assert refused(capsys).startswith(message)
    assert (Path("a.src").read_bytes(), Path("a.tgt").read_bytes()) == (source, target)
    assert not checkpoint_folders(Path("run"))


def test_unequal_files_name_the_first_suspicious_line(tmp_path: Path, call: Call, capsys: Captured) -> None:
    words = [f"{'long ' * (i % 7)}sentence {i}" for i in range(60)]
    (tmp_path / "a.src").write_text("".join(f"{word}\n" for word in words))
    (tmp_path / "a.tgt").write_text("".join(f"{word}\n" for i, word in enumerate(words) if i != 24))
    files = ["--source", tmp_path / "a.src", "--target", tmp_path / "a.tgt"]
    assert call("train", *files, "--out", tmp_path / "run") == 3
    suspect = refused(capsys).splitlines()[1]
    assert suspect == f"  {tmp_path / 'a.src'}:25: the first line that seems to have no partner"


def test_a_line_of_almost_1_mb_is_left_out(tmp_path: Path, call: Call, capsys: Captured) -> None:
    (tmp_path / "train.src").write_bytes(lines("one") + b"x " * 490_000 + b"\n")
    (tmp_path / "train.tgt").write_bytes(lines("eins", 41))
    given = quick_settings(tmp_path, training__max_steps=1, training__warmup=0, data__hold_out=5)
    assert call("train", "--out", tmp_path / "run", *as_words(given)) == 0
    assert "1 left out" in capsys.readouterr().err


@pytest.mark.parametrize(("long", "told"), [("skip", "left out"), ("cut", "sources cut")])
def test_long_contexts_do_not_end_a_run(
    long: str, told: str, tmp_path: Path, call: Call, capsys: Captured
) -> None:
    told_of = [
        {"context": f"lamp {i} is on. " * (1 + i % 3 * 9), "question": f"lamp {i}?"} for i in range(60)
    ]
    text = "".join(json.dumps({**one, "answer": f"yes {i}"}) + "\n" for i, one in enumerate(told_of))
    (tmp_path / "train.jsonl").write_text(text, encoding="utf-8")
    given = quick_settings(tmp_path, data__source=str(tmp_path / "train.jsonl"), data__max_length=30)
    del given["data.target"]
    words = as_words({**given, "training.valid_sentences": 20, "data.long": long})
    assert call("train", "--out", tmp_path / "run", *words) == 0
    assert told in capsys.readouterr().err
    question = ["--context", "lamp 1 is on. " * 20, "lamp 1?"]  # the marks are pieces: nobody warns
    assert call("translate", "-m", tmp_path / "run", "--device", "cpu", *question) == (
        2 if long == "skip" else 0
    )
    assert "warning" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("train.scr", "error: no such file\n  train.scr\n  did you mean 'train.src'?\n"),
        ("nowhere/x", "error: no such file\n  nowhere/x\n  there is no folder nowhere either\n"),
        ("folder", "error: a folder, not a file\n  folder\n  name a file in it: inside.txt\n"),
        ("/dev/null", "error: a device, not a file\n  /dev/null\n  give a text file\n"),
        ("bad.gz", "error: not a sound gzip file\n  bad.gz, after 0 unpacked bytes\n  copy it again\n"),
    ],
)
def test_files_that_are_not_there(
    source: str,
    message: str,
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
    capsys: Captured,
) -> None:
    monkeypatch.chdir(corpus)
    Path("folder").mkdir()
    Path("folder/inside.txt").touch()
    Path("bad.gz").write_bytes(b"no gzip")
    assert call("train", "--source", source, "--target", "train.tgt", "--out", "run") == 3
    assert refused(capsys) == message


def test_one_file_that_does_not_hold_both_sides(corpus: Path, call: Call, capsys: Captured) -> None:
    assert call("train", "--source", corpus / "train.src", "--out", corpus / "run") == 2
    assert "its name does not say how it holds both sides\n  give the target file too" in refused(capsys)
    (corpus / "a.tsv").write_text("one\teins\none eins\n")
    assert call("train", "--source", corpus / "a.tsv", "--out", corpus / "run") == 3
    assert refused(capsys).startswith(f"error: 1 column instead of 2\n  {corpus}/a.tsv:2\n")


# Settings and options.


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--set", "trainin.lr=1e-3"],
            "error: unknown setting 'trainin.lr'\n  given by --set\n  did you mean 'training.lr'?",
        ),
        (["--set", "training.lr=fast"], "error: training.lr='fast': "),
        (["--set", "training.lr"], "error: --set takes name=value, not 'training.lr'\n  for example --set"),
        (["--set", "model.dropout=1.5"], "error: model.dropout=1.5 cannot work\n"),
        (["--set", "model.dropout=nan"], "error: model.dropout=nan cannot work\n"),
        (
            ["--set", "model.width=130", "--set", "model.heads=4"],
            "error: model.width=130 does not split into",
        ),
        (
            ["--set", "training.warmup=90", "--max-steps", "50"],
            "error: training.warmup=90 cannot work\n",
        ),
        (["--set", "text.vocabulary=30000"], "error: text.vocabulary=30000 is more than this data supports"),
        (["--max-steps", "0"], "error: training.max_steps=0 cannot work\n"),
        (["--time-limit", "soon"], "error: --time-limit=soon is no time\n  give for example 90s, 10m or 2h"),
        (["--arch", "trasnformer"], "error: unknown architecture 'trasnformer'\n"),
        (
            ["--arch", "rnn", "--set", "model.heads=4"],
            "error: this architecture has no setting 'model.heads'",
        ),
        (["--preset", "huge"], "error: unknown preset 'huge'\n  given by --preset\n"),
        (
            ["--config", "a.toml"],
            "error: unknown setting 'modle.width'\n  in a.toml\n  did you mean 'model.w",
        ),
        (["--config", "b.toml"], "error: b.toml is not valid TOML: "),
        (["--config", "c.toml"], "error: there is no configuration file c.toml\n  check the path"),
        (["--config", "folder"], "error: cannot read the configuration file folder: "),
        (["--data", "dates"], "error: --data and --source exclude each other\n  give one of them"),
        (["--device", "abacus"], "error: device 'abacus' is not available\n"),
        (["--valid-target", "train.tgt"], "error: --valid-target is given without --valid-source\n"),
    ],
    ids=" ".join,
)
def test_settings_that_cannot_work(
    words: list[str],
    message: str,
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
    capsys: Captured,
) -> None:
    monkeypatch.chdir(corpus)
    Path("a.toml").write_text("[modle]\nwidth = 3\n")
    Path("b.toml").write_text("[model\n")
    Path("folder").mkdir()
    assert call("train", "--source", "train.src", "--target", "train.tgt", "--out", "run", *words) == 2
    assert refused(capsys).startswith(message)
    assert not Path("run/config.toml").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "error: unknown command 'trian'\n  did you mean 'train'?\n"),
        (["train"], "error: there is no data to learn from\n  give --source FILE --target FILE"),
        (
            ["train", "--data", "dtaes"],
            "error: no built-in data set is called 'dtaes'\n  did you mean 'dates'?",
        ),
    ],
    ids=" ".join,
)
def test_commands_that_leave_nothing_behind(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
    capsys: Captured,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(*words) == 2
    assert refused(capsys).startswith(message)
    assert list(tmp_path.iterdir()) == []


# Where the run should go.


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("/proc/run", "error: cannot write to the run folder: No such file or directory\n  /proc/run\n"),
        ("train.src/run", "error: cannot write to the run folder: Not a directory\n  train.src/run\n"),
        ("train.src", "error: train.src is a file\n  give a folder for the run with --out\n"),
        (
            ".",
            "error: . is not empty and holds no run\n  choose another folder with --out, or empty this one\n",
        ),
    ],
)
def test_an_output_folder_that_cannot_be_used(
    out: str,
    message: str,
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
    capsys: Captured,
) -> None:
    monkeypatch.chdir(corpus)
    before = hashes(corpus)
    assert call("train", "--source", "train.src", "--target", "train.tgt", "--out", out) == 2
    assert refused(capsys).startswith(message)
    assert hashes(corpus) == before


def test_a_second_trainer_is_refused_at_once(
    trained: TrainedRun, tmp_path: Path, call: Call, capsys: Captured
) -> None:
    shutil.copytree(trained.folder, tmp_path / "run")
    words = as_words(quick_settings(trained.folder.parent))
    before = hashes(tmp_path / "run")
    for more in ([], ["--fresh"]):
        with run_lock(tmp_path / "run"):
            assert call("train", "--out", tmp_path / "run", *words, *more) == 1  # it does not wait
        assert refused(capsys) == (
            f"error: another process is training in this folder (process {os.getpid()})\n"
            f"  {tmp_path / 'run'}\n"
            "  wait until it ends, stop it, or choose another folder with --out\n"
        )
    assert hashes(tmp_path / "run") == before


# Disks that fill up.


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No file may become as large as the weights: a write then fails in the middle, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_write_that_fails_in_mid_checkpoint_keeps_the_older_one(
    trained: TrainedRun, tmp_path: Path, call: Call, capsys: Captured, request: pytest.FixtureRequest
) -> None:
    shutil.copytree(trained.folder, tmp_path / "run")
    checkpoints = hashes(tmp_path / "run" / "checkpoints")
    words = as_words(
        quick_settings(
            trained.folder.parent,
            training__max_steps=30,
            training__save_every=2,
            training__validate_every=30,
        )
    )
    request.getfixturevalue("small_files")
    assert call("train", "--out", tmp_path / "run", *words, "-q") == 1
    text = refused(capsys)
    assert text.startswith("error: the disk is full: cannot save step-00000012\n")
    assert " bytes are needed and " in text
    assert hashes(tmp_path / "run" / "checkpoints") == checkpoints
    assert verify_folder(tmp_path / "run" / "checkpoints" / "step-00000006") == []
    assert jumok.load(tmp_path / "run").info["parameters"] > 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only an administrator may mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_that_is_really_full(
    trained: TrainedRun, small_disk: Path, call: Call, capsys: Captured
) -> None:
    shutil.copytree(trained.folder, small_disk / "run")
    words = ["--out", small_disk / "run"]
    words += as_words(
        quick_settings(
            trained.folder.parent,
            training__max_steps=40,
            training__save_every=2,
            training__validate_every=40,
        )
    )
    checkpoints = hashes(small_disk / "run" / "checkpoints")
    filler = small_disk / "filler"
    free = shutil.disk_usage(small_disk).free
    filler.write_bytes(bytes(free - 65_536))  # room for a line of the log, not for a checkpoint
    assert call("train", *words) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert err.count(" disk_full: the disk is full: cannot save step-000000") == 2  # then it gives up
    assert "\nerror: the disk is full: cannot save step-00000012\n" in err
    assert hashes(small_disk / "run" / "checkpoints") == checkpoints
    filler.unlink()
    assert call("train", *words, "-q") == 0  # with room again it goes on where it was
    assert max(checkpoint_folders(small_disk / "run")) == 40


# Damaged models.


def damage(run: Path, name: str, change: Callable[[bytes], bytes], newest: int = 99) -> None:
    for folder in list(checkpoint_folders(run).values())[:newest]:
        (folder / name).write_bytes(change((folder / name).read_bytes()))


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.fixture
def copy(trained: TrainedRun, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained.folder, tmp_path / "run"))


def test_a_flipped_bit(copy: Path, call: Call, capsys: Captured) -> None:
    damage(copy, "model.safetensors", flip)
    assert call("translate", "-m", copy, "123") == 3
    text = refused(capsys)
    assert text.startswith("error: model.safetensors was changed: SHA-256 ")
    assert str(copy / "checkpoints" / "step-0000000") in text
    assert "copy the folder again from where it was whole" in text


def test_a_truncated_tensor_file(copy: Path, call: Call, capsys: Captured) -> None:
    damage(copy, "model.safetensors", lambda data: data[:-100])
    assert call("translate", "-m", copy, "123") == 3
    assert refused(capsys).startswith("error: model.safetensors was cut short: ")


def test_a_tokenizer_of_another_model(copy: Path, call: Call, capsys: Captured) -> None:
    from jumok.config import TextConfig
    from jumok.text.tokenizer import train_tokenizer

    other = train_tokenizer(["another language"] * 20, TextConfig(vocabulary=300))
    damage(copy, "tokenizer.json", lambda _: other.to_bytes())
    assert call("translate", "-m", copy, "123") == 3
    text = refused(capsys)
    assert text.startswith("error: the tokenizer is damaged or that of another model: ")
    assert "put back the tokenizer that was saved with this model" in text


def test_a_missing_model(copy: Path, call: Call, capsys: Captured) -> None:
    assert call("translate", "-m", copy.with_name("rum"), "123") == 3
    assert (
        refused(capsys) == f"error: there is no model folder {copy.with_name('rum')}\n  did you mean 'run'?\n"
    )


def test_resuming_passes_over_a_damaged_checkpoint(
    copy: Path, trained: TrainedRun, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    damage(copy, "optimizer.safetensors", flip, newest=1)
    words = as_words(quick_settings(trained.folder.parent))
    assert call("train", "--out", copy, *words, "-q") == 0
    assert "step-00000006 is damaged (optimizer.safetensors was changed" in caplog.text
    losses = [
        [json.loads(line).get("loss") for line in (run / "metrics.jsonl").read_text().splitlines()]
        for run in (trained.folder, copy)
    ]
    after_step_3 = losses[0][losses[0].index(None, 1) + 1 :]
    assert [loss for loss in after_step_3 if loss] == [loss for loss in losses[1] if loss][-4:]


def test_resuming_with_nothing_whole_is_refused(
    copy: Path, trained: TrainedRun, call: Call, capsys: Captured
) -> None:
    damage(copy, "model.safetensors", flip)
    before = hashes(copy / "checkpoints")
    assert call("train", "--out", copy, *as_words(quick_settings(trained.folder.parent)), "-q") == 3
    text = refused(capsys)
    assert "none of the run's 2 checkpoints is whole\n" in text
    assert "start over with --fresh" in text
    assert hashes(copy / "checkpoints") == before


def test_resuming_with_changed_data_names_both_hashes(
    copy: Path, trained: TrainedRun, call: Call, capsys: Captured
) -> None:
    for side in ("train.src", "train.tgt"):
        text = (trained.folder.parent / side).read_text()
        (copy.parent / side).write_text(text.replace("1", "2"))
    record = json.loads((copy / "run.json").read_text())
    words = as_words(quick_settings(copy.parent, training__max_steps=7))
    before = hashes(copy)
    assert call("train", "--out", copy, *words, "-q") == 3
    lines = refused(capsys).splitlines()
    assert lines[0] == f"error: the data has changed since the run in {copy} began"
    assert lines[1] == f"  then sha256 {record['data_fingerprint']}"
    assert lines[2].startswith("  now  sha256 ")
    assert lines[2][-64:] != lines[1][-64:]
    assert lines[3] == (
        "  restore the files, or pass --allow-data-change; to teach its model something new, start another "
        f"run from it: jumok train --from {copy} --out …"
    )
    assert hashes(copy) == before
    assert call("train", "--out", copy, *words, "-q", "--allow-data-change") == 0


def test_resuming_with_other_settings_names_both_values(
    copy: Path, trained: TrainedRun, call: Call, capsys: Captured
) -> None:
    words = as_words(quick_settings(trained.folder.parent, model__width=32))
    assert call("train", "--out", copy, *words) == 2
    assert refused(capsys) == (
        f"error: the run in {copy} was started with model.width=16, not 32\n"
        "  repeat the first command to go on, choose another --out or start over with --fresh\n"
    )
