"""One trained model measured from end to end: the bundled ones stand in for runs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jumok.checkpoint.bundled import RECORDS, bundled
from jumok.comparison import measure
from jumok.comparison.entry import MeasureOptions, TestPairs
from jumok.comparison.measure import NO_LIMIT, TESTED, measure_entry, unsplit
from jumok.config import Arch, TransformerConfig
from jumok.data.builtin import builtin_corpus
from jumok.decoding.translator import Translator, load
from jumok.models.cost import parameters
from jumok.run.train import RunCallbacks, RunRequest, run
from tests.data.pictures import write_pictures
from tests.run.test_pictures import settings


def dates(count: int) -> TestPairs:
    pairs = list(builtin_corpus("dates", "test").pairs())[:count]
    answers = tuple((target,) for _, target in pairs)
    return TestPairs(name="dates test", sources=tuple(source for source, _ in pairs), answers=answers)


def run_folder(folder: Path, arch: Arch) -> Path:
    """A run that looks as training leaves it."""
    shutil.copytree(RECORDS / arch, folder)
    shutil.copytree(bundled()[arch], folder / "checkpoints" / "step-00000001")
    return folder


def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "LENGTHS", (8, 16))
    monkeypatch.setattr(measure, "ALONE", 4)
    monkeypatch.setattr(measure, "TOGETHER", 4)


def test_an_entry_is_measured_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    folder, seen = run_folder(tmp_path / "luong", "luong"), set[str]()
    test = dates(40)
    options = MeasureOptions(metrics=("exact", "chrf"), device="cpu", bootstrap=50)
    entry = measure_entry(folder, test, options, lambda what, done, total: seen.add(what))
    assert json.loads(json.dumps(entry, allow_nan=False)) == entry
    assert (entry["status"], entry["error"], entry["parameters"]) == ("completed", None, 107_264)
    assert entry["settings"]["model.arch"] == "luong"
    check_quality(entry["quality"], folder, test)
    assert all(entry["speed"][name] > 0 for name in ("sentences_per_s", "target_tokens_per_s"))
    alone = entry["speed"]["ms_per_sentence"]
    assert 0 < alone["median"] <= alone["p95"]
    assert entry["memory"]["train_peak_bytes"] > 16 * entry["parameters"]  # weights, gradients, two moments
    assert entry["memory"]["decode_peak_bytes"] > 4 * entry["parameters"]
    assert entry["attention"]["kinds"]["cross"]["sharpness"] > 0.5
    assert sum(entry["influence"]["share"]) == pytest.approx(1)
    assert entry["growth"]["lengths"] == [8, 16]
    assert {"translating", "attention", "influence", "growth with length", "one at a time"} <= seen


def check_quality(quality: dict[str, Any], folder: Path, test: TestPairs) -> None:
    """The figures are those of the answers that were kept."""
    kept = json.loads((folder / TESTED).read_bytes())
    assert kept["sources"] == list(test.sources)
    right = [a in b for a, b in zip(kept["hypotheses"], kept["references"], strict=True)]
    assert quality["value"] == pytest.approx(100 * sum(right) / len(right))
    assert quality["metrics"]["exact"]["value"] == quality["value"]
    assert quality["ci95"][0] <= quality["value"] <= quality["ci95"][1]
    assert quality["n"] == len(test) == len(kept["chrf"])
    assert sum(one["n"] for one in quality["by_length"]["bins"]) == len(test)
    assert quality["by_length"]["trained_to"] == 120  # of the histogram in the model's folder


def test_only_what_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    folder = run_folder(tmp_path / "rnn", "rnn")
    options = MeasureOptions(metrics=("exact",), device="cpu", bootstrap=0, growth=False, focus=False)
    test = dates(8)
    several = replace(test, answers=tuple(("no answer", *one) for one in test.answers))
    entry = measure_entry(folder, several, options)
    assert [entry[name] for name in ("attention", "influence", "growth")] == [None, None, None]
    assert entry["quality"]["ci95"] is None
    assert list(entry["quality"]["metrics"]) == ["exact"]
    assert entry["quality"]["value"] > 0  # any of the references will do
    assert "nrefs:2" in entry["quality"]["metrics"]["exact"]["signature"]


def test_the_log_and_the_formula_agree_on_the_size() -> None:
    from jumok.checkpoint.checkpoints import load_model
    from jumok.comparison.record import training_record

    for arch, folder in bundled().items():
        loaded = load_model(folder, "cpu")
        sizes = loaded.tokenizers.source.size, loaded.tokenizers.target.size
        parts = parameters(loaded.config.model, *sizes, shared=loaded.tokenizers.shared)
        assert training_record(RECORDS / arch)["parameters"] == sum(part.count for part in parts)


def test_pictures_have_names_and_no_lengths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of a built-in set, of which no setting names a folder of pictures."""
    quick(monkeypatch)
    write_pictures(tmp_path)
    given = settings(tmp_path, "rnn", training__max_steps=3)
    run(RunRequest(given=given, out=tmp_path / "run", device="cpu"), RunCallbacks())
    paths = tuple(str(tmp_path / "images" / f"{n}.png") for n in range(3))
    test = TestPairs(name="pictures", sources=paths, answers=(("a red square 0",),) * 3)
    monkeypatch.setattr(
        measure, "load", lambda folder, *args, **more: without_folder(load(folder, *args, **more))
    )
    entry = measure_entry(tmp_path / "run", test, MeasureOptions(metrics=("exact",), device="cpu"))
    assert entry["quality"]["n"] == 3
    assert entry["quality"]["by_length"]["bins"] == []
    assert [entry[name] for name in ("attention", "influence", "growth")] == [None, None, None]
    assert entry["memory"]["train_peak_bytes"] is None
    assert entry["memory"]["decode_peak_bytes"] > 0
    kept = json.loads((tmp_path / "run" / TESTED).read_bytes())
    assert kept["sources"] == ["0.png", "1.png", "2.png"]


