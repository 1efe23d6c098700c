"""Probabilities of a change: what they promise, on both engines, alone and in company."""

import json
import shutil
from base64 import b64encode
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.calibration import write_calibration
from jumok.checkpoint.manifest import NOVELTY
from jumok.decoding import confidence as module
from jumok.decoding.confidence import (
    Calibrated,
    Calibration,
    load_calibration,
    parse_calibration,
    scored_sentence,
)
from jumok.decoding.estimator import Estimator
from jumok.decoding.results import DOUBTFUL, Confidence, WordDoubt, together
from jumok.decoding.translator import Translator, load
from jumok.decoding.word_features import WORD_FEATURES, ScoredSentence
from jumok.errors import ConfigError, ModelError
from jumok.explain.ops import mask_head
from jumok.model import load as load_model
from jumok.text.word_spans import word_spans, words_of

SOURCES = ["5. März 2024", "the 11th of June in 98", "Wednesday, August 13 2031", "1 mai 1999", "2/3/04"]


@lru_cache(maxsize=1)
def loaded() -> Translator:
    return load("demo/rnn", "cpu", engine="native")


@pytest.fixture(scope="module")
def native() -> Translator:
    return loaded()


@pytest.fixture(scope="module")
def in_torch() -> Translator:
    return load("demo/rnn", "cpu", engine="torch")


def test_every_word_has_a_probability_and_words_tile_the_text(native: Translator) -> None:
    for answer in native.translate(SOURCES, confidence=True):
        doubts = answer.confidence
        assert doubts is not None
        assert [word.text for word in doubts.words] == word_spans(answer.text)
        assert all(0 <= word.change <= 1 for word in doubts.words)
        assert doubts.sentences == (doubts.change,)
        assert 0 <= doubts.change <= 1
        assert doubts.share == pytest.approx(np.mean([word.change for word in doubts.words]))
        assert doubts.kept == 1 - doubts.share
        assert all(word.change >= DOUBTFUL for word in doubts.doubtful)


def test_the_answers_are_those_without_confidence(native: Translator, in_torch: Translator) -> None:
    for translator in (native, in_torch):
        for options in ({}, {"beam": 1}, {"n_best": 3}):
            with_it = translator.translate(SOURCES, confidence=True, **options)
            assert [replace(one, confidence=None) for one in with_it] == translator.translate(
                SOURCES, **options
            )
    assert native.translate("5. März 2024").confidence is None


def test_company_changes_nothing(native: Translator) -> None:
    together = native.translate([*SOURCES, *reversed(SOURCES)], confidence=True)
    for source, one in zip([*SOURCES, *reversed(SOURCES)], together, strict=True):
        assert one == native.translate(source, confidence=True)


def test_the_native_engine_agrees_with_torch(native: Translator, in_torch: Translator) -> None:
    ours, theirs = (one.translate(SOURCES, confidence=True) for one in (native, in_torch))
    for left, right in zip(ours, theirs, strict=True):
        assert left.confidence is not None
        assert right.confidence is not None
        assert left.text == right.text
        assert left.confidence.change == pytest.approx(right.confidence.change, abs=2e-3)
        for mine, yours in zip(left.confidence.words, right.confidence.words, strict=True):
            assert mine.change == pytest.approx(yours.change, abs=2e-3)


def test_only_the_best_answer_is_calibrated(native: Translator) -> None:
    answer = native.translate(SOURCES[1], confidence=True, n_best=3)
    assert answer.confidence is not None
    assert [one.confidence for one in answer.alternatives] == [None, None]


def test_a_text_of_several_sentences(native: Translator) -> None:
    first, second = (native.translate(one, confidence=True) for one in SOURCES[1:3])
    text = f"  {SOURCES[1]}\n\n* {SOURCES[2]}"
    both = native.translate(text, confidence=True, sentences="split")
    assert first.confidence
    assert second.confidence
    assert both.confidence
    words = [both.text[slice(*word.text)] for word in both.confidence.words]
    assert words == words_of(first.text) + words_of(second.text)  # the mark of the list is no sentence's
    assert both.confidence.sentences == (first.confidence.change, second.confidence.change)
    kept = (1 - first.confidence.change) * (1 - second.confidence.change)
    assert both.confidence.change == pytest.approx(1 - kept)


def test_a_blank_text_and_a_stream(native: Translator, in_torch: Translator) -> None:
    assert native.translate(" ", confidence=True).confidence is None  # nobody has answered it
    *_, final = in_torch.stream(SOURCES[1], confidence=True)
    assert final.translation.confidence is not None  # type: ignore[union-attr]


def test_traces_have_it_too() -> None:
    model = load_model("demo/transformer", "cpu")
    answer = model.translate(SOURCES[0], attention=True, confidence=True)
    assert (
        answer.confidence == model.on_torch("x").translate(SOURCES[0], confidence=True).confidence is not None
    )


def test_what_is_not_calibrated_is_refused(tmp_path: Path, native: Translator) -> None:
    for drawn in ({"sample": True}, {"mbr": 4}):
        with pytest.raises(ConfigError, match="calibrated for answers that are searched") as caught:
            load("demo/rnn", "cpu").translate("x", confidence=True, **drawn)
        assert caught.value.code == "not_calibrated"
    edited = load_model("demo/transformer", "cpu").edit(mask_head("cross", 1, 0))
    with pytest.raises(ConfigError, match="interventions is not the one that was calibrated"):
        edited.translate("5. März 2024", confidence=True)
    plain = shutil.copytree(bundled()["rnn"], tmp_path / "plain")
    (plain / "confidence.json").unlink()
    with pytest.raises(ConfigError, match=r"(?s)not been calibrated.*jumok calibrate -m .*plain -s SOURCE"):
        load(plain, "cpu").translate("x", confidence=True)
    assert not load(plain, "cpu").is_calibrated
    assert native.is_calibrated


