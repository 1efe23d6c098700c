"""What can be looked at: a frame for notebooks, characters for terminals."""

from pathlib import Path

import numpy as np
from tests.explain.conftest import Workshop
from tests.explain.test_page import Reader

from jumok.decoding.translator import Translator
from jumok.explain.html import picture, shares, show_trace, trace_html, word_rows
from jumok.explain.influence import Influence
from jumok.explain.trace import make_trace, open_trace

TEXT = "a man rides 영화를 봤다."


def test_a_notebook_gets_the_same_file_in_a_frame(translator: Translator, built: Path) -> None:
    trace = make_trace(translator, TEXT)
    [(attributes, _)] = Reader(show_trace(trace, height=400)._repr_html_()).all("iframe")
    assert attributes["height"] == "400"
    document = (attributes["srcdoc"] or "").replace('<base href="about:srcdoc">\n', "")
    assert document == trace_html(trace)


def test_a_frame_is_640_pixels_high_unless_told_otherwise(rnn: Translator, built: Path) -> None:
    trace = make_trace(rnn, "a man")
    [(attributes, _)] = Reader(show_trace(trace)._repr_html_()).all("iframe")
    assert attributes["height"] == "640"


def test_a_terminal_gets_a_heat_map_and_needs_no_page(transformer: Translator) -> None:
    trace = make_trace(transformer, TEXT)
    cross = trace.attention.cross
    assert cross is not None
    assert repr(show_trace(trace)) == cross.mean().words().show()


def test_without_attention_it_is_influence(rnn: Translator, tmp_path: Path) -> None:
    trace = make_trace(rnn, TEXT)
    drawn = picture(trace)
    assert drawn.startswith("influence · words\n")
    assert all(word in drawn for word in ("man", "rides", "영화를"))
    bare = open_trace(make_trace(rnn, TEXT).save(tmp_path / "a.trace"))
    assert picture(bare) == repr(bare)


def test_shares_are_of_what_supports() -> None:
    values = np.array([[1, -3, 3], [-1, -2, 0], [0, 2, 0]], dtype=np.float32)
    found = shares(Influence("words", "unk", (), values))
    np.testing.assert_allclose(found, [[0.25, 0, 0.75], [0, 0, 0], [0, 1, 0]])


def test_rows_of_words_are_means_of_their_tokens(workshop: Workshop) -> None:
    trace = make_trace(workshop.translator("rnn"), TEXT, target="one three봤다")
    rows = np.arange(len(trace.target_ids) * 2, dtype=np.float64).reshape(-1, 2)
    found = word_rows(trace, rows)
    words = trace.manifest["target"]["words"]
    assert found.shape == (len(words), 2)
    for word, row in zip(words, found, strict=True):
        np.testing.assert_allclose(row, np.mean([rows[i] for i in word["tokens"]], axis=0))
