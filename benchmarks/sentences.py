"""Sentence splitters compared: ours beside pysbd, sentencex, blingfire and syntok, on lines of real corpora.

    pip install pysbd sentencex blingfire syntok minisbd
    python benchmarks/sentences.py DATA [--wheel WHEEL] [--part test] [--json FILE] [--errors de]

DATA is a folder of parallel corpora with English: `NAME/test.de.gz` and `NAME/test.en.gz`, or
`NAME/test.tsv.gz`. WHEEL is one of home-assistant-frontend, whose catalogues are in languages that DATA may
not have.

The gold comes from the two sides of a pair, not from a splitter. A line whose other side has no mark inside
is one sentence, whatever dots it has; where both sides have the same marks inside, those end sentences,
unless the word before a dot is short or in capitals (it may be an abbreviation: such pairs are left out, as
are pairs that disagree). Lines are joined five by five, in the order of a seed; what counts is each place
between two sentences of a paragraph. Each paragraph is split by a call of its own; speed is by process
time.
"""

import argparse
import gzip
import json
import platform
import random
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import process_time
from typing import Any

from jumok.text.sentences import NO_SPACES, lay_out

Splitter = Callable[[str, str], list[str]]
"""Text and language to sentences."""

CORPORA = {
    "en": ["tatoeba-de-en", "libreoffice-help-de-en", "multi30k", "homeassistant-de-en"],
    "de": ["tatoeba-de-en", "libreoffice-help-de-en", "multi30k", "homeassistant-de-en"],
    "fr": ["multi30k", "homeassistant-fr-en"],
    "ko": ["tatoeba-ko-en", "news-ko-en-eval", "homeassistant-ko-en"],
    "ja": ["small-enja"],
}
WHEEL = {"zh": "zh-Hans", "ar": "ar", "ru": "ru", "es": "es", "th": "th", "ja": "ja"}
TOGETHER, MOST = 5, 2000  # lines of a paragraph, and of a corpus
INSIDE = re.compile(
    r"(\S*?)([.!?…。！？؟]+)[\"'”’“»)\]」』）]*(?:\s+(?=[^a-zßäöüàâéèêëîïôûç])|(?<=[。！？」』])(?=\S))"
)
END = re.compile(r"[.!?…。！？؟][\"'”’“»)\]」』） ]*$")


