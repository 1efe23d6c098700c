"""What a folder of CTranslate2 says about tokens: its vocabulary, the special ones, what surrounds a text.

How a text is cut it does not say: that lies beside it, as SentencePiece models or a tokenizer.json.
"""

from dataclasses import dataclass
from typing import Any

from jumok.errors import TokenizerFileError
from jumok.importing.brought import BroughtFolder
from jumok.importing.tokenizer_files import ONE_SPM, is_marker, no_tokenizer, read_library, read_spm
from jumok.importing.transformers_folder import LANGUAGE
from jumok.importing.vocabulary import ForeignVocabulary, SpecialPlaces
from jumok.text.foreign_form import Spelling, TextCut
from jumok.text.frame import END, SOURCE, TARGET, TEXT, Frame


def read_tokens(folder: BroughtFolder, side: str) -> list[str]:
    """The vocabulary of a side: a JSON list, or a token on each line."""
    name = folder.first(*(f"{one}_vocabulary.{kind}" for one in (side, "shared") for kind in ("json", "txt")))
    if name is None:
        raise TokenizerFileError(
            f"the folder has no {side}_vocabulary or shared_vocabulary", where=str(folder.path)
        )
    if name.endswith(".json"):
        found = folder.json(name, 64 << 20)
        if not isinstance(found, list) or not all(isinstance(token, str) for token in found):
            raise TokenizerFileError(f"{name} is no list of tokens", where=str(folder.path / name))
        return found
    return folder.text(name).removesuffix("\n").split("\n")


@dataclass(frozen=True)
class Cuts:
    """How texts are cut, where the vocabulary is known otherwise."""

    cuts: tuple[TextCut, ...]
    spelling: Spelling
    controls: frozenset[str]


def read_cuts(folder: BroughtFolder) -> Cuts:
    """What lies there to cut texts with: SentencePiece models of both sides, of one, or a tokenizer.json."""
    if folder.has("source.spm") and folder.has("target.spm"):
        names: tuple[str, ...] = ("source.spm", "target.spm")
    elif (name := folder.first(*ONE_SPM)) is not None:
        names = (name,)
    elif folder.has("tokenizer.json"):
        found, _ = read_library(folder)
        return Cuts(found.cuts, found.spelling, frozenset(found.tokens[n] for n in found.controls))
    else:
        raise no_tokenizer(folder, [*ONE_SPM, "tokenizer.json"])
    hidden = frozenset().union(*(read_spm(folder, name).controls for name in names))
    return Cuts(tuple(TextCut(sentencepiece=folder.bytes(name)) for name in names), "spaces", hidden)


def vocabulary_of(tokens: list[str], cuts: Cuts, chosen: tuple[TextCut, ...]) -> ForeignVocabulary:
    hidden = {
        n
        for n, token in enumerate(tokens)
        if token in cuts.controls or is_marker(token) or is_language(token)
    }
    first = {token: n for n, token in reversed(list(enumerate(tokens)))}
    tokens = [token if first[token] == n else "" for n, token in enumerate(tokens)]  # others fill up rows
    return ForeignVocabulary(
        tokens=tokens,
        controls=frozenset(hidden),
        spelling=cuts.spelling,
        cuts=chosen,
        unknown=tokens.index("<unk>") if "<unk>" in tokens else None,
        name="the vocabulary",
    )


def is_language(token: str) -> bool:
    return any(pattern.fullmatch(token) for pattern in LANGUAGE.values())


def places_of(
    settings: dict[str, Any], vocabulary: ForeignVocabulary, folder: BroughtFolder, *, zero_start: bool
) -> SpecialPlaces:
    """Which of its tokens are special: by their names in config.json."""
    end = vocabulary.number(str(settings.get("eos_token") or "</s>"))
    begin = settings.get("decoder_start_token") or settings.get("bos_token") or "<s>"
    start = None if zero_start else vocabulary.number(str(begin))
    if end is None or (start is None and not zero_start):
        raise TokenizerFileError(
            f"the vocabulary has no token {'</s>' if end is None else begin!r}",
            where=str(folder.path),
            hint="the vocabulary is that of another model",
            code="tokenizer_mismatch",
        )
    unknown = vocabulary.number(str(settings.get("unk_token") or "<unk>"))
    return SpecialPlaces(start, vocabulary.number("<pad>"), end, unknown)


def frame_of(settings: dict[str, Any], tokens: list[str], cuts: Cuts) -> Frame:
    """What stands around a sentence.

    A model that starts from <s> and adds no end is one of OpenNMT, as Argos Translate has them: its sources
    have no end. Of others the tokenizer adds it.
    """
    for kind in ("m2m_100", "mbart", "marian"):
        known = {}
        for token in tokens:
            if found := LANGUAGE[kind].fullmatch(token):
                known[next(group for group in found.groups() if group)] = token
        if known and kind == "marian":
            return Frame(source=(TARGET, TEXT, END), languages=tuple(known.items()))
        if len(known) > 1:
            return Frame(source=(SOURCE, TEXT, END), target=(TARGET,), languages=tuple(known.items()))
    if cuts.spelling == "bytes" and "<s>" in tokens:
        return Frame(source=("<s>", TEXT, END), target=("<s>",))
    bare = settings.get("decoder_start_token", "<s>") == "<s>" and not settings.get("add_source_eos")
    return Frame(source=(TEXT,) if bare else (TEXT, END))
