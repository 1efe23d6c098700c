"""A source that is a picture, for people: its patches as tokens, named by row and column, without an end."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jumok.decoding.jobs import Source
from jumok.explain.tokens import side_of
from jumok.text.tokenizer import EOS, Tokenizers


def is_picture(source: Source) -> bool:
    """Whether these ids are patches."""
    return bool(source) and isinstance(source[0], bytes)


def ended(source: Source) -> tuple[Any, ...]:
    """What the encoder reads: a text with its end, a picture as it is."""
    return tuple(source) if is_picture(source) else (*source, EOS)


def endless(source: Source) -> Source:
    """What was read without its end."""
    return source if is_picture(source) else source[:-1]


def source_side(tokenizers: Tokenizers, ids: Source, text: str, lang: str, *, end: bool) -> dict[str, Any]:
    """The `source` object of a trace: of a text as `side_of` makes it, of a picture its patches.

    The text of a picture is the picture itself as a data URL, which the model reads as the same patches; its
    `image` says how they lie.
    """
    reader = tokenizers.pictures
    if reader is None:
        return side_of(tokenizers.text_source, list(ids), text, lang, end=end)  # type: ignore[arg-type]
    url = reader.decode(ids)  # type: ignore[arg-type]
    names = list(enumerate(reader.pieces(ids)))
    return {
        "text": url,
        "lang": lang,
        "dir": "ltr",
        "tokens": [
            {"i": i, "id": i, "text": name, "piece": name, "type": "patch", "span": None, "word": i}
            for i, name in names
        ],
        "words": [{"i": i, "text": name, "tokens": [i]} for i, name in names],
        "image": {"url": url, "rows": reader.columns, "columns": reader.columns},
    }


def source_ids_of(tokenizers: Tokenizers | None, side: Mapping[str, Any]) -> list[Any]:
    """The ids of the source of a trace, without an end: those of a picture are read from it again."""
    if "image" not in side:
        return [token["id"] for token in side["tokens"]][:-1]
    return [] if tokenizers is None else list(tokenizers.source.encode(side["text"]))


def hidden(source: Sequence[bytes]) -> bytes:
    """A patch of the picture's mean colour: what stands for one that nobody may see."""
    colours = np.frombuffer(b"".join(source), dtype=np.uint8).reshape(-1, 3)
    mean: bytes = colours.mean(axis=0).round().astype(np.uint8).tobytes()
    return mean * (len(source[0]) // 3)


def is_special(token: Mapping[str, Any]) -> bool:
    """Whether a token stands for no part of the source or the target, such as the end."""
    return token["span"] is None and token["type"] != "patch"
