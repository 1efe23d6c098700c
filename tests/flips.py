"""Every kind of file that jumok reads back, to be damaged: what is made of it must be the same, or refused.

`benchmarks/flips.py` damages thousands, `tests/test_flips.py` a few of each kind.
"""

import gzip
import json
import logging
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.checkpoints import Checkpoints, load_model
from jumok.comparison.conduct import MEASURED, EntryJob, kept
from jumok.comparison.entry import ComparisonEntry, MeasureOptions
from jumok.comparison.experiment import FORMAT, RECORD, ComparisonRequest, ExperimentPlanner
from jumok.comparison.measure import TESTED, write_tested
from jumok.data.corpus import open_corpus
from jumok.decoding.translator import load
from jumok.errors import Error
from jumok.evaluation.evaluate import score_texts
from jumok.explain.neighbours import neighbours
from jumok.explain.trace import make_trace, open_trace
from jumok.export.make import ExportOrder, export_model
from jumok.export.parity import Thresholds
from jumok.export.sample import find_sample
from jumok.export.shortlist import training_data
from jumok.images.read import open_archive, read_picture
from jumok.progress import silent
from jumok.run.corpora import open_corpora, read_corpora
from jumok.run.prepare import prepare
from jumok.run.train import RunCallbacks, RunRequest, run
from jumok.seals import sealed
from jumok.server.runs.evals import parse
from jumok.server.runs.probes import probe_files, read_probe
from jumok.server.runs.tail import Tail
from jumok.settings import nest, parse_config
from jumok.training.log import read_events
from tests.data.pictures import write_pictures
from tests.run.conftest import quick_settings, write_corpus
from tests.run.test_resume import last_weights, losses

TEXTS = ["5. März 2024", "June 11, 1998", "7 mai 2016"]
PAIRS = [("5. März 2024", "2024-03-05"), ("June 11, 1998", "1998-06-11"), ("7 mai 2016", "2016-05-07")] * 4


@dataclass(frozen=True)
class FileKind:
    """Files of a folder, and what a program gets from them."""

    name: str
    folder: Path
    read: Callable[[Path], Any]
    changes: bool = False  # reading changes the folder, so that each reading needs a copy of its own

    def files(self) -> list[Path]:
        """Those that can be damaged, by their places in the folder."""
        found = (one.relative_to(self.folder) for one in sorted(self.folder.rglob("*")) if one.is_file())
        return [one for one in found if one.name != ".lock" and "tensorboard" not in one.parts]


@dataclass(frozen=True)
class Damage:
    """One change of one file: what happened to it, and its bytes since."""

    file: Path
    what: str
    data: bytes


def damage(kind: FileKind, draw: random.Random) -> Damage:
    """A random bit flipped, the end cut off, or a stretch of zeros, in a random file."""
    while True:
        file = draw.choice(kind.files())
        before = (kind.folder / file).read_bytes()
        if not before:
            continue
        data, place = bytearray(before), draw.randrange(len(before))
        match draw.choices(["flip", "cut", "zeros"], [8, 1, 1])[0]:
            case "flip":
                data[place] ^= 1 << draw.randrange(8)
                what = f"bit flipped in byte {place}"
            case "cut":
                del data[place:]
                what = f"cut to {place} of {len(before)} bytes"
            case _:
                end = min(place + 512, len(data))
                data[place:end] = bytes(end - place)
                what = f"bytes {place} to {end} zeroed"
        if data != before:
            return Damage(file, what, bytes(data))


def outcome(kind: FileKind, whole: Any, change: Damage, work: Path) -> str:
    """`refused`, `warned`, `same`; anything else is a fault: `unseen …` or `traceback …`."""
    folder = kind.folder
    if kind.changes:
        folder = work / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(kind.folder, folder)
    place = folder / change.file
    before = place.read_bytes()
    place.write_bytes(change.data)
    warnings = Warnings()
    logging.getLogger("jumok").addHandler(warnings)
    try:
        found = kind.read(folder)
    except Error:
        return "refused"
    except Exception as error:  # noqa: BLE001  that is what is looked for
        return f"traceback {type(error).__name__}: {error}"
    finally:
        logging.getLogger("jumok").removeHandler(warnings)
        if not kind.changes:
            place.write_bytes(before)
    if found is None:
        return "refused"  # readers of the server say so by None
    if known_part(found, whole) == whole:
        return "warned" if warnings.said else "same"
    if isinstance(whole, Lines) and all(one in whole for one in known_part(found, whole)):
        return "refused"  # a line was left out, as one cut short by a crash
    return "unseen"


def known_part(found: Any, whole: Any) -> Any:
    """Without a key of another name: a flip in the name of the seal leaves one that nobody reads."""
    if isinstance(found, Lines):
        keys = {key for line in whole for key in line}
        return Lines({key: one for key, one in line.items() if key in keys} for line in found)
    if isinstance(found, dict) and isinstance(whole, dict) and len(found) == len(whole) + 1:
        return {key: one for key, one in found.items() if key in whole}
    return found


