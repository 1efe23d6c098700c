from dataclasses import replace

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


def test_numbers_outside_and_rows_without_tokens_are_refused_from_their_limits_on() -> None:
    theirs = vocabulary(["a", "b", "c"], set())
    for places, name, number in (
        (SpecialPlaces(3, None, 1, None), "start", 3),
        (SpecialPlaces(None, -1, 1, None), "pad", -1),
        (SpecialPlaces(None, 0, 1, 4), "unknown", 4),
    ):
        with pytest.raises(ModelError, match=f"token {number} is the {name}, and the model has 3 tokens"):
            lay_vocabulary(theirs, places, 3, "here")
    ends = SpecialPlaces(0, None, 2, None)
    assert len(lay_vocabulary(theirs, ends, 3 + 256, "here").rows) == 260 + 2 + 256
    with pytest.raises(ModelError, match="vocab.json has 3 tokens, and the model 260 rows for them"):
        lay_vocabulary(theirs, ends, 3 + 257, "here")
    many = vocabulary([f"t{n}" for n in range(9000)], set())
    assert len(lay_vocabulary(many, ends, 10_000, "here").form.tags) == 1000  # nine tenths are tokens
    with pytest.raises(ModelError, match="vocab.json has 9,000 tokens, and the model 10,001 rows for them"):
        lay_vocabulary(many, ends, 10_001, "here")


def test_a_start_that_texts_have_too_is_copied() -> None:
    """So is one that is another special token; else it is ours itself."""
    theirs = vocabulary(["</s>", "go", "<go>"], {0, 2})
    for start, copied in ((0, True), (1, True), (2, False)):
        laid = lay_vocabulary(theirs, SpecialPlaces(start, None, 0, None), 3, "here")
        assert laid.rows[BOS] == start
        assert (BOS in laid.never) == copied
        assert ("go" in laid.form.pieces, "<go>" in laid.form.tags) == (True, copied)


def test_a_token_without_text_is_no_text() -> None:
    laid = lay_vocabulary(vocabulary(["</s>", "", "a"], {0}), SpecialPlaces(None, None, 0, None), 3, "here")
    assert (laid.form.pieces, laid.form.tags) == (("a",), ("<row 1>",))
    assert laid.rows[FIRST:].tolist() == [2, 1]


def test_bytes_of_byte_level_spelling_and_bytes_that_are_not_all_there_are_texts() -> None:
    places = SpecialPlaces(None, None, 0, None)
    some = lay_vocabulary(vocabulary(["</s>", *BYTES[1:]], {0}), places, 256, "here")
    assert some.form.pieces == tuple(BYTES[1:])
    theirs = replace(vocabulary(["</s>", *BYTES], {0}), spelling="bytes")
    assert lay_vocabulary(theirs, places, 257, "here").form.pieces == tuple(BYTES)
    assert theirs.number(BYTES[3]) == 4
    assert theirs.number("no") is None


def test_without_a_bias_only_what_is_never_written_has_one() -> None:
    laid = lay_vocabulary(vocabulary(["</s>", "a"], {0}), SpecialPlaces(0, None, 0, None), 2, "here")
    bias = laid.bias(None)
    assert bias.shape == (FIRST + 1,)
    assert np.flatnonzero(bias.make()).tolist() == [BOS, PAD, UNK, *range(4, FIRST)]
    assert set(bias.make().tolist()) == {0.0, NEVER}
    table = laid.table(ready(np.array([[1, 2], [3, 4]]))).make()
    assert table[[BOS, EOS, FIRST, PAD]].tolist() == [[1, 2], [1, 2], [3, 4], [0, 0]]
