"""Edits and watches are in copies of an engine; the engine itself stays as it is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.native.making import CONFIGS, make

from jumok.config import DecodingConfig
from jumok.decoding import inside
from jumok.decoding.beam_tree import BeamTree
from jumok.decoding.inside import Probed, edits_in
from jumok.decoding.jobs import Job, Request
from jumok.edits import AttentionEdit, Edits
from jumok.native.library import available
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.weights import pack_weights

pytestmark = pytest.mark.skipif(not available(), reason="the C library was not built")
MASK = Edits({("cross", 0): AttentionEdit(factors=((0, 0.0), (1, 0.0)))})
EOS = 2


class Alone(Probed):
    """An engine with nothing but a model."""

    def __init__(self, name: str = "transformer") -> None:
        config = CONFIGS[name]
        self.model = NativeModel(config, pack_weights(config, make(config)[1], shared=True))


def test_an_edited_copy_scores_otherwise_and_the_engine_as_before() -> None:
    engine, pairs = Alone(), ([[260, 261]], [[262, EOS]])
    before = engine.force(*pairs)[0]
    edited = engine.edited(MASK)
    assert not np.allclose(edited.force(*pairs)[0], before)
    assert np.array_equal(engine.force(*pairs)[0], before)
    assert np.array_equal(edited.edited(None).force(*pairs)[0], before)
    assert edits_in(edited) is MASK  # type: ignore[arg-type]
    assert edits_in(engine) is None  # type: ignore[arg-type]


def test_a_watch_hears_the_longest_of_each_side() -> None:
    heard: list[tuple[str, int]] = []
    own = Alone().watched(lambda side, count: heard.append((side, count)), lambda model: model)
    own.force([[260], [260, 261]], [[EOS], [262, 263, EOS]])
    own.searched([[260, 261]], [3], SearchOptions(beam=1))
    assert heard == [("source", 3), ("target", 3), ("source", 3)]


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("name", ["transformer", "luong"])
def test_what_a_search_saw_is_remembered_once(name: str, beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    own, sources = Alone(name).remembering(), [[260, 261, 265], [262]]
    answers = own.searched(sources, [6, 4], SearchOptions(beam=beam))
    written = [(*one.ids, EOS) if one.finished else one.ids for one, *_ in answers]
    monkeypatch.setattr(own.model, "force", refuse)
    remembered = own.record(sources, written)
    monkeypatch.undo()
    for one, other in zip(remembered, own.record(sources, written), strict=True):
        np.testing.assert_allclose(one.parts["log_prob"], other.parts["log_prob"], atol=1e-5)
        for where, parts in other.attention.items():
            np.testing.assert_allclose(one.attention[where]["weights"], parts["weights"], atol=1e-5)


def refuse(*_: Any, **__: Any) -> None:
    raise AssertionError("the pass was made again")


def test_too_much_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside, "MOST", 10)
    own = Alone().remembering()
    [[answer, *_]] = own.searched([[260]], [3], SearchOptions(beam=1))
    assert own._seen == {}
    assert answer.log_probs


def test_a_beam_takes_room_for_each_hypothesis(monkeypatch: pytest.MonkeyPatch) -> None:
    own, most = Alone().remembering(), 8 * (1 + 3) ** 2
    for beam, is_kept in ((1, True), (2, False)):
        monkeypatch.setattr(inside, "MOST", most)
        assert (own._room([[260]], [3], beam) is not None) == is_kept


class Asked(Alone):
    """One that is asked in one way only."""

    options = SearchOptions(beam=2)

    def _asked(self, batch: Sequence[Job], request: Request) -> dict[str, Any]:
        return {"limits": [6] * len(batch), "options": self.options}


def test_a_tree_leads_to_the_answer_of_its_search() -> None:
    engine, tree, source = Asked(), BeamTree(2, 1.0), (260, 261)
    engine.grow_tree(Job(source), Request(decoding=DecodingConfig()), tree)
    [[best, *_]] = engine.model.search([source], [6], Asked.options)
    assert [tree.nodes[n].id for n in tree.chosen[1:]] == [*best.ids, *([EOS] if best.finished else [])]
    assert any(node.state == "pruned" for node in tree.nodes)


def test_the_file_needs_no_torch() -> None:
    source = Path(inside.__file__).read_text(encoding="utf-8")
    assert "import torch" not in source
