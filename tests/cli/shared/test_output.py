import gzip
import os
from pathlib import Path

import click
import pytest

from jumok.cli.shared.output import check_output, open_output
from jumok.errors import ConfigError, RunError


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    place = tmp_path / "out.txt"
    place.write_bytes(b"old")
    with open_output(str(place)) as file:
        file.write(b"new")
        assert place.read_bytes() == b"old"
    assert place.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_place_is_checked_and_nothing_is_left_there(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    check_output(str(tmp_path / "old"))
    check_output(str(tmp_path / "new"))
    check_output("/dev/null")
    assert os.listdir(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"
    with pytest.raises(ConfigError, match="is a folder"):
        check_output(str(tmp_path))
    with pytest.raises(ConfigError, match="No such file or directory"):
        check_output(str(tmp_path / "none" / "new"))


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "out.txt"
    place.write_bytes(b"old")
    with pytest.raises(KeyError), open_output(str(place)) as file:
        file.write({}[b"half"])
    assert place.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_gz_by_name_and_the_same_bytes_every_time(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with open_output(str(tmp_path / name)) as file:
            file.write(b"line\n")
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"line\n"
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert (tmp_path / "a.gz").read_bytes()[4:8] == bytes(4)  # "no time", not some moment of 1970


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with open_output(str(tmp_path / "link")) as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_device_is_not_replaced() -> None:
    with open_output("/dev/null") as file:
        file.write(b"gone")
    assert Path("/dev/null").is_char_device()


def test_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with open_output("-") as file:
        file.write("주목\n".encode())
    assert capfdbinary.readouterr().out == "주목\n".encode()


def test_a_reader_that_goes_away_ends_the_command_without_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """`jumok translate … | head`: what would come after it is not done."""
    elsewhere: list[int] = []
    monkeypatch.setattr(os, "dup2", lambda file, _: elsewhere.append(file))
    with pytest.raises(click.exceptions.Exit) as stop, open_output("-"):
        raise BrokenPipeError
    assert stop.value.exit_code == 0
    assert os.path.samestat(os.fstat(elsewhere[0]), os.stat(os.devnull))
    os.close(elsewhere[0])


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match="is a folder\n  name a file for the output"),
        open_output(str(tmp_path)),
    ):
        pass
    there_not = open_output(str(tmp_path / "no" / "out.txt"))
    message = "No such file or directory\n  choose a folder that exists"
    with pytest.raises(ConfigError, match=message) as caught, there_not:
        pass
    assert caught.value.code == "unwritable"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk() -> None:
    message = "cannot write /dev/full: No space left"
    with pytest.raises(RunError, match=message) as caught, open_output("/dev/full") as file:
        file.write(b"x" * 100_000)
    assert caught.value.code == "disk_full"
