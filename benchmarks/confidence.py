"""Do probabilities of a change come true, and do they find the errors? Fitted on one set, judged on another.

    python benchmarks/confidence.py NAME MODEL VALID.src VALID.tgt TEST.src TEST.tgt [--json FILE] [--draws N]
    python benchmarks/confidence.py NAME MODEL --data dates [--json FILE]

`plain` takes 1 − P(word) for the probability that the word is changed, `word` calibrates the same number, and
`all` is what `jumok calibrate` makes. `without` leaves a group of features out. `beam` adds which words the
other answers of the beam have (all of them, so the search is a longer one), `draws` which words N answers
drawn at random have, and `links` the alignment: how much the head looked, how far from the diagonal, how many
words look at the same source word, and the share of the source that any looks at. Times are of the processor,
with and without confidence in turn.
"""

import argparse
import gzip
import json
import platform
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.data.builtin import builtin_corpus
from jumok.decoding.translator import Translator, load
from jumok.decoding.word_features import WORD_FEATURES, Column
from jumok.evaluation.calibrate import LabelledAnswer, fit_calibration, joined, judge, label_answers
from jumok.evaluation.logistic import fit_estimator
from jumok.evaluation.metrics import measure
from jumok.evaluation.reliability import reliability
from jumok.text.word_spans import word_spans, words_of

GROUPS = {
    "neighbours": ("before", "after", "earlier", "later"),
    "sentence": ("sentence", "weakest", "end", "words", "place"),
    "length": ("ratio", "longer"),
    "spelling": ("copy", "mark", "number", "capital", "repeat"),
    "parts": ("lowest", "tokens", "probability"),
}
ROUNDS = 5

Pairs = tuple[list[str], list[str]]


def read(path: str) -> list[str]:
    data = Path(path).read_bytes()
    return (gzip.decompress(data) if path.endswith(".gz") else data).decode().splitlines()


def builtin(name: str, split: str) -> Pairs:
    rows = list(builtin_corpus(name, split).texts())
    return [source for source, *_ in rows], [target for _, target, *_ in rows]


class Rows:
    """The words of a set: features and labels, one below the other."""

    def __init__(self, labelled: Sequence[LabelledAnswer]) -> None:
        self.labelled = [one for one in labelled if one.changed]
        self.columns = joined([one.columns for one in self.labelled])
        self.changed: NDArray[np.bool_] = np.concatenate([np.asarray(one.changed) for one in self.labelled])


def figures(probabilities: Column, changed: NDArray[np.bool_]) -> dict[str, Any]:
    found = reliability(probabilities, changed)
    return {
        "auc": round(found.auc, 4),
        "found": round(found.found, 4),
        "error": round(found.error, 4),
        "bins": [[one.count, round(one.predicted, 4), round(one.observed, 4)] for one in found.bins],
    }


def fitted(valid: Rows, test: Rows, names: Sequence[str], more: Mapping[str, tuple[Column, Column]]) -> Any:
    """How good the estimator with these features is; `more` has further ones, of both sets."""
    left = {**valid.columns, **{name: both[0] for name, both in more.items()}}
    right = {**test.columns, **{name: both[1] for name, both in more.items()}}
    one = fit_estimator(left, valid.changed, [*names, *more])
    return figures(one.probabilities(right), test.changed)


def shares(answers: Sequence[str], others: Sequence[Sequence[str]]) -> Column:
    """For each word the share of the other answers that have it (as often)."""
    found: list[float] = []
    for answer, texts in zip(answers, others, strict=True):
        counts, seen = [Counter(words_of(text)) for text in texts], Counter[str]()
        for word in words_of(answer):
            seen[word] += 1
            found.append(float(np.mean([count[word] >= seen[word] for count in counts] or [True])))
    return np.asarray(found)


def beam_shares(model: Translator, sources: Sequence[str]) -> Column:
    found = model.translate(
        list(sources), sentences="as-is", protect=False, n_best=model.config.decoding.beam
    )
    return shares([one.text for one in found], [[other.text for other in one.alternatives] for one in found])


def draw_shares(model: Translator, sources: Sequence[str], answers: Sequence[str], count: int) -> Column:
    rounds = [
        [
            one.text
            for one in model.translate(
                list(sources), sentences="as-is", protect=False, sample=True, seed=seed
            )
        ]
        for seed in range(count)
    ]
    return shares(answers, list(zip(*rounds, strict=True)))


def link_columns(model: Translator, sources: Sequence[str]) -> dict[str, Column]:
    """What the alignment says of each word."""
    found: dict[str, list[float]] = {"look": [], "away": [], "crowd": [], "cover": []}
    for source, answer in zip(
        sources, model.translate(list(sources), sentences="as-is", protect=False, align=True), strict=True
    ):
        read, written = word_spans(source), word_spans(answer.text)
        owner = {place: n for n, span in enumerate(read) for place in range(*span)}
        of = [[one for one in answer.links if one.target[0] < b and one.target[1] > a] for a, b in written]
        best = [
            owner.get(max(links, key=lambda one: one.weight).source[0], -1) if links else -1 for links in of
        ]
        crowd, cover = Counter(best), len(set(best) - {-1}) / max(len(read), 1)
        for n, links in enumerate(of):
            found["look"].append(float(np.mean([one.weight for one in links])) if links else 0.0)
            found["away"].append(abs((best[n] + 0.5) / max(len(read), 1) - (n + 0.5) / len(written)))
            found["crowd"].append(float(np.log(crowd[best[n]])))
            found["cover"].append(cover)
    return {name: np.asarray(values) for name, values in found.items()}


