"""Argos Translate and LibreTranslate: an `.argosmodel` package, a zip of one folder.

    metadata.json         languages and versions
    model/                the model for CTranslate2
    sentencepiece.model   our tokenizer as theirs (`sentencepiece.py`)
    minisbd/              where sentences end, by our rules (`argos_sentences.py`)
    README.md, certificate.json

Without `minisbd/` Argos Translate would fetch a model for the ends of sentences when it first translates. It
searches in its own way (a beam of 4, another length penalty), and writes every underscore as a space. So the
comparison with our search proves the weights and the pieces, and `as_argos` what its users will read.
"""

import json
import re
import zipfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jumok import __version__
from jumok.checkpoint.folder import dump_json
from jumok.checkpoint.model import LoadedModel
from jumok.config import RunConfig
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError
from jumok.evaluation.metrics import bleu, bleu_tokenizer
from jumok.evaluation.report import paired_interval
from jumok.export import argos_sentences, ctranslate2, sentencepiece
from jumok.export.format import WriteOptions
from jumok.export.parity import SHOWN, Sample
from jumok.text.foreign import ForeignTokenizer

TYPES = ctranslate2.TYPES
NEEDS = ("ctranslate2", "sentencepiece", "protobuf", "onnx")
EXTRA = "argos"
FILE = True

MODEL, PIECES, METADATA = "model", "sentencepiece.model", "metadata.json"
OLDEST = "1.11.0"  # the first Argos Translate that splits sentences without a model in the package
_CODE = re.compile(r"[A-Za-z]{2,3}([_-][A-Za-z]{2,4})?")

LANGUAGES = """
ar=Arabic bg=Bulgarian bn=Bengali ca=Catalan cs=Czech da=Danish de=German el=Greek en=English eo=Esperanto
es=Spanish et=Estonian fa=Persian fi=Finnish fr=French ga=Irish he=Hebrew hi=Hindi hu=Hungarian
id=Indonesian it=Italian ja=Japanese ko=Korean lt=Lithuanian lv=Latvian ms=Malay nb=Norwegian nl=Dutch
pl=Polish pt=Portuguese ro=Romanian ru=Russian sk=Slovak sl=Slovenian sv=Swedish th=Thai tr=Turkish
uk=Ukrainian ur=Urdu vi=Vietnamese zh=Chinese
"""
"""Languages by their codes, as Argos Translate calls them."""
NAMES = dict(pair.split("=") for pair in LANGUAGES.split())


def check(config: RunConfig) -> list[str]:
    """Why Argos Translate cannot run such a model."""
    reasons, text = ctranslate2.check(config), config.text
    if text.kind == "word" or text.target_kind == "word":
        reasons.append("SentencePiece has no tokens for whole words with bytes for the rest (text.kind=word)")
    if text.jamo:
        reasons.append("SentencePiece does not take Korean syllables apart (text.jamo=true)")
    if not text.shared or text.target_kind not in ("", text.kind):
        reasons.append("a package has one vocabulary for both languages (text.shared=false)")
    return reasons


def write(loaded: LoadedModel, folder: Path, options: WriteOptions) -> None:
    """The folder that `to_file` makes the package of."""
    about = metadata(loaded, options.languages)
    if not loaded.tokenizers.shared:
        raise ConfigError(
            "this model cannot be exported to argos: its two languages have vocabularies of their own",
            code="unsupported",
        )
    if isinstance(loaded.tokenizers.target, ForeignTokenizer):
        raise ConfigError(
            "this model cannot be exported to argos: its tokenizer came from another program",
            hint="export it to ctranslate2, which Argos Translate is made of",
            code="unsupported",
        )
    (folder / MODEL).mkdir()
    ctranslate2.write_model(loaded, folder / MODEL, options, sentencepiece.spell)
    (folder / PIECES).write_bytes(sentencepiece.model_bytes(loaded.tokenizers.target))
    (folder / argos_sentences.FOLDER).mkdir()
    (folder / argos_sentences.FOLDER / f"{about['from_code']}.onnx").write_bytes(
        argos_sentences.splitter_bytes(about["from_code"])
    )
    (folder / METADATA).write_bytes(dump_json(about))
    (folder / "README.md").write_text(readme(about), encoding="utf-8")


def metadata(loaded: LoadedModel, languages: tuple[str, str]) -> dict[str, Any]:
    """What Argos Translate wants to know about a package."""
    data = loaded.config.data
    given = [
        word or code
        for word, code in zip(languages, (data.source_language, data.target_language), strict=True)
    ]
    (source, source_name), (target, target_name) = map(language, given, ("--from", "--to"))
    return {
        "package_version": "1.0",
        "argos_version": OLDEST,
        "from_code": source,
        "from_name": source_name,
        "to_code": target,
        "to_name": target_name,
        "type": "translate",
    }


def language(word: str, option: str) -> tuple[str, str]:
    """Code and name of a language that is written `CODE` or `CODE=Name`."""
    code, _, name = word.partition("=")
    if not _CODE.fullmatch(code):
        raise ConfigError(
            f"a package needs the code of its language, not {code!r}"
            if code
            else "a package needs languages",
            hint=f"give {option} CODE or CODE=NAME, such as de=German",
            code="no_language",
        )
    return code, name or NAMES.get(code, code)


