"""One run of a recipe: train, evaluate, and write down what came out. Started by run_recipe.py.

    python scripts/recipe_job.py JOB.json RECORD.json

Nothing heavy is imported at the top: helper processes of data preparation load this file too.
"""

import json
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from fcntl import LOCK_EX, flock
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Files below the folder that the user names; without a folder, a built-in set."""

    folder: str = ""
    source: str = ""  # how the files of the sides end
    target: str = ""
    file: str = ""  # or one file with both, with {split} in its name
    valid: str = "val"  # the split to validate on
    tests: tuple[str, ...] = ("test",)
    columns: str = ""  # source and references of a test file
    codes: tuple[str, ...] = ()  # languages of several corpora, files dut.train.tsv and so on, all into IPA
    images: str = ""
    unfold: bool = False  # a training line holds a source and several targets, each a pair
    metrics: tuple[str, ...] = ("bleu", "bleu-lc", "chrf")


FLICKR = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
TRANSLATION = {
    "multi30k-en-de": DataSet(folder="multi30k", source="en", target="de", tests=FLICKR),
    "multi30k-en-fr": DataSet(folder="multi30k", source="en", target="fr", tests=FLICKR),
    "multi30k-de-en": DataSet(folder="multi30k", source="de", target="en", tests=FLICKR),
    "tatoeba-de-en": DataSet(folder="tatoeba-de-en", source="de", target="en"),
    "homeassistant-ko-en": DataSet(source="ko", target="en"),
}
ROUGE = ("rouge1", "rouge2", "rougeL")
G2P = ("kor", "fre", "dut", "vie_hanoi", "eng_us")
TASKS = {
    "aeslc": DataSet(folder="aeslc-lower", file="{split}.tsv", columns="1,2", metrics=ROUGE),
    "scitldr": DataSet(folder="scitldr", file="{split}.tsv", columns="1,2", metrics=ROUGE),
    "sae4k-ko": DataSet(
        folder="sae4k-ko", file="{split}.tsv", columns="1,2", metrics=(*ROUGE, "chrf", "exact")
    ),
    "chatbot-ko": DataSet(
        folder="chatbot-ko", file="{split}.tsv", columns="1,2", metrics=("chrf", "bleu", "ppl")
    ),
    "questions": DataSet(folder="questions", file="{split}.jsonl", valid="valid", metrics=("exact", "chrf")),
    "caption-questions": DataSet(
        folder="caption-questions", file="{split}.jsonl", valid="valid", metrics=("exact", "chrf")
    ),
    **{
        f"g2p-{code}": DataSet(
            folder="g2p-sigmorphon2021", file=f"{code}.{{split}}.tsv", metrics=("exact", "per")
        )
        for code in G2P
    },
    "g2p-five": DataSet(
        folder="g2p-sigmorphon2021",
        file="{split}.tsv",
        codes=tuple(sorted(G2P)),
        tests=tuple(f"{code}.test" for code in sorted(G2P)),
        metrics=("exact", "per"),
    ),
    "cmudict": DataSet(metrics=("exact", "per")),
    "emoji-captions": DataSet(metrics=("exact", "bleu", "chrf")),
    "flickr8k": DataSet(
        folder="flickr8k-80px",
        file="{split}.tsv",
        columns="1,2+",
        images="images.zip",
        unfold=True,
        metrics=("bleu", "chrf", *ROUGE),
    ),
}
SETS = TRANSLATION | TASKS
GPU_DRAWS = 400_000  # tokens in a batch of draws: each has a row, and a GPU has room for thousands


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to run and where to put it."""

    name: str
    recipe: str
    data: str
    out: str
    seed: int = 42
    settings: dict[str, Any] = field(default_factory=dict)
    penalties: tuple[float, ...] = ()  # length penalties to try on the validation set
    tests: bool = True
    shared: str = ""  # folder for prepared data that runs on the same text share
    device: str | None = None
    jobs: int = 1  # runs side by side
    spawned: float = 0.0  # time.time() when the process was asked for


def set_of(recipe: str) -> str:
    """The data set that a recipe's name begins with."""
    name = Path(recipe).stem
    found = [known for known in SETS if name.startswith(f"{known}-")]
    if not found:
        raise SystemExit(f"{recipe}: the name begins with none of {', '.join(SETS)}")
    return found[0]