def test_a_calibration_of_another_version_is_refused(tmp_path: Path) -> None:
    whole = load_calibration(bundled()["rnn"])
    assert parse_calibration(json.loads(json.dumps(whole.to_dict()))) == whole
    strange = replace(whole, words=Estimator({"moon": 1.0}, 0.0, ((0.0, 0.0),)))
    with pytest.raises(ValueError, match="asks for 'moon', which this jumok does not know"):
        parse_calibration(strange.to_dict())
    with pytest.raises(ValueError, match="words, sentences or fitted is missing"):
        parse_calibration({"words": {}})


def test_numbers_that_make_no_curve_are_a_fault_of_the_file(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bundled()["rnn"], tmp_path / "odd"))
    fields = load_calibration(folder).to_dict()
    write_calibration(folder, fields | {"words": {**fields["words"], "curve": []}})
    with pytest.raises(ModelError, match=r"confidence.json cannot be used: the curve does not rise"):
        load(folder, "cpu").translate("x", confidence=True)


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=3), min_size=1, max_size=3), st.integers(0, 9))
def test_confidences_read_one_after_the_other(parts: list[list[float]], by: int) -> None:
    each = [
        Confidence(values[0], (values[0],), tuple(WordDoubt((n, n + 1), p) for n, p in enumerate(values)))
        for values in parts
    ]
    whole = together([one.shifted(by) for one in each])
    assert len(whole.words) == sum(map(len, parts))
    assert max(one.change for one in each) <= whole.change + 1e-12
    assert whole.change <= 1
    assert whole.words[0].text == (by, by + 1)


@settings(max_examples=50)
@given(st.lists(st.floats(-50, 50), min_size=len(WORD_FEATURES), max_size=len(WORD_FEATURES)))
def test_whatever_the_weights_a_probability_is_one(numbers: list[float]) -> None:
    whole = load_calibration(bundled()["rnn"])
    wild = replace(whole, words=replace(whole.words, weights=dict(zip(WORD_FEATURES, numbers, strict=True))))
    translator = loaded()
    answer = translator.translate(SOURCES[1])
    found = wild.confidence(scored_sentence(SOURCES[1], answer, translator.tokenizers))
    assert all(0 <= word.change <= 1 for word in found.words)
    assert 0 <= found.change <= 1


def test_probabilities_have_four_digits_and_a_blank_answer_stays() -> None:
    """σ(0.3) = 0.574443; a mark would get more, and so would a sentence of more than one word."""
    line = ((0.0, 0.0), (1.0, 1.0))
    sentences = Estimator({"words": 0.3}, 0.3, line)
    one = Calibration(Estimator({"mark": 1.0}, 0.3, line), sentences, {})
    found = one.confidence(ScoredSentence("x", "a", [-0.5], [(0, 1)]))
    assert found == Confidence(0.5744, (0.5744,), (WordDoubt((0, 1), 0.5744),))
    assert one.confidence(ScoredSentence("x", "", [-0.5], [(0, 0)])) == Confidence(0.0, (0.0,), ())


def beside(folder: Path) -> Calibrated:
    """A translator of the model in this folder, as far as it knows how sure it may be."""
    found = Calibrated()
    found._engine = SimpleNamespace(contents=SimpleNamespace(folder=folder))  # type: ignore[assignment]
    return found


@pytest.mark.parametrize(
    ("fields", "lowest"),
    [
        ({"fitted": {"lowest_score": -2}}, -2.0),
        ({"fitted": {"lowest_score": "-2"}}, None),
        ({"fitted": {}}, None),
        ({}, None),
        ({"fitted": 3}, None),
        (ModelError("damaged"), None),
        (ConfigError("not there"), None),
    ],
)
def test_what_sentences_usually_score_is_read_from_the_calibration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: object, lowest: float | None
) -> None:
    def read(folder: Path) -> object:
        assert folder == tmp_path
        if isinstance(fields, Exception):
            raise fields
        return fields

    monkeypatch.setattr(module, "read_calibration", read)
    assert beside(tmp_path).lowest_score == lowest


def test_what_was_met_in_training_is_read_where_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {"usual": 0.25, "filter": b64encode(bytes(128)).decode()}
    monkeypatch.setattr(module, "read_learned", lambda folder, name: fields)
    assert beside(tmp_path).novelty is None
    (tmp_path / NOVELTY).touch()
    found = beside(tmp_path).novelty
    assert found is not None
    assert found.to_dict() == fields


def test_a_damaged_novelty_is_a_warning_and_no_more(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = Path(shutil.copytree(bundled()["rnn"], tmp_path / "rnn"))
    assert load(folder, "cpu").novelty is not None
    (folder / NOVELTY).write_bytes(
        (folder / NOVELTY).read_bytes().replace(b"jumok-novelty/1", b"jumok-novelty/7")
    )
    assert load(folder, "cpu").novelty is None
    assert "its schema is 'jumok-novelty/7'" in caplog.text
    assert "nothing is said about how new a text is" in caplog.text
    (folder / NOVELTY).unlink()
    caplog.clear()
    assert load(folder, "cpu").novelty is None
    assert caplog.text == ""