def without_folder(translator: Translator) -> Translator:
    translator.config = replace(translator.config, data=replace(translator.config.data, images=""))
    return translator


def test_the_slow_ones_are_no_slower_than_the_slowest(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 1.0, 0.0, 2.0, 0.0, 9.0])
    monkeypatch.setattr(measure, "time", SimpleNamespace(perf_counter=lambda: next(times)))
    found: Any = SimpleNamespace(sources=["a", "b", "c"], speed=SimpleNamespace(sentences_per_s=1.0))
    found.speed.target_tokens_per_s = 1.0
    translator: Any = SimpleNamespace(translate=lambda text, sentences: text)
    told: list[Any] = []
    alone = measure.speed_of(translator, found, lambda *said: told.append(said))["ms_per_sentence"]
    assert told == [("one at a time", done, 3) for done in (1, 2, 3)]
    assert alone["median"] == 2000
    assert alone["p95"] == pytest.approx(2000 + 0.9 * 7000)  # 19 of 20 between the second and the slowest


def test_of_two_times_the_slow_one_lies_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 1.0, 0.0, 3.0])
    monkeypatch.setattr(measure, "time", SimpleNamespace(perf_counter=lambda: next(times)))
    speed = SimpleNamespace(sentences_per_s=1.0, target_tokens_per_s=2.0)
    found: Any = SimpleNamespace(sources=["a", "b"], speed=speed)
    translator: Any = SimpleNamespace(translate=lambda text, sentences: text)
    told = measure.speed_of(translator, found, lambda *said: None)
    assert told["ms_per_sentence"] == pytest.approx({"median": 2000, "p95": 2900})
    assert (told["sentences_per_s"], told["target_tokens_per_s"]) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({}, {"attention": 100, "influence": 24, "growth": (16, 32, 64, 128, 256, 512)}),
        ({"focus": False}, {"attention": None, "influence": None, "growth": (16, 32, 64, 128, 256, 512)}),
        ({"growth": False}, {"attention": 100, "influence": 24, "growth": None}),
    ],
)
def test_some_of_the_sentences_are_looked_into(
    options: dict[str, bool], asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spread over the test, each with what was made of it."""
    seen: list[Any] = []

    def count(translator: object, pairs: list[tuple[str, str]], progress: object) -> int:
        seen.append(pairs[1])
        return len(pairs)

    monkeypatch.setattr(measure, "measure_attention", count)
    monkeypatch.setattr(measure, "measure_influence", count)
    monkeypatch.setattr(measure, "measure_growth", lambda *given, lengths, progress: lengths)
    found: Any = SimpleNamespace(
        sources=[f"s{n}" for n in range(240)], hypotheses=[f"h{n}" for n in range(240)]
    )
    tokenizers = SimpleNamespace(pictures=None, target=SimpleNamespace(size=9))
    translator: Any = SimpleNamespace(tokenizers=tokenizers, model=None, config=SimpleNamespace(model=None))
    assert measure.insights(translator, found, MeasureOptions(**options), lambda *said: None) == asked
    assert seen == ([("s2", "h2"), ("s10", "h10")] if asked["attention"] else [])


def test_thirty_are_translated_alone_and_sixty_four_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spread over the test; one before them wakes what sleeps. Of one alone all times are its own."""
    asked: list[Any] = []
    cpu = SimpleNamespace(is_cuda=False)
    translator: Any = SimpleNamespace(
        translate=lambda text, sentences: asked.append(text),
        model=SimpleNamespace(parameters=lambda: iter([cpu])),
        tokenizers=SimpleNamespace(pictures=object()),
    )
    lines = tuple(f"line {n}" for n in range(128))
    speed = SimpleNamespace(sentences_per_s=1.0, target_tokens_per_s=2.0)
    measure.speed_of(translator, SimpleNamespace(sources=lines[:60], speed=speed), lambda *said: None)  # type: ignore[arg-type]
    assert asked == ["line 0", *lines[:60:2]]
    found = measure.speed_of(translator, SimpleNamespace(sources=lines[:1], speed=speed), lambda *said: None)  # type: ignore[arg-type]
    assert found["ms_per_sentence"]["median"] == found["ms_per_sentence"]["p95"]
    asked.clear()
    monkeypatch.setattr(measure, "peak_of", lambda model, work: (work(), 77)[1])
    test = TestPairs(name="t", sources=lines, answers=(("a",),) * 128)
    memory = {"train_peak_bytes": None, "decode_peak_bytes": 77}
    assert measure.memory_of(translator, test, 99) == memory
    assert asked == [[*lines[::2]]]
    cpu.is_cuda = True  # there training has counted its own
    assert measure.memory_of(translator, test, 99) == memory | {"train_peak_bytes": 99}


SOURCE = "den 5 mars 2024 kl. 14:30 " * 8


def test_a_long_source_is_not_split() -> None:
    translator = load(bundled()["luong"], "cpu")
    translator.config = replace(translator.config, data=replace(translator.config.data, max_length=12))
    split, whole = (one.translate(SOURCE, beam=1) for one in (translator, unsplit(translator)))
    assert whole.text != split.text
    assert len(whole.tokens) < len(split.tokens)
    assert unsplit(translator).config.data.max_length == NO_LIMIT
    assert translator.config.data.max_length == 12


def test_a_short_source_is_translated_as_ever() -> None:
    translator = load(bundled()["rnn"], "cpu")
    assert unsplit(translator).translate("5. März 2024", beam=1) == translator.translate(
        "5. März 2024", beam=1
    )


def test_a_table_of_positions_sets_a_limit() -> None:
    translator = load(bundled()["transformer"], "cpu")
    assert isinstance(translator.config.model, TransformerConfig)
    learned = replace(translator.config.model, positions="learned", max_positions=40)
    translator.config = replace(translator.config, model=learned)
    whole = unsplit(translator)
    assert whole.config.data.max_length == 39
    assert whole.config.decoding.max_len == 39
