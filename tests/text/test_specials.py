"""The tokens that every vocabulary begins with stand where weights of every age expect them."""

from jumok.text.specials import BOS, BYTES, EOS, FIRST, FIRST_BYTE, PAD, SPECIALS, UNK


def test_special_and_byte_tokens_have_the_ids_of_every_model_so_far() -> None:
    assert [SPECIALS[i] for i in (BOS, PAD, EOS, UNK)] == ["<s>", "<pad>", "</s>", "<unk>"]
    assert (FIRST_BYTE, FIRST) == (4, 260)
    assert BYTES[0xEA] == "<0xEA>"