def file_of(job: Job, split: str, language: str = "") -> str:
    """A file of the job's data set, compressed or not."""
    used = SETS[set_of(job.recipe)]
    name = used.file.format(split=split) or f"{split}.{language}"
    plain = Path(job.data) / used.folder / name
    packed = plain.with_name(f"{plain.name}.gz")
    return str(packed if packed.exists() else plain)


def files_of(job: Job) -> dict[str, Any]:
    """The settings that name the job's files."""
    used = SETS[set_of(job.recipe)]
    if not used.folder:
        return {}
    if used.codes:
        splits = {"data.corpora": "train", "data.valid_corpora": used.valid}
        return {
            key: [f"{file_of(job, f'{code}.{split}')}:{code}-ipa" for code in used.codes]
            for key, split in splits.items()
        }
    named: dict[str, Any] = {}
    for prefix, split in (("", "train"), ("valid_", used.valid)):
        if used.file:
            named[f"data.{prefix}source"] = file_of(job, split)
        else:
            named[f"data.{prefix}source"] = file_of(job, split, used.source)
            named[f"data.{prefix}target"] = file_of(job, split, used.target)
    if used.images:
        named["data.images"] = str(Path(job.data) / used.folder / used.images)
    if used.unfold:
        named["data.source"] = unfold(named["data.source"], Path(f"{job.out}.pairs.tsv"))
    return named


def unfold(source: str, made: Path) -> str:
    """A file with a line for each target of each source."""
    from jumok.data.corpus import read_lines

    made.parent.mkdir(parents=True, exist_ok=True)
    with made.open("w", encoding="utf-8") as file:
        for first, *targets in (line.split("\t") for line in read_lines(source)):
            file.writelines(f"{first}\t{target}\n" for target in targets)
    return str(made)


def given_settings(job: Job) -> dict[str, Any]:
    """The recipe, its files, the seed, and what the job changes."""
    from jumok.settings import read_toml

    return read_toml(job.recipe) | files_of(job) | {"seed": job.seed} | job.settings


def pairs_of(job: Job, split: str) -> tuple[list[str], list[tuple[str, ...]]]:
    """Sources and references of one split, `val` or a test."""
    from jumok.data.builtin import builtin_corpus
    from jumok.data.corpus import open_corpus
    from jumok.data.pictures import with_pictures

    name = set_of(job.recipe)
    used = SETS[name]
    if not used.folder:
        corpus = builtin_corpus(name, "valid" if split == "val" else "test")
    elif used.file:
        file = file_of(job, used.valid if split == "val" else split)
        corpus = open_corpus(file, columns=used.columns)
    else:
        corpus = open_corpus(file_of(job, split, used.source), file_of(job, split, used.target))
    if used.images:
        corpus = with_pictures(corpus, str(Path(job.data) / used.folder / used.images))
    texts = list(corpus.texts())
    return [source for source, *_ in texts], [tuple(references) for _, *references in texts]


