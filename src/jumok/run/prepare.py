"""Text files to a tokenizer and token stores, kept in the run folder and made again only when needed."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from hashlib import file_digest
from pathlib import Path
from shutil import rmtree

import numpy as np

from jumok.checkpoint.folder import replace_file
from jumok.config import DataConfig, RunConfig
from jumok.data.builtin import builtin_corpus, reads_pictures
from jumok.data.corpus import Corpus, open_corpus
from jumok.data.marked import SHARE, PairMarker
from jumok.data.picture_store import build_picture_store, open_any_store
from jumok.data.pictures import with_pictures
from jumok.data.reader import CheckReport, examine
from jumok.data.store import Store, build_store, open_store, unreadable, writing
from jumok.data.survey import Survey, check_enough, hold_out, usual_hold_out
from jumok.data.variants import PendingStores, build_variants
from jumok.errors import ConfigError, DataError
from jumok.evaluation.lengths import TrainLengths, count_lengths, parse_train_lengths
from jumok.images.patches import PatchReader
from jumok.progress import Progress, silent
from jumok.seals import sealed, unsealed
from jumok.text.tokenizer import Tokenizers, load_tokenizers, train_tokenizer

LENGTHS = "lengths.json"
NOTE = "prepared.json"
FIRST = ("kind", "vocabulary", "shared")  # settings of text that every version has known
VARIANTS = 8  # stores that BPE dropout trains on in turn: enough that few words repeat a cut, and soon made
FEW = 100_000  # pairs that this process encodes, with the library's threads, before others would have started
COUNTED = 10_000  # training sources whose lengths are counted; of more pairs a part spread evenly over them

logger = logging.getLogger("jumok")


@dataclass(frozen=True)
class Corpora:
    """The text of a run; without a validation corpus some pairs are held out from training."""

    train: Corpus
    valid: Corpus | None

    @cached_property
    def fingerprint(self) -> str:
        """Hashes of the files' contents, read once: these objects live for one sitting."""
        return "+".join(corpus.fingerprint() for corpus in (self.train, self.valid) if corpus is not None)


@dataclass(frozen=True)
class Prepared:
    """What training reads: ids on disk, and the validation text."""

    tokenizers: Tokenizers
    train: Store
    valid: Store
    valid_pairs: tuple[tuple[str, str], ...]
    lengths: TrainLengths | None = None  # of the training sources; an older folder does not say
    variants: Sequence[Store] = ()  # the same pairs cut differently, when text.dropout is above 0

    def for_epoch(self, epoch: int) -> Store:
        """The store that this epoch trains on: the variants in turn, or `train` where there are none."""
        return self.variants[epoch % len(self.variants)] if self.variants else self.train


def open_corpora(config: RunConfig) -> Corpora:
    """The files or the built-in set that the settings name."""
    data = config.data
    check_dropout_fits(config)
    check_columns_fit(data)
    if data.name:
        for name in ("source", "target", "valid_source", "valid_target", "images"):
            if getattr(data, name):
                option = name.replace("_", "-")
                raise ConfigError(f"--data and --{option} exclude each other", hint="give one of them")
        return Corpora(builtin_corpus(data.name, "train"), builtin_corpus(data.name, "valid"))
    if not data.source:
        raise ConfigError(
            "there is no data to learn from",
            hint="give --source FILE --target FILE, one file with both sides as --source, or --data dates",
        )
    if data.valid_target and not data.valid_source:
        raise ConfigError("--valid-target is given without --valid-source", hint="give both, or none")
    valid = open_side(data, data.valid_source, data.valid_target) if data.valid_source else None
    return Corpora(open_side(data, data.source, data.target), valid)


def open_side(data: DataConfig, source: str, target: str) -> Corpus:
    """The corpus in these files, with pictures for its sources where the settings say so."""
    columns = "" if target else data.columns
    corpus = open_corpus(source, target, encoding_errors=data.encoding_errors, columns=columns)
    return with_pictures(corpus, data.images) if data.images else corpus


def check_columns_fit(data: DataConfig) -> None:
    """Refuse columns that training has no use for."""
    if (data.columns.count(",") > 1 or data.columns.endswith("+")) and not data.images:
        raise ConfigError(
            f"data.columns={data.columns} cannot work: training reads two columns, source and target",
            hint="further references are for jumok evaluate",
            code="bad_columns",
        )
    joint = data.source and not data.target or data.valid_source and not data.valid_target
    if data.columns and not joint:
        raise ConfigError(
            f"data.columns={data.columns} is for a file with both sides, and none is given",
            hint="give one file as --source, or leave out data.columns",
            code="bad_columns",
        )


def check_dropout_fits(config: RunConfig) -> None:
    """Refuse dropout of merges where there are none."""
    reason = hint = ""
    if "bpe" not in (config.text.kind, config.text.target_kind):
        reason, hint = "only tokens of kind bpe have merges", "set text.kind to bpe, or text.dropout to 0"
    if reads_pictures(config.data):
        reason = "the sources are pictures, not text"
        hint = "set text.dropout to 0; image.shift varies the pictures instead"
    if config.text.dropout and reason:
        raise ConfigError(f"text.dropout={config.text.dropout} cannot work: {reason}", hint=hint)


