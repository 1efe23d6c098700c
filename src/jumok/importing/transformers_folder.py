"""A folder of the `transformers` package: which family it is, its tokenizer, its frame, and its weights."""

import re
from collections.abc import Mapping
from typing import Any

from jumok.errors import ConfigError, ModelError, TokenizerFileError, nearest
from jumok.importing import bart_family, t5_family
from jumok.importing.blueprint import Blueprint
from jumok.importing.brought import BroughtFolder
from jumok.importing.incoming import LONGEST, Incoming
from jumok.importing.safetensors_files import INDEX, ONE, read_safetensors
from jumok.importing.stored import Parts, Stored
from jumok.importing.their_settings import TheirSettings
from jumok.importing.tokenizer_files import (
    LIBRARY,
    SETTINGS,
    needs_library,
    no_tokenizer,
    read_byte_level,
    read_library,
    read_one_spm,
    read_pair,
    read_settings,
)
from jumok.importing.torch_file import read_torch
from jumok.importing.vocabulary import ForeignVocabulary, LaidVocabulary, SpecialPlaces, lay_vocabulary
from jumok.text.foreign import ForeignTokenizer
from jumok.text.frame import END, PLAIN, SOURCE, TARGET, TEXT, Direction, Frame, listed
from jumok.text.tokenizer import Tokenizers

PICKLED = "pytorch_model.bin"
MOST_EXTRA = 10_000  # tokens behind the pieces of T5, which has 100
M2M_LANGUAGES = {
    "m2m100": "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl "
    "gu ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn "
    "mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn "
    "tr uk ur uz vi wo xh yi yo zh zu",
    "wmt21": "en ha is ja cs ru zh de",
}
"""The languages behind the vocabulary of M2M100, in their order, where the folder does not list them."""
FAMILIES = (*bart_family.LAYOUTS, *t5_family.KINDS)
LANGUAGE = {
    "marian": re.compile(r">>(.+)<<"),
    "m2m_100": re.compile(r"__([a-z]{2,3})__|([a-z]{3}_[A-Z][a-z]{3})"),
    "mbart": re.compile(r"([a-z]{2}_[A-Z]{2})"),
}
"""How each family writes the token of a language; the group that matches is the language's code."""


def read_transformers(folder: BroughtFolder, languages: tuple[str, str]) -> Incoming:
    """The model of a folder of `transformers`. `languages` are codes that someone gave, or ""."""
    said = read_config(folder)
    kind = str(said.fields["model_type"])
    parts = Parts(read_weights(folder), str(folder.path))
    vocabularies, template = read_vocabularies(folder, kind, said)
    frame, start = make_frame(kind, said, vocabularies["target"], template, read_settings(folder), languages)
    blueprint, laid = make_blueprint(kind, replace_start(said, start), parts, vocabularies)
    source, target = laid["source"], laid["target"]
    shared = source.form == target.form
    pair = (
        ForeignTokenizer(target.form).sides()
        if shared
        else (
            ForeignTokenizer(source.form),
            ForeignTokenizer(target.form, "target"),
        )
    )
    named = languages if any(languages) else languages_of(read_settings(folder), frame)

    def opened() -> Any:
        from jumok.importing.transformers_original import TransformersOriginal

        return TransformersOriginal(folder.path)

    return Incoming(
        family=family_name(kind, said, frame),
        program="transformers",
        blueprint=blueprint,
        tokenizers=Tokenizers(*pair, frame),
        files=dict(folder.used),
        source_rows=source.rows,
        target_rows=target.rows,
        open=opened,
        needs=("transformers",),
        languages=named,
        beam=said.number("num_beams", usual=0),
        longest=said.number("max_position_embeddings", "n_positions", usual=LONGEST),
    )


def read_config(folder: BroughtFolder) -> TheirSettings:
    """config.json, with what generation_config.json adds, of a family that is known."""
    where = str(folder.path / "config.json")
    fields = folder.object("config.json")
    more = folder.object("generation_config.json") if folder.has("generation_config.json") else {}
    merged = {**{name: value for name, value in more.items() if value is not None}, **_said(fields)}
    kind = fields.get("model_type")
    if kind not in FAMILIES:
        raise other_model(fields, where)
    if fields.get("quantization_config") is not None:
        how = fields["quantization_config"]
        method = how.get("quant_method", "unknown") if isinstance(how, dict) else how
        raise ModelError(
            f"its weights are quantised ({str(method)[:40]}), which are not read",
            where=where,
            hint="take the model in float32, float16 or bfloat16",
            code="unsupported",
        )
    return TheirSettings(merged, where)


