"""A tokenizer that another program made, as the `transformers` package reads it: with the ids of the export.

Marian's two SentencePiece models go as they came, beside a vocabulary with the new ids. All else is one
tokenizer.json, whose parts that cut a text are those that were imported.
"""

import json
from collections.abc import Sequence
from typing import Any

from jumok.config import RunConfig
from jumok.errors import ConfigError
from jumok.export.kept_rows import KeptRows
from jumok.text.foreign import ForeignTokenizer
from jumok.text.foreign_form import token_names
from jumok.text.frame import TEXT, Frame
from jumok.text.specials import BOS, SPECIALS, UNK

DECODERS: dict[str, dict[str, Any]] = {
    "spaces": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    "bytes": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
}


def foreign_files(
    tokenizer: ForeignTokenizer, frame: Frame, kept: KeptRows, config: RunConfig, kind: str
) -> dict[str, bytes]:
    """Name and content of each file, for a layout of this kind."""
    names = names_in_order(tokenizer, kept)
    pair = kind == "marian" and all(cut.sentencepiece for cut in tokenizer.foreign.cuts)
    if not pair:
        check_library(tokenizer)
    settings = {
        **special_names(names, kept),
        "model_max_length": config.data.max_length + 1,
        "clean_up_tokenization_spaces": False,
    }
    if pair:
        languages = {"source_lang": config.data.source_language, "target_lang": config.data.target_language}
        settings |= {"tokenizer_class": "MarianTokenizer", **languages}
        cuts = tokenizer.foreign.cuts
        return {
            "source.spm": cuts[0].sentencepiece,
            "target.spm": cuts[-1].sentencepiece,
            "vocab.json": as_json({name: i for i, name in enumerate(names)}),
            "tokenizer_config.json": as_json(settings),
        }
    settings |= {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "attention_mask"],
    }
    return {
        "tokenizer.json": as_json(library_file(tokenizer, frame, kept, names)),
        "tokenizer_config.json": as_json(settings),
    }


def check_library(tokenizer: ForeignTokenizer) -> None:
    """Refuse a tokenizer that no tokenizer.json can be made of."""
    if any(cut.sentencepiece for cut in tokenizer.foreign.cuts):
        raise ConfigError(
            "this model cuts its texts with SentencePiece itself, and the format needs a tokenizer.json",
            hint="export it to native or ctranslate2, or import it from a folder with tokenizer.json",
            code="unsupported",
        )


def every_row(tokenizer: ForeignTokenizer) -> KeptRows:
    """Ids as they are."""
    return KeptRows(tuple(range(tokenizer.size)), BOS)


def as_json(said: Any) -> bytes:
    return json.dumps(said, ensure_ascii=False).encode()


def names_in_order(tokenizer: ForeignTokenizer, kept: KeptRows) -> list[str]:
    """The name of each token by the new ids; two rows never share one."""
    by_id = {i: name for name, i in token_names(tokenizer.foreign).items()}
    return [by_id.get(ours, f"<row {ours}>") for ours in kept.ids]


def special_names(names: Sequence[str], kept: KeptRows) -> dict[str, str]:
    """The special tokens by what they are for."""
    ids, known = kept.special, kept.theirs
    found = {f"{one}_token": names[ids[f"{one}_token_id"]] for one in ("bos", "pad", "eos")}
    return found | ({"unk_token": names[known[UNK]]} if UNK in known else {})


def library_file(
    tokenizer: ForeignTokenizer, frame: Frame, kept: KeptRows, names: Sequence[str]
) -> dict[str, Any]:
    """The content of tokenizer.json."""
    parts: dict[str, Any] = json.loads(tokenizer.foreign.cuts[0].library)
    known, model = kept.theirs, parts["model"]
    tags = [known[i] for i in tokenizer.tags if i in known]
    inside = names[: tags[0]] if tags else names
    if model["type"] == "Unigram":
        scores = dict(model["vocab"])
        model["vocab"] = [[name, scores.get(name, 0.0)] for name in inside]
        model["unk_id"] = known.get(UNK)
    else:
        own = {name: i for i, name in enumerate(names)}
        model["vocab"] = {name: own[name] for name in model["vocab"] if name in own}
    controls = [known[i] for i in range(len(SPECIALS)) if i in known]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added(i, names[i]) for i in (*controls, *tags)],
        "normalizer": parts["normalizer"],
        "pre_tokenizer": parts["pre_tokenizer"],
        "post_processor": around(frame, names),
        "decoder": DECODERS[tokenizer.foreign.spelling],
        "model": model,
    }


def added(number: int, name: str) -> dict[str, Any]:
    """A token that no text has."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": name, **flags, "special": True}


def around(frame: Frame, names: Sequence[str]) -> dict[str, Any]:
    """What stands around a sentence; the name of our end is theirs, too."""
    template = [
        {"Sequence": {"id": "A", "type_id": 0}}
        if name == TEXT
        else {"SpecialToken": {"id": name, "type_id": 0}}
        for name in frame.source
    ]
    used = [name for name in frame.source if name != TEXT]
    return {
        "type": "TemplateProcessing",
        "single": template,
        "pair": [*template, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {
            name: {"id": name, "ids": [names.index(name)], "tokens": [name]} for name in dict.fromkeys(used)
        },
    }