def sentence_level(
    calibration: Any, test: Rows, answers: Sequence[Any], references: Sequence[str]
) -> dict[str, Any]:
    """How the expected share of changes goes with chrF and TER of each sentence (Spearman's ρ)."""
    kept = [-float(calibration.words.probabilities(one.columns).mean()) for one in test.labelled]
    full = [n for n, one in enumerate(answers) if one.text.strip()]
    texts, right = [answers[n].text for n in full], [references[n] for n in full]
    plain = [answers[n].score_per_token for n in full]
    chrf, ter = (measure(name, texts, [(one,) for one in right]) for name in ("chrf", "ter"))
    each = {"chrf": chrf.score(chrf.rows), "ter": ter.score(ter.rows)}
    return {
        name: {"all": round(spearman(kept, values), 4), "plain": round(spearman(plain, values), 4)}
        for name, values in each.items()
    }


def spearman(left: Sequence[float], right: Sequence[float]) -> float:
    ranks = [np.argsort(np.argsort(values, kind="stable")) for values in (left, right)]
    return float(np.corrcoef(*ranks)[0, 1])


def times(model: Translator, sources: Sequence[str]) -> dict[str, float]:
    """Seconds of the processor for all sources, without and with, the median of several rounds."""
    spent: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(ROUNDS):
        for asked in (False, True):
            began = process_time()
            model.translate(list(sources), sentences="as-is", confidence=asked)
            spent[asked].append(process_time() - began)
    without, with_it = (statistics.median(spent[asked]) for asked in (False, True))
    return {"without": round(without, 3), "with": round(with_it, 3), "ratio": round(with_it / without, 3)}


def run(model: Translator, valid_pairs: Pairs, test_pairs: Pairs, draws: int) -> dict[str, Any]:
    valid, test = (Rows(label_answers(model, *pairs, protect=False)) for pairs in (valid_pairs, test_pairs))
    calibration = fit_calibration(valid.labelled)
    words, sentences = judge(calibration, test.labelled)
    groups = {name: [one for one in WORD_FEATURES if one not in left] for name, left in GROUPS.items()}
    answers = [
        model.translate(pairs[0], sentences="as-is", protect=False) for pairs in (valid_pairs, test_pairs)
    ]
    began = process_time()
    beams = tuple(beam_shares(model, pairs[0]) for pairs in (valid_pairs, test_pairs))
    beam_s, began = process_time() - began, process_time()
    drawn = tuple(
        draw_shares(model, pairs[0], [one.text for one in found], draws)
        for pairs, found in zip((valid_pairs, test_pairs), answers, strict=True)
        if draws
    )
    draws_s = process_time() - began
    found: dict[str, Any] = {
        "words": len(test.changed),
        "changed": round(words.changed, 4),
        "most": round(words.most, 4),
        "plain": figures(1 - np.exp(test.columns["word"]), test.changed),
        "word": fitted(valid, test, ["word"], {}),
        "all": figures(calibration.words.probabilities(test.columns), test.changed),
        "without": {name: fitted(valid, test, names, {}) for name, names in groups.items()},
        "beam": fitted(valid, test, WORD_FEATURES, {"beam": (beams[0], beams[1])})
        | {"seconds": round(beam_s, 1)},
        "sentences": {
            "changed": round(sentences.changed, 4),
            "auc": round(sentences.auc, 4),
            "error": round(sentences.error, 4),
            "rho": sentence_level(calibration, test, answers[1], test_pairs[1]),
        },
        "time": times(model, test_pairs[0]) if model.is_calibrated else None,
    }
    if "cross" in model.config.model.attention:
        left, right = (link_columns(model, pairs[0]) for pairs in (valid_pairs, test_pairs))
        found["links"] = fitted(
            valid, test, WORD_FEATURES, {name: (left[name], right[name]) for name in left}
        )
    if draws:
        more = {"draws": (drawn[0], drawn[1])}
        found["draws"] = fitted(valid, test, WORD_FEATURES, more) | {
            "count": draws,
            "seconds": round(draws_s, 1),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("name")
    parser.add_argument("model")
    parser.add_argument("files", nargs="*", help="validation source and target, test source and target")
    parser.add_argument("--data", default="")
    parser.add_argument("--draws", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.data:
        valid, test = builtin(options.data, "valid"), builtin(options.data, "test")
    else:
        first, second, third, fourth = map(read, options.files)
        valid, test = (first, second), (third, fourth)
    model = load(options.model, "cpu")
    found = run(model, valid, test, options.draws)
    found |= {"engine": model.engine, "parameters": model.info["parameters"], "machine": platform.processor()}
    print(json.dumps(found, indent=1))
    if options.json:
        known = json.loads(options.json.read_text()) if options.json.exists() else {}
        options.json.write_text(json.dumps(known | {options.name: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