def _said(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def other_model(fields: Mapping[str, Any], where: str) -> ModelError:
    """The error for a model that is none of the families, which says what it is."""
    kind = str(fields.get("model_type"))[:60]
    names = fields.get("architectures")
    name = str(names[0])[:60] if isinstance(names, list) and names else ""
    known = ", ".join(FAMILIES)
    what = f"a model of type {kind!r}" + (f" ({name})" if name else "")
    if kind == "jumok":
        return ModelError("this is a model of jumok already", where=where, hint="use it as it is: -m FOLDER")
    if kind == "umt5":
        return t5_family.no_layer_bias(kind, where)
    both = fields.get("is_encoder_decoder") is True
    if not both and name.endswith(("ForCausalLM", "LMHeadModel", "ForVision2Seq")):
        said = f"{what} is a decoder alone: it writes on, and has no encoder that reads a source"
    elif not both and name and "ConditionalGeneration" not in name and "Seq2Seq" not in name:
        said = f"{what} is an encoder alone: it reads, and has no decoder that writes"
    elif fields.get("model_type") is None:
        said = "config.json names no model_type"
    else:
        said = f"{what} is not one of those that can be imported"
    return ModelError(
        said, where=where, hint=f"encoder-decoders of these types can: {known}", code="foreign_model"
    )


def read_weights(folder: BroughtFolder) -> dict[str, Stored]:
    """Its tensors, from safetensors, else from a file of torch."""
    if folder.first(ONE, INDEX):
        return read_safetensors(folder)
    if folder.has(PICKLED):
        folder.digest(PICKLED)
        return read_torch(folder.file(PICKLED))
    if folder.has(f"{PICKLED}.index.json"):
        raise ModelError(
            "its weights are pickles in several files",
            where=str(folder.path),
            hint="save the model as safetensors first: model.save_pretrained(FOLDER)",
            code="pickled",
        )
    raise ModelError(
        f"the folder has no weights: neither {ONE} nor {PICKLED}",
        where=str(folder.path),
        hint="fetch the whole model; weights of other programs (tf_model.h5, …) are not read",
        code="missing_file",
    )


def read_vocabularies(
    folder: BroughtFolder, kind: str, said: TheirSettings
) -> tuple[dict[str, ForeignVocabulary], tuple[str, ...] | None]:
    """The vocabulary of each side, and the names around a sentence where the tokenizer says them."""
    if kind == "marian" and not folder.has(LIBRARY):
        own = said.flag("share_encoder_decoder_embeddings", usual=True)
        return read_pair(
            folder, {"source": "vocab.json", "target": "vocab.json" if own else "target_vocab.json"}
        ), None
    template: tuple[str, ...] | None = None
    if folder.has(LIBRARY):
        one, template = read_library(folder)
    elif kind == "m2m_100" and folder.has("vocab.json"):
        one = read_m2m(folder)
    elif kind == "bart":
        one, template = read_byte_level(folder), ("<s>", TEXT, END)
    elif kind in t5_family.KINDS:
        if (name := folder.first("spiece.model")) is None:
            raise no_tokenizer(folder, [LIBRARY])
        extra = said.number("extra_ids", usual=100) if kind == "t5" else 0
        if extra > MOST_EXTRA:
            raise said.wrong("extra_ids", extra, f"a number up to {MOST_EXTRA:,}")
        one = read_one_spm(folder, name, (), [f"<extra_id_{n}>" for n in reversed(range(extra))])
    elif folder.first("spiece.model", "sentencepiece.bpe.model"):
        raise needs_library(folder, kind)
    else:
        raise no_tokenizer(folder, [LIBRARY])
    return {"source": one, "target": one}, template


def read_m2m(folder: BroughtFolder) -> ForeignVocabulary:
    """M2M100: vocab.json, a SentencePiece model, and the languages behind them in the order of their list."""
    name = folder.first("sentencepiece.bpe.model")
    if name is None:
        raise no_tokenizer(folder, ["sentencepiece.bpe.model"])
    numbers = folder.object("vocab.json", 64 << 20)
    settings, special = read_settings(folder), {}
    if folder.has("special_tokens_map.json"):
        special = folder.object("special_tokens_map.json")
    if not all(type(number) is int for number in numbers.values()):
        raise TokenizerFileError(
            "vocab.json has a token without a number", where=str(folder.path / "vocab.json")
        )
    tokens = sorted(numbers, key=numbers.__getitem__)
    extra = (
        special.get("additional_special_tokens")
        or settings.get("additional_special_tokens")
        or settings.get("extra_special_tokens")
        or ()
    )
    names = [str(token.get("content")) if isinstance(token, dict) else str(token) for token in extra]
    more = [token for token in names if LANGUAGE["m2m_100"].fullmatch(token) and token not in numbers]
    if not more:
        codes = M2M_LANGUAGES.get(str(settings.get("language_codes", "m2m100")))
        if codes is None:
            raise ModelError(
                "the tokenizer names no languages",
                where=str(folder.path / SETTINGS),
                hint=f"language_codes may be {' or '.join(M2M_LANGUAGES)}",
            )
        more = [f"__{code}__" for code in codes.split()]
    return read_one_spm(folder, name, tokens, more)


def make_frame(
    kind: str,
    said: TheirSettings,
    vocabulary: ForeignVocabulary,
    template: tuple[str, ...] | None,
    tokenizer: Mapping[str, Any],
    given: tuple[str, str],
) -> tuple[Frame, int | None]:
    """What stands around a sentence, and the token that the decoder starts from, where that follows."""
    pattern, known = LANGUAGE.get(kind), dict[str, str]()
    for number in sorted(vocabulary.controls) if pattern else ():
        if pattern and (found := pattern.fullmatch(vocabulary.tokens[number])):
            known[next(group for group in found.groups() if group)] = vocabulary.tokens[number]
    check_languages(known, given, said)
    codes = tuple(known.items())
    if kind == "marian":
        return (Frame(source=(TARGET, TEXT, END), languages=codes) if codes else PLAIN), None
    if kind in ("m2m_100", "mbart") and codes:
        source = tuple(SOURCE if name in known.values() else name for name in template or ())
        if SOURCE not in source:
            source = (SOURCE, TEXT, END)
        if source[0] == SOURCE:
            return Frame(source=source, target=(TARGET,), languages=codes), None
        return fixed_target(source, known, vocabulary, said, given[1])
    forced = said.token("forced_bos_token_id")
    there = forced is not None and 0 <= forced < len(vocabulary.tokens)
    first = (vocabulary.tokens[forced],) if forced is not None and there else ()
    return Frame(source=template or (TEXT, END), target=first if kind == "bart" else ()), None


def fixed_target(
    source: tuple[str, ...],
    known: Mapping[str, str],
    vocabulary: ForeignVocabulary,
    said: TheirSettings,
    to: str,
) -> tuple[Frame, int]:
    """mBART of 25 languages: its decoder starts from the language that it writes, so there is one."""
    start = said.token("decoder_start_token_id")
    codes = {token: code for code, token in known.items()}
    there = start is not None and 0 <= start < len(vocabulary.tokens)
    code = to or (codes.get(vocabulary.tokens[start], "") if start is not None and there else "")
    number = vocabulary.number(known.get(code, ""))
    if number is None:
        raise ConfigError(
            "this model starts from the language that it writes, and its settings do not name one",
            hint=f"say which with --to: {listed(known)}",
            code="no_language",
        )
    pairs = tuple(Direction(one, code) for one in known if one != code)
    return Frame(source=source, languages=tuple(known.items()), pairs=pairs), number


def check_languages(known: Mapping[str, str], given: tuple[str, str], said: TheirSettings) -> None:
    """Refuse a language that the model does not have."""
    for option, code in zip(("--from", "--to"), given, strict=True):
        if code and known and code not in known:
            raise ConfigError(
                f"{option} {code}: the model has no such language",
                where=said.where,
                hint=nearest(code, known, f"it has {listed(known)}"),
                code="unknown_language",
            )


def replace_start(said: TheirSettings, start: int | None) -> TheirSettings:
    """The settings with another token that the decoder starts from."""
    if start is None:
        return said
    return TheirSettings({**said.fields, "decoder_start_token_id": start}, said.where)


def make_blueprint(
    kind: str, said: TheirSettings, parts: Parts, vocabularies: Mapping[str, ForeignVocabulary]
) -> tuple[Blueprint, dict[str, LaidVocabulary]]:
    """Settings and tensors of ours, and both vocabularies in our order."""
    rows = said.number("vocab_size")
    end = said.token("eos_token_id")
    if end is None:
        raise said.wrong("eos_token_id", None, "the number of a token")
    pad = said.token("pad_token_id")
    start = said.token("decoder_start_token_id")
    if start is None:
        start = pad if kind in ("marian", "pegasus", *t5_family.KINDS) else end
    sizes = {"source": rows, "target": said.number("decoder_vocab_size", usual=rows)}
    laid = {}
    for side, vocabulary in vocabularies.items():
        places = SpecialPlaces(start if start is not None else end, pad, end, vocabulary.unknown)
        laid[side] = lay_vocabulary(vocabulary, places, sizes[side], str(parts.where))
    if kind in t5_family.KINDS:
        config = t5_family.t5_config(kind, said, parts)
        return t5_family.t5_blueprint(kind, said, config, parts, laid["target"]), laid
    config = bart_family.bart_config(kind, said)
    return bart_family.bart_blueprint(kind, config, parts, laid["source"], laid["target"]), laid


def family_name(kind: str, said: TheirSettings, frame: Frame) -> str:
    """The family for people."""
    if kind == "t5" and str(said.fields.get("feed_forward_proj", "")).startswith("gated"):
        return "t5 v1.1"
    if kind == "m2m_100":
        return "nllb" if any("_" in code for code, _ in frame.languages) else "m2m100"
    return kind


def languages_of(tokenizer: Mapping[str, Any], frame: Frame) -> tuple[str, str]:
    """The languages that the tokenizer's settings name, of a model with one direction."""
    if frame.languages:
        return "", ""
    found = tokenizer.get("source_lang"), tokenizer.get("target_lang")
    left, right = (code if isinstance(code, str) else "" for code in found)
    return left, right