def read_corpora(corpora: Corpora, progress: Progress = silent, *, keep: bool = True) -> CheckReport:
    """The one pass over the files of a run; refuses what nothing can be learned from."""
    others = {} if corpora.valid is None else {"valid": corpora.valid}
    report = examine(corpora.train, others=others, strict=True, keep=keep, progress=progress)
    check_enough(report.train, corpora.train.name)
    return report


def prepare(  # noqa: PLR0913  most have a default
    folder: Path,
    corpora: Corpora,
    config: RunConfig,
    read: Callable[[], CheckReport],
    *,
    fingerprint: str,
    tokenizers: Tokenizers | None = None,
    processes: int = 0,
    progress: Progress = silent,
    background: bool = False,
) -> Prepared:
    """Tokenizer and stores under `folder`; a second call with the same text and settings reads them back.

    A model that is trained already keeps its `tokenizers`, whatever became of the text. In the background the
    variants, if any, may still be in the making: `Prepared.variants` waits for them.
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
    note = folder / NOTE
    if is_prepared(folder, note, key):
        return reopen(folder)
    rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    prepared = build(folder, corpora, config, read(), tokenizers, processes=processes, progress=progress)

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
        pairs = tuple((source, target) for source, target in (line.split("\t") for line in lines))
    train, valid = open_any_store(folder / "train"), open_any_store(folder / "valid")
    variants = tuple(open_store(path) for path in variant_folders(folder) if path.is_dir())
    return Prepared(load_tokenizers(folder), train, valid, pairs, read_lengths(folder / LENGTHS), variants)


def variant_folders(folder: Path) -> list[Path]:
    return [folder / f"train-{number}" for number in range(1, VARIANTS + 1)]


def build(
    folder: Path,
    corpora: Corpora,
    config: RunConfig,
    report: CheckReport,
    tokenizers: Tokenizers | None,
    *,
    processes: int,
    progress: Progress,
) -> Prepared:
    """Everything but the variants."""
    found, rows = report.train, np.empty(0, dtype=np.int64)
    if corpora.valid is None:
        rows = hold_out(found, config.data.hold_out or usual_hold_out(found), config.seed)
        wanted = set(rows.tolist())
        valid = [pair for row, pair in enumerate(kept(found)) if row in wanted]
    else:
        valid = [pair for pair in kept(report.parts[1]) if all(pair)]
        if not valid:
            raise DataError(f"{corpora.valid.name} has no pair with text on both sides", code="empty")
    # Hashes make sure that no held-out source stays behind.
    apart = np.isin(found.source_hashes, found.source_hashes[rows])

    def train() -> Iterator[tuple[str, str]]:
        return (pair for pair, out in zip(kept(found), apart.tolist(), strict=True) if not out)

    tokenizers = tokenizers or learn_tokenizers(train, config, progress)
    for name, data in tokenizers.files().items():
        (folder / name).write_bytes(data)
    length, cut = config.data.max_length, config.data.max_length if config.data.long == "cut" else 0
    total = found.pairs - len(rows)
    text = "".join(f"{source}\t{target}\n" for source, target in valid)
    (folder / "valid.tsv").write_text(text, encoding="utf-8")
    if tokenizers.pictures is not None:
        make = partial(build_picture_store, tokenizers=tokenizers)
        pictures = make(train(), folder=folder / "train", max_length=length, progress=progress)
        shown = make(iter(valid), folder=folder / "valid", max_length=4 * length)
        return Prepared(tokenizers, pictures, shown, tuple(valid))
    store = build_store(
        train(),
        tokenizers,
        folder / "train",
        max_length=length,
        cut=cut,
        marker=marker_of(config),
        processes=1 if total < FEW else processes,
        progress=progress,
        total=total,
    )
    make_valid = partial(build_store, cut=cut, marker=marker_of(config, share=0), processes=1)
    valid_store = make_valid(iter(valid), tokenizers, folder / "valid", max_length=4 * length)
    lengths = trained_lengths(store, tokenizers, config.data.source_language)
    (folder / LENGTHS).write_text(json.dumps(lengths.to_dict()), encoding="utf-8")
    return Prepared(tokenizers, store, valid_store, tuple(valid), lengths)


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


def kept(found: Survey) -> Iterable[tuple[str, str]]:
    """The tidied pairs that the reading kept."""
    if found.texts is None:
        raise ValueError("the texts were not kept when they were read")
    return found.texts


def learn_tokenizers(
    pairs: Callable[[], Iterator[tuple[str, str]]], run: RunConfig, progress: Progress
) -> Tokenizers:
    """One tokenizer for both sides, or one each, from the training pairs alone."""

    def lines(*sides: int) -> Iterator[str]:
        for pair in pairs():
            yield from (pair[side] for side in sides)

    config = run.text
    target = replace(config, kind=config.target_kind or config.kind)
    if reads_pictures(run.data):
        reader = PatchReader(run.image.size, run.image.patch)
        return Tokenizers(reader, train_tokenizer(lines(1), target, progress))
    if config.shared and target == config:
        both = train_tokenizer(lines(0, 1), config, progress)
        return Tokenizers(both, both)
    return Tokenizers(
        train_tokenizer(lines(0), config, progress), train_tokenizer(lines(1), target, progress)
    )
