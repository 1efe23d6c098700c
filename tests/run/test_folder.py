"""A run's own files: what may lie in its folder, what may change, and what may not."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jumok.checkpoint.folder import run_lock
from jumok.errors import ConfigError, DataError, RunError
from jumok.run.folder import RunFolder
from jumok.run.plan import Choice
from jumok.settings import config_to_dict, flatten, parse_config, read_toml

CONFIG = parse_config({"model": {"arch": "luong", "width": 32}, "training": {"max_steps": 5000}, "seed": 3})


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    (tmp_path / "run").mkdir()
    run = RunFolder(tmp_path / "run")
    run.write(CONFIG, "a" * 64, (Choice("model.width", 32, "small"),))
    return run


def test_what_was_written_is_complete_and_reads_back(folder: RunFolder) -> None:
    assert folder.exists
    assert folder.read({}) == CONFIG
    assert read_toml(folder.path / "config.toml") == flatten(config_to_dict(CONFIG))
    record = json.loads((folder.path / "run.json").read_text())
    assert record["plan"] == [["model.width", 32, "small"]]
    assert record["data_fingerprint"] == "a" * 64


def rewrite_as_before(folder: RunFolder, old: str, new: str, *, without: str = "") -> None:
    """Another config.toml in a run of a version that noted less in run.json."""
    config, record = folder.path / "config.toml", folder.path / "run.json"
    config.write_text(config.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    fields = json.loads(record.read_text(encoding="utf-8"))
    kept = {key: one for key, one in fields.items() if key not in ("config_sha256", "seal", without)}
    record.write_text(json.dumps(kept), encoding="utf-8")


def test_a_run_of_before_had_4096_tokens_where_nobody_chose(folder: RunFolder) -> None:
    rewrite_as_before(folder, "\nbatch_tokens = 0\n", "\nbatch_tokens = 4096\n")
    assert folder.read({}).decoding.batch_tokens == 4096
    rewrite_as_before(folder, "", "", without="settings_version")
    assert folder.read({}).decoding.batch_tokens == 0
    assert folder.read({"decoding.batch_tokens": 4096}).decoding.batch_tokens == 4096


@pytest.mark.parametrize("given", ["padded", "sorted"])
def test_a_run_of_before_called_sorted_batches_padded(folder: RunFolder, given: str) -> None:
    rewrite_as_before(folder, 'batches = "auto"', 'batches = "padded"')
    assert folder.read({}).training.batches == "sorted"
    assert folder.read({"training.batches": given}).training.batches == "sorted"
    with pytest.raises(ConfigError, match="was started with training.batches='sorted', not 'packed'"):
        folder.read({"training.batches": "packed"})


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("notes")
    with pytest.raises(ConfigError, match="run is a file\n  give a folder for the run with --out"):
        RunFolder(tmp_path / "run").check_usable()


def test_a_folder_with_something_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ConfigError) as caught:
        RunFolder(tmp_path).check_usable()
    assert str(caught.value) == (
        f"{tmp_path} is not empty and holds no run\n  choose another folder with --out, or empty this one"
    )


def test_a_run_that_was_killed_while_it_began_may_begin_again(tmp_path: Path) -> None:
    RunFolder(tmp_path / "new").check_usable()
    for name in (".lock", "run.json", "run.json.tmp-0123abcd", "config.toml.tmp-0123abcd"):
        (tmp_path / name).touch()
        RunFolder(tmp_path).check_usable()
    assert not RunFolder(tmp_path).exists


def test_an_earlier_run_is_kept_under_another_name(folder: RunFolder) -> None:
    names = []
    for number in (1, 2):
        aside = folder.set_aside()
        assert aside is not None
        assert aside.name == f"run.before-{number}"
        assert RunFolder(aside).read({}) == CONFIG
        assert not folder.path.exists()
        assert folder.set_aside() is None
        folder.path.mkdir()
        folder.write(CONFIG, "", ())
        names.append(aside)
    assert all(one.is_dir() for one in names)


def test_a_run_is_not_taken_away_from_its_trainer(folder: RunFolder) -> None:
    with run_lock(folder.path), pytest.raises(RunError, match="another process is training in this folder"):
        folder.set_aside()
    assert folder.exists


def test_the_folder_someone_stands_in_is_not_renamed(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.path)
    with pytest.raises(ConfigError, match="--fresh cannot rename the folder that you are in"):
        RunFolder(Path(".")).set_aside()
    assert folder.exists


def test_when_to_look_save_and_end_may_change(folder: RunFolder) -> None:
    changed = folder.read({"training.max_steps": 9000, "training.time_limit": 60.0, "decoding.beam": 3})
    assert (changed.training.max_steps, changed.training.time_limit, changed.decoding.beam) == (9000, 60.0, 3)
    assert changed.model == CONFIG.model
    assert folder.read({"model.width": 32, "seed": 3}) == CONFIG


def test_the_precision_that_was_planned_stays(folder: RunFolder) -> None:
    planned = replace(CONFIG, training=replace(CONFIG.training, precision="bf16"))
    folder.write(planned, "a" * 64, ())
    assert folder.read({"training.precision": "auto"}) == planned
    with pytest.raises(ConfigError, match="was started with training.precision='bf16', not 'fp32'"):
        folder.read({"training.precision": "fp32"})


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("model.width", 64, "model.width=32, not 64"),
        ("training.lr", 0.1, "training.lr=0.001, not 0.1"),
        ("model.arch", "rnn", "model.arch='luong', not 'rnn'"),
        ("seed", 4, "seed=3, not 4"),
    ],
)
def test_what_it_learns_may_not_change(folder: RunFolder, key: str, value: object, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        folder.read({key: value})
    assert str(caught.value) == (
        f"the run in {folder.path} was started with {words}\n"
        "  repeat the first command to go on, choose another --out or start over with --fresh"
    )


def test_other_data_is_refused_with_both_hashes(folder: RunFolder) -> None:
    assert not folder.has_other_data("a" * 64, allowed=False)
    assert not folder.has_other_data("a" * 64, allowed=True)
    assert folder.has_other_data("b" * 64, allowed=True)
    with pytest.raises(DataError) as caught:
        folder.has_other_data("b" * 64, allowed=False)
    assert str(caught.value) == (
        f"the data has changed since the run in {folder.path} began\n"
        f"  then sha256 {'a' * 64}\n  now  sha256 {'b' * 64}\n"
        "  restore the files, or pass --allow-data-change; to teach its model something new, "
        f"start another run from it: jumok train --from {folder.path} --out …"
    )


def test_settings_that_were_changed_in_the_file_are_refused(folder: RunFolder) -> None:
    config = folder.path / "config.toml"
    config.write_bytes(config.read_bytes().replace(b"seed = 42", b"seed = 43"))
    with pytest.raises(ConfigError) as caught:
        folder.read({})
    assert caught.value.code == "changed"
    assert str(caught.value) == (
        "config.toml was changed since the run began, or is damaged: "
        "it has not the SHA-256 that run.json notes\n"
        f"  {config}\n"
        "  copy it back from where it was whole, give other settings on the command line, or start over with "
        "--fresh"
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data.replace(b"data_fingerprint", b"data_fingerprinu"), "its content has changed"),
        (lambda data: data[:-20], "Expecting"),
        (lambda data: b"\xff" + data, "codec can't decode"),
        (lambda data: b"[" * 100_000, "recursion"),
    ],
)
def test_a_record_that_was_changed_is_refused(
    folder: RunFolder, change: Callable[[bytes], bytes], reason: str
) -> None:
    record = folder.path / "run.json"
    record.write_bytes(change(record.read_bytes()))
    for read in (lambda: folder.read({}), lambda: folder.has_other_data("x", allowed=True)):
        with pytest.raises(ConfigError, match="run.json was changed since the run began") as caught:
            read()
        assert reason in str(caught.value)
