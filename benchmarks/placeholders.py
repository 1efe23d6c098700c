"""Whether placeholders survive translation: strings of Home Assistant and LibreOffice, German to English.

    pip download --no-deps homeassistant home-assistant-frontend
    apt-get download libreoffice-l10n-de libreoffice-help-de      # then dpkg-deb -x each of them into DEBIAN
    python benchmarks/placeholders.py MODEL --strings *.whl --strings DEBIAN [--count 10000] [--json FILE]
        [--test test.de.gz test.en.gz]

The strings are those of the translation catalogues, and paragraphs of the help with their tags, that hold a
placeholder by the patterns below; these are written for this measurement and share nothing with the package.
A string is kept if its answer has the same placeholders as often. `bare` is the same with `protect=False`.
Where the English string is known, `place` is how far the placeholders of the answer stand from where they
stand in it, in shares of the string; `source_place` the same if they stood where the source has them.
With `--test`, BLEU of plain text with and without protection.
"""

import argparse
import gettext
import gzip
import json
import random
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from jumok.decoding.translator import Translator, load
from jumok.evaluation.metrics import bleu, bleu_tokenizer

PATTERNS = {
    "braces": r"\{[A-Za-z0-9_]*\}",
    "icu": r"\{\s*\w+,\s*(?:plural|select|selectordinal),",
    "tag": r"</?[a-z][^<>]*>",
    "printf": r"%(?:\d+\$)?[sd]\b|%\d(?!\d)",
    "product": r"%[A-Z]{4,}|\$[\[(][A-Za-z_][A-Za-z0-9_]*[\])]",
    "url": r"https?://[^\s<>\"'),]+[\w/]",
}
ANY = re.compile("|".join(PATTERNS.values()))
HEAD = re.compile(PATTERNS["icu"])
KEY = re.compile(r"\s*(=\d+|\w+)\s*\{")
PARAGRAPH = re.compile(r"<p\b[^>]*>(.*?)</p>", re.DOTALL)
LONGEST = 400  # characters

StringPair = tuple[str, str, str]
"""Where a string is from, its German and its English, or "" where that is not known."""


def strings(given: Sequence[Path]) -> Iterator[StringPair]:
    for path in given:
        if path.suffix == ".whl":
            yield from of_wheel(path)
        else:
            for file in sorted(path.rglob("*.mo")):
                yield from of_catalogue(file)
            for file in sorted(path.rglob("help/de/**/*.html")):
                yield from of_page(file)


def of_wheel(path: Path) -> Iterator[StringPair]:
    """The translations of a wheel: `translations/de.json` beside `en.json`."""
    with zipfile.ZipFile(path) as wheel:
        names = {
            re.sub(r"-[0-9a-f]{32}", "", name): name for name in wheel.namelist() if name.endswith(".json")
        }
        for plain, name in names.items():
            if re.search(r"translations/(?:.*/)?de\.json$", plain):
                other = names.get(plain.replace("de.json", "en.json"))
                english = dict(leaves(json.loads(wheel.read(other)))) if other else {}
                for key, text in leaves(json.loads(wheel.read(name))):
                    yield "homeassistant", text, english.get(key, "")


