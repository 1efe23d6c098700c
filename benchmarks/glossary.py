"""Whether terms are kept, what that costs in BLEU, and in time.

    python benchmarks/glossary.py MODEL TRAIN_SOURCE TRAIN_TARGET TEST_SOURCE TEST_TARGET [--json FILE]

Two glossaries are mined. Words of the training data are paired by the IBM model of shortlists: nouns (words
with a capital) that occur 5 to 300 times, with a partner that has them as its own likeliest one.
`mined` are all of those; `agreed` only those whose partner stands in every reference of a test line that has
the term. Applicable are all terms that a test source has, whatever its reference says. A translation is free,
strict or soft; `present` is the share of applicable terms that it has. `--strengths 4 8 12` adds the curve of
soft: nats that an answer loses for a term that it lacks.
"""

import argparse
import gzip
import json
import platform
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

from jumok.decoding.translator import Translator, load
from jumok.evaluation.metrics import bleu, bleu_tokenizer
from jumok.native.shortlist import learn_lexicon
from jumok.terms.glossary import Glossary, glossary_of
from jumok.text.ragged import Ragged

WORD = re.compile(r"[^\W\d_]+")
FEWEST, MOST, LETTERS = 5, 300, 5
MODES = ("strict", "soft")


def read(path: str) -> list[str]:
    data = Path(path).read_bytes()
    return (gzip.decompress(data) if path.endswith(".gz") else data).decode().splitlines()


class WordList:
    """The words of some lines as ids."""

    def __init__(self, lines: Sequence[str], *, lower: bool) -> None:
        cut = [WORD.findall(line.lower() if lower else line) for line in lines]
        self.counts = Counter(word for words in cut for word in words)
        self.words = list(self.counts)
        ids = {word: number for number, word in enumerate(self.words)}
        self.ids = [[ids[word] for word in words] for words in cut]


def mine(sources: Sequence[str], targets: Sequence[str]) -> dict[str, str]:
    """Nouns of the source with the one word that they become, each the other's likeliest partner."""
    left, right = WordList(sources, lower=False), WordList(targets, lower=True)
    sizes = len(left.words), len(right.words)
    forth = learn_lexicon(list(zip(left.ids, right.ids, strict=True)), sizes, 1)
    back = learn_lexicon(list(zip(right.ids, left.ids, strict=True)), sizes[::-1], 1)
    partners, backward = first_of(forth.likely), first_of(back.likely)
    return {
        word: right.words[partners[i]]
        for i, word in enumerate(left.words)
        if FEWEST <= left.counts[word] <= MOST
        and len(word) >= LETTERS
        and word[0].isupper()
        and word[1:].islower()
        and i in partners
        and len(right.words[partners[i]]) >= LETTERS
        and backward.get(partners[i]) == i
    }


def first_of(rows: Ragged) -> dict[int, int]:
    """The likeliest partner of each word that has any."""
    return {
        i: int(rows.values[rows.begin[i]])
        for i in range(len(rows.begin) - 1)
        if rows.begin[i] < rows.begin[i + 1]
    }


def agreeing(terms: dict[str, str], sources: Sequence[str], references: Sequence[str]) -> dict[str, str]:
    """The terms whose partner stands in every reference of a line that has them, and there is such a line."""
    glossary, seen, wrong = glossary_of(terms), set[str](), set[str]()
    for source, reference in zip(sources, references, strict=True):
        for match in glossary.find(source, "de"):
            target = match.targets[0].lower()
            seen.add(target)
            if not re.search(rf"\b{re.escape(target)}", reference.lower()):
                wrong.add(target)
    return {source: target for source, target in terms.items() if target in seen - wrong}


def measure(
    model: Translator, sources: Sequence[str], references: Sequence[str], glossary: Glossary, mode: str
) -> dict[str, Any]:
    """One way to translate the test set, and how many of the applicable terms are there."""
    asked = {"glossary": glossary, "glossary_mode": mode} if mode != "free" else {}
    began = process_time()
    answers = model.translate(list(sources), sentences="as-is", **asked)
    seconds = process_time() - began
    applicable = present = lines = 0
    for source, answer in zip(sources, answers, strict=True):
        matches = {match.targets: match for match in glossary.find(source, "de")}.values()
        lines += bool(matches)
        for match in matches:
            applicable += 1
            choices = "|".join(map(re.escape, (*match.targets, *match.also)))
            present += bool(re.search(rf"(?<!\w)(?:{choices})", answer.text))
    words, _ = bleu_tokenizer("en")
    score = bleu([one.text for one in answers], [(one,) for one in references], tokenize=words).value
    return {
        "applicable": applicable,
        "lines": lines,
        "present": round(present / max(applicable, 1), 4),
        "bleu": round(float(score), 2),
        "finished": sum(one.finished for one in answers),
        "seconds": round(seconds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    for name in ("model", "train_source", "train_target", "source", "target"):
        parser.add_argument(name)
    parser.add_argument("--strengths", type=float, nargs="*", default=[], help="Of soft, in nats.")
    parser.add_argument("--lines", type=int, default=None, help="Of the test set [all].")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    model = load(options.model, "cpu", engine="native")
    sources, references = (read(path)[: options.lines] for path in (options.source, options.target))
    terms = mine(read(options.train_source), read(options.train_target))
    glossaries = {"mined": terms, "agreed": agreeing(terms, sources, references)}
    found: dict[str, Any] = {
        "command": "python benchmarks/glossary.py MODEL TRAIN_DE TRAIN_EN TEST_DE TEST_EN --json FILE",
        "machine": f"{platform.machine()}, Python {platform.python_version()}; other work ran beside it",
        "kept": "the one run; seconds are of process time",
        "model": {"step": model.info.get("step"), "beam": model.config.decoding.beam},
        "lines": len(sources),
        "glossaries": {},
    }
    for name, chosen in glossaries.items():
        glossary = glossary_of(chosen)
        rows = {mode: measure(model, sources, references, glossary, mode) for mode in ("free", *MODES)}
        for mode in MODES:
            rows[mode]["bleu_loss"] = round(rows["free"]["bleu"] - rows[mode]["bleu"], 2)
            rows[mode]["time"] = round(rows[mode]["seconds"] / rows["free"]["seconds"], 2)
        curve = {}
        for nats in options.strengths:
            with patch("jumok.decoding.engines.SOFT", nats):
                curve[f"nats_{nats:g}"] = measure(model, sources, references, glossary, "soft")
        found["glossaries"][name] = {"terms": len(chosen), **rows, "curve": curve}
        print(name, json.dumps(found["glossaries"][name]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
