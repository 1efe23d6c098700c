"""Translations that remember: attention, alignment, influence, beam, and files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.explain.conftest import Workshop

from jumok.decoding.results import Translation
from jumok.errors import ConfigError, RunError
from jumok.explain.attention import Link, links, pharaoh
from jumok.explain.influence import influence
from jumok.explain.trace import open_trace
from jumok.explain.traced import AlignedWords, TracedTranslation, joined_links
from jumok.model import Model, load

TEXT = "a man rides 영화를 봤다."


@pytest.fixture(scope="module", params=["rnn", "luong", "transformer"])
def model(request: pytest.FixtureRequest, workshop: Workshop) -> Model:
    return workshop.model(request.param)


@pytest.fixture(scope="module")
def transformer(workshop: Workshop) -> Model:
    return workshop.model("transformer")


def ask(model: Model, text: str = TEXT, **options: object) -> TracedTranslation:
    return model.translate(text, attention=True, **options)


def test_a_model_without_attention_has_none_and_everything_else_works(
    workshop: Workshop, built: Path, tmp_path: Path
) -> None:
    found = ask(workshop.model("rnn"))
    assert found.attention.cross is found.attention.enc_self is found.attention.dec_self is None
    assert found.influence().shape == (len(found.tokens), 6)
    assert found.align("influence")
    assert "srcdoc" in found.show()._repr_html_()
    assert found.save_html(tmp_path / "a.html").stat().st_size > 1000
    with pytest.raises(ConfigError, match="this model has no attention to align by") as error:
        found.align()
    assert 'method="influence"' in error.value.hint


def test_its_numbers_are_those_of_the_trace(transformer: Model) -> None:
    found = ask(transformer)
    assert found.attention.cross is not None
    assert found.attention.cross.weights.shape == (2, 2, len(found.tokens), len(found.trace.source_ids) + 1)
    own = influence(transformer, TEXT, [token.id for token in found.tokens])
    np.testing.assert_allclose(found.influence(), own.values, atol=1e-5)
    drop = influence(transformer, TEXT, [token.id for token in found.tokens], unit="tokens", replace="drop")
    np.testing.assert_allclose(found.influence(unit="tokens", replace="drop"), drop.values, atol=1e-5)


def test_words_are_aligned_by_attention() -> None:
    found = ask(load("demo/transformer"), "5. März 2024")
    pairs = [(one.source, one.target) for one in found.align()]
    assert [pair for pair in pairs if pair[1] != "-"] == [("2024", "2024"), ("März", "03"), ("5", "05")]
    assert {"3-0", "2-2", "0-4"} <= set(found.pharaoh().split())
    for layer in (0, -1, None):
        cross = found.attention.cross
        assert cross is not None
        words = cross.mean(layer).words()
        expected = links(words.weights[0, 0])
        assert found.pharaoh(layer=layer) == pharaoh(expected)
        assert found.align(layer=layer) == [
            AlignedWords(words.source[one.source], words.target[one.target], one.weight) for one in expected
        ]
    assert [one.target for one in found.align(threshold=0.9)] == ["2024", "03", "05"]


def test_an_answer_that_was_cut_off_has_its_last_word_aligned() -> None:
    found = ask(load("demo/luong"), "5. März 2024", max_len=7)
    assert (found.text, found.finished) == ("2024-03", False)
    assert [one.target for one in found.align()] == ["2024", "-", "03"]


def test_sentences_are_joined_word_by_word() -> None:
    one = (["a", "b"], ["x"], [Link(1, 0, 0.5)])
    two = (["c"], ["y", "z"], [Link(0, 1, 0.25), Link(0, 0, 0.75)])
    assert joined_links([one, two, one]) == (
        ["a", "b", "c", "a", "b"],
        ["x", "y", "z", "x"],
        [Link(1, 0, 0.5), Link(2, 2, 0.25), Link(2, 1, 0.75), Link(4, 3, 0.5)],
    )


def test_words_are_aligned_by_influence(model: Model) -> None:
    found = ask(model)
    units = [unit.text for unit in found.trace.influence().units]
    for one in found.align("influence"):
        assert one.source in units
        assert 0.1 <= one.weight <= 1
    places = [tuple(map(int, pair.split("-"))) for pair in found.pharaoh("influence").split()]
    assert [units[source] for source, _ in places] == [one.source for one in found.align("influence")]


def test_an_unknown_method_is_refused(transformer: Model) -> None:
    with pytest.raises(ConfigError, match="method='cros' is unknown") as found:
        ask(transformer).align("cros")  # type: ignore[arg-type]
    assert "cross" in found.value.hint


def test_the_beam_is_there_if_it_was_asked_for(model: Model) -> None:
    assert ask(model).beam is None
    tree = ask(model, record_beam=True).beam
    assert tree is not None
    assert [tree["nodes"][n]["id"] for n in tree["chosen"][1:]] == [token.id for token in ask(model).tokens]


def test_it_is_the_same_translation(model: Model) -> None:
    plain, found = model.translate(TEXT, n_best=2), ask(model, n_best=2)
    assert isinstance(found, Translation)
    assert found.to_dict() == plain.to_dict()
    assert found.to_json() == plain.to_json()
    assert found == ask(model, n_best=2)
    assert found == replace(found, made=None, recorded=True, parts=(found,))  # whatever it remembers
    assert repr(found).startswith("TracedTranslation('")
    with pytest.raises(AttributeError):
        found.text = ""  # type: ignore[misc]


def test_a_blank_text_has_nothing_to_see(transformer: Model) -> None:
    found = ask(transformer, "  ", record_beam=True)
    assert found.text == "  "
    assert found.attention.cross is None
    assert found.beam is None
    assert found.align() == []
    with pytest.raises(ConfigError, match="a blank text has no trace"):
        found.show()


def test_a_saved_trace_answers_without_the_model(model: Model, built: Path, tmp_path: Path) -> None:
    found = ask(model, record_beam=True)
    again = open_trace(found.save(tmp_path / "a.trace"))
    assert again.id == found.trace.id
    np.testing.assert_array_equal(again.influence().values, found.influence())
    assert again.beam() == found.beam
    assert again.save_html(tmp_path / "a.html").exists()
    with pytest.raises(ConfigError, match="saved without influence"):
        again.influence(unit="tokens")


def test_files_that_cannot_be_written(transformer: Model, built: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot write the trace: No such file or directory"):
        ask(transformer).save_html(tmp_path / "nowhere" / "a.html")
