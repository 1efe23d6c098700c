"""A vocabulary that grows keeps every id, covers the new text, and reads back."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.errors import ConfigError
from jumok.text.growth import cut, grow, join, learn_merges, neighbours, parts_of
from jumok.text.tokenizer import FIRST, FIRST_BYTE, Tokenizer, parse_tokenizer, train_tokenizer
from jumok.text.tokenizer_form import TokenizerForm

OLD = ["the cat sat on the mat", "the dog sat on the log"] * 3
NEW = ["die Katze saß auf der Matte", "der Hund saß auf dem Baumstamm", "die Maus läuft"] * 3


def made(kind: str = "bpe", **more: object) -> Tokenizer:
    return train_tokenizer(OLD, TextConfig(kind=kind, vocabulary=320, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["bpe", "char", "word"])
def test_every_token_keeps_its_id_and_the_new_text_takes_fewer(kind: str) -> None:
    before = made(kind)
    after = grow(before, NEW, 30)
    assert before.size < after.size <= before.size + 30
    assert after.pieces(range(before.size)) == before.pieces(range(before.size))
    assert after.merges[: len(before.merges)] == before.merges
    for line in NEW:
        assert len(after.encode(line)) < len(before.encode(line))
        assert after.decode(after.encode(line)) == line
    for line in OLD:
        assert after.encode(line) == before.encode(line) or kind == "bpe"
    again = parse_tokenizer(after.to_bytes(), "again")
    assert again.fingerprint == after.fingerprint != before.fingerprint


@given(st.text(max_size=40))
@settings(max_examples=50)
def test_any_text_survives_a_grown_vocabulary(text: str) -> None:
    from jumok.text.normalize import nfc

    assert GROWN.decode(GROWN.encode(text)) == nfc(text)


GROWN = grow(made(), NEW, 40)


def test_parts_spell_the_new_token() -> None:
    before, after = made(), grow(made(), NEW, 40)
    new = after.pieces(range(before.size, after.size))
    for piece, parts in zip(new, parts_of(before, after), strict=True):
        assert parts
        assert all(id < before.size for id in parts)
        spelled = b"".join(
            bytes([id - FIRST_BYTE]) if id < FIRST else before.pieces([id])[0].encode() for id in parts
        )
        assert spelled.decode() == piece
    assert any(len(piece) > 2 for piece in new)
    assert "ß" in new


def slow_merges(words: Counter[str], known: list[str], merges: list[tuple[str, str]], room: int) -> list:
    """The obvious version: all pairs are counted anew for each merge."""
    ranks, vocabulary = {pair: n for n, pair in enumerate(merges)}, set(known)
    cuts = [(cut(word, ranks, vocabulary), count) for word, count in words.items()]
    found = []
    while room:
        counts: Counter[tuple[str, str]] = Counter()
        for pieces, count in cuts:
            for pair in neighbours(pieces):
                counts[pair] += count
        usual = [(-count, pair) for pair, count in counts.items() if count >= 2]
        if not usual:
            break
        _, best = min(usual)
        found.append(best)
        room -= best[0] + best[1] not in vocabulary
        vocabulary.add(best[0] + best[1])
        cuts = [(join(pieces, best), count) for pieces, count in cuts]
    return found


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=7), st.integers(1, 5), max_size=9), st.integers(0, 9)
)
def test_merges_are_those_of_counting_anew(words: dict[str, int], room: int) -> None:
    known, merges = ["a", "b", "ab"], [("a", "b")]
    assert learn_merges(Counter(words), known, merges, room) == slow_merges(
        Counter(words), known, merges, room
    )


def test_korean_letters_stay_letters() -> None:
    before = train_tokenizer(OLD, TextConfig(vocabulary=320, jamo=True))
    after = grow(before, ["고양이가 앉았다"] * 3, 30)
    assert after.jamo
    assert after.decode(after.encode("고양이")) == "고양이"
    assert len(after.encode("고양이")) < len(before.encode("고양이"))


def test_a_tokenizer_of_another_toolkit_is_refused() -> None:
    class Foreign(Tokenizer):
        """Reads as ours and is made otherwise."""

    with pytest.raises(ConfigError) as caught:
        grow(Foreign(TokenizerForm(("a",), (), "bpe")), NEW, 10)
    assert str(caught.value) == (
        "--extend-vocabulary 10 cannot work: the tokenizer of this model comes from another toolkit, and "
        "tokens cannot be added to it\n"
        "  leave the option out: text that it does not cover is written in smaller pieces"
    )


def test_at_most_half_of_the_new_tokens_are_single_characters() -> None:
    """Of 20 new characters that are all frequent, 5 of 10 tokens; the rest are pairs of what is known."""
    before = made()
    line = "".join(chr(0x0391 + n) for n in range(17)) + "the the thethe"
    after = grow(before, [line] * 5, 10)
    new = after.pieces(range(before.size, after.size))
    assert [len(piece) == 1 for piece in new] == [True] * 5 + [False] * 5
