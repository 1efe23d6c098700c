"""`jumok train` from words to a model folder: what it says, where it says it, and what it leaves."""

import json
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from tests.data.parallel import parallel
from tests.run.conftest import quick_settings

import jumok
from jumok.checkpoint.manifest import checkpoint_folders
from jumok.cli.train import also_said, gather, last_checkpoint, seconds, show_end
from jumok.config import ARCHS, DataConfig
from jumok.errors import ConfigError
from jumok.run.train import TrainedRun
from jumok.seals import unsealed
from jumok.settings import flatten, known_names, nest, parse_config
from jumok.text.frame import Direction

Call = Callable[..., int]
Captured = pytest.CaptureFixture[str]


def as_words(given: dict[str, Any]) -> list[str]:
    return [part for key, value in given.items() for part in ("--set", f"{key}={value}")]


def quick_words(folder: Path, **more: Any) -> list[str]:
    return as_words(quick_settings(folder, **more))


# From two files to a model folder.


@pytest.mark.parametrize("arch", ARCHS)
def test_two_files_become_a_translator(
    arch: str, corpus: Path, monkeypatch: pytest.MonkeyPatch, call: Call, capsys: Captured
) -> None:
    monkeypatch.chdir(corpus)
    words = ["--source", "train.src", "--target", "train.tgt", "--arch", arch, "--max-steps", "2"]
    assert call("train", *words, "--set", "decoding.max_len=4") == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    for text in (
        "plan\n",
        "600 words",
        "dashboard: jumok serve --runs runs\n",
        f"folder runs/train-{arch}\n",
        "done: all steps are done · 2 steps · ",
    ):
        assert text in captured.err
    assert f'next: jumok translate -m runs/train-{arch} "…"' in captured.err
    assert call("translate", "-m", f"runs/train-{arch}", "123", "") == 0
    assert capsys.readouterr().out.count("\n") == 2
    assert call("verify", f"runs/train-{arch}") == 0


def test_the_plan_has_a_reason_on_every_line(corpus: Path, call: Call, capsys: Captured) -> None:
    words = ["--source", corpus / "train.src", "--target", corpus / "train.tgt"]
    assert call("train", *words, "--dry-run", "--out", corpus / "run") == 0
    captured = capsys.readouterr()
    first, *lines, last = captured.err.splitlines()
    assert first == "plan"
    assert all(re.fullmatch(r"  [a-z_.]+ = \S+ +\S.*", line) for line in lines), lines
    assert re.fullmatch(r"  about .+, at [\d,]+ tokens/s \(a forecast\)", last)
    assert captured.out == ""
    assert not (corpus / "run").exists()


def add_lines(folder: Path, source: str, target: str) -> None:
    for name, text in (("train.src", source), ("train.tgt", target)):
        with (folder / name).open("a", encoding="utf-8") as file:
            file.write(text)


def test_one_line_says_what_a_check_would_find(corpus: Path, call: Call, capsys: Captured) -> None:
    assert call("train", *quick_words(corpus, training__max_steps=1, training__warmup=0), "--dry-run") == 0
    assert "data:" not in capsys.readouterr().err  # nothing to say
    add_lines(corpus, "same words\n\n12 34\n12 34\n", "same words\n5\n43 21\n43 21\n")
    files = f"{corpus / 'train.src'} {corpus / 'train.tgt'}"
    words = quick_words(corpus, training__max_steps=1, training__warmup=0)
    assert call("train", *words, "--out", corpus / "run") == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("data: ")]
    assert line == (
        "data: 304 pairs; 3 worth a look (1 source copied to target, 1 blank on one side, 1 repeated pairs): "
        f"jumok check {files} shows more"
    )
    assert call(*line.partition(": jumok ")[2].removesuffix(" shows more").split()) == 0
    assert "1 source copied to target" in capsys.readouterr().out
    assert call("train", *words, "--out", corpus / "run") == 0  # going on, nothing is read again
    assert "data: " not in capsys.readouterr().err
    assert call("train", *words, "--out", corpus / "other", "-q") == 0
    assert capsys.readouterr().err == ""


