"""jumok check: the report, its exit codes and its forms."""

import base64
import json
import lzma
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.data.parallel import parallel

from jumok.cli.check import EXAMPLES
from jumok.cli.check import _print_cleaned as print_cleaned
from jumok.cli.check import _print_report as print_report
from jumok.cli.main import main
from jumok.data.builtin import builtin_corpus
from jumok.images.read import to_data_url

Pairs = list[tuple[str, str]]


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["check", *args])
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with healthy train and valid files, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    pairs = list(dict(builtin_corpus("homeassistant-ko-en", "test").pairs()).items())
    save("train", pairs[:300])
    save("valid", pairs[300:400])
    return tmp_path


def save(name: str, pairs: Pairs) -> None:
    Path(f"{name}.en").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
    Path(f"{name}.de").write_text("".join(f"{target}\n" for _, target in pairs), encoding="utf-8")


def append(path: str, data: bytes) -> None:
    Path(path).write_bytes(Path(path).read_bytes() + data)


def test_a_healthy_corpus_passes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train.en", "train.de") == 0
    out, err = capsys.readouterr()
    assert out == "train          300 pairs   train.en ↔ train.de\n\nnothing wrong\n"
    assert err == ""


def test_errors_are_named_with_their_lines_and_exit_three(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    append("train.en", b"ab\xff\n\n")
    append("train.de", b"x\ny\n")
    assert run("train.en", "train.de") == 3
    out, err = capsys.readouterr()
    assert "error            1 not valid UTF-8\n" in out
    assert "line 301\n" in out
    assert "train.en:301:3: byte 0xFF is not UTF-8\n" in out
    assert "warning          1 blank on one side\n" in out
    assert out.endswith("1 kind of error, 1 kind of warning\n")
    assert err == "hint: --fix writes a cleaned copy beside the original\n"


def test_warnings_alone_exit_zero(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append("train.en", b"\n")
    append("train.de", b"y\n")
    assert run("train.en", "train.de", "-q") == 0
    assert capsys.readouterr().out == "1 kind of warning\n"


def test_leaks_name_their_part(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run("train.en", "train.de", "--valid", "train.en", "train.de", "--test", "valid.en", "valid.de") == 0
    )
    out = capsys.readouterr().out
    assert "warning        300 valid: pairs also in train\n" in out
    assert "line 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 …\n" in out
    assert "test: " not in out


def test_fix_says_what_it_did(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append("train.en", b"\n")
    append("train.de", b"y\n")
    assert run("train.en", "train.de", "--fix") == 0
    out = capsys.readouterr().out
    assert "cleaned copy: train.clean.en train.clean.de\n" in out
    assert "300 pairs kept, 0 of them with characters put right\n" in out
    assert "dropped: 1 blank on one side\n" in out
    assert Path("train.clean.en").exists()
    assert run("train.en", "train.de", "--fix") == 3
    assert "train.clean.en exists already" in capsys.readouterr().err
    assert run("train.en", "train.de", "--fix", "--force") == 0


def test_unequal_files_are_reported_and_not_fixed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append("train.de", b"one more\n")
    assert run("train.en", "train.de", "--fix") == 3
    out, err = capsys.readouterr()
    assert "unequal line counts" in out
    assert "train.en has 300 lines and train.de has 301; train.de:" in out
    assert (
        "error: train.en has 300 lines and train.de has 301: which belong together cannot be guessed" in err
    )
    assert not Path("train.clean.en").exists()


def test_json_is_one_object(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append("train.en", b"\n")
    append("train.de", b"y\n")
    assert run("train.en", "train.de", "--json", "--fix") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "check/1"
    assert data["findings"][0]["kind"] == "blank_side"
    assert data["findings"][0]["lines"] == [301]
    assert data["fixed"]["dropped"] == {"blank_side": 1}


def test_a_built_in_set_is_checked_with_its_splits(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--data", "homeassistant-ko-en", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert [part["pairs"] for part in data["parts"]] == [17_004, 1_000, 1_000]
    assert data["counts"]["error"] == 0
    assert not [f for f in data["findings"] if f["kind"] in ("leak", "duplicate")]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ((), 2, "error: nothing to check\n  name the files: jumok check train.en train.de"),
        (("--data", "date"), 2, "error: no built-in data set is called 'date'\n  did you mean 'dates'?"),
        (("a.en", "--data", "dates"), 2, "error: both --data dates and a.en are given\n  choose one of them"),
        (("--data", "dates", "--fix"), 2, "error: --fix cannot change a built-in data set"),
        (
            ("a.en", "a.de", "--valid-data", "b.tsv:en-de"),
            2,
            "error: --valid-data is for several corpora\n  give each by --data, or --valid",
        ),
        (("missing.en", "missing.de"), 3, "error: no such file\n  missing.en"),
        (
            ("a.en", "--source", "b.en"),
            2,
            "error: both a.en and --source b.en are given\n  choose one of them",
        ),
        (
            ("a.en", "a.de", "--target", "b.de"),
            2,
            "error: both a.de and --target b.de are given\n  choose one of them",
        ),
        (("--target", "b.de"), 2, "error: nothing to check\n  name the files: jumok check train.en train.de"),
        (
            ("/proc/self/mem", "/proc/self/mem"),
            3,
            "error: cannot read the file: input/output error\n  /proc/self/mem\n  give a text file",
        ),
        (("/dev/zero", "/dev/zero"), 3, "error: a device, not a file\n  /dev/zero\n  give a text file"),
    ],
)
def test_wrong_use_gets_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    args: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*args) == code
    assert capsys.readouterr().err.startswith(message)


def test_the_examples_of_the_help_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import gzip

    Path("pairs.tsv.gz").write_bytes(gzip.compress(b"a\tb\n"))
    with zipfile.ZipFile("photos.zip", "w") as archive:
        archive.writestr(
            "cat.png", base64.b64decode(to_data_url(np.zeros((2, 2, 3), np.uint8)).split(",")[1])
        )
    Path("captions.tsv").write_text("cat.png\ta cat\n")
    unit = '<tu><tuv xml:lang="{}"><seg>a</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>'
    Path("memory.tmx").write_text(f"<tmx><body>{unit.format('en-GB')}{unit.format('fr')}</body></tmx>")
    examples = re.findall(r"jumok check (.+)", EXAMPLES)
    assert len(examples) == 5
    for example in examples:
        assert run(*example.split()) == 0
    assert run("--help") == 0
    assert f"jumok check {examples[1]}" in capsys.readouterr().out


def test_sides_may_be_named_as_in_train(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--source", "train.en", "--target", "train.de") == run("train.en", "train.de") == 0
    named, placed = capsys.readouterr().out.split("train  ")[1:]
    assert named == placed
    assert run("train.en", "--target", "train.de", "-q") == 0


def test_units_are_called_by_their_name_and_cleaned_as_objects(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tu = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="de"><seg>{}</seg></tuv></tu>'
    pairs = [("one", "eins"), ("two", "zwei"), ("one", "eins"), ("three", "")]
    Path("a.tmx").write_text(f"<tmx><body>{''.join(tu.format(*pair) for pair in pairs)}</body></tmx>")
    assert run("a.tmx", "--fix") == 0
    out = capsys.readouterr().out
    assert "train            3 pairs   a.tmx\n                   a.tmx: en → de\n" in out
    assert "unit 3\n                   unit 3 repeats unit 1\n" in out
    assert "info             1 not translated yet\n                   unit 4\n" in out
    assert "cleaned copy: a.clean.jsonl" in out
    assert out.endswith("  written as objects with the keys en and de, and nothing else\n")
    assert Path("a.clean.jsonl").read_text() == '{"en": "one", "de": "eins"}\n{"en": "two", "de": "zwei"}\n'


def test_a_header_is_said_and_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.tsv.xz").write_bytes(lzma.compress(b"source\ttarget\none\teins\none\teins\n"))
    assert run("a.tsv.xz", "--fix") == 0
    assert "a.tsv.xz:1 names the columns (source, target) and is left out" in capsys.readouterr().out
    assert lzma.decompress(Path("a.clean.tsv.xz").read_bytes()) == b"source\ttarget\none\teins\n"


def test_a_shift_is_said_and_ends_with_three(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources, targets = parallel(900)
    targets.insert(300, "nothing of the kind")
    save("train", list(zip(sources, targets[:900], strict=True)))
    assert run("train.en", "train.de") == 3
    out = capsys.readouterr().out
    assert "error          600 lines out of step\n" in out
    assert "from line 301 to 900 the target is 1 line behind the source: " in out
    assert "a line is missing or too many where it begins: put it right, and check again; --fix drops" in out


def test_keys_of_another_form_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.jsonl").write_text('{"body": "a", "subject": "b"}\n' * 30)
    assert run("a.jsonl") == 3
    out, err = capsys.readouterr()
    assert "name the source and the target: --columns body,subject\n" in out
    assert "--fix" not in out + err


def test_named_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"{i}\tsource {i}\ttarget {i}\n" for i in range(30)))
    file = str(tmp_path / "a.tsv")
    assert run(file, "-q") == 3
    assert run(file, "--columns", "2,3", "-q") == 0
    assert run(file, "b", "--columns", "2,3") == 2
    assert "--columns are those of one file with both sides" in capsys.readouterr().err


def finding(severity: str, count: int, lines: list[int], **more: str) -> Any:
    usual = {"kind": "x", "part": "train", "title": "odd", "unit": "lines", "example": "", "advice": ""}
    return SimpleNamespace(severity=severity, count=count, lines=lines, **usual | more)


def test_the_whole_report_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    train = SimpleNamespace(part="train", lines=(12_000, 11_999), files=("a.en", "a.de"), note="read as text")
    valid = SimpleNamespace(part="valid", lines=(500,), files=("v.tsv", ""), note="")
    findings = [
        finding("error", 12_000, [1, 2_000], example="1: a | b", advice="look there"),
        finding("warning", 2, [3, 4], part="valid", title="blank on one side"),
        finding("error", 9, [5], kind="unequal_lines"),
        finding("info", 1, []),
    ]
    report: Any = SimpleNamespace(parts=[train, valid], findings=findings)
    print_report(report)
    text = """\
train       11,999 pairs   a.en ↔ a.de
                   read as text
valid          500 pairs   v.tsv

error       12,000 train: odd
                   lines 1, 2,000 …
                   1: a | b
                   look there
warning          2 valid: blank on one side
                   lines 3, 4
error            9 train: odd
                   lines 5
info             1 train: odd
2 kinds of error, 1 kind of warning
"""
    assert capsys.readouterr().out == text
    report.parts, report.findings = [train], findings[-1:]
    print_report(report)
    assert capsys.readouterr().out.splitlines()[2:] == ["", "info             1 odd", "nothing wrong"]


def test_what_a_cleaned_copy_lacks_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    more = {
        "kept": 12_000,
        "changed": 1_500,
        "dropped": {"bad_row": 1_000, "copied": 2},
        "keys": ("en", "de"),
    }
    copy: Any = SimpleNamespace(files=["a.clean.en", "a.clean.de"], **more)
    print_cleaned(copy)
    lines = [
        "cleaned copy: a.clean.en a.clean.de",
        "  12,000 pairs kept, 1,500 of them with characters put right",
        "  dropped: 1,000 not a pair, 2 source copied to target",
        "  written as objects with the keys en and de, and nothing else",
    ]
    assert capsys.readouterr().out.splitlines() == lines
    copy.dropped, copy.keys = {}, ()
    print_cleaned(copy)
    assert capsys.readouterr().out.splitlines() == [*lines[:2], "  dropped: none"]
