"""Teaching a model more: what it gains on the new test set, loses on the old one, and how long that takes.

    python -m benchmarks.finetune help --start MODEL --data SHARED --out RUNS [--set A.B=V …] [--json FILE]
    python -m benchmarks.finetune strings --start MODEL --data SHARED --out RUNS
    python -m benchmarks.finetune nothing --data SHARED --out RUNS

`help` starts from a model of `tatoeba-de-en`, with 2,000 pairs of `libreoffice-help-de-en`, evenly spread
over its training set; `strings` from a model of `tatoeba-ko-en`, with `homeassistant-ko-en`; `nothing` trains
on the latter from nothing. Each may take `--seconds` (300) of two cores: on a CPU the clock of the run is
half of the CPU time of this process, so that it does not matter what else the machine does. BLEU is
sacreBLEU's, cased, of the test sets.
"""

import argparse
import gzip
import json
import time
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

import jumok
import jumok.run.train
from jumok.decoding.translator import load
from jumok.evaluation.metrics import bleu, bleu_tokenizer
from jumok.settings import read_words

PAIRS = 2_000
NEW = {"help": "libreoffice-help-de-en", "strings": "homeassistant-ko-en", "nothing": "homeassistant-ko-en"}
OLD = {"help": "tatoeba-de-en", "strings": "tatoeba-ko-en"}


def lines(file: Path) -> list[str]:
    return gzip.decompress(file.read_bytes()).decode().split("\n")[:-1]


def split(folder: Path, name: str) -> tuple[list[str], list[str]]:
    """Sources and targets of a split, whichever form it has."""
    target = folder.name.rpartition("-")[2]
    source = folder.name.split("-")[-2]
    if (file := folder / f"{name}.tsv.gz").exists():  # English first
        rows = [line.split("\t") for line in lines(file)]
        return [row[1] for row in rows], [row[0] for row in rows]
    return lines(folder / f"{name}.{source}.gz"), lines(folder / f"{name}.{target}.gz")


def written(folder: Path, name: str, pairs: tuple[list[str], list[str]]) -> str:
    """The pairs as a file with both sides."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.tsv"
    file.write_text("".join(map("{}\t{}\n".format, *pairs)), encoding="utf-8")
    return str(file)


def few(pairs: tuple[list[str], list[str]], count: int) -> tuple[list[str], list[str]]:
    """So many pairs, evenly spread."""
    step = len(pairs[0]) // count
    source, target = (list(islice(side, 0, None, step))[:count] for side in pairs)
    return source, target


def score(model: str, folder: Path, beam: int) -> float:
    sources, references = split(folder, "test")
    translator = load(model, "cpu")
    words, _ = bleu_tokenizer("en")
    answers = [one.text for one in translator.translate(sources, sentences="as-is", beam=beam)]
    return round(float(bleu(answers, [(one,) for one in references], tokenize=words).value), 2)


def settings(options: argparse.Namespace, work: Path) -> dict[str, Any]:
    new = options.data / NEW[options.case]
    train = split(new, "train")
    if options.case == "help":
        train = few(train, PAIRS)
    given: dict[str, Any] = {
        "data.source": written(work, f"{options.case}-train", train),
        "data.valid_source": written(work, f"{options.case}-valid", split(new, "val")),
        "data.source_language": new.name.split("-")[-2],
        "data.target_language": "en",
        "training.time_limit": float(options.seconds),
        "training.threads": options.threads,
    }
    if options.case in OLD:
        given["start.model"] = options.start
        if not options.anchor:
            given["start.keep"] = written(work, "old", split(options.data / OLD[options.case], "train"))
    return given | read_words(options.set)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", choices=NEW)
    parser.add_argument("--start", default="")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", default="")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--anchor", action="store_true", help="no old pairs: the plan's anchor instead")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--go-on", action="store_true", help="with a run that was stopped")
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    out = options.out / (options.name or options.case)
    given = settings(options, options.out / "data")
    if options.device == "cpu":
        clock = SimpleNamespace(monotonic=lambda: time.process_time() / 2)
        jumok.run.train.time = clock  # type: ignore[attr-defined]
    began = time.process_time()
    done = jumok.train(out=out, overrides=given, fresh=not options.go_on, device=options.device)
    folders = {"new": options.data / NEW[options.case]}
    if options.case in OLD:
        folders["old"] = options.data / OLD[options.case]
    found: dict[str, Any] = {
        "case": options.case,
        "cpu_seconds": round(time.process_time() - began, 1),
        "steps": done.steps,
        "settings": given,
        "after": {name: score(str(out), folder, options.beam) for name, folder in folders.items()},
    }
    if options.start:
        found["before"] = {
            name: score(options.start, folder, options.beam) for name, folder in folders.items()
        }
    text = json.dumps(found, indent=1, ensure_ascii=False)
    print(text)
    if options.json:
        Path(options.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
