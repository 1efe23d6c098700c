"""The questions: each has one answer, which stands in its context, and test names were never seen."""

import gzip
import importlib.util
import json
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_questions.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_questions", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_questions"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


script = load()
tables = cache(script.read_tables)


def examples(split: str, count: int) -> list[dict[str, str]]:
    return [script.example(tables(split), split, number) for number in range(count)]


@settings(max_examples=50)
@given(number=st.integers(0, 10**6), split=st.sampled_from(sorted(script.SIZES)))
def test_an_answer_stands_in_its_context(number: int, split: str) -> None:
    one = script.example(tables(split), split, number)
    assert one == script.example(tables(split), split, number)
    assert one["answer"] in one["context"]
    assert one["question"].endswith("?")
    assert 3 <= one["context"].count(".") <= 6
    assert all(text == " ".join(text.split()) for text in one.values())


def test_every_kind_is_asked_in_every_way() -> None:
    asked = [one["question"] for one in examples("train", 600)]
    for words in ("How is", "How do you say", "Which word is said", "mean?", "in English?", "in Korean?"):
        assert any(words in question for question in asked), words
    for words in ("What is the", "Whose", "Who has", "How warm", "How many degrees"):
        assert any(question.startswith(words) for question in asked), words


def test_a_question_has_one_answer() -> None:
    draw = script.Random(1)
    one, other = (script.Fact(name, "lamp", "on", script.STATE) for name in ("Ann", "Bob"))
    found = [script.ask([one, other], draw) for _ in range(50)]
    assert {answer for _, answer in filter(None, found)} == {"on"}  # "Whose lamp is on?" has two
    assert None in found


def test_names_of_valid_and_test_are_unseen() -> None:
    words = {split: {word for word, _ in tables(split).said} for split in script.SIZES}
    strings = {split: {korean for korean, _ in tables(split).means} for split in script.SIZES}
    for seen in (words, strings):
        assert not seen["train"] & (seen["valid"] | seen["test"])
        assert all(len(seen[split]) > 100 for split in seen)


def test_the_files_are_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "SIZES", {"valid": 20, "test": 10})
    for name in ("a", "b"):
        script.main(tmp_path / name)
    assert (tmp_path / "a/valid.jsonl.gz").read_bytes() == (tmp_path / "b/valid.jsonl.gz").read_bytes()
    lines: list[dict[str, Any]] = [
        json.loads(line)
        for line in gzip.decompress((tmp_path / "a/test.jsonl.gz").read_bytes()).decode().splitlines()
    ]
    assert lines == examples("test", 10)
    assert [set(one) for one in lines] == [{"context", "question", "answer"}] * 10
