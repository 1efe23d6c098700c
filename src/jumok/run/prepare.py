"""Text files to a tokenizer and token stores, kept in the run folder and made again only when needed."""

import json
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import file_digest
from pathlib import Path
from shutil import rmtree

import numpy as np

from jumok.checkpoint.folder import replace_file
from jumok.config import RunConfig
from jumok.data.builtin import reads_pictures
from jumok.data.marked import SHARE, PairMarker
from jumok.data.mix import Mix, read_mix, write_mix
from jumok.data.picture_store import build_picture_store, open_any_store
from jumok.data.reader import CheckReport
from jumok.data.store import Store, build_store, open_store, unreadable, writing
from jumok.data.variants import PendingStores, build_variants
from jumok.evaluation.lengths import TrainLengths, count_lengths, parse_train_lengths
from jumok.progress import Progress, silent
from jumok.run.corpora import Corpora, run_text
from jumok.run.keeping import Kept, build_kept, reopen_kept
from jumok.run.mixture import RunPairs
from jumok.run.vocabulary import check_frame, chosen_direction, grown_tokenizers, learn_tokenizers
from jumok.seals import sealed, unsealed
from jumok.text.frame import Direction
from jumok.text.tokenizer import Tokenizers, load_tokenizers

LENGTHS = "lengths.json"
NOTE = "prepared.json"
KEPT = "kept"
MIX = "mix.json"
FIRST = ("kind", "vocabulary", "shared")  # settings of text that every version has known
VARIANTS = 8  # stores that BPE dropout trains on in turn: enough that few words repeat a cut, and soon made
FEW = 100_000  # pairs that this process encodes, with the library's threads, before others would have started
COUNTED = 10_000  # training sources whose lengths are counted; of more pairs a part spread evenly over them

logger = logging.getLogger("jumok")


@dataclass(frozen=True)
class Prepared:
    """What training reads: ids on disk, and the validation text."""

    tokenizers: Tokenizers
    train: Store
    valid: Store
    valid_pairs: tuple[tuple[str, str], ...]
    lengths: TrainLengths | None = None  # of the training sources; an older folder does not say
    variants: Sequence[Store] = ()  # the same pairs cut differently, when text.dropout is above 0
    kept: Kept | None = None  # old pairs, of a run that starts from a model
    ways: tuple[Direction, ...] = ()  # the direction of each validation pair, where there may be several
    mix: Mix | None = None  # of several corpora: how much of each an epoch has

    def for_epoch(self, epoch: int) -> Store:
        """The store that this epoch trains on: the variants in turn, or `train` where there are none."""
        store = self.variants[epoch % len(self.variants)] if self.variants else self.train
        store = self.mix.store(store, epoch) if self.mix else store
        return self.kept.among(store, epoch) if self.kept else store

    @property
    def stores(self) -> tuple[Store, ...]:
        """Every store that pairs to learn from can come from."""
        return (self.train, *self.variants, *([self.kept.train] if self.kept else []))


def prepare(  # noqa: PLR0913  most have a default
    folder: Path,
    corpora: Corpora,
    config: RunConfig,
    read: Callable[[], CheckReport],
    *,
    fingerprint: str,
    tokenizers: Tokenizers | None = None,
    add: int = 0,
    start: str = "",
    processes: int = 0,
    progress: Progress = silent,
    background: bool = False,
) -> Prepared:
    """Tokenizer and stores under `folder`; a second call with the same text and settings reads them back.

    A model that is trained already keeps its `tokenizers`, whatever became of the text, with `add` tokens
    more; `start` is the SHA-256 of a model that the run starts from. In the background the variants, if any,
    may still be in the making: `Prepared.variants` waits for them.
    """
    key = {
        "data": fingerprint,
        # What is not used leaves the files as those of a version that did not know it.
        "text": {name: value for name, value in asdict(config.text).items() if name in FIRST or value},
        "max_length": config.data.max_length,
        "hold_out": config.data.hold_out,
        "seed": config.seed,
    }
    if config.data.long != "skip":
        key["long"] = config.data.long
    if reads_pictures(config.data):
        key["image"] = {"size": config.image.size, "patch": config.image.patch}
    if config.data.corpora:
        names = ("corpora", "valid_corpora", "temperature", "tags")
        key["corpora"] = {name: getattr(config.data, name) for name in names}
    if config.start.model:
        asked = {name: value for name, value in asdict(config.start).items() if name != "model"}
        key["start"] = {**asked, "sha256": start}
    note = folder / NOTE
    if is_prepared(folder, note, key):
        return reopen(folder)
    rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    prepared = build(
        folder, corpora, config, read(), tokenizers, add=add, processes=processes, progress=progress
    )

    def finish() -> tuple[Store, ...]:
        with writing(folder):
            made = add_variants(prepared, config, silent if background else progress)
            told = sealed({**key, "files": digests(folder)})
            replace_file(note, json.dumps(told).encode())  # the last: without it everything is made again
        return made

    if not (background and config.text.dropout):
        return replace(prepared, variants=finish())
    thread = ThreadPoolExecutor(1, "jumok-variants")
    making = thread.submit(finish)
    thread.shutdown(wait=False)
    return replace(prepared, variants=PendingStores(making))