def outcome_of_whole(kind: FileKind, work: Path) -> Any:
    """What is read when nothing is damaged; twice the same, or nothing could be told from a difference."""
    results = []
    for number in range(2):
        folder = kind.folder
        if kind.changes:
            folder = Path(shutil.copytree(kind.folder, work / f"whole-{number}"))
        results.append(kind.read(folder))
    assert results[0] == results[1] is not None, f"{kind.name} does not read the same twice"
    return results[0]


class Lines(list[dict[str, Any]]):
    """The events of a log."""


class Warnings(logging.Handler):
    """What the library warned of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def arrays_of(store: Any) -> list[Any]:
    """Everything in a store of tokens or of pictures."""
    names = ("source_ids", "source_offsets", "target_ids", "target_offsets")
    return [np.asarray(getattr(store, name)).tolist() for name in names]


def translated(folder: Path, *, shortlist: bool = False) -> Any:
    """What the model in a folder makes of some texts."""
    options = {"shortlist": True} if shortlist else {}
    found = load(folder, "cpu").translate(TEXTS, **options)
    return [(one.text, one.score) for one in found]


def doubted(folder: Path) -> Any:
    """What the model in a folder would have changed."""
    return [one.confidence for one in load(folder, "cpu").translate(TEXTS, confidence=True)]


def met(folder: Path) -> Any:
    """What training had side by side; None where nothing is said about it."""
    known = load(folder, "cpu").novelty
    return known and known.to_dict()


def remembered(folder: Path) -> Any:
    """What training had that is like a text."""
    return neighbours(load(folder, "cpu"), TEXTS[0]).to_dict()


def weights(folder: Path) -> Any:
    """The model in a folder as torch reads it."""
    loaded = load_model(folder)
    return {name: tensor.tolist() for name, tensor in loaded.model.state_dict().items()}


def resumed(settings: dict[str, Any], folder: Path) -> Any:
    """What becomes of a run that goes on for some steps."""
    run(RunRequest(given=settings, out=folder, device="cpu"), RunCallbacks())
    return [last_weights(folder), {step: one for step, one in losses(folder).items() if step > 6}]


def newest(folder: Path) -> Any:
    """The checkpoint that a run would go on from. Whether an older one is used is told by a warning."""
    found = Checkpoints(folder).newest()
    assert found is not None
    for name in ("model", "optimizer"):
        found.tensors(name)
    return "read"


def prepared_as(config: Any, folder: Path) -> Any:
    corpora = open_corpora(config)
    found = prepare(
        folder, corpora, config, lambda: read_corpora(corpora), fingerprint=corpora.fingerprint, processes=1
    )
    stores = [arrays_of(one) for one in (found.train, found.valid, *found.variants)]
    return [stores, found.valid_pairs, found.tokenizers.fingerprint, found.lengths]


def events_of(folder: Path) -> Lines:
    """The events as the page and as reports read them."""
    told = list(read_events(folder / "metrics.jsonl"))
    seen = [line.event for line in Tail(folder / "metrics.jsonl").read()]
    assert told == seen
    return Lines(told)


def trace_in(folder: Path) -> Any:
    trace = open_trace(folder / "x.trace")
    return [trace.manifest, trace.attention.to_dict(), trace.tensor("cross.scores").tolist()]


def probes_in(folder: Path) -> Any:
    found = [read_probe(folder, step) for step in probe_files(folder)]
    return None if None in found or not found else found


def pictures_in(folder: Path) -> Any:
    archive = open_archive(str(folder / "images.zip"))
    return [read_picture(f"{archive.path}/{n}.png", 8).tolist() for n in range(40)]


def pairs_in(folder: Path) -> Any:
    return [list(open_corpus(str(folder / name), "").pairs()) for name in ("a.tsv.gz", "a.jsonl.gz")]


def measured_in(folder: Path) -> Any:
    options = MeasureOptions(metrics=("bleu",))
    job = EntryJob(
        entry=ComparisonEntry(name="rnn", arch="rnn"),
        run=folder,
        data=folder,
        data_seed=1,
        test=folder,
        options=options,
        key="the key",
    )
    return kept(folder, job)


def record_in(folder: Path) -> Any:
    request = ComparisonRequest(archs=("rnn",), given={}, out=folder)
    return ExperimentPlanner(request, silent).record


def all_kinds(root: Path) -> Iterator[FileKind]:
    """Make one of each below `root`."""
    corpus = write_corpus(root)
    yield FileKind("model", shutil.copytree(bundled()["luong"], root / "model"), translated)
    yield FileKind("calibration", shutil.copytree(bundled()["rnn"], root / "sure"), doubted)
    yield FileKind("novelty", shutil.copytree(bundled()["rnn"], root / "met"), met)
    yield FileKind("neighbours", shutil.copytree(bundled()["transformer"], root / "remembered"), remembered)
    yield FileKind("model in torch", shutil.copytree(bundled()["rnn"], root / "torch"), weights)
    settings = quick_settings(corpus) | {"text.dropout": 0.1, "training.max_steps": 9}
    steps = [0]
    stopping = RunCallbacks(
        on_event=lambda event: steps.append(event.get("step") or 0), interrupted=lambda: max(steps) == 6
    )
    run(RunRequest(given=settings, out=root / "run", device="cpu"), stopping)
    shutil.rmtree(root / "run" / "tensorboard", ignore_errors=True)
    yield FileKind("run", root / "run", partial(resumed, settings), changes=True)
    for name in ("checkpoints", "probes"):
        shutil.copytree(root / "run" / name, root / f"only-{name}" / name)
    yield FileKind("checkpoints", root / "only-checkpoints", newest)
    yield FileKind("probes", root / "only-probes", probes_in)
    (root / "log").mkdir()
    shutil.copy(root / "run" / "metrics.jsonl", root / "log")
    yield FileKind("log", root / "log", events_of)
    yield from documents(root)
    yield from data(root, corpus)
    yield from exported(root)


def documents(root: Path) -> Iterator[FileKind]:
    """A trace, an evaluation, and what a comparison keeps."""
    for name in ("trace", "eval", "measured", "record"):
        (root / name).mkdir()
    make_trace(load(bundled()["luong"], "cpu"), "7 mai 2016").save(root / "trace" / "x.trace")
    yield FileKind("trace", root / "trace", trace_in)
    found = score_texts(["2024-03-05", "1998-06-11"], ["2024-03-05", "1998-06-12"], sources=TEXTS[:2])
    (root / "eval" / "test.json").write_text(json.dumps(sealed(found.to_dict()), indent=1))
    yield FileKind("evaluation", root / "eval", lambda folder: parse((folder / "test.json").read_bytes()))
    write_tested(root / "measured", found, pictures=False)
    result = sealed({"key": "the key", "measured": {"quality": {"value": 37.25}, "speed": [1.5, 2]}})
    (root / "measured" / MEASURED).write_text(json.dumps(result))
    assert (root / "measured" / TESTED).is_file()
    yield FileKind("measured", root / "measured", measured_in)
    record = sealed({"format": FORMAT, "asked": {"archs": ["rnn"]}, "bases": {"rnn": {"seed": 42}}})
    (root / "record" / RECORD).write_text(json.dumps(record, indent=1))
    yield FileKind("record of a comparison", root / "record", record_in)


def data(root: Path, corpus: Path) -> Iterator[FileKind]:
    """Prepared text and pictures, a zip of pictures, and packed text."""
    config = parse_config(nest(quick_settings(corpus) | {"text.dropout": 0.1}))
    prepared_as(config, root / "store")
    yield FileKind("prepared text", root / "store", partial(prepared_as, config), changes=True)
    images, captions = write_pictures(root / "pictures", zipped=True)
    flat = {"data.source": captions, "data.images": images, "image.size": 8, "image.patch": 4}
    seen = parse_config(nest({**flat, "data.hold_out": 4, "text.vocabulary": 300}))
    prepared_as(seen, root / "seen")
    yield FileKind("prepared pictures", root / "seen", partial(prepared_as, seen), changes=True)
    (root / "zip").mkdir()
    shutil.copy(images, root / "zip" / "images.zip")
    yield FileKind("zip of pictures", root / "zip", pictures_in)
    (root / "packed").mkdir()
    rows = "".join(f"{left}\t{right}\n" for left, right in PAIRS)
    (root / "packed" / "a.tsv.gz").write_bytes(gzip.compress(rows.encode()))
    lines = "".join(json.dumps({"src": left, "tgt": right}) + "\n" for left, right in PAIRS)
    (root / "packed" / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    yield FileKind("packed text", root / "packed", pairs_in)


def exported(root: Path) -> Iterator[FileKind]:
    """A model of the native engine in int8, with a shortlist."""
    (root / "learned.tsv").write_text("".join(f"{left}\t{right}\n" for left, right in PAIRS))
    loaded = load_model(bundled()["transformer"])
    learned = training_data(loaded.config.data, [str(root / "learned.tsv")])
    order = ExportOrder("native", root / "int8", "int8", shortlist=learned, listed=Thresholds(agreement=0.5))
    export_model(loaded, order, find_sample(loaded.config.data, str(root / "learned.tsv"), most=4))
    yield FileKind("native int8", root / "int8", translated)
    yield FileKind("native shortlist", root / "int8", partial(translated, shortlist=True))
