"""What the notes claim, tried: small models trained with one thing changed, three seeds of each.

    python benchmarks/experiments.py                          # all of them, on every core
    python benchmarks/experiments.py --only parts --seeds 1   # one experiment, one seed
    python benchmarks/experiments.py --only parts/no-scale    # one of its models
    python benchmarks/experiments.py --list                   # what would be trained, and what is done
    python benchmarks/experiments.py --minutes 8              # end after so long; the next call goes on
    python scripts/make_experiments.py                        # then: figures and pages of docs/experiments

Every training is a process with one thread, in fp32, and ends after a fixed number of updates, so that a busy
machine changes nothing but the time. Each one that has ended is a line of benchmarks/experiments.jsonl:
settings, seed, versions, scores and the course of the validation. What has its line is not trained again.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "experiments.jsonl"
SEEDS = (1, 2, 3)
SHIFTS = (0, 1, 2, 5, 10, 20, 50)
SHIFTED = 300  # test pairs that are read at other positions, too
TESTED = 4000  # most test pairs, spread evenly
SHORT = 7  # letters and phonemes of the longest word that "short" models learn from

Settings = dict[str, Any]

COMMON: Settings = {
    "model.dropout": 0.0,
    "training.batch_tokens": 1000,
    "training.batches": "sorted",
    "training.label_smoothing": 0.0,
    "training.schedule": "constant",
    "training.cooldown": 1.0,  # the rate falls linearly to zero
    "training.warmup": 100,
    "training.valid_sentences": 200,
    "training.patience": 0,
    "training.precision": "fp32",
    "training.threads": 1,
    "decoding.beam": 1,
}
DATES: Settings = {
    "data.name": "dates",
    "data.max_length": 96,
    "text.vocabulary": 800,
    "text.shared": False,
    "training.metric": "exact",
}
WORDS: Settings = {
    "data.name": "cmudict",
    "data.max_length": 48,
    "text.kind": "char",
    "text.target_kind": "word",
    "text.vocabulary": 800,
    "text.shared": False,
    "training.metric": "per",
}
TRANSFORMER: Settings = {
    "model.arch": "transformer",
    "model.encoder_layers": 2,
    "model.decoder_layers": 2,
    "model.width": 64,
    "model.heads": 4,
    "model.feedforward": 256,
    "model.positions": "sinusoidal",
    "training.lr": 3e-3,
}
RECURRENT: Settings = {  # the same encoder for both: a bidirectional LSTM
    "model.cell": "lstm",
    "model.width": 128,
    "model.layers": 1,
    "model.bidirectional": True,
    "training.lr": 4e-3,
}


@dataclass(frozen=True)
class Variant:
    """One kind of model of an experiment."""

    name: str
    changes: Settings
    updates: int
    cost: float = 1.0
    """Seconds of a core for an update of the plain Transformer are 1; for planning alone."""


@dataclass(frozen=True)
class Experiment:
    name: str
    base: Settings
    variants: Sequence[Variant]
    shifts: bool = False
    """Also test at positions further on."""


@dataclass(frozen=True, eq=False)
class Training:
    experiment: str
    variant: str
    seed: int
    settings: Settings
    shifts: bool
    cost: float
    tested: int = TESTED

    @property
    def name(self) -> str:
        return f"{self.experiment}/{self.variant}/{self.seed}"


def forcing(share: float, *, rollout: bool = False) -> Settings:
    return {"training.teacher_forcing": share, "training.rollout": rollout}


EXPERIMENTS = (
    Experiment(
        "parts",
        COMMON | DATES | TRANSFORMER,
        (
            Variant("plain", {}, 3000),
            Variant("no-scale", {"model.scaled": False}, 3000),
            Variant("no-residual", {"model.residual": False}, 3000),
            Variant("no-norm", {"model.norm": "none"}, 3000),
            Variant("one-head", {"model.heads": 1}, 3000),
            Variant("one-head-no-scale", {"model.heads": 1, "model.scaled": False}, 3000),
            Variant("no-positions", {"model.positions": "none"}, 3000),
            Variant("learned-positions", {"model.positions": "learned"}, 3000),
            Variant("rotary-positions", {"model.positions": "rotary"}, 3000),
        ),
        shifts=True,
    ),
    Experiment(
        "forcing",
        COMMON | DATES | RECURRENT | {"model.arch": "luong"},
        (
            Variant("1", forcing(1.0), 2000),
            Variant("0.5", forcing(0.5), 2000, 1.3),
            Variant("0.5-rollout", forcing(0.5, rollout=True), 2000, 2.0),
            Variant("0", forcing(0.0), 2000, 1.3),
            Variant("0-rollout", forcing(0.0, rollout=True), 2000, 2.0),
        ),
    ),
    Experiment(
        "positions",
        COMMON | WORDS | TRANSFORMER,
        (
            Variant("all-lengths", {}, 3000),
            *(
                Variant(kind, {"model.positions": kind, "data.max_length": SHORT}, 3000)
                for kind in ("sinusoidal", "learned", "rotary", "none")
            ),
        ),
        shifts=True,
    ),
    Experiment(
        "bottleneck",
        COMMON | DATES,
        (
            Variant("rnn", RECURRENT | {"model.arch": "rnn"}, 10_000),
            Variant("luong", RECURRENT | {"model.arch": "luong"}, 10_000),
            Variant("transformer", TRANSFORMER, 10_000),
        ),
    ),
)


def plan(seeds: Iterable[int] = SEEDS, only: Sequence[str] = (), updates: int = 0) -> list[Training]:
    """Every training, the first seed of all before the second, and of one seed the longest first.

    `updates` makes all of them that short, to see whether everything runs.
    """
    found = []
    for experiment in EXPERIMENTS:
        for variant in experiment.variants:
            steps = updates or variant.updates
            looks = {"training.validate_every": max(steps // 10, 1), "training.save_every": steps}
            early = {"training.warmup": 1} if steps <= 200 else {}
            settings = {**experiment.base, **variant.changes, "training.max_steps": steps, **looks, **early}
            found += [
                Training(
                    experiment.name,
                    variant.name,
                    seed,
                    {**settings, "seed": seed},
                    experiment.shifts,
                    steps * variant.cost,
                    60 if updates else TESTED,
                )
                for seed in seeds
                if not only or {experiment.name, f"{experiment.name}/{variant.name}"} & {*only}
            ]
    return sorted(found, key=lambda one: (one.seed, -one.cost))


def names() -> list[str]:
    """What `--only` knows: experiments, and the models of each."""
    models = [f"{one.name}/{variant.name}" for one in EXPERIMENTS for variant in one.variants]
    return [one.name for one in EXPERIMENTS] + models


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="results, a line for each training")
    parser.add_argument(
        "--work", type=Path, help="folder for runs and prepared data; else one that is removed"
    )
    parser.add_argument("--jobs", type=int, default=0, help="trainings at a time; 0: one for each core")
    parser.add_argument("--minutes", type=float, default=0.0, help="end after so long; 0: when all are done")
    parser.add_argument("--only", nargs="+", default=[], choices=names(), metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--updates", type=int, default=0, help="so few for each: only to see that it runs")
    parser.add_argument("--list", action="store_true", help="say what would be trained, and end")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # the child: train this one, print its line
    options = parser.parse_args()
    trainings = plan(options.seeds, options.only, options.updates)
    if options.one:
        [training] = [one for one in trainings if one.name == options.one]
        print(json.dumps(train(training, options.work)))
        return
    done = finished(options.out, trainings)
    if options.list:
        for one in trainings:
            print(f"{one.name:32} {one.settings['training.max_steps']:6,} updates{'  done' * (one in done)}")
        return
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        left = run_all([one for one in trainings if one not in done], work, options)
    print(f"{len(trainings) - left} of {len(trainings)} trainings are in {options.out}", file=sys.stderr)
    sys.exit(1 if left else 0)


def finished(file: Path, trainings: Sequence[Training]) -> list[Training]:
    """Those that have their line, of the very same settings; a line that was cut short is none."""
    known = {one["name"]: one["settings"] for one in read(file)}
    return [one for one in trainings if known.get(one.name) == one.settings]


def read(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def keep(file: Path, result: Mapping[str, Any]) -> None:
    """Add a result, in place of an earlier one of the same name, by name."""
    others = [one for one in read(file) if one["name"] != result["name"]]
    lines = [json.dumps(one) + "\n" for one in sorted((*others, result), key=lambda one: one["name"])]
    draft = file.with_name(file.name + ".part")
    draft.write_text("".join(lines), "utf-8")
    draft.replace(file)


def run_all(trainings: Sequence[Training], work: Path, options: argparse.Namespace) -> int:
    """Train them in processes of their own, as many at a time as there are cores; how many are left over."""
    end = time.monotonic() + options.minutes * 60 if options.minutes else float("inf")
    jobs = options.jobs or len(os.sched_getaffinity(0))
    work.mkdir(parents=True, exist_ok=True)
    if trainings:
        prepare_data(trainings, work)
    waiting, running, failed = list(trainings), dict[Training, subprocess.Popen[bytes]](), list[Training]()
    try:
        while (waiting or running) and time.monotonic() < end:
            while waiting and len(running) < jobs:
                one = waiting.pop(0)
                running[one] = start(one, work, options.updates)
            time.sleep(0.2)
            for one in [one for one, child in running.items() if child.poll() is not None]:
                child = running.pop(one)
                if child.returncode:
                    failed.append(one)
                    print(f"{one.name} FAILED: {log_of(one, work)}", file=sys.stderr)
                    continue
                result = json.loads(output_of(one, work).read_text("utf-8").splitlines()[-1])
                keep(options.out, result)
                print(
                    f"{one.name:32} {result['seconds']:5.0f} s  {result['scores']['value']:.1f}",
                    file=sys.stderr,
                )
    finally:
        for child in running.values():
            child.kill()
            child.wait()
    return len(waiting) + len(running) + len(failed)


def file_name(training: Training) -> str:
    return training.name.replace("/", "-")


def output_of(training: Training, work: Path) -> Path:
    return work / f"{file_name(training)}.json"


def log_of(training: Training, work: Path) -> str:
    """The last words of a child."""
    return (work / f"{file_name(training)}.log").read_text("utf-8", "replace")[-600:]


def start(training: Training, work: Path, updates: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, __file__, "--one", training.name, "--work", str(work)]
    command += ["--seeds", str(training.seed), "--updates", str(updates)]
    alone = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "JUMOK_THREADS")}
    log = work / f"{file_name(training)}.log"
    with output_of(training, work).open("wb") as out, log.open("wb") as words:
        return subprocess.Popen(command, stdout=out, stderr=words, env={**os.environ, **alone})


# Below: what needs torch. The planner and its tests do without.


def data_folder(settings: Settings, work: Path) -> Path:
    """Tokenizer and stores: the same for all seeds and for all models that learn from the same pairs."""
    return work / f"data-{settings['data.name']}-{settings['data.max_length']}"


def prepare_data(trainings: Sequence[Training], work: Path) -> None:
    """Make every data folder once, before processes share it."""
    from jumok.run.corpora import open_corpora, read_corpora
    from jumok.run.prepare import prepare
    from jumok.settings import check_given

    for settings in {data_folder(one.settings, work): one.settings for one in trainings}.values():
        config = check_given(dict(settings) | {"seed": DATA_SEED})
        corpora = open_corpora(config)
        prepare(
            data_folder(settings, work),
            corpora,
            config,
            lambda corpora=corpora: read_corpora(corpora),  # type: ignore[misc]
            fingerprint=corpora.fingerprint,
        )


DATA_SEED = 1


def train(training: Training, work: Path) -> dict[str, Any]:
    """Train one model and test it: a line of the results."""
    import torch

    from jumok.run.train import RunCallbacks, RunRequest, RunStart, run

    torch.set_num_threads(1)
    events, starts = list[Mapping[str, Any]](), list[RunStart]()
    began, used = time.monotonic(), time.process_time()
    done = run(
        RunRequest(
            given=dict(training.settings),
            out=work / file_name(training),
            fresh=True,
            device="cpu",
            data_folder=data_folder(training.settings, work),
            data_seed=DATA_SEED,
        ),
        RunCallbacks(on_event=lambda event: events.append(dict(event)), on_start=starts.append),
    )
    trained, core = time.monotonic() - began, time.process_time() - used
    looks = [event for event in events if event["type"] == "valid"]
    score = training.settings["training.metric"]
    return {
        "name": training.name,
        "experiment": training.experiment,
        "variant": training.variant,
        "seed": training.seed,
        "settings": dict(training.settings),
        "parameters": starts[0].parameters,
        "updates": done.steps,
        "seconds": round(trained, 1),
        "core_seconds": round(core, 1),
        "course": {
            "update": [look["step"] for look in looks],
            "loss": [rounded(look["loss"], 4) for look in looks],
            score: [rounded(look[score], 2) for look in looks],
        },
        "scores": Tester(training, done.folder).scores(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "machine": processor(),
    }


def rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def processor() -> str:
    """The CPU's name, as the system says it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {len(os.sched_getaffinity(0))} cores"


