"""Shortlists: of a large vocabulary only the target tokens that a sentence may need are computed.

The list of a sentence holds the end, the most frequent target tokens, the likely ones of each of its source
tokens, and those that copy a source token. Bytes come all or none: where one may be needed the rest of its
character is needed, too; a source with bytes of its own gets them.

Which target tokens a source token is likely to become is learned from pairs of ids (`text/lexicon.py`).

The file is `shortlist.safetensors`: the list of source token i is likely[begin[i] : begin[i + 1]], and
`always` belongs to every sentence. Its metadata says the format and which vocabularies it is for.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.errors import ModelError
from jumok.native.tensors import check_format, dump_tensors, parse_tensors
from jumok.progress import Progress, silent
from jumok.text.lexicon import Pairs, learn_lexicon
from jumok.text.tokenizer import BOS, BYTES, EOS, FIRST, FIRST_BYTE, PAD, UNK, Tokenizer, Tokenizers

Ids = NDArray[np.int32]

FILE, FORMAT = "shortlist.safetensors", "jumok-shortlist/1"
AGAIN = "make it again with jumok export native --shortlist"

EACH, FREQUENT = 200, 200
"""Likely target tokens of each source token, and frequent ones of all sentences."""

OF_BYTES = slice(FIRST_BYTE, FIRST)
"""The byte tokens."""
NO_TEXT = (*range(0x20), 0x7F, 0xC0, 0xC1, *range(0xF5, 0x100))
"""Bytes that no answer has: control characters, and what is in no UTF-8."""


class Shortlist:
    """What a sentence may be translated with. Nothing in it changes; threads may share it."""

    def __init__(self, begin: Ids, likely: Ids, always: Ids, size: int) -> None:
        """`begin`, `likely` and `always` as in the file, for a vocabulary of `size` target tokens."""
        self.begin, self.likely, self.always, self.size = begin, likely, always, size
        # As the quickest way to a sentence's list wants them.
        self._begin: list[int] = begin.tolist()
        self._likely = likely.astype(np.intp)
        self._taken = np.zeros(size, dtype=np.bool_)
        self._taken[always] = True
        self._text = np.ones(len(BYTES), dtype=np.bool_)
        self._text[list(NO_TEXT)] = False

    def ids(self, source: Sequence[int], prefix: Sequence[int] = ()) -> Ids:
        """The target ids for a source, ascending; those of a prefix are among them."""
        begin, likely = self._begin, self._likely
        parts = [likely[begin[i] : begin[i + 1]] for i in source]
        taken = self._taken.copy()
        taken[np.concatenate([np.array(prefix, dtype=np.intp), *parts])] = True
        if taken[OF_BYTES].any():
            taken[OF_BYTES] |= self._text
        return np.flatnonzero(taken).astype(np.int32)


def build_shortlist(
    pairs: Pairs,
    tokenizers: Tokenizers,
    progress: Progress = silent,
    *,
    each: int = EACH,
    frequent: int = FREQUENT,
) -> Shortlist:
    """The shortlist from pairs of ids, such as those that the model learned from."""
    source, target = tokenizers.text_source, tokenizers.target
    lexicon = learn_lexicon(pairs, (source.size, target.size), each, progress)
    never = np.zeros(target.size, dtype=np.bool_)
    never[[BOS, PAD, UNK, *(FIRST_BYTE + byte for byte in NO_TEXT)]] = True
    rows = np.repeat(np.arange(source.size), lexicon.likely.lengths())
    left, right = copies(source, target)
    keys = np.concatenate((rows * target.size + lexicon.likely.values, left * target.size + right))
    keys = np.unique(keys)
    keys = keys[~never[keys % target.size]]
    begin = np.zeros(source.size + 1, dtype=np.int32)
    np.cumsum(np.bincount(keys // target.size, minlength=source.size), out=begin[1:])
    common = lexicon.frequent(frequent)
    always = np.union1d(common[~never[common]], [EOS])
    return Shortlist(begin, (keys % target.size).astype(np.int32), always.astype(np.int32), target.size)


def copies(source: Tokenizer, target: Tokenizer) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The source tokens that the target has, too, and which they are there."""
    known = {piece: i for i, piece in enumerate(target.pieces(range(target.size)))}
    names = source.pieces(range(FIRST_BYTE, source.size))
    both = [(i, known[name]) for i, name in enumerate(names, FIRST_BYTE) if name in known]
    left, right = zip(*both, strict=True)
    return np.array(left), np.array(right)


def dump_shortlist(shortlist: Shortlist, tokenizers: Tokenizers) -> bytes:
    """The bytes of `shortlist.safetensors`."""
    arrays = {"begin": shortlist.begin, "likely": shortlist.likely, "always": shortlist.always}
    return dump_tensors(arrays, {"format": FORMAT, **_fingerprints(tokenizers)})


def parse_shortlist(buffer: Any, tokenizers: Tokenizers, where: str) -> Shortlist:
    """The shortlist in the bytes of `shortlist.safetensors`. Whatever is wrong is a ModelError."""
    arrays, metadata = parse_tensors(buffer, where)
    check_format(metadata, FORMAT, "the shortlist", where, AGAIN)
    for name, value in _fingerprints(tokenizers).items():
        if metadata.get(name) != value:
            raise ModelError(
                f"the shortlist is for another {name}: {str(metadata.get(name))[:12]}…, not {value[:12]}…",
                where=where,
                hint=AGAIN,
                code="vocabulary_mismatch",
            )
    size = tokenizers.target.size
    if reason := _fault(arrays, tokenizers.source.size, size):
        raise ModelError(f"the shortlist is damaged: {reason}", where=where, hint=AGAIN, code="damaged")
    return Shortlist(arrays["begin"], arrays["likely"], arrays["always"], size)


def check_listed(fields: Any, where: str) -> None:
    """Refuse a shortlist without a part of the certificate that says that it is good enough."""
    if not isinstance(fields, dict) or fields.get("passed") is not True:
        raise ModelError(
            "no certificate says how well the model agrees with itself when it uses the shortlist",
            where=where,
            hint=AGAIN,
            code="no_certificate",
        )


def _fingerprints(tokenizers: Tokenizers) -> dict[str, str]:
    return {
        "source vocabulary": tokenizers.source.fingerprint,
        "target vocabulary": tokenizers.target.fingerprint,
    }


def _fault(arrays: Mapping[str, NDArray[Any]], source: int, target: int) -> str:
    """What is wrong with the arrays of a file; "" if nothing is."""
    for name in ("begin", "likely", "always"):
        array = arrays.get(name)
        if array is None:
            return f"{name} is missing"
        if array.dtype != np.int32 or array.ndim != 1:
            return f"{name} is {array.dtype.name} {array.shape}, not a list of int32"
    begin, likely, always = arrays["begin"], arrays["likely"], arrays["always"]
    if len(begin) != source + 1:
        return f"it has {len(begin) - 1:,} lists, and there are {source:,} source tokens"
    if begin[0] != 0 or begin[-1] != len(likely) or (begin[1:] < begin[:-1]).any():
        return "its lists do not follow one another"
    for name, ids in (("likely", likely), ("always", always)):
        if len(ids) and not 0 <= ids.min() <= ids.max() < target:
            return f"{name} has an id outside the {target:,} target tokens"
    if (always[1:] <= always[:-1]).any() or EOS not in always:
        return "always does not ascend, or has no end of the sentence"
    return ""
