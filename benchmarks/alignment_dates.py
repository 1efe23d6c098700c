"""How well heads align dates, against gold: which part of a written date each part of the answer is.

    python -m benchmarks.alignment_dates [MODEL ...] [--dates 400] [--json FILE]

A date is put together from its fields by CLDR's own pattern of a language, so the place of its day, month and
year is known, and those of `1998-03-24` are. Each model is made to write the right answer; a field of the
answer is linked to what most of its tokens' weight goes to. Links to anything else, such as a weekday, are
errors (Och and Ney 2003, with sure links only):

    AER = 1 - 2 |A & S| / (|A| + |S|)

Every head is judged, and the mean of each layer; `found` is the one that `jumok calibrate --align` chooses.
"""

import argparse
import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

from babel import Locale
from babel.dates import format_date, tokenize_pattern

from jumok.answers import Answer
from jumok.architectures import AlignHead
from jumok.data.builtin import builtin_corpus
from jumok.decoding.aligned import align_answers
from jumok.decoding.jobs import Job
from jumok.decoding.links import text_links
from jumok.decoding.translator import Translator, load
from jumok.text.spans import source_spans
from jumok.training.best_head import find_head

LANGUAGES = [
    "en",
    "de",
    "fr",
    "es",
    "it",
    "pt",
    "nl",
    "sv",
    "pl",
    "cs",
    "ru",
    "uk",
    "el",
    "tr",
    "fi",
    "id",
    "vi",
    "ko",
    "ja",
    "zh",
]
ANSWER = {"y": (0, 4), "m": (5, 7), "d": (8, 10)}
Span = tuple[int, int]


@dataclass(frozen=True)
class WrittenDate:
    """A date in words, where its fields stand, and what it is in ISO 8601."""

    text: str
    fields: dict[str, Span]
    answer: str


def dates(count: int) -> Iterator[WrittenDate]:
    order = Random("alignment/1")
    for n in range(count):
        code, style = LANGUAGES[n % len(LANGUAGES)], order.choice(("medium", "long", "full"))
        day = date(1900, 1, 1) + timedelta(days=order.randrange(73_000))
        text, fields = "", dict[str, Span]()
        for kind, value in tokenize_pattern(Locale.parse(code).date_formats[style].pattern):
            literal = kind == "chars"
            part = value if literal else format_date(day, value[0] * value[1], locale=code)
            name = "" if literal else {"y": "y", "M": "m", "L": "m", "d": "d"}.get(value[0], "")
            if name:
                fields[name] = (len(text), len(text) + len(part))
            text += part
        if len(fields) == 3:
            yield WrittenDate(text, fields, day.isoformat())


def error_rate(model: Translator, given: Sequence[WrittenDate], head: AlignHead) -> float:
    """AER of one head."""
    both = model.tokenizers
    jobs = [Job(both.framed(both.source.encode(one.text)), ()) for one in given]
    ids = [both.target.encode(one.answer) for one in given]
    answers = [[Answer(tuple(own), (0.0,) * len(own), finished=False)] for own in ids]
    right = linked = 0
    aligned = align_answers(model.model, jobs, answers, head, both.frame.around)
    for one, [answer] in zip(given, aligned, strict=True):
        links = text_links(answer, source_spans(both.text_source, one.text), both.target, both.frame.before)
        for name, (begin, end) in ANSWER.items():
            weight: dict[str, float] = {}
            for link in links:
                if link.target[0] < end and link.target[1] > begin:
                    place = sum(link.source) // 2
                    owner = next((f for f, (a, b) in one.fields.items() if a <= place < b), "")
                    weight[owner] = weight.get(owner, 0.0) + link.weight
            if weight:
                linked += 1
                right += max(weight, key=lambda key: weight[key]) == name
    return round(1 - 2 * right / (linked + 3 * len(given)), 4)


def measure(name: str, given: Sequence[WrittenDate]) -> dict[str, Any]:
    model = load(name, "cpu").on_torch("")
    layers, heads = model.config.model.attention["cross"]
    every = [AlignHead(layer, head) for layer in range(layers) for head in (*range(heads), None)]
    rates = {(one.layer, one.head): error_rate(model, given, one) for one in every}
    found: dict[str, Any] = {
        "aer": {
            f"{layer + 1}.{'mean' if head is None else head + 1}": v for (layer, head), v in rates.items()
        },
        "last_layer": rates[layers - 1, None],
        "best": min(rates.values()),
    }
    if heads > 1:
        pairs = [
            texts[:2] for _, texts in zip(range(5000), builtin_corpus("dates", "train").texts(), strict=False)
        ]
        chosen, _ = find_head(model, [s for s, _ in pairs], [t for _, t in pairs], keep=False)
        found["found"] = {**chosen.to_dict(), "aer": rates[chosen.head.layer, chosen.head.head]}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=["demo/transformer", "demo/luong"])
    parser.add_argument("--dates", type=int, default=400)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    given = list(dates(options.dates))
    result = {
        "command": "python -m benchmarks.alignment_dates",
        "machine": f"{platform.machine()}, any: there are no times",
        "kept": "all that the command computed",
        "dates": len(given),
        "models": {Path(name).name: measure(name, given) for name in options.models},
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
