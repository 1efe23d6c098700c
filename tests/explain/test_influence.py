"""Influence: zero where the model looks away, diagonal where it copies, the same in any batch."""

import numpy as np
import pytest
import torch
from torch import nn

from jumok.decoding.translator import Translator
from jumok.edits import AttentionEdit, Edits
from jumok.errors import ConfigError, LimitError
from jumok.explain import influence as influencing
from jumok.explain.edits import compile_ops
from jumok.explain.influence import influence, leave_out, source_ids, sweep, target_ids, with_mask
from jumok.explain.ops import mask_edge
from jumok.explain.tokens import Unit
from jumok.models.interface import Memory, PlainPrediction, Prediction, Seq2Seq
from jumok.models.sentences import Sentences
from jumok.text.tokenizer import EOS

TEXT = "the dog sees a horse."


class Copier(Seq2Seq):
    """Writes source token t at step t, more or less surely."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.table = nn.Parameter(5 * torch.eye(vocabulary), requires_grad=False)

    def encode(self, source: Sentences) -> Memory:
        return Memory(self.table[source.tokens], source)

    def decode(self, target_in: Sentences, memory: Memory) -> Prediction:
        T, S = target_in.longest, memory.source.longest
        states = memory.source.grid(memory.states)
        return PlainPrediction(target_in.flat(nn.functional.pad(states, (0, 0, 0, max(0, T - S)))[:, :T]))


@pytest.fixture(scope="module")
def copier(workshop) -> Translator:  # type: ignore[no-untyped-def]
    size = workshop.translator("rnn").tokenizers.source.size
    return workshop.translator("rnn", network=Copier(size))  # type: ignore[no-any-return]


def test_a_model_that_copies_has_a_diagonal(copier: Translator) -> None:
    ids = copier.tokenizers.source.encode(TEXT)
    found = influence(copier, TEXT, [*ids, EOS], unit="tokens")
    assert found.values.shape == (len(ids) + 1, len(ids))
    assert found.values.dtype == np.float32
    diagonal = found.values[range(len(ids)), range(len(ids))]
    assert (diagonal > 1).all()
    np.testing.assert_allclose(found.values[:-1] - np.diag(diagonal), 0, atol=1e-6)
    np.testing.assert_allclose(found.values[-1], 0, atol=1e-6)


def test_words_support_their_own_pieces(copier: Translator) -> None:
    ids = copier.tokenizers.source.encode(TEXT)
    found = influence(copier, ids, ids)
    assert [unit.text for unit in found.units] == ["the", "dog", "sees", "a", "horse", "."]
    for column, unit in enumerate(found.units):
        own = list(unit.tokens)
        assert (found.values[own, column] > 1).all()
        np.testing.assert_allclose(np.delete(found.values[:, column], own), 0, atol=1e-6)


def test_dropping_moves_what_follows(copier: Translator) -> None:
    ids = copier.tokenizers.source.encode(TEXT)
    found = influence(copier, TEXT, ids, unit="tokens", replace="drop")
    assert (found.values[-1] > 1).all()  # without any one piece the last one stands elsewhere
    np.testing.assert_allclose(np.tril(found.values, -1)[:, -1], 0, atol=1e-6)


def test_what_a_model_cannot_see_has_no_influence(transformer: Translator) -> None:
    ids = transformer.tokenizers.source.encode(TEXT)
    hidden, S = 2, len(ids) + 1
    others = [q for q in range(S) if q != hidden]
    ops = [
        mask_edge("enc_self", "*", "*", q=others, k=hidden),
        mask_edge("cross", "*", "*", q=range(20), k=hidden),
    ]
    blind = transformer.edited(compile_ops(ops, transformer, TEXT).edits)
    found = influence(blind, TEXT, "나는 봤다.", unit="tokens").values
    np.testing.assert_allclose(found[:, hidden], 0, atol=1e-6)
    assert (abs(np.delete(found, hidden, axis=1)).max(axis=0) > 1e-3).all()


@pytest.mark.parametrize("replace", ["unk", "drop"])
def test_one_by_one_is_the_same_as_together(replace: str, translator: Translator, workshop) -> None:  # type: ignore[no-untyped-def]
    alone = workshop.translator(translator.config.model, batch_tokens=1)
    calls: list[int] = []
    found = influence(translator, TEXT, "나는 봤다.", replace=replace)
    single = influence(
        alone, TEXT, "나는 봤다.", replace=replace, progress=lambda what, done, total: calls.append(done)
    )
    np.testing.assert_allclose(found.values, single.values, atol=1e-5)
    assert calls == list(range(1, 8))
    assert abs(found.values).max() > 1e-3


def test_influence_is_the_difference_of_two_scores(translator: Translator) -> None:
    found = influence(translator, "the dog sees", "나는 봤다.", replace="drop").values
    whole, part = (translator.score(text, "나는 봤다.").tokens for text in ("the dog sees", "dog sees"))
    expected = [a.logprob - b.logprob for a, b in zip(whole, part, strict=True)]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-5)


def test_progress_may_stop_the_work(translator: Translator) -> None:
    def stop(what: str, done: int, total: int | None) -> None:
        assert what == "influence"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        influence(translator, TEXT, "나는", progress=stop)


@pytest.mark.parametrize(("room", "steps"), [(7, 1), (8, 2), (11, 2), (12, 3), (99, 7)])
def test_as_many_at_once_as_there_is_room_for(
    room: int, steps: int, rnn: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of four tokens, which the end of the source makes of three, and all of them once as they are."""
    told: list[tuple[str, int, int | None]] = []
    asked: list[int] = []
    monkeypatch.setattr(influencing, "tokens_at_once", lambda translator: room)

    def log_probs(translator: Translator, sources: list[list[int]], target: list[int]) -> np.ndarray:
        asked.append(len(sources))
        return np.zeros((len(sources), len(target)), np.float32)

    monkeypatch.setattr(influencing, "log_probs", log_probs)
    units = [Unit("a", (n % 3,), (0, 1)) for n in range(6)]
    leave_out(rnn, [5, 6, 7], [9, EOS], units, progress=lambda *said: told.append(said))
    ends = [min(7, steps * n) for n in range(1, len(asked) + 1)]
    assert told == [("influence", end, 7) for end in ends]
    assert (sum(asked), max(asked), ends[-1]) == (7, steps, 7)


