"""A run as a command, and what it said at its end."""

import sys
from pathlib import Path

import pytest

from jumok.server.trainer.order import TrainingOrder
from jumok.server.trainer.schema import TrainingRequest


def order(folder: Path, *files: str, pairs: int = 200, **asked: object) -> TrainingOrder:
    request = TrainingRequest(pairs="", **asked)  # type: ignore[arg-type]
    return TrainingOrder("mine", folder, tuple(folder / file for file in files), pairs, request)


def test_the_command_is_one_of_jumok_train_and_tells_no_folder_of_this_machine(tmp_path: Path) -> None:
    found = order(
        tmp_path, "mine.source.txt", "mine.target.txt", arch="rnn", seconds=60, source_language="de"
    )
    name = tmp_path.name
    assert found.shown == (
        f"jumok train --source {name}/mine.source.txt --target {name}/mine.target.txt --arch rnn "
        "--preset tiny --time-limit 60s --set training.early_looks=true --set training.valid_sentences=100 "
        "--set training.log_every=10 --set training.batch_tokens=500 --set data.source_language=de "
        f"--out {name}/mine"
    )
    assert found.command[1:4] == ["-m", "jumok", "train"]
    assert found.command[-1] == str(tmp_path / "mine")


def test_many_pairs_are_learned_in_larger_updates(tmp_path: Path) -> None:
    assert "batch_tokens" not in order(tmp_path, "mine.tsv", pairs=2000).shown
    assert "--set training.batch_tokens=500 " in order(tmp_path, "mine.tsv", pairs=1999).shown


def test_the_places_of_a_run(tmp_path: Path) -> None:
    found = order(tmp_path, "mine.tsv", arch="luong", seconds=30, source_language="de", target_language="en")
    assert (found.run, found.log) == (tmp_path / "mine", tmp_path / "mine.log")
    assert found.events == tmp_path / "mine" / "metrics.jsonl"
    assert found.command[0] == sys.executable
    assert found.command[4:6] == ["--source", str(tmp_path / "mine.tsv")]
    assert "--target" not in found.command
    assert found.shown.endswith(
        "--set data.source_language=de --set data.target_language=en --out " + f"{tmp_path.name}/mine"
    )


@pytest.mark.parametrize(
    ("said", "code", "told"),
    [
        ("error: the disk is full: cannot save step-00000010\n  {folder}/mine\n  make room\n", 1,
         "the disk is full: cannot save step-00000010\n{name}/mine\nmake room"),
        ("train step=1\n", 1, "the training process ended with code 1"),
        ("error: one\nerror: two\n    and more\nthe end\n", 1, "two\nand more"),
        ("an error: one\n", 2, "the training process ended with code 2"),
        ("error: long ago\n" + "-" * 8190 + "\n", 0, "the training process ended with code 0"),
        ("error: at the edge\n" + "-" * 8172 + "\n", 1, "at the edge"),
        ("train step=1\n", -9, "the training process was ended from outside, by signal 9"),
    ],
)  # fmt: skip
def test_why_it_ended_in_its_own_words(tmp_path: Path, said: str, code: int, told: str) -> None:
    found = order(tmp_path, "mine.tsv")
    found.log.write_text(said.replace("{folder}", str(tmp_path)), encoding="utf-8")
    assert found.complaint(code) == told.replace("{name}", tmp_path.name)


def test_a_run_that_said_nothing_is_told_by_its_code(tmp_path: Path) -> None:
    assert order(tmp_path, "mine.tsv").complaint(3) == "the training process ended with code 3"
