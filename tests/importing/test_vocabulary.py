import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import ModelError
from jumok.importing.stored import ready
from jumok.importing.vocabulary import NEVER, ForeignVocabulary, SpecialPlaces, lay_vocabulary
from jumok.text.specials import BOS, BYTES, EOS, FIRST, PAD, UNK


def vocabulary(tokens: list[str], controls: set[int]) -> ForeignVocabulary:
    return ForeignVocabulary(
        tokens=tokens,
        controls=frozenset(controls),
        spelling="spaces",
        cuts=(),
        unknown=None,
        name="vocab.json",
    )


def test_special_tokens_texts_and_controls_come_in_our_order() -> None:
    theirs = vocabulary(["</s>", "<unk>", "▁a", "<mask>", "b", "<pad>"], {0, 1, 3, 5})
    laid = lay_vocabulary(theirs, SpecialPlaces(5, 5, 0, 1), 8, "here")
    assert laid.rows[[BOS, PAD, EOS, UNK]].tolist() == [5, 5, 0, 1]
    assert laid.rows[FIRST:].tolist() == [2, 4, 3, 6, 7]
    assert laid.form.pieces == ("▁a", "b")
    assert laid.form.tags == ("<mask>", "<row 6>", "<row 7>")
    assert laid.never.tolist() == [BOS, *range(4, FIRST)]  # a copy, and bytes that it has not


def test_a_start_of_its_own_is_no_copy_and_zeros_may_start() -> None:
    theirs = vocabulary(["<unk>", "<s>", "</s>", "a"], {0, 1, 2})
    own = lay_vocabulary(theirs, SpecialPlaces(1, None, 2, 0), 4, "here")
    assert own.rows[BOS] == 1
    assert BOS not in own.never
    assert PAD in own.never
    zero = lay_vocabulary(theirs, SpecialPlaces(None, None, 2, 0), 4, "here")
    assert zero.rows[BOS] == -1
    assert zero.form.tags == ("<s>",)


def test_byte_tokens_go_to_their_places() -> None:
    theirs = vocabulary(["<pad>", "</s>", "<unk>", *reversed(BYTES), "a"], {0, 1, 2})
    laid = lay_vocabulary(theirs, SpecialPlaces(0, 0, 1, 2), 260, "here")
    assert [theirs.tokens[row] for row in laid.rows[4:FIRST]] == list(BYTES)
    assert laid.never.tolist() == [BOS]


@given(st.integers(3, 60), st.data())
def test_every_row_has_one_place_and_probabilities_stay(count: int, data: st.DataObject) -> None:
    controls = data.draw(st.sets(st.integers(0, count - 1)))
    end, unknown, start = (data.draw(st.integers(0, count - 1)) for _ in range(3))
    theirs = vocabulary([f"t{n}" for n in range(count)], controls)
    laid = lay_vocabulary(
        theirs, SpecialPlaces(start, None, end, unknown if unknown != end else None), count, ""
    )
    real = np.delete(laid.rows, laid.never)
    assert sorted(real.tolist()) == list(range(count))
    logits = np.random.default_rng(1).normal(size=count).astype(np.float32)
    ours = laid.bias(ready(logits)).make()
    before = np.exp(logits) / np.exp(logits).sum()
    after = np.exp(ours) / np.exp(ours).sum()
    assert np.allclose(np.delete(after, laid.never), before[real], rtol=1e-5)
    assert (ours[laid.never] == np.float32(NEVER)).all()


def test_a_vocabulary_that_does_not_match_is_refused() -> None:
    theirs = vocabulary(["a", "b", "c"], set())
    with pytest.raises(ModelError, match="vocab.json has 3 tokens, and the model 2 rows for them"):
        lay_vocabulary(theirs, SpecialPlaces(0, None, 1, None), 2, "here")
    with pytest.raises(ModelError, match="token 9 is the end, and the model has 3 tokens"):
        lay_vocabulary(theirs, SpecialPlaces(0, None, 9, None), 3, "here")
    with pytest.raises(ModelError, match="vocab.json has 3 tokens, and the model 900,000 rows for them"):
        lay_vocabulary(theirs, SpecialPlaces(0, None, 1, None), 900_000, "here")