def readme(about: dict[str, Any]) -> str:
    return f"""# {about["from_name"]} - {about["to_name"]}

A model of jumok {__version__} for Argos Translate {about["argos_version"]} and later, and for LibreTranslate.

`certificate.json` says how well it agrees with the original. `minisbd` holds our rules for the ends of
sentences, so that nothing has to be fetched to translate.
"""


class ArgosAnswerer(ctranslate2.CTranslate2Answerer):
    """CTranslate2 behind SentencePiece: sources become text again, and are cut as Argos Translate does."""

    def __init__(self, folder: Path) -> None:
        import sentencepiece as library

        super().__init__(folder / MODEL)
        self._pieces = library.SentencePieceProcessor(model_file=str(folder / PIECES))

    def cut(self, source: Sequence[int]) -> list[str]:
        pieces: list[str] = self._pieces.encode(self._pieces.decode(list(source)), out_type=str)
        return pieces


open = ArgosAnswerer  # noqa: A001


def more(loaded: LoadedModel, folder: Path, sample: Sample) -> dict[str, Any]:
    """How many of the sentences SentencePiece cuts as we do, and what Argos's own search answers."""
    texts = [loaded.tokenizers.tidy_source(text) for text in sample.sources if text.strip()]
    model, tokenizer = (folder / PIECES).read_bytes(), loaded.tokenizers.target
    differing = sentencepiece.differences(model, tokenizer, texts)
    shown = [
        {"source": text, "ours": tokenizer.pieces(ours), "theirs": tokenizer.pieces(theirs)}
        for text, ours, theirs in differing[:SHOWN]
    ]
    tokens = {"sentences": len(texts), "equal": len(texts) - len(differing), "differences": shown}
    return {"tokens": tokens, "argos": compare_with_argos(loaded, folder, sample)}


def compare_with_argos(loaded: LoadedModel, folder: Path, sample: Sample) -> dict[str, Any]:
    """What Argos Translate itself answers beside what we do, with the model's own beam; it has no threshold.

    The library runs where it is installed; else its calls are made without it, and the certificate says so.
    """
    numbers = [n for n, text in enumerate(sample.sources) if text.strip()]
    texts = [loaded.tokenizers.tidy_source(sample.sources[n]) for n in numbers]
    by, theirs = as_argos(folder, texts)
    ours = [one.text.strip() for one in Translator(loaded).translate(texts, long="cut", sentences="as-is")]
    equal = sum(a == b for a, b in zip(ours, theirs, strict=True))
    found: dict[str, Any] = {"by": by, "sentences": len(texts), "equal": equal}
    if sample.references:
        words, _ = bleu_tokenizer(sample.language or loaded.config.data.target_language)
        references = [tuple(sample.references[n]) for n in numbers]
        scores = [bleu(side, references, tokenize=words) for side in (ours, theirs)]
        difference, low, high = paired_interval(scores[0], scores[1])
        found["bleu"] = {"reference": scores[0].value, "exported": scores[1].value, "difference": difference}
        found["bleu"] |= {"low": low, "high": high}
    return found


def as_argos(folder: Path, texts: Sequence[str]) -> tuple[str, list[str]]:
    """Who answered, and what Argos Translate gives its users for each text."""
    try:
        from argostranslate.package import Package
        from argostranslate.translate import apply_packaged_translation
    except ImportError:
        return "the calls of Argos Translate 1.11; the library is not installed", by_its_calls(folder, texts)
    import ctranslate2 as library

    package = Package(folder)
    translator = library.Translator(str(folder / MODEL), intra_threads=1)
    found = [apply_packaged_translation(package, text, translator, WholeLines(), 1) for text in texts]
    return f"argostranslate {version('argostranslate')}, without its sentence splitter", [
        best.value.strip() for best, *_ in found
    ]


class WholeLines:
    """In the place of the splitter: a line is compared with a line."""

    def split_sentences(self, text: str) -> list[str]:
        return [text]


def by_its_calls(folder: Path, texts: Sequence[str]) -> list[str]:
    """As `apply_packaged_translation` and `SentencePieceTokenizer` of argostranslate 1.11 do it."""
    import ctranslate2 as library
    import sentencepiece as pieces_of

    pieces = pieces_of.SentencePieceProcessor(model_file=str(folder / PIECES))
    translator = library.Translator(str(folder / MODEL), intra_threads=1)
    results = translator.translate_batch(
        [pieces.encode(text, out_type=str) for text in texts], replace_unknowns=True, max_batch_size=32,
        batch_type="tokens", beam_size=4, num_hypotheses=1, length_penalty=0.2, return_scores=True,
    )  # fmt: skip
    return [
        pieces.decode_pieces(one.hypotheses[0]).replace("▁", " ").replace("_", " ").strip() for one in results
    ]


def to_file(folder: Path, file: Path) -> None:
    """The folder as a zip; its one folder has the name that Argos Translate would give it."""
    about = json.loads((folder / METADATA).read_text(encoding="utf-8"))
    version = about["package_version"].replace(".", "_")
    name = f"translate-{about['from_code']}_{about['to_code']}-{version}"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                package.write(path, f"{name}/{path.relative_to(folder).as_posix()}")
