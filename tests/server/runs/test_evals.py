"""Evaluations that runs keep: only schema eval/1, with ids that stay, whatever else lies in the folder."""

import json
import os
from math import nan
from pathlib import Path
from typing import Any

import pytest

from jumok.evaluation.evaluate import score_texts
from jumok.server.runs.catalog import Runs
from jumok.server.runs.evals import Evals, parse

SMALL = {"schema": "eval/1", "model": "m", "data": {"name": "cats", "n": 12}, "metrics": {}}
TEXTS = [f"the cat number {i} sat" for i in range(12)]


def keep(run: Path, name: str, content: Any) -> Path:
    (run / "eval").mkdir(parents=True, exist_ok=True)
    (run / "config.toml").touch()
    file = run / "eval" / name
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return file


@pytest.fixture
def document() -> dict[str, Any]:
    return score_texts(TEXTS, TEXTS, TEXTS, name="mine", data="cats", bootstrap=20).to_dict()


def test_evaluations_are_listed_and_found_by_id(tmp_path: Path, document: dict[str, Any]) -> None:
    keep(tmp_path / "a", "cats.json", document)
    keep(tmp_path / "demo" / "rnn", "dates-test.json", {**document, "model": "rnn", "fingerprint": "f"})
    evals = Evals(Runs(tmp_path))
    first, second = evals.all()
    assert first["id"] == "a:cats"
    assert {name: first[name] for name in ("run", "model", "data", "n")} == {
        "run": "a",
        "model": "mine",
        "data": "cats",
        "n": 12,
    }
    bleu = document["metrics"]["bleu"]
    assert first["metrics"]["bleu"] == {"value": bleu["value"], "ci95": bleu["ci95"]}
    assert (second["id"], second["run"], second["model"]) == ("demo~rnn:dates-test", "demo~rnn", "rnn")
    assert evals.find("a:cats") == document
    assert evals.find("a:dogs") is None
    assert evals.find("../a:cats") is None


def test_a_file_that_has_changed_is_read_again(tmp_path: Path, document: dict[str, Any]) -> None:
    file, evals = keep(tmp_path / "a", "cats.json", document), Evals(Runs(tmp_path))
    assert evals.all()[0]["model"] == "mine"
    file.write_text(json.dumps({**document, "model": "another"}), encoding="utf-8")
    assert evals.all()[0]["model"] == "another"
    file.unlink()
    assert evals.all() == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"schema": "eval/1"',
        b"[]",
        {"schema": "eval/1"},
        {"schema": "evals/1", "evaluations": []},
        {"schema": "eval/1", "model": "m", "data": "cats", "metrics": {}},
        {"schema": "eval/1", "model": "m", "data": {"name": "cats", "n": "12"}, "metrics": {}},
        {"schema": "eval/1", "model": None, "data": {"name": "cats", "n": 12}, "metrics": {}},
    ],
    ids=lambda content: str(content)[:30],
)
def test_what_is_no_evaluation_is_left_out(tmp_path: Path, document: dict[str, Any], content: Any) -> None:
    keep(tmp_path / "a", "bad.json", content)
    keep(tmp_path / "a", "good.json", document)
    evals = Evals(Runs(tmp_path))
    assert [one["id"] for one in evals.all()] == ["a:good"]
    assert evals.find("a:bad") is None


def test_names_that_cannot_be_shown_are_left_out(tmp_path: Path, document: dict[str, Any]) -> None:
    for name in (".hidden.json", "two\nlines.json", os.fsdecode(b"\xff.json"), "notes.txt"):
        keep(tmp_path / "a", name, document)
    (tmp_path / "a" / "eval" / "folder.json").mkdir()
    assert Evals(Runs(tmp_path)).all() == []


@pytest.mark.parametrize(
    ("metric", "good"),
    [
        ({"value": 3, "ci95": [1, 2.5]}, True),
        ({"value": None, "ci95": [None, 1], "signature": "x"}, True),
        ({"value": 1.5}, True),
        ({"value": 1.5, "ci95": [1, 2, 3]}, False),
        ({"value": 1.5, "ci95": "wide"}, False),
        ({"value": "high"}, False),
        (7, False),
    ],
)
def test_a_metric_is_a_number_and_perhaps_an_interval(metric: Any, good: bool) -> None:  # noqa: FBT001
    document = {**SMALL, "metrics": {"bleu": metric}}
    assert parse(json.dumps(document).encode()) == (document if good else None)


def test_numbers_that_json_does_not_know_become_null() -> None:
    text = json.dumps({**SMALL, "length_ratio": nan, "x": "\ud800"})
    assert parse(text.encode()) == {**SMALL, "length_ratio": None, "x": "?"}