def test_leaked_validation_pairs_and_a_shift_are_said(corpus: Path, call: Call, capsys: Captured) -> None:
    sources, targets = parallel(900)
    targets.insert(300, "nothing of the kind")
    for name, texts in (("train.src", sources), ("train.tgt", targets[:900])):
        (corpus / name).write_text("".join(f"{text}\n" for text in texts))
    for name in ("src", "tgt"):
        lines = (corpus / f"train.{name}").read_text().splitlines(keepends=True)[:300]
        (corpus / f"valid.{name}").write_text("".join(lines))
    words = ["--source", corpus / "train.src", "--target", corpus / "train.tgt"]
    words += ["--valid-source", corpus / "valid.src", "--valid-target", corpus / "valid.tgt"]
    assert call("train", *words, "--dry-run") == 0
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith(
        "data: 900 pairs; 900 worth a look (600 lines out of step, 300 valid pairs also in train)"
    )


def test_the_plain_log_has_its_form(corpus: Path, call: Call, capsys: Captured) -> None:
    assert call("train", "--out", corpus / "run", *quick_words(corpus)) == 0
    lines = capsys.readouterr().err.splitlines()
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    number = r"-?[\d.]+(e[-+]\d+)?"
    train = rf"{stamp} train step=\d/6 loss={number} lr={number} tok_s=\d+ eta=\d+s"
    valid = rf"{stamp} valid step=\d loss={number} bleu={number} chrf={number} exact={number}( best=true)?"
    kinds = [line.split()[1] for line in lines if re.match(stamp, line)]
    assert kinds[0] == "train"  # soon; the others as time passes
    assert kinds.count("valid") == 2
    for line in lines:
        if re.match(stamp, line):
            assert re.fullmatch(train, line) or re.fullmatch(valid, line), line


def test_events_as_json_lines_on_standard_output(corpus: Path, call: Call, capsys: Captured) -> None:
    assert call("train", "--out", corpus / "run", *quick_words(corpus), "--json", "-q") == 0
    captured = capsys.readouterr()
    events = [json.loads(line) for line in captured.out.splitlines()]
    lines = (corpus / "run" / "metrics.jsonl").read_text().splitlines()
    logged = [unsealed(json.loads(line)) for line in lines]
    for event in (*events, *logged):
        del event["time"]
    assert events == logged
    assert events[0]["type"] == "start"
    assert captured.err == ""


def test_quiet_says_nothing(corpus: Path, call: Call, capsys: Captured) -> None:
    assert call("train", "--out", corpus / "run", *quick_words(corpus), "--quiet") == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
    assert jumok.load(corpus / "run").info["step"] in (3, 6)


def test_running_again_goes_on(trained: TrainedRun, tmp_path: Path, call: Call, capsys: Captured) -> None:
    shutil.copytree(trained.folder, tmp_path / "run")
    words = quick_words(trained.folder.parent, training__max_steps=7)
    assert call("train", "--out", tmp_path / "run", *words) == 0
    assert "goes on after step 6\n" in capsys.readouterr().err
    assert max(checkpoint_folders(tmp_path / "run")) == 7


