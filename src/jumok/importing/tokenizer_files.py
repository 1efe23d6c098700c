"""The tokenizer that lies beside a model: tokenizer.json, SentencePiece with a vocabulary, or byte-level BPE.

A tokenizer.json goes first, because that is what its own program reads too.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from jumok.errors import ConfigError, ModelError, TokenizerFileError
from jumok.importing.brought import BroughtFolder, missing
from jumok.importing.vocabulary import ForeignVocabulary
from jumok.text.cutters import SentencePieceCutter
from jumok.text.foreign_form import TextCut, checked_library
from jumok.text.frame import TEXT

LIBRARY = "tokenizer.json"
SETTINGS = "tokenizer_config.json"
ADDED = "added_tokens.json"
ONE_SPM = ("spiece.model", "sentencepiece.bpe.model", "sentencepiece.model", "spm.model")
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
EXTRA_IDS = 100  # of T5, where nothing says how many


def read_settings(folder: BroughtFolder) -> dict[str, Any]:
    """tokenizer_config.json, if there is one."""
    return folder.object(SETTINGS) if folder.has(SETTINGS) else {}


def read_library(folder: BroughtFolder) -> tuple[ForeignVocabulary, tuple[str, ...] | None]:
    """What a tokenizer.json says: its tokens, how it cuts, and the names around a sentence, if it has any."""
    said = folder.object(LIBRARY, 64 << 20)
    where = str(folder.path / LIBRARY)
    try:
        parts = {name: said.get(name) for name in ("normalizer", "pre_tokenizer", "model")}
        library = checked_library(parts)
        tokens = _vocabulary(said["model"])
        controls = set()
        for added in said.get("added_tokens") or ():
            number, content = added["id"], added["content"]
            tokens[number] = content
            if added.get("special") or number >= len(said["model"]["vocab"]):
                controls.add(number)
        listed = [tokens.get(number, "") for number in range(max(tokens) + 1)]
        template = template_of(said.get("post_processor"))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TokenizerFileError(
            f"{LIBRARY} has something that is not read here: {str(error)[:160]}",
            where=where,
            hint="unigram and BPE with SentencePiece's or byte-level spelling can be imported",
            code="unsupported",
        ) from None
    spelling = "bytes" if '"ByteLevel"' in json.dumps(parts["pre_tokenizer"]) else "spaces"
    unknown = _unknown(said["model"], listed)
    found = ForeignVocabulary(
        tokens=listed,
        controls=frozenset(controls),
        spelling="bytes" if spelling == "bytes" else "spaces",
        cuts=(TextCut(library=library),),
        unknown=unknown,
        name=LIBRARY,
    )
    return found, template


def _vocabulary(model: Mapping[str, Any]) -> dict[int, str]:
    """Tokens by their numbers."""
    vocab = model["vocab"]
    if isinstance(vocab, dict):
        return {int(number): str(token) for token, number in vocab.items()}
    return {number: str(token) for number, (token, _) in enumerate(vocab)}


def _unknown(model: Mapping[str, Any], tokens: Sequence[str]) -> int | None:
    """The number of the token for what is unknown."""
    name = model.get("unk_token") or "<unk>"
    if name in tokens:
        return list(tokens).index(name)
    number = model.get("unk_id")
    return number if isinstance(number, int) else None


def template_of(post: Any) -> tuple[str, ...] | None:
    """The names of the tokens around a sentence, with `TEXT` in its place."""
    match post:
        case {"type": "TemplateProcessing", "single": [*steps]}:
            return tuple(step["SpecialToken"]["id"] if "SpecialToken" in step else TEXT for step in steps)
        case {"type": "RobertaProcessing" | "BertProcessing", "sep": [str(sep), *_], "cls": [str(cls), *_]}:
            return (cls, TEXT, sep)
        case {"type": "Sequence", "processors": [*processors]}:
            found = [template for one in processors if (template := template_of(one)) is not None]
            return found[-1] if found else None
    return None


def read_spm(folder: BroughtFolder, name: str) -> SentencePieceCutter:
    """A model of SentencePiece."""
    try:
        return SentencePieceCutter(folder.bytes(name), {})
    except ValueError as error:
        if isinstance(error, ConfigError):
            raise
        raise TokenizerFileError(
            str(error), where=str(folder.path / name), hint="copy the file again"
        ) from None


def read_pair(folder: BroughtFolder, names: Mapping[str, str]) -> dict[str, ForeignVocabulary]:
    """Marian's: vocab.json beside source.spm and target.spm; each side may have a vocabulary of its own.

    `names` are the files of the vocabularies, by side.
    """
    spms = {side: f"{side}.spm" for side in ("source", "target")}
    if absent := [name for name in (*spms.values(), *names.values()) if not folder.has(name)]:
        raise no_tokenizer(folder, absent)
    cuts = {side: TextCut(sentencepiece=folder.bytes(name)) for side, name in spms.items()}
    unwritten = {side: read_spm(folder, name).controls for side, name in spms.items()}
    shared = names["source"] == names["target"]
    found = {}
    for side, name in names.items():
        tokens = listed_tokens(folder.object(name, 64 << 20), name, folder)
        hidden = unwritten["source"] | unwritten["target"] if shared else unwritten[side]
        controls = {n for n, token in enumerate(tokens) if token in hidden or is_marker(token)}
        found[side] = ForeignVocabulary(
            tokens=tokens,
            controls=frozenset(controls),
            spelling="spaces",
            cuts=tuple(cuts.values()) if shared else (cuts[side],),
            unknown=tokens.index("<unk>") if "<unk>" in tokens else None,
            name=name,
        )
    return found


def is_marker(token: str) -> bool:
    """A token of a language or of padding, which no text has."""
    return token in ("<pad>", "</s>", "<s>", "<unk>") or (token.startswith(">>") and token.endswith("<<"))


def listed_tokens(numbers: Mapping[str, Any], name: str, folder: BroughtFolder) -> list[str]:
    """Tokens in the order of their numbers, which must be 0, 1, 2, …"""
    if not all(type(number) is int for number in numbers.values()):
        raise TokenizerFileError(f"{name} has a token without a number", where=str(folder.path / name))
    tokens = sorted(numbers, key=numbers.__getitem__)
    if [numbers[token] for token in tokens] != list(range(len(tokens))):
        raise TokenizerFileError(
            f"{name} has numbers that are missing or doubled", where=str(folder.path / name)
        )
    return tokens


def read_one_spm(
    folder: BroughtFolder, name: str, tokens: Sequence[str], more: Sequence[str] = ()
) -> ForeignVocabulary:
    """One SentencePiece model for both sides: tokens in the order of the model, and `more` behind them."""
    model = read_spm(folder, name)
    listed, hidden = [*(tokens or model.pieces), *more], model.controls
    controls = {n for n, token in enumerate(listed) if token in hidden or is_marker(token)}
    first = len(listed) - len(more)
    return ForeignVocabulary(
        tokens=listed,
        controls=frozenset(controls | set(range(first, len(listed)))),
        spelling="spaces",
        cuts=(TextCut(sentencepiece=folder.bytes(name)),),
        unknown=listed.index(model.unknown) if model.unknown in listed else None,
        name=name,
    )


def read_byte_level(folder: BroughtFolder) -> ForeignVocabulary:
    """vocab.json and merges.txt of byte-level BPE, as BART has them."""
    if absent := [name for name in ("vocab.json", "merges.txt") if not folder.has(name)]:
        raise no_tokenizer(folder, absent)
    vocabulary = folder.object("vocab.json", 64 << 20)
    tokens = listed_tokens(vocabulary, "vocab.json", folder)
    lines = folder.bytes("merges.txt").decode("utf-8", "replace").split("\n")
    merges = [line.split(" ") for line in lines if line.strip() and not line.startswith("#version")]
    if any(len(merge) != 2 for merge in merges):
        raise TokenizerFileError("merges.txt has a line without two parts", where=str(folder.path))
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": "",
        "end_of_word_suffix": "",
        "fuse_unk": False,
        "byte_fallback": False,
        "vocab": vocabulary,
        "merges": merges,
    }
    library = checked_library({"normalizer": None, "pre_tokenizer": BYTE_LEVEL, "model": model})
    names = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    return ForeignVocabulary(
        tokens=tokens,
        controls=frozenset(n for n, token in enumerate(tokens) if token in names),
        spelling="bytes",
        cuts=(TextCut(library=library),),
        unknown=tokens.index("<unk>") if "<unk>" in tokens else None,
        name="vocab.json",
    )


def no_tokenizer(folder: BroughtFolder, absent: Sequence[str]) -> ModelError:
    """The error for a folder without the files of its tokenizer."""
    return missing(
        folder.path,
        f"the folder has no tokenizer: {' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} missing",
    )


def needs_library(folder: BroughtFolder, family: str) -> ModelError:
    """The error for a family whose numbers only a tokenizer.json tells."""
    return ModelError(
        f"a folder of {family} needs {LIBRARY}, which says the number of each token",
        where=str(folder.path),
        hint="open the tokenizer with transformers once and save it: tokenizer.save_pretrained(FOLDER)",
        code="missing_file",
    )
