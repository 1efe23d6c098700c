"""One of several corpora of a run, as people write it: a file, and words behind colons.

    de-en.tsv:3                  a weight: its share of what the model reads, beside the weights of the others
    news.tsv:de-en               from which language into which; of a file with several, which columns
    train.de+train.en:de-en      two files, line n of one translating line n of the other
    de-en.tsv:both               both directions
    news.en.txt:en:copy          sentences in one language, each its own translation (Currey et al. 2017)
    news.en.txt:en:denoise       sentences in one language, to be put right after words were lost and moved

The order of the words does not matter. A built-in set may stand in place of a file.
"""

import re
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Literal

from jumok.errors import ConfigError
from jumok.text.frame import Direction

Alone = Literal["", "copy", "denoise"]
LONELY: tuple[Alone, ...] = ("copy", "denoise")
LANGUAGE = r"[a-z]{2,3}(?:_[A-Za-z0-9]{2,8})*"
PAIR_WORD, LANGUAGE_WORD = re.compile(rf"({LANGUAGE})-({LANGUAGE})"), re.compile(LANGUAGE)
NUMBER = re.compile(r"[-+]?[0-9.][0-9.eE+-]*|[-+]?nan|[-+]?inf", re.IGNORECASE)
USAGE = (
    "for example de-en.tsv:3, news.tsv:de-en:both, news.en.txt:en:copy; docs/directions.md lists the words"
)


@dataclass(frozen=True, slots=True)
class CorpusSpec:
    """What someone wants of one corpus."""

    given: str
    """As it was written."""
    source: str
    """A file or a built-in set."""
    target: str = ""
    weight: float = 0.0
    """0: none was given."""
    direction: Direction = Direction()
    both: bool = False
    alone: Alone = ""
    """The file has sentences in one language, that of the target."""

    @property
    def name(self) -> str:
        """The corpus in a few words."""
        return " + ".join(Path(one).name for one in (self.source, self.target) if one)


def parse_spec(given: str) -> CorpusSpec:
    """What such a line means; ConfigError for one that means nothing."""
    path, words = _split(given)
    weight, direction, both, alone = 0.0, Direction(), False, ""
    for word in words:
        pair = PAIR_WORD.fullmatch(word)
        if word == "both" and not both:
            both = True
        elif word in LONELY and not alone:
            alone = word
        elif NUMBER.fullmatch(word) and not weight:
            weight = _weight(word, given)
        elif pair and direction == Direction():
            direction = Direction(pair[1], pair[2])
        elif LANGUAGE_WORD.fullmatch(word) and direction == Direction():
            direction = Direction("", word)
        else:
            twice = f"{word!r} says again what another word says"
            raise _bad(
                given, twice if words.count(word) > 1 or _known(word) else f"{word!r} is no word for it"
            )
    source, target = _files(path)
    spec = CorpusSpec(
        given, source, target, weight, direction, both, next((w for w in LONELY if w == alone), "")
    )
    _check(spec)
    return spec


def _known(word: str) -> bool:
    patterns = (NUMBER, PAIR_WORD, LANGUAGE_WORD)
    return word in ("both", *LONELY) or any(pattern.fullmatch(word) for pattern in patterns)


def _split(given: str) -> tuple[str, list[str]]:
    """The path and the words behind it; a path that exists as it stands has none."""
    if not given.strip():
        raise _bad(given, "it names no file")
    if Path(given).exists():
        return given, []
    path, *words = given.split(":")
    if words and len(path) == 1 and words[0][:1] in ("\\", "/"):  # C:\corpus.tsv
        path, words = f"{path}:{words[0]}", words[1:]
    return path, words


def _files(path: str) -> tuple[str, str]:
    """One file, or two with a plus between them."""
    left, plus, right = path.partition("+")
    return (left, right) if plus and not Path(path).exists() else (path, "")


def _weight(word: str, given: str) -> float:
    try:
        weight = float(word)
    except ValueError:
        weight = float("nan")
    if not (isfinite(weight) and weight > 0):
        raise _bad(
            given, f"{word} is no weight", "a weight is a number above 0; leave out a corpus of no weight"
        )
    return weight


def _check(spec: CorpusSpec) -> None:
    single = bool(spec.direction.target) and not spec.direction.source
    if spec.alone and spec.direction.source:
        raise _bad(
            spec.given,
            f"text in one language has no direction {spec.direction}",
            f"name its language alone: {spec.source}:{spec.direction.target}:{spec.alone}",
        )
    if spec.alone and (spec.both or spec.target):
        raise _bad(spec.given, f"{spec.alone} is for one file with sentences in one language")
    if single and not spec.alone:
        raise _bad(
            spec.given,
            f"{spec.direction.target!r} is one language, and pairs have two",
            f"write de-{spec.direction.target}, or add copy or denoise for text in one language",
        )


def _bad(given: str, reason: str, hint: str = USAGE) -> ConfigError:
    return ConfigError(f"the corpus {given!r} cannot be read: {reason}", hint=hint, code="bad_corpus")


def parse_specs(lines: tuple[str, ...]) -> tuple[CorpusSpec, ...]:
    """All corpora of a run; none may be there twice."""
    specs = tuple(map(parse_spec, lines))
    seen: dict[object, str] = {}
    for spec in specs:
        key = (
            *(str(Path(one).resolve()) for one in (spec.source, spec.target) if one),
            spec.direction,
            spec.alone,
        )
        if key in seen:
            raise ConfigError(
                f"the corpus {spec.name} is given twice: {seen[key]!r} and {spec.given!r}",
                hint="give it once, with a weight if it is to be read more often",
                code="bad_corpus",
            )
        seen[key] = spec.given
    return specs
