"""What a trace is of: a text as the model reads it, and the target that it writes or is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal

from jumok.decoding.beam_tree import BeamTree
from jumok.decoding.jobs import Request, SourceText, make_request
from jumok.decoding.parts import texts_read
from jumok.decoding.results import Translation
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, DataError, LimitError
from jumok.explain.tokens import source_ids_of
from jumok.text.beginning import beginning
from jumok.text.frame import Direction
from jumok.text.layouts import Protection
from jumok.text.normalize import tidy
from jumok.text.tokenizer import EOS

LONGEST = 1024  # tokens of a given target: attention keeps layers x heads x length² numbers
SEARCHED = ("beam", "n_best", "length_penalty", "max_len", "min_len", "no_repeat_ngram")
"""Settings of a search by their names in the configuration."""


@dataclass(frozen=True)
class Subject:
    """Two texts, tidied, with their ids, and how the second came about.

    Ids are framed: tags are among them, and an end only where something stands behind it.
    """

    source: str
    """Of a picture, the name that it was given."""
    source_ids: tuple[int, ...] | tuple[bytes, ...]
    warnings: tuple[Mapping[str, str], ...] = ()
    target: str = ""
    target_ids: tuple[int, ...] = ()
    ended: bool = True
    """The target goes on to its end; False where the length limit cut it."""
    origin: Literal["decoded", "given"] = "given"
    settings: Mapping[str, Any] | None = None
    """Of the search, as far as they decide its answer."""
    ms: float | None = None
    """What the search took."""


def subjects_of(
    translator: Translator,
    texts: Sequence[str | SourceText],
    *,
    targets: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    translations: Sequence[Translation] | None = None,
) -> list[Subject]:
    """A subject for each text, with its target or translation if one is given, else with a new translation.

    A text of more tokens than the model takes is cut, with a warning.
    """
    translator = translator.asked_in(options)
    request = make_request(translator.config.decoding, translator.asked(options or {}))
    sources = as_read(translator, texts, request)
    subjects = [read_source(translator, source) for source in sources]
    if targets is not None:
        _check_count("targets", targets, texts)
        return [with_target(translator, one, text) for one, text in zip(subjects, targets, strict=True)]
    if translations is not None:
        _check_count("translations", translations, texts)
    prefixes = request.prefixes(len(texts))
    known = dict(enumerate(translations or ()))
    # What was too long was translated in parts: its beginning is translated again, alone.
    missing = [i for i, one in enumerate(subjects) if i not in known or one.warnings]
    ms = None
    if missing:
        began = perf_counter()
        long = "error" if request.long == "error" else "cut"
        own = {**(options or {}), "long": long, "sentences": "as-is", "keep": ()}
        kept = {i: by_search(translator, sources[i], request) for i in missing}
        for protect in (True, False):
            some = [i for i in missing if kept[i] is protect]
            own |= {"protect": protect, "prefix": [prefixes[i] for i in some]}
            known |= zip(some, translator.translate_read([sources[i] for i in some], **own), strict=True)
        ms = 1000 * (perf_counter() - began) / len(missing)
    settings = {
        prefix: search_settings(request, prefix) | spoken(translator) for prefix in dict.fromkeys(prefixes)
    }
    return [
        with_translation(one, known[i], settings[prefixes[i]], ms if i in missing else None)
        for i, one in enumerate(subjects)
    ]


def spoken(translator: Translator) -> dict[str, str]:
    """The direction of a model that has several, as options of `translate`; {} for any other."""
    said = translator.tokenizers.direction
    return {} if said == Direction() else {"to": said.target, "from_language": said.source}


def as_read(translator: Translator, texts: Sequence[str | SourceText], request: Request) -> list[SourceText]:
    """Each text as the model reads it in one piece: with marks for what is protected."""
    sources, protect = translator.read(texts), translator.protects(request)
    return translator.read(texts_read(sources, request, translator.tokenizers, protect))


def by_search(translator: Translator, source: SourceText, request: Request) -> bool:
    """Whether the search keeps what is protected in a source; else marks do, which it has by now, or nothing.

    A source that is nothing but that is translated like any other: there would be no search to show.
    """
    if translator.protects(request) is not Protection.SIGNS:
        return False
    asked = replace(request, sentences="as-is", long="cut", protect=True, keep=(), prefix="")
    return bool(translator.jobs([source], asked)[0].jobs)


def read_source(translator: Translator, source: SourceText) -> Subject:
    """A text as the model takes it."""
    if not source.text:
        raise ConfigError("the text is empty", hint="give a sentence to look at", code="empty_text")
    most = translator.config.data.max_length
    if len(source.ids) <= most or translator.tokenizers.pictures:
        return Subject(source.text, translator.tokenizers.framed(source.ids))
    message = f"source cut from {len(source.ids)} to {most} tokens"
    cut = beginning(source.ids, most)
    return Subject(
        translator.tokenizers.source.decode(cut),
        translator.tokenizers.framed(cut),
        ({"code": "source_truncated", "message": message},),
    )


def with_target(translator: Translator, subject: Subject, text: str) -> Subject:
    """The subject with a target that is given."""
    target = tidy(text)
    ids = translator.tokenizers.target.encode(target)
    most = LONGEST
    if rows := translator.config.model.table_rows:
        most = min(LONGEST, rows - 1)
    if len(ids) > most:
        raise LimitError(
            f"the target has {len(ids):,} tokens, more than {most:,}",
            hint="give a shorter one",
            code="too_long",
        )
    whole = (*translator.tokenizers.opening, *ids)
    settings = {"method": "given", **spoken(translator)}
    return replace(subject, target=target, target_ids=whole, settings=settings)


def with_translation(
    subject: Subject, translation: Translation, settings: Mapping[str, Any], ms: float | None
) -> Subject:
    """The subject with what a search found."""
    ids = [token.id for token in translation.tokens]
    warnings = subject.warnings
    if not translation.finished:
        message = f"the answer was stopped after {len(ids)} tokens, before its end"
        warnings = (*warnings, {"code": "target_unfinished", "message": message})
    return replace(
        subject,
        warnings=warnings,
        target=translation.text,
        target_ids=tuple(id for id in ids if id != EOS),
        ended=translation.finished,
        origin="decoded",
        settings=settings,
        ms=ms,
    )


def _check_count(name: str, given: Sequence[object], texts: Sequence[object]) -> None:
    if len(given) != len(texts):
        raise DataError(
            f"there are {len(texts)} texts and {len(given)} {name}",
            hint=f"give one of the {name} for each text",
            code="unequal_lines",
        )


def search_settings(request: Request, prefix: str) -> dict[str, Any]:
    """The settings of a search, as far as they decide its answer; 1 and 1.0 are one setting."""
    config = request.decoding
    method = "sample" if config.draws else "greedy" if config.beam == 1 else "beam"
    drawn = {
        "temperature": float(config.temperature),
        "top_k": config.top_k,
        "top_p": float(config.top_p),
        "seed": config.seed,
    }
    return {
        "method": method,
        **{name: getattr(config, name) for name in SEARCHED},
        **({"beam": 1} if config.draws else {}),
        "length_penalty": float(config.length_penalty),
        **(drawn if config.draws else dict.fromkeys(drawn)),
        **({"mbr": config.mbr, "utility": config.utility} if config.mbr else {}),
        "prefix": prefix,
        "ban": list(request.ban),
        "require": list(request.require),
    }


def beam_tree(translator: Translator, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tree in the form `beam/1` of the search that wrote a trace's target; None if no search did.

    A search is a function of the model, the source and the settings in the manifest, so it comes out again
    as it was. The translator is the one of the trace, with its interventions.
    """
    decode = manifest["decode"]
    if decode["method"] not in ("beam", "greedy"):
        return None
    # Defaults first: what the folder says about drawing at random does not count here.
    asked = {name: decode[name] for name in (*SEARCHED, "prefix", "ban", "require")}
    translator = translator.asked_in(decode)
    text, ids = manifest["source"]["text"], source_ids_of(translator.tokenizers, manifest["source"])
    source = SourceText(text, text, translator.tokenizers.bare(ids))  # a cut text may have other ids
    protect = by_search(translator, source, make_request(translator.config.decoding, {}))
    options = {"sample": False, "long": "cut", "sentences": "as-is", "protect": protect, **asked}
    request = make_request(translator.config.decoding, options)
    tree = BeamTree(request.decoding.beam, request.decoding.length_penalty)
    [made] = translator.jobs([source], request)
    [job] = made.jobs
    engine = translator.seeing("record_beam").engine_of(request)
    with translator.explained([job]):
        engine.grow_tree(job, request, tree)
    tree.choose_cut([token["id"] for token in manifest["target"]["tokens"]])
    return tree.to_dict(translator.tokenizers.target)