def test_fresh_keeps_the_earlier_run_and_says_where(
    trained: TrainedRun, tmp_path: Path, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(trained.folder, tmp_path / "run")
    words = quick_words(trained.folder.parent, training__max_steps=1, training__warmup=0)
    assert call("train", "--out", tmp_path / "run", *words, "--fresh", "-q") == 0
    assert max(checkpoint_folders(tmp_path / "run")) == 1
    assert max(checkpoint_folders(tmp_path / "run.before-1")) == 6
    assert f"the earlier run is now in {tmp_path / 'run.before-1'}" in caplog.text


# Settings.


def test_later_layers_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.toml").write_text('seed = 1\n[model]\narch = "rnn"\nwidth = 1\n[training]\nlr = 1.0\n')
    (tmp_path / "two.toml").write_text('[model]\narch = "luong"\nwidth = 2\n[training]\nlr = 2.0\n')
    monkeypatch.setenv("JUMOK_TRAINING__LR", "3.0")
    monkeypatch.setenv("JUMOK_DECODING__BEAM", "3")
    options = {"training.max_steps": 4}
    files = (str(tmp_path / "one.toml"), str(tmp_path / "two.toml"))
    layers = gather(options, "base", files, ("decoding.beam=5", "data.name=dates"))
    assert layers == {
        "model.layers": (2, "--preset base"),  # of luong: the later file names the architecture
        "model.arch": ("luong", files[1]),
        "model.width": (2, files[1]),
        "seed": (1, files[0]),
        "training.lr": (3.0, "environment"),
        "training.max_steps": (4, "option"),
        "decoding.beam": (5, "--set"),
        "data.name": ("dates", "--set"),
    }


def test_every_setting_is_printed_with_its_origin(tmp_path: Path, call: Call, capsys: Captured) -> None:
    (tmp_path / "a.toml").write_text("[training]\nclip = 0.5\n")
    words = ["--preset", "tiny", "--config", tmp_path / "a.toml", "--time-limit", "2m", "--set", "seed=3"]
    assert call("train", "--print-config", *words) == 0
    text = capsys.readouterr().out
    lines = dict(line.split(" = ", 1) for line in text.splitlines())
    assert lines["model.width"] == "128  # --preset tiny"
    assert lines["training.clip"] == f"0.5  # {tmp_path / 'a.toml'}"
    assert lines["training.time_limit"] == "120.0  # option"
    assert lines["seed"] == "3  # --set"
    assert lines["decoding.beam"] == "5  # default"
    assert lines.keys() == flatten(tomllib.loads(text)).keys() <= known_names()


def test_with_data_the_printed_settings_are_the_plan(corpus: Path, call: Call, capsys: Captured) -> None:
    words = ["--source", corpus / "train.src", "--target", corpus / "train.tgt", "--max-steps", "50"]
    assert call("train", "--print-config", *words, "--out", corpus / "run") == 0
    text = capsys.readouterr().out
    config = parse_config(tomllib.loads(text))
    assert config.training.max_steps == 50
    assert config.training.warmup < 50
    assert re.search(r"^training\.warmup = \d+  # plan: \S.*$", text, re.M)
    assert "\ntraining.max_steps = 50  # option\n" in text
    assert not (corpus / "run").exists()


def test_a_stored_configuration_is_a_configuration_file(
    trained: TrainedRun, tmp_path: Path, call: Call, capsys: Captured
) -> None:
    stored = trained.folder / "config.toml"
    assert call("train", "--config", stored, "--out", tmp_path / "again", "-q") == 0
    assert (tmp_path / "again" / "config.toml").read_text() == stored.read_text()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("text", "value"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("1d", 86_400), ("0.5", 0.5)]
)
def test_times(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["soon", "-5m", "0", "nan", "infh", "10x", "m", "1m30s"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        seconds(text)
    assert str(caught.value) == f"--time-limit={text} is no time\n  give for example 90s, 10m or 2h"


def test_settings_given_twice_have_one_meaning() -> None:
    layers = gather({"seed": 0}, "", (), ("seed=1", "seed=2"))
    assert layers == {"seed": (2, "--set")}
    assert nest({"a.b": 1}) == {"a": {"b": 1}}


# Ends and interruptions.


@pytest.mark.parametrize(
    ("reason", "metric", "score", "text"),
    [
        ("max_steps", "bleu", 12.345, "done: all steps are done · 6 steps · 1m05s · best bleu 12.35"),
        ("time_limit", "loss", -1.5, "done: the time is up · 6 steps · 1m05s · best loss 1.50"),
        ("no_better", "per", -7.5, "done: it no longer improves · 6 steps · 1m05s · best per 7.50"),
        ("max_steps", "bleu", -0.0054, "done: all steps are done · 6 steps · 1m05s · best bleu 0.00"),
        ("no_better", "exact", None, "done: it no longer improves · 6 steps · 1m05s"),
    ],
)
def test_the_end_in_words(
    reason: str, metric: str, score: float | None, text: str, tmp_path: Path, capsys: Captured
) -> None:
    config = parse_config({"training": {"metric": metric}})
    show_end(TrainedRun(tmp_path, config, reason, 6, 65.0, score), [], quiet=False)
    assert capsys.readouterr().err.splitlines()[0] == text


def test_the_last_checkpoint_in_words(trained: TrainedRun, tmp_path: Path) -> None:
    again = "run the same command again to go on"
    assert last_checkpoint(trained.folder) == f"ended at the last checkpoint, step 6; {again}"
    assert last_checkpoint(tmp_path) == f"ended before the first checkpoint; {again}"


def test_a_model_of_questions_is_asked_with_a_context(tmp_path: Path, call: Call, capsys: Captured) -> None:
    lines = [
        json.dumps({"context": f"the {name} is red .", "question": f"how is the {name} ?", "answer": "red"})
        for name in (f"{one}{other}" for one in "bcdfghklmn" for other in ("ar", "at", "up", "en"))
    ]
    (tmp_path / "asked.jsonl").write_text("\n".join(lines), encoding="utf-8")
    words = ["--source", tmp_path / "asked.jsonl", "--max-steps", "1", "--set", "decoding.max_len=4"]
    assert call("train", *words, "--preset", "tiny", "--out", tmp_path / "run") == 0
    assert f'next: jumok translate -m {tmp_path / "run"} --context "…" "…"' in capsys.readouterr().err


def test_several_corpora_stand_behind_one_option(tmp_path: Path, call: Call, capsys: Captured) -> None:
    for code in ("de", "fr"):
        rows = (f"{code}{one}{other}\ten{one}{other}\n" for one in "bcdfgh" for other in "bcdfgh")
        (tmp_path / f"{code}.tsv").write_text("".join(rows), encoding="utf-8")
    corpora = [f"{tmp_path / 'de.tsv'}:de-en:both:3", f"{tmp_path / 'fr.tsv'}:fr-en:both:1"]
    few = ["--max-steps", "1", "--preset", "tiny", "--set", "decoding.max_len=4", "--out", tmp_path / "run"]
    assert call("train", "--data", *corpora, *few) == 0
    said = capsys.readouterr().err
    assert "de→en=" in said
    assert "fr→en=" in said
    assert f'next: jumok translate -m {tmp_path / "run"} --to en "…"' in said
    assert call("train", "train.de", "train.en") == 2
    assert capsys.readouterr().err == (
        "error: train.de belongs to no option\n"
        "  give pairs as --source FILE --target FILE, or corpora as --data FILE FILE\n"
    )


def test_a_model_is_taught_more_from_the_command_line(
    call: Call, corpus: Path, capsys: Captured, trained: TrainedRun
) -> None:
    words = as_words(
        {
            key: value
            for key, value in quick_settings(corpus).items()
            if not key.startswith(("model.", "text."))
        }
    )
    start = ["--from", str(trained.folder), "--freeze", "encoder", "--lora", "2"]
    assert call("train", *words, *start, "--dry-run", "--out", corpus / "run") == 0
    said = capsys.readouterr().err
    assert f"start.model = {trained.folder}" in said
    assert "of the weights learn" in said
    assert not (corpus / "run").exists()
    assert call("train", *words, *start, "--out", corpus / "run") == 0
    assert re.search(r"before: \d+\.\d\d BLEU, after: \d+\.\d\d BLEU", capsys.readouterr().err)
    assert call("train", *words, *start, "--arch", "rnn", "--out", corpus / "other") == 2
    assert "is a luong, and --arch rnn asks for another" in capsys.readouterr().err
    assert call("inspect", "-m", corpus / "run") == 0
    assert "descends from run (" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "start", "slots", "words"),
    [
        ({"source": "a.jsonl"}, "", ("{source}", "{target}"), '--context "…" --from de --to en '),
        ({"corpora": ("a.tsv:de-en", "b.tsv:en-de")}, "", ("{target}",), "--to en "),
        ({"source": "a.tsv"}, "m", ("{source}",), "--from de "),
        ({"source": "a.tsv"}, "", ("{source}", "{target}"), ""),
        ({"source": "a.tsv"}, "m", (), ""),
    ],
)
def test_what_a_model_must_be_told_with_every_text(
    data: dict[str, Any], start: str, slots: tuple[str, ...], words: str
) -> None:
    frame = SimpleNamespace(slots=set(slots), directions=[Direction("de", "en"), Direction("en", "de")])
    tokenizers = SimpleNamespace(reads_context=True, frame=frame)
    config = SimpleNamespace(data=DataConfig(**data), start=SimpleNamespace(model=start))
    done: Any = SimpleNamespace(config=config, model=SimpleNamespace(tokenizers=tokenizers))
    assert also_said(done) == words


def test_a_run_that_a_signal_stopped_exits_as_the_signal_asks(tmp_path: Path, capsys: Captured) -> None:
    done = TrainedRun(tmp_path, parse_config({}), "signal", 1200, 65.0, 1.0)
    with pytest.raises(click.exceptions.Exit) as stop:
        show_end(done, [15, 2], quiet=True)
    assert stop.value.exit_code == 128 + 15
    assert capsys.readouterr().err == "stopped at step 1,200; run the same command again to go on\n"
    show_end(done, [], quiet=True)
    assert capsys.readouterr().err == ""
    show_end(done, [], quiet=False)
    assert capsys.readouterr().err.splitlines()[1] == f'next: jumok translate -m {tmp_path} "…"'