def leaves(tree: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from leaves(value, f"{key}.{name}")
    elif isinstance(tree, str):
        yield key, tree


def of_catalogue(path: Path) -> Iterator[StringPair]:
    with path.open("rb") as file:
        catalogue: dict[Any, str] = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    for key, text in catalogue.items():
        if isinstance(key, str) and key:
            yield "libreoffice", text, key.rpartition("\x04")[2]


def of_page(path: Path) -> Iterator[StringPair]:
    for match in PARAGRAPH.finditer(path.read_text("utf-8", "replace")):
        yield "libreoffice-help", " ".join(match[1].split()), ""


def chosen(given: Sequence[Path], count: int) -> list[StringPair]:
    """Different strings with placeholders, at random, as many from each place as it has or as others."""
    found: dict[str, dict[str, StringPair]] = {}
    for one in strings(given):
        if ANY.search(one[1]) and len(one[1]) <= LONGEST and re.search(r"[a-z]{3}", ANY.sub("", one[1])):
            found.setdefault(one[0], {}).setdefault(one[1], one)
    order = random.Random(1234)
    rest, picked = count, list[StringPair]()
    for n, (_, own) in enumerate(sorted(found.items(), key=lambda item: len(item[1]))):
        share = order.sample(list(own.values()), min(len(own), rest // (len(found) - n)))
        picked, rest = picked + share, rest - len(share)
    return picked


def signs(text: str) -> Counter[str]:
    """The placeholders of a string; of an ICU message its head, its keys, and those of its texts."""
    head = HEAD.search(text)
    if not head:
        return Counter(match[0] for match in ANY.finditer(text))
    found, place = signs(text[: head.start()]) + Counter([" ".join(head[0].split())]), head.end()
    while key := KEY.match(text, place):
        end = closing(text, key.end())
        found += Counter([f"{key[1]} {{"]) + signs(text[key.end() : end])
        place = end + 1
    return found + signs(text[place:].lstrip().removeprefix("}"))


def closing(text: str, place: int) -> int:
    """Where the brace stands that closes what `place` stands in."""
    depth = 1
    while depth and place < len(text):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        place += 1
    return place - 1


def places(text: str) -> dict[str, float]:
    """How far into a string each placeholder stands that it has once."""
    once = {sign for sign, count in signs(text).items() if count == 1}
    return {match[0]: match.start() / len(text) for match in ANY.finditer(text) if match[0] in once}


def distance(pairs: Sequence[tuple[str, str]]) -> float:
    """The mean distance of the placeholders of two texts."""
    found = [(places(a), places(b)) for a, b in pairs if b]
    each = [abs(a[sign] - b[sign]) for a, b in found for sign in a.keys() & b.keys()]
    return round(sum(each) / max(1, len(each)), 4)


def measure(model: Translator, texts: Sequence[StringPair], **options: Any) -> dict[str, Any]:
    sources = [text for _, text, _ in texts]
    began = process_time()
    answers = [one.text for one in model.translate(sources, beam=1, **options)]
    seconds = process_time() - began
    kept = [signs(a) == signs(b) for a, b in zip(sources, answers, strict=True)]
    by_place = {
        name: [k for k, one in zip(kept, texts, strict=True) if one[0] == name] for name, _, _ in texts
    }
    lost = [(a, b) for a, b, k in zip(sources, answers, kept, strict=True) if not k]
    return {
        "kept": sum(kept),
        "share": round(sum(kept) / len(kept), 6),
        "by_place": {name: round(sum(own) / len(own), 6) for name, own in by_place.items()},
        "place": distance([(a, one[2]) for a, one in zip(answers, texts, strict=True)]),
        "seconds": round(seconds, 1),
        "lost": lost[:5],
    }


def plain_bleu(model: Translator, files: Sequence[str], **options: Any) -> float:
    sources, references = (gzip.decompress(Path(file).read_bytes()).decode().splitlines() for file in files)
    words, _ = bleu_tokenizer(model.config.data.target_language)
    answers = [one.text for one in model.translate(sources, sentences="as-is", beam=1, **options)]
    return round(float(bleu(answers, [(one,) for one in references], tokenize=words).value), 2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--strings", action="append", type=Path, required=True)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument(
        "--bare", type=int, default=2_000, help="strings that are translated without protection"
    )
    parser.add_argument("--test", nargs=2, default=())
    parser.add_argument("--json")
    options = parser.parse_args()
    model, texts = load(options.model), chosen(options.strings, options.count)
    few = random.Random(7).sample(texts, min(len(texts), options.bare))
    found: dict[str, Any] = {
        "model": Path(options.model).name,
        "marks": model.config.text.marks,
        "strings": len(texts),
        "from": dict(Counter(name for name, _, _ in texts)),
        "protected": measure(model, texts),
        "bare_strings": len(few),
        "bare": measure(model, few, protect=False),
        "source_place": distance([(source, english) for _, source, english in texts]),
    }
    if options.test:
        found["bleu"] = {
            "protected": plain_bleu(model, options.test),
            "bare": plain_bleu(model, options.test, protect=False),
        }
    print(json.dumps(found, ensure_ascii=False, indent=1))
    if options.json:
        merged = json.loads(Path(options.json).read_text("utf-8")) if Path(options.json).exists() else {}
        merged[found["model"].replace("-", "_")] = found
        Path(options.json).write_text(json.dumps(merged, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
