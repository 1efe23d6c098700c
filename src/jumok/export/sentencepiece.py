"""Our tokenizer as a SentencePiece model, for programs that know no other.

Both join neighbouring pieces, the most important join first. Ours has a rank for each pair that it joins;
SentencePiece has a score for each piece, whatever its two parts were. A piece gets minus the rank of its
first join as score. Three things stay different, and `differences` counts them on real sentences:

- a piece that can be made of two other parts is made of them, too;
- our pieces never go from signs to letters. No piece in the vocabulary does, so that this is a matter of
  accents that follow a sign only;
- U+2581 in a text is a space, for that is how SentencePiece writes spaces.

The normaliser is NFC as a table of replacements, and every kind of white space becomes a space; several
accents in an unusual order stay as they are.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from jumok.text.tokenizer import BOS, BYTES, EOS, FIRST, PAD, SPECIALS, UNK, Tokenizer

SPACE = "\u2581"
NORMAL, UNKNOWN, CONTROL, UNUSED, BYTE = 1, 2, 3, 5, 6  # SentencePiece.Type
BPE = 2  # TrainerSpec.ModelType


def spell(piece: str) -> str:
    """The name of a piece of ours: a space is U+2581. Its own U+2581 can never be met in a text."""
    return f"<unused {piece.replace(SPACE, 'U+2581')}>" if SPACE in piece else piece.replace(" ", SPACE)


def model_bytes(tokenizer: Tokenizer) -> bytes:
    """The file sentencepiece.model (a ModelProto) with the same ids as ours."""
    model = _messages().ModelProto()
    for name, score, kind in _pieces(tokenizer):
        model.pieces.add(piece=name, score=score, type=kind)
    trainer, normaliser = model.trainer_spec, model.normalizer_spec
    trainer.model_type, trainer.vocab_size, trainer.byte_fallback = BPE, tokenizer.size, True
    for name, i in (("unk", UNK), ("bos", BOS), ("eos", EOS), ("pad", PAD)):
        setattr(trainer, f"{name}_id", i)
        setattr(trainer, f"{name}_piece", SPECIALS[i])
    normaliser.name, normaliser.precompiled_charsmap = "nfc", charsmap()
    normaliser.add_dummy_prefix = tokenizer.kind != "char"
    normaliser.remove_extra_whitespaces = normaliser.escape_whitespaces = True
    data: bytes = model.SerializeToString()
    return data


def _messages() -> Any:
    """SentencePiece's own classes for its files."""
    return import_module("sentencepiece.sentencepiece_model_pb2")


def _pieces(tokenizer: Tokenizer) -> Iterator[tuple[str, float, int]]:
    """Name, score and type of each piece, in the order of our ids."""
    for i, name in enumerate(SPECIALS):
        yield name, 0.0, UNKNOWN if i == UNK else CONTROL
    for name in BYTES:
        yield name, 0.0, BYTE
    ranks: dict[str, int] = {}
    for rank, (left, right) in enumerate(tokenizer.merges):
        ranks.setdefault(left + right, rank)
    for piece in tokenizer.pieces(range(FIRST, tokenizer.size)):
        kind = UNUSED if SPACE in piece else NORMAL
        yield spell(piece), -float(ranks.get(piece, len(tokenizer.merges))), kind


@cache
def charsmap() -> bytes:
    """The table of replacements in the form that SentencePiece compiles it to."""
    import sentencepiece

    sentencepiece.set_min_log_level(1)  # else it tells people what it does
    normaliser = sentencepiece.SentencePieceNormalizer(norm_map=list(replacements().items()))
    model = _messages().ModelProto.FromString(normaliser.serialized_model_proto())
    return bytes(model.normalizer_spec.precompiled_charsmap)


@cache
def replacements() -> dict[str, str]:
    """What NFC and our tidying put in the place of what."""
    table: dict[str, str] = {}
    for code in range(0x110000):
        character = chr(code)
        if character.isspace():
            table[character] = " "
        elif not 0xD800 <= code < 0xE000 and not (0xAC00 <= code < 0xD7A4):
            composed = unicodedata.normalize("NFC", character)
            apart = unicodedata.normalize("NFD", character)
            step = unicodedata.decomposition(character)
            for other in (character, apart, _characters(step) if step and "<" not in step else character):
                if unicodedata.normalize("NFC", other) == composed != other:
                    table[other] = composed
    for code in range(0xAC00, 0xD7A4):  # Korean syllables: two or three letters, or a syllable and the third
        apart = unicodedata.normalize("NFD", chr(code))
        table[apart] = chr(code)
        if len(apart) == 3:
            table[unicodedata.normalize("NFC", apart[:2]) + apart[2]] = chr(code)
    del table[" "]
    return table


def _characters(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split())


def differences(
    model: bytes, tokenizer: Tokenizer, texts: Sequence[str]
) -> list[tuple[str, list[int], list[int]]]:
    """The texts that SentencePiece cuts into other pieces: the text, our ids, its ids."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    theirs: list[list[int]] = processor.encode(list(texts))
    ours = tokenizer.encode_many(texts)
    return [(text, mine, its) for text, mine, its in zip(texts, ours, theirs, strict=True) if mine != its]