def is_prepared(folder: Path, note: Path, key: dict[str, object]) -> bool:
    """Whether this was prepared already, and every file is as it was then."""
    try:
        told = dict(unsealed(json.loads(note.read_bytes())))
    except (OSError, ValueError, TypeError, RecursionError):
        return False
    files = told.pop("files", {})  # an earlier version noted none
    if told != key:
        return False
    now = digests(folder) if files else {}
    for name in files:
        if now.get(name) != files[name]:
            logger.warning("%s has changed since it was made: the data is prepared again", folder / name)
            return False
    return True


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file of the prepared data, by its place."""
    files = sorted(one for one in folder.rglob("*") if one.is_file() and one.name != NOTE)
    found = {}
    for file in files:
        with file.open("rb") as opened:
            found[file.relative_to(folder).as_posix()] = file_digest(opened, "sha256").hexdigest()
    return found


def reopen(folder: Path) -> Prepared:
    """What an earlier `prepare` left."""
    text = (folder / "valid.tsv").read_bytes()  # a process that sees none is told so
    with unreadable(folder):
        lines = text.decode().split("\n")[:-1]
        cells = [line.split("\t") for line in lines]
        pairs = tuple((source, target) for source, target, *_ in cells)
        ways = tuple(Direction(*way) for _, _, *way in cells if way)
    train, valid = open_any_store(folder / "train"), open_any_store(folder / "valid")
    variants = tuple(open_store(path) for path in variant_folders(folder) if path.is_dir())
    kept = reopen_kept(folder / KEPT) if (folder / KEPT).is_dir() else None
    lengths = read_lengths(folder / LENGTHS)
    mix = read_mix(folder / MIX, train) if (folder / MIX).is_file() else None
    return Prepared(load_tokenizers(folder), train, valid, pairs, lengths, variants, kept, ways, mix)


def variant_folders(folder: Path) -> list[Path]:
    return [folder / f"train-{number}" for number in range(1, VARIANTS + 1)]


def build(
    folder: Path,
    corpora: Corpora,
    config: RunConfig,
    report: CheckReport,
    tokenizers: Tokenizers | None,
    *,
    add: int = 0,
    processes: int,
    progress: Progress,
) -> Prepared:
    """Everything but the variants."""
    text, frame = run_text(corpora, report, config), corpora.frame(config.data)
    if tokenizers is None:
        tokenizers = learn_tokenizers(text.train, config, progress, frame)
    check_frame(tokenizers, frame)
    tokenizers = grown_tokenizers(tokenizers, text.train, add) if add else tokenizers
    for name, data in tokenizers.files().items():
        (folder / name).write_bytes(data)
    length, cut = config.data.max_length, config.data.max_length if config.data.long == "cut" else 0
    several = corpora.mixture is not None or bool(tokenizers.frame.languages)
    (folder / "valid.tsv").write_text("".join(text.valid_lines(languages=several)), encoding="utf-8")
    if tokenizers.pictures is not None:
        make = partial(build_picture_store, tokenizers=tokenizers)
        plain = ((pair[0], pair[1]) for pair in text.train())
        pictures = make(plain, folder=folder / "train", max_length=length, progress=progress)
        shown = make(iter(text.valid), folder=folder / "valid", max_length=4 * length)
        return Prepared(tokenizers, pictures, shown, text.valid)
    encode = partial(build_store, tokenizers=tokenizers, cut=cut)
    streams = [chosen_direction(tokenizers, one.direction) for one in text.streams]
    store = encode(
        text.train(),
        folder=folder / "train",
        max_length=length,
        marker=marker_of(config),
        directions=streams if several else (),
        processes=1 if text.total < FEW else processes,
        progress=progress,
        total=text.total,
    )
    mix = mixed(folder / MIX, store, text, config) if corpora.mixture else None
    ways, by_way = text.valid_by_direction() if several else ((), text.valid)
    valid_store = encode(
        iter(by_way),
        folder=folder / "valid",
        max_length=4 * length,
        marker=marker_of(config, share=0),
        directions=[chosen_direction(tokenizers, way) for way in ways],
        processes=1,
    )
    lengths = trained_lengths(store, tokenizers, config.data.source_language)
    (folder / LENGTHS).write_text(json.dumps(lengths.to_dict()), encoding="utf-8")
    kept = None
    if corpora.keep is not None:
        facing = tokenizers.towards(streams[0])
        kept = build_kept(folder / KEPT, report.parts[-1], config, facing, text.held)
    said = text.ways if several else ()
    return Prepared(tokenizers, store, valid_store, text.valid, lengths, kept=kept, ways=said, mix=mix)


def mixed(file: Path, store: Store, text: RunPairs, config: RunConfig) -> Mix:
    """How much of each corpus an epoch has."""
    weights = [stream.weight for stream in text.streams]
    return write_mix(file, store, weights, config.data.temperature, config.seed)


def marker_of(config: RunConfig, share: float = SHARE) -> PairMarker | None:
    """What puts marks into pairs, if the model learns them: into this share of those that need none."""
    return PairMarker(config.seed, share) if config.text.marks else None


def add_variants(prepared: Prepared, config: RunConfig, progress: Progress) -> tuple[Store, ...]:
    """The same pairs cut differently, beside their store; none without dropout."""
    if not config.text.dropout:
        return ()
    folders = variant_folders(prepared.train.folder.parent)
    build_variants(
        prepared.train,
        prepared.tokenizers,
        folders,
        share=config.text.dropout,
        seed=config.seed,
        max_length=config.data.max_length,
        progress=progress,
    )
    return tuple(map(open_store, folders))


def trained_lengths(store: Store, tokenizers: Tokenizers, language: str) -> TrainLengths:
    """How long the sources are that the model will see, told from at most `COUNTED` of them."""
    rows = np.linspace(0, len(store) - 1, min(len(store), COUNTED)).round().astype(np.int64)
    texts = tokenizers.source.decode_many(store.source(row).tolist() for row in rows)
    return count_lengths(texts, len(store), language)


def read_lengths(file: Path) -> TrainLengths | None:
    """What `build` counted, if it did."""
    return parse_train_lengths(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None