@pytest.mark.parametrize("count", [256, 257])
def test_256_units_are_the_most(count: int, rnn: Translator) -> None:
    text = "a " * count
    if count == 256:
        assert influence(rnn, text, [EOS]).values.shape == (1, 256)
        return
    with pytest.raises(LimitError, match="the source has 257 units, and influence takes 256") as caught:
        influence(rnn, text, [EOS])
    assert caught.value.code == "too_long"


def test_blank_sides_have_empty_tables(translator: Translator) -> None:
    assert influence(translator, "", "나는").values.shape[1] == 0
    assert influence(translator, "a man", []).values.shape == (0, 2)


def test_names_are_checked(rnn: Translator) -> None:
    with pytest.raises(ConfigError, match="unit='word' is unknown") as caught:
        influence(rnn, "a", "b", unit="word")  # type: ignore[arg-type]
    assert caught.value.hint == "did you mean 'words'?"
    with pytest.raises(ConfigError, match="replace='delete' is unknown"):
        influence(rnn, "a", "b", replace="delete")  # type: ignore[arg-type]


def test_one_more_head_is_masked_beside_what_was_done_to_others() -> None:
    halved = AttentionEdit(factors=((1, 0.5),))
    edits = Edits({("cross", 0): halved})
    assert with_mask(edits, "cross", 0, 3) == Edits(
        {("cross", 0): AttentionEdit(factors=((1, 0.5), (3, 0.0)))}
    )
    assert with_mask(edits, "cross", 1, 0) == Edits(
        {("cross", 0): halved, ("cross", 1): AttentionEdit(factors=((0, 0.0),))}
    )


def test_only_attention_that_is_there_can_be_swept(rnn: Translator, transformer: Translator) -> None:
    with pytest.raises(ConfigError, match="this model \\(rnn\\) has no 'cross' attention"):
        sweep(rnn, "a", "b", ["cross"])
    with pytest.raises(ConfigError, match="has no 'crss' attention\n  did you mean 'cross'") as caught:
        sweep(transformer, "a", "b", ["cross", "crss"])  # type: ignore[list-item]
    assert caught.value.hint == "did you mean 'cross'?"


def test_ids_of_a_source_may_have_their_end_or_not(rnn: Translator) -> None:
    both = rnn.tokenizers
    ids = both.source.encode("a man")
    assert (
        source_ids(both, [*ids, EOS])
        == source_ids(both, ids)
        == source_ids(both, " a man ")
        == (ids, "a man")
    )
    assert source_ids(both, []) == source_ids(both, [EOS]) == ([], "")
    assert target_ids(both, "a man") == [*both.target.encode("a man"), EOS]
    assert target_ids(both, (5, 6)) == [5, 6]  # as they stand


def test_the_json_form(rnn: Translator) -> None:
    found = influence(rnn, "a man", [EOS]).to_dict()
    assert found["units"] == [{"text": "a", "tokens": [0]}, {"text": "man", "tokens": [1]}]
    assert (found["unit"], found["replace"], len(found["values"]), len(found["values"][0])) == (
        "words",
        "unk",
        1,
        2,
    )