@dataclass
class Followed:
    """What the run's events say."""

    metric: str = "bleu"  # the one that chooses
    started: float = 0.0
    parameters: int = 0
    device: str = ""
    speeds: list[tuple[float, float]] = field(default_factory=list)  # steps/s, tokens/s
    curve: list[list[Any]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    last: tuple[int, float] | None = None

    def event(self, event: Any) -> None:
        match event["type"]:
            case "train":
                now = (event["step"], event["elapsed_s"])
                if self.last and now[1] > self.last[1]:
                    steps = (now[0] - self.last[0]) / (now[1] - self.last[1])
                    self.speeds.append((steps, event["tokens_per_s"]))
                self.last = now
            case "valid":
                scores = [event.get(name) and round(event[name], 4) for name in ("loss", self.metric)]
                self.curve.append([event["step"], *scores])
                self.last = None  # the time of the look is not the steps'
            case "notice":
                self.notices.append(event["message"])


@contextmanager
def turn(job: Job, given: dict[str, Any]) -> Iterator[tuple[Path | None, Callable[[], None]]]:
    """The folder of prepared data that this job shares, held alone until the callable is called."""
    if not job.shared:
        yield None, lambda: None
        return
    deciding = {key: value for key, value in given.items() if key.startswith(("data.", "text.", "seed"))}
    key = sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:16]
    Path(job.shared).mkdir(parents=True, exist_ok=True)
    with (Path(job.shared) / f"{key}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        yield Path(job.shared) / key, lock.close


def carry_out(job: Job) -> dict[str, Any]:
    """Train and evaluate; the record of both."""
    from jumok import __version__
    from jumok.run.train import RunCallbacks, RunRequest, RunStart, run

    given = given_settings(job)
    followed = Followed(given.get("training.metric", "bleu"))
    with turn(job, given) as (folder, prepared):
        imported = time.time()

        def on_start(started: RunStart) -> None:
            prepared()
            followed.started = time.time()
            followed.parameters, followed.device = started.parameters, started.machine.name

        request = RunRequest(
            given=given, out=Path(job.out), fresh=True, device=job.device, data_folder=folder
        )
        done = run(request, RunCallbacks(on_start=on_start, on_event=followed.event))
    trained = time.time()
    scores = evaluate_run(job)
    ended = time.time()
    speeds = followed.speeds or [(0.0, 0.0)]
    return {
        "name": job.name,
        "recipe": Path(job.recipe).stem,
        "seed": job.seed,
        "settings": job.settings,
        "jobs": job.jobs,
        "device": followed.device,
        "parameters": followed.parameters,
        "steps": done.steps,
        "reason": done.reason,
        "seconds": {
            "start": round(imported - job.spawned, 2),
            "prepare": round(followed.started - imported, 2),
            "train": round(trained - followed.started, 2),
            "evaluate": round(ended - trained, 2),
            "until_score": round(scores.pop("scored_at") - job.spawned, 2),
            "total": round(ended - job.spawned, 2),
        },
        "steps_per_s": round(median(steps for steps, _ in speeds), 1),
        "tokens_per_s": round(median(tokens for _, tokens in speeds)),
        "best_valid": done.score,
        **scores,
        "curve": followed.curve,
        "notices": followed.notices[:5],
        "versions": {"jumok": __version__, "python": platform.python_version()},
    }


def evaluate_run(job: Job) -> dict[str, Any]:
    """Scores of the run's model by split and search; the first test comes first, for the clock.

    Besides beams a recipe may ask for the agreement of draws, and then that is its way.
    """
    from jumok.decoding.translator import load
    from jumok.evaluation.evaluate import evaluate

    translator, signatures = load(job.out, job.device), {}

    used = SETS[set_of(job.recipe)]

    def scores(split: str, **decode: Any) -> dict[str, float]:
        if used.codes and split == "val":  # the mean of the languages
            each = [scores(f"{code}.{used.valid}", **decode) for code in used.codes]
            return {name: round(sum(one[name] for one in each) / len(each), 2) for name in each[0]}
        sources, references = pairs_of(job, split)
        said = {"from_language": split.partition(".")[0]} if used.codes else {}
        found = evaluate(
            translator,
            sources,
            references,
            metrics=used.metrics,
            by_length=False,
            bootstrap=0,
            **said,
            **decode,
        )
        signatures.update({name: one.signature for name, one in found.metrics.items()})
        return {name: round(one.value, 2) for name, one in found.metrics.items()}

    ways: dict[str, dict[str, Any]] = {"greedy": {"beam": 1}, "beam5": {"beam": 5}}
    if drawn := translator.config.decoding.mbr:
        on_gpu = translator.engine["level"].startswith("cuda")
        ways[f"mbr{drawn}"] = {"batch_tokens": GPU_DRAWS} if on_gpu else {}
    tests, first = SETS[set_of(job.recipe)].tests if job.tests else (), list(ways)[-1]
    test = {split: {first: scores(split, **ways[first])} for split in tests[:1]}
    scored_at = time.time()
    valid = {way: scores("val", **options) for way, options in ways.items()}
    for penalty in job.penalties:
        valid[f"beam5 penalty {penalty:g}"] = scores("val", beam=5, length_penalty=penalty)
    for split in tests:
        done = test.setdefault(split, {})
        done |= {way: scores(split, **options) for way, options in ways.items() if way not in done}
    return {"scored_at": scored_at, "valid": valid, "test": test, "signatures": signatures}


def main() -> None:
    job = Job(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    record = Path(sys.argv[2])
    record.write_text(json.dumps(carry_out(job)), encoding="utf-8")


def job_to_json(job: Job) -> str:
    return json.dumps(asdict(job))


if __name__ == "__main__":
    main()