class Tester:
    """The tests of one trained model."""

    def __init__(self, training: Training, folder: Path) -> None:
        from jumok.comparison.measure import unsplit
        from jumok.data.builtin import builtin_corpus
        from jumok.decoding.translator import load

        self.training, name = training, training.settings["data.name"]
        self.translator = unsplit(load(folder, "cpu", engine="torch"))  # a source is never cut into parts
        texts = list(builtin_corpus(name, "test").texts())
        texts = texts[:: -(-len(texts) // training.tested)]
        self.sources = [source for source, *_ in texts]
        self.references = [tuple(answers) for _, *answers in texts]  # a word may be said in several ways
        self.first = [answers[0] for answers in self.references]
        self.metric = training.settings["training.metric"]

    def scores(self) -> dict[str, Any]:
        found = self.tested(self.translator, range(len(self.sources)))
        statistics = found.statistics[self.metric]
        result: dict[str, Any] = {
            "metric": self.metric,
            "value": round(statistics.value, 3),
            "n": len(self.sources),
        }
        if self.metric == "exact":
            result["thirds"] = [
                {"lo": part.group.lo, "hi": part.group.hi, "n": len(part.group.sentences)}
                | {"value": round(statistics.select(part.group.sentences).value, 3)}
                for part in found.bins
            ]
            result["tokens"] = self.tokens(found.hypotheses)
        else:
            result["lengths"] = self.by_letters(found)
        if self.training.shifts and self.training.settings["model.positions"] != "none":
            result["shifts"] = self.shifts()
        return result

    def tested(self, translator: Any, lines: Sequence[int]) -> Any:
        from jumok.evaluation.evaluate import evaluate

        return evaluate(
            translator,
            [self.sources[line] for line in lines],
            [self.references[line] for line in lines],
            metrics=(self.metric, "exact"),
            bins="thirds" if self.metric == "exact" else None,
            bootstrap=0,
        )

    def by_letters(self, found: Any) -> list[dict[str, Any]]:
        """Phoneme error rate and exact match of words of each length; 14 letters and more together."""
        rows = dict[int, list[int]]()
        for line, word in enumerate(self.sources):
            rows.setdefault(min(len(word), 14), []).append(line)
        return [
            {"letters": length, "n": len(lines)}
            | {name: round(found.statistics[name].select(lines).value, 3) for name in ("per", "exact")}
            for length, lines in sorted(rows.items())
        ]

    def shifts(self) -> list[dict[str, float]]:
        """The same test, with every token so many positions further on, on both sides.

        Of words, only those that are no longer than the words of training.
        """
        most = self.training.settings["data.max_length"]
        lines = [
            line for line, source in enumerate(self.sources) if self.metric == "exact" or len(source) <= most
        ]
        lines = lines[:: max(len(lines) // SHIFTED, 1)][:SHIFTED]
        return [
            {
                "by": shift,
                "value": round(
                    self.tested(moved(self.translator, shift), lines).statistics[self.metric].value, 3
                ),
            }
            for shift in SHIFTS
        ]

    def tokens(self, hypotheses: Sequence[str]) -> dict[str, float]:
        """How often a token is right: after the reference, and after what the model has written itself."""
        encode = self.translator.tokenizers.target.encode
        pairs = zip(hypotheses, self.first, strict=True)
        own = written((list(encode(text)), list(encode(reference))) for text, reference in pairs)
        return {"forced": round(100 * self.forced(), 3), **own}

    def forced(self) -> float:
        """Share of the reference's tokens that the model finds best, given those before; without the end."""
        import torch

        from jumok.data.batch import lay_pairs
        from jumok.text.tokenizer import EOS
        from jumok.training.step import sides_of

        sides, model = self.translator.tokenizers, self.translator.model
        right = count = 0
        for first in range(0, len(self.sources), 200):
            lines = slice(first, first + 200)
            batch = lay_pairs(
                [list(sides.source.encode(text)) for text in self.sources[lines]],
                [list(sides.target.encode(text)) for text in self.first[lines]],
            )
            source, target_in = sides_of(batch)
            with torch.no_grad():
                best = model.decode(target_in, model.encode(source)).best()
            real = batch.target_out != EOS
            right += int((best == batch.target_out)[real].sum())
            count += int(real.sum())
        return right / count


def written(pairs: Iterable[tuple[Sequence[int], Sequence[int]]]) -> dict[str, float]:
    """Shares in % of the reference's tokens that stand at their place in what a model has written itself.

    `after_right`: of those before which all were right; `after_wrong`: of those before which one or more was
    not; `seen_wrong` says how many these are. What is missing at the end of an answer is wrong.
    """
    seen, right = {True: 0, False: 0}, {True: 0, False: 0}
    for own, true in pairs:
        good = True
        for place, token in enumerate(true):
            same = place < len(own) and own[place] == token
            seen[good] += 1
            right[good] += same
            good = good and same
    share = {good: round(100 * right[good] / max(seen[good], 1), 3) for good in seen}
    free = round(100 * sum(right.values()) / sum(seen.values()), 3)
    return {"free": free, "after_right": share[True], "after_wrong": share[False], "seen_wrong": seen[False]}


SIDES = ("source", "target")


def moved(translator: Any, shift: int, sides: Sequence[str] = SIDES) -> Any:
    """The same translator, whose model is told that every token stands so many positions further on."""
    other = copy(translator)
    other.model = translator.model.using(shifted_backend(shift, sides))
    return other


def shifted_backend(shift: int, sides: Sequence[str] = SIDES) -> Any:
    """Plain torch, but for the positions."""
    from jumok.backends.torch import TorchBackend

    class ShiftedBackend(TorchBackend):
        def positions(self, side: Any, sentences: Any, rows: int | None) -> Any:
            return sentences.positions + shift * (side in sides)

        def next_positions(self, positions: Any, rows: int | None) -> Any:
            return positions + shift * ("target" in sides)

    return ShiftedBackend()


if __name__ == "__main__":
    main()
