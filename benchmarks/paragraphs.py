"""What becomes of a paragraph: test lines joined into texts, translated whole or sentence by sentence.

    python benchmarks/paragraphs.py MODEL SOURCE TARGET [--json FILE]

Lines are joined 1, 2, 3 and 5 at a time, references likewise, and BLEU is that of the joined texts. `by_hand`
are the translations of the single lines, joined: what a person who splits the text by hand would have.
"""

import argparse
import gzip
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

from jumok.decoding.translator import Translator, load
from jumok.evaluation.metrics import bleu, bleu_tokenizer
from jumok.text.sentences import NO_SPACES

TOGETHER = (1, 2, 3, 5)


def read(path: str) -> list[str]:
    data = Path(path).read_bytes()
    return (gzip.decompress(data) if path.endswith(".gz") else data).decode().splitlines()


def joined(lines: Sequence[str], count: int, language: str) -> list[str]:
    """Texts of so many lines each."""
    between = "" if language in NO_SPACES else " "
    return [between.join(line.strip() for line in lines[n : n + count]) for n in range(0, len(lines), count)]


def measure(
    model: Translator, texts: Sequence[str], references: Sequence[str], sentences: str
) -> dict[str, Any]:
    began = process_time()
    answers = model.translate(list(texts), sentences=sentences)
    seconds = process_time() - began
    return {
        "bleu": round(score([one.text for one in answers], references, model), 2),
        "finished": all(one.finished for one in answers),
        "characters": sum(len(one.text) for one in answers),
        "seconds": round(seconds, 2),
    }


def score(answers: Sequence[str], references: Sequence[str], model: Translator) -> float:
    words, _ = bleu_tokenizer(model.config.data.target_language)
    return float(bleu(list(answers), [(one,) for one in references], tokenize=words).value)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    for name in ("model", "source", "target"):
        parser.add_argument(name)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    model = load(options.model, "cpu")
    sources, targets = read(options.source), read(options.target)
    codes = model.config.data.source_language, model.config.data.target_language
    single = [one.text for one in model.translate(sources, sentences="as-is")]
    found: dict[str, Any] = {
        "command": "python benchmarks/paragraphs.py MODEL SOURCE TARGET --json FILE",
        "machine": f"{platform.machine()}, Python {platform.python_version()}; other work ran beside it",
        "kept": "the one run; seconds are of process time",
        **{"lines": len(sources), "languages": codes, "together": {}},
    }
    for count in TOGETHER:
        texts, references = joined(sources, count, codes[0]), joined(targets, count, codes[1])
        row: dict[str, Any] = {"by_hand": round(score(joined(single, count, codes[1]), references, model), 2)}
        row |= {
            name.replace("-", "_"): measure(model, texts, references, name) for name in ("split", "as-is")
        }
        found["together"][f"n{count}"] = row
        print(count, row, flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
