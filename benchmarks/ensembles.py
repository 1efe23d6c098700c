"""What several models together gain over each of them: scores of every member, and of all as one.

    python benchmarks/ensembles.py NAME SOURCE[:TARGET] MODEL MODEL… --metrics bleu-lc,bleu,chrf [--json FILE]

SOURCE and TARGET are the files of a test set, packed or not; without a target, SOURCE is a TSV file with
both. The search is beam 5, as in the recipes; the file gets an entry NAME with the scores of each model,
their mean, and the scores of the ensemble, with the mean of probabilities and with the mean of logs.
"""

import argparse
import json
import platform
import statistics
from pathlib import Path
from typing import Any

from jumok.data.corpus import open_corpus
from jumok.decoding.translator import Translator, load
from jumok.evaluation.evaluate import evaluate

BEAM = 5


def scores(
    model: Translator, pairs: list[tuple[str, str]], metrics: list[str], language: str
) -> dict[str, Any]:
    """The scores of one model."""
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    plain = {"bootstrap": 0, "by_length": False, "language": language}
    found = evaluate(model, sources, references, metrics=metrics, beam=BEAM, **plain)
    return {name: round(metric.value, 2) for name, metric in found.metrics.items()}


def measure(models: list[str], test: str, metrics: list[str], language: str) -> dict[str, Any]:
    """Every model alone and all together."""
    source, _, target = test.partition(":")
    pairs = [(source, target) for source, target in open_corpus(source, target).pairs()]
    alone = {Path(model).name: scores(load(model), pairs, metrics, language) for model in models}
    together = {
        mean: scores(load(models, mean=mean), pairs, metrics, language) for mean in ("probabilities", "logs")
    }
    of_one = {name: round(statistics.mean(one[name] for one in alone.values()), 2) for name in metrics}
    return {"sentences": len(pairs), "alone": alone, "mean_of_one": of_one, "together": together}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name")
    parser.add_argument("test", metavar="SOURCE[:TARGET]")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--metrics", default="bleu-lc,bleu,chrf")
    parser.add_argument("--language", default="", help="of the target, for BLEU's words")
    parser.add_argument("--json", default="", help="add the readings to this file")
    options = parser.parse_args()
    metrics = options.metrics.split(",")
    found = measure(options.models, options.test, metrics, options.language)
    print(json.dumps({options.name: found}, indent=1))
    if options.json:
        path = Path(options.json)
        known = json.loads(path.read_text("utf-8")) if path.exists() else {}
        known |= {"machine": f"{platform.machine()}, native engine", options.name: found}
        path.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
