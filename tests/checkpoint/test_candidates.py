import json
from pathlib import Path

import pytest

from jumok.checkpoint.candidates import candidates, first_whole, was_best
from jumok.checkpoint.folder import write_folder
from jumok.errors import ModelError


def step(run: Path, number: int, *, best: bool = False, score: float | None = None) -> Path:
    folder = run / "checkpoints" / f"step-{number:08d}" if number else run / "averaged"
    state, config = {"best": best}, {"info": {"score": score}}
    files = {"state.json": state, "config.json": config} if number else {"config.json": config}
    write_folder(folder, {name: json.dumps(value).encode() for name, value in files.items()})
    return folder


def test_the_best_comes_first_then_the_newest(tmp_path: Path) -> None:
    one, two, three = step(tmp_path, 1), step(tmp_path, 2, best=True, score=5.0), step(tmp_path, 3)
    assert candidates(tmp_path) == [two, three, one]
    assert [was_best(folder) for folder in (one, two, three)] == [False, True, False]
    worse = step(tmp_path, 0, score=4.0)
    assert candidates(tmp_path) == [two, three, one, worse]


def test_an_average_that_is_better_comes_before_all(tmp_path: Path) -> None:
    one, two = step(tmp_path, 1), step(tmp_path, 2, best=True, score=5.0)
    better = step(tmp_path, 0, score=6.0)
    assert candidates(tmp_path) == [better, two, one]


def test_what_cannot_be_read_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one, two = step(tmp_path, 1), step(tmp_path, 2, best=True)

    def read(folder: Path) -> str:
        if folder == two:
            raise ModelError("it is damaged")
        return folder.name

    assert first_whole(tmp_path, read) == one.name
    assert f"it is damaged\n  {one} is used instead" in caplog.text


def test_the_first_error_is_told_if_there_is_nothing_else(tmp_path: Path) -> None:
    step(tmp_path, 1)
    step(tmp_path, 2, best=True)

    def read(folder: Path) -> str:
        raise ModelError(f"no {folder.name}")

    with pytest.raises(ModelError, match="no step-00000002"):
        first_whole(tmp_path, read)
