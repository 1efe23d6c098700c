"""What a model was taught to read, as its tokenizers tell."""

from jumok.decoding.translator import Translator
from jumok.text.marks import CONTEXT_MARK


def reads_context(translator: Translator) -> bool:
    """Whether it knows the mark before a context as a piece: it then answers questions about one."""
    if translator.tokenizers.pictures:
        return False
    tokenizer = translator.tokenizers.text_source
    return CONTEXT_MARK in (
        piece.strip() for piece in tokenizer.pieces(tokenizer.encode(f"a {CONTEXT_MARK} a"))
    )


def blank_source(translator: Translator) -> str:
    """The simplest source that the model reads: a figure, or a white picture."""
    reader = translator.tokenizers.pictures
    return "1" if reader is None else reader.decode([b"\xff" * reader.numbers])
