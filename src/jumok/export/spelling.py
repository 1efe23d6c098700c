"""Our tokenizer as a file that the `tokenizers` package reads on its own, and the ids that no answer has.

In our own folders the text is tidied in Python and the end is added by the search. Programs that know
nothing of jumok get both from the file: raw text in, ids with the end out.
"""

import json
from typing import Any

from jumok.decoding.batched import USUAL
from jumok.export.foreign_files import check_library, every_row, library_file, names_in_order
from jumok.text.foreign import ForeignTokenizer
from jumok.text.frame import PLAIN
from jumok.text.tokenizer import BOS, EOS, FIRST_BYTE, PAD, SPECIALS, Tokenizer

WHITE = r"[\s\x1c-\x1f]+"
"""What `str.split` splits at."""

IDS = {"bos_token_id": BOS, "pad_token_id": PAD, "eos_token_id": EOS}
"""Our special ids as other programs name them."""


def suppressed() -> list[int]:
    """The ids that are in no answer. Which byte may follow which cannot be told by a list."""
    inside = range(FIRST_BYTE + 0x80, FIRST_BYTE + 0xC0)  # bytes that go on with a character
    return sorted(set(USUAL.fixed).difference(inside))


def tokenizer_file(tokenizer: Tokenizer) -> dict[str, Any]:
    """The content of tokenizer.json.

    It cannot take syllables apart: where the tokens are letters it expects letters, and leaves them so.
    """
    if isinstance(tokenizer, ForeignTokenizer):
        check_library(tokenizer)
        every = every_row(tokenizer)
        return library_file(tokenizer, PLAIN, every, names_in_order(tokenizer, every))
    form: dict[str, Any] = json.loads(tokenizer.to_bytes())
    tidy = [
        *([] if form.pop("jamo", False) else [{"type": "NFC"}]),
        {"type": "Replace", "pattern": {"Regex": WHITE}, "content": " "},
        {"type": "Strip", "strip_left": True, "strip_right": True},
    ]
    before = [form["normalizer"]] if form["normalizer"] else []
    form["normalizer"] = {"type": "Sequence", "normalizers": [*tidy, *before]}
    end = SPECIALS[EOS]
    text, stop = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": end, "type_id": 0}}
    other = {"Sequence": {"id": "B", "type_id": 0}}
    form["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [text, stop],
        "pair": [text, stop, other, stop],
        "special_tokens": {end: {"id": end, "ids": [EOS], "tokens": [end]}},
    }
    return form