def read(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def pairs(data: Path, name: str, language: str, part: str) -> Iterator[tuple[str, str]]:
    """Lines of one language and of the other."""
    folder = data / name
    if (folder / f"{part}.tsv.gz").exists():
        for line in read(folder / f"{part}.tsv.gz"):
            english, other = line.split("\t")[:2]
            yield (english, other) if language == "en" else (other, english)
        return
    own = [path for path in sorted(folder.glob(f"{part}*.{language}.gz")) if "mscoco" not in path.name]
    for path in own:
        other = "de" if language == "en" else "en"
        lines = read(path), read(path.with_name(path.name.replace(f".{language}.gz", f".{other}.gz")))
        for one, two in zip(*lines, strict=True):
            yield (one.replace(" ", ""), two) if name == "small-enja" and language == "ja" else (one, two)


def catalogue(wheel: Path, code: str) -> dict[str, str]:
    """The strings of a language by their keys."""
    found: dict[str, str] = {}

    def walk(place: str, node: Any) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                walk(f"{place}.{key}", value)
        elif isinstance(node, str):
            found[place] = node

    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if re.search(rf"translations/(?:.*/)?{re.escape(code)}-[0-9a-f]{{32}}\.json$", name):
                walk(name.split("translations/")[1].rpartition("/")[0], json.loads(archive.read(name)))
    return found


def from_wheel(wheel: Path, code: str, part: str) -> Iterator[tuple[str, str]]:
    english, own = catalogue(wheel, "en"), catalogue(wheel, code)
    for n, key in enumerate(sorted(own)):
        plain = key in english and not re.search(r"[{}<>\n`]", own[key] + english[key])
        if plain and own[key] != english[key] and (n % 2 == 0) == (part == "test"):
            yield own[key], english[key]


def gold(line: str, other: str) -> list[str] | None:
    """The sentences of a line by its translation; None where the two do not tell."""
    line, other = " ".join(line.split()), " ".join(other.split())
    if not (END.search(line) and END.search(other)):
        return None
    own, theirs = list(INSIDE.finditer(line)), list(INSIDE.finditer(other))
    if not own:
        return [line]
    if not theirs:
        dots = all(match[2] == "." for match in own)
        return [line] if dots and not re.search(r"[,;:–—-]", other) else None
    words = [match[1] for match in own + theirs if match[2].startswith(".")]
    known = len(own) == len(theirs) and not any(
        len(word) < 4 or not word[-3:].islower() for word in words if word.isascii()
    )
    if not known or [m[2] in "!！" for m in own] != [m[2] in "!！" for m in theirs]:
        return None
    cuts = [0, *(match.end() for match in own), len(line)]
    return [line[a:b].strip() for a, b in zip(cuts, cuts[1:], strict=False)]


def paragraphs(lines: Sequence[list[str]]) -> list[list[str]]:
    """The sentences of each paragraph of five lines."""
    chosen = list(lines)
    random.Random(1).shuffle(chosen)
    return [
        [one for line in chosen[n : n + TOGETHER] for one in line] for n in range(0, len(chosen), TOGETHER)
    ]


def ends(sentences: Sequence[str]) -> set[int]:
    """Where sentences end, counted in characters that are no white space; the end of the text is given."""
    places, place = set(), 0
    for sentence in sentences:
        place += len("".join(sentence.split()))
        places.add(place)
    return places - {place}


def splitters() -> dict[str, Splitter]:
    """Ours, and those that are installed."""
    found: dict[str, Splitter] = {"jumok": lambda text, language: list(lay_out(text, language).sentences)}
    for name in ("pysbd", "sentencex", "blingfire", "syntok", "minisbd"):
        try:
            found[name] = globals()[f"with_{name}"](import_module(name))
        except ImportError:
            print(f"{name} is not installed")
    return found


def with_pysbd(library: Any) -> Splitter:
    known: dict[str, Any] = {}

    def split(text: str, language: str) -> list[str]:
        code = language if language in import_module("pysbd.languages").LANGUAGE_CODES else "en"
        if code not in known:
            known[code] = library.Segmenter(language=code, clean=False)
        return [str(one) for one in known[code].segment(text)]

    return split


def with_sentencex(library: Any) -> Splitter:
    return lambda text, language: list(library.segment(language, text))


def with_blingfire(library: Any) -> Splitter:
    return lambda text, _: library.text_to_sentences(text).split("\n")


def with_syntok(library: Any) -> Splitter:
    segmenter = import_module("syntok.segmenter")

    def split(text: str, _: str) -> list[str]:
        return [
            "".join(token.spacing + token.value for token in sentence)
            for paragraph in segmenter.process(text)
            for sentence in paragraph
        ]

    return split


def with_minisbd(library: Any) -> Splitter:
    """The network that an Argos package has, in Argos Translate's own splitter."""
    from jumok.export.argos_sentences import splitter_bytes

    known: dict[str, Any] = {}

    def split(text: str, language: str) -> list[str]:
        if language not in known:
            with NamedTemporaryFile(suffix=".onnx") as file:
                Path(file.name).write_bytes(splitter_bytes(language))
                known[language] = library.SBDetect(file.name, use_gpu=False, max_threads=1)
        return list(known[language].sentences(text))

    return split


def score(
    split: Splitter, texts: Sequence[str], right: Sequence[list[str]], language: str
) -> dict[str, float]:
    """Precision, recall and F1 of the ends inside paragraphs, and characters a second of process time."""
    began = process_time()
    answers = [split(text, language) for text in texts]
    seconds = process_time() - began
    hits = found = true = 0
    for answer, wanted in zip(answers, right, strict=True):
        given, gold_ends = ends(answer), ends(wanted)
        hits, found, true = hits + len(given & gold_ends), found + len(given), true + len(gold_ends)
    precision, recall = hits / max(found, 1), hits / true
    return {
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(2 * hits / (found + true), 4),
        "characters_per_second": round(sum(map(len, texts)) / max(seconds, 1e-9)),
    }


def show_errors(texts: Sequence[str], right: Sequence[list[str]], language: str) -> None:
    for text, wanted in zip(texts, right, strict=True):
        given = list(lay_out(text, language).sentences)
        if ends(given) != ends(wanted):
            for one in given:
                if one not in wanted:
                    print("   ours:", one)
            for one in wanted:
                if one not in given:
                    print("   gold:", one)
            print()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--wheel", type=Path, help="of home-assistant-frontend")
    parser.add_argument("--part", default="test", help="test; val was used to write the rules")
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--errors", default="", metavar="LANGUAGE", help="print where ours differs from the gold"
    )
    options = parser.parse_args()
    made = splitters()
    found: dict[str, Any] = {
        "command": "python benchmarks/sentences.py DATA --wheel WHEEL --json FILE",
        "machine": f"{platform.machine()}, Python {platform.python_version()}; other work ran beside it",
        "kept": "the one run; speed by process time",
        **{"part": options.part, "splitters": {}, "languages": {}},
    }
    for name in made:
        try:
            found["splitters"][name] = version(name)
        except PackageNotFoundError:
            found["splitters"][name] = ""
    for language in dict.fromkeys([*CORPORA, *(WHEEL if options.wheel else ())]):
        lines: list[tuple[str, str]] = []
        for name in CORPORA.get(language, ()):
            some = [pair for pair in pairs(options.data, name, language, options.part) if gold(*pair)]
            lines += some[:MOST]
        if options.wheel and language in WHEEL:
            lines += from_wheel(options.wheel, WHEEL[language], options.part)
        right = paragraphs([one for pair in lines if (one := gold(*pair))])
        texts = [("" if language in NO_SPACES else " ").join(sentences) for sentences in right]
        row = {"paragraphs": len(texts), "sentences": sum(map(len, right))}
        if options.errors == language:
            show_errors(texts, right, language)
        scores = {name: score(split, texts, right, language) for name, split in made.items()}
        found["languages"][language] = {**row, **scores}
        print(language, row, {name: one["f1"] for name, one in scores.items()}, flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
