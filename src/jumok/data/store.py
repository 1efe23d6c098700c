"""Token ids of a corpus as memory-mapped arrays, so that data larger than memory is normal.

A store is a folder: header.json, and for each side its ids laid end to end (`source.ids`) and where each
sentence begins (`source.offsets`, one more than there are sentences).
"""

import errno
import hashlib
import json
import multiprocessing
import os
import secrets
import shutil
import signal
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from jumok.data.corpus import nothing_left
from jumok.data.forms import Pair
from jumok.data.framed import RowFrames
from jumok.data.marked import PairMarker
from jumok.errors import DataError, RunError
from jumok.progress import Progress, silent
from jumok.text.beginning import beginnings
from jumok.text.frame import Direction, Frame
from jumok.text.tokenizer import Tokenizers, parse_tokenizer
from jumok.text.words import Words

Ids = NDArray[np.unsignedinteger]
AnyPair = Pair | tuple[str, str, int]
"""A pair, and of several corpora the number of its own."""

FORMAT = "jumok-store/1"
SIDES = ("source", "target")
CHUNK, CHUNK_TEXT = 2_000, 2_000_000  # pairs, or characters, that a worker encodes at a time
SMALL = 20_000  # fewer pairs are encoded before a pool of processes would have started
MOST_PROCESSES = 16


@dataclass(frozen=True, eq=False)
class Store:
    """The ids of all pairs, on disk, framed as the model reads them but for starts and ends."""

    folder: Path
    source_ids: Ids
    source_offsets: NDArray[np.int64]
    target_ids: Ids
    target_offsets: NDArray[np.int64]
    source_lengths: NDArray[np.int32]
    target_lengths: NDArray[np.int32]
    left_out: dict[str, int]
    """Pairs that are not in the store: "blank" and "too_long"."""
    tokenizers: str
    """Fingerprint of the tokenizers that made the ids."""
    fingerprint: str
    """Changes when an id changes, or a pair moves."""
    cut: int = 0
    """Pairs of which only the beginning of the source is here."""
    corpora: tuple[int, ...] = ()
    """Pairs of each of several corpora, which lie one after the other; () where there is one."""
    closed: bool = False
    """Sources have their ends, behind which something stands."""

    def __len__(self) -> int:
        return len(self.source_lengths)

    def source(self, index: int) -> Ids:
        """The source ids of one pair."""
        begin = self.source_offsets[index]
        return self.source_ids[begin : begin + self.source_lengths[index]]

    def target(self, index: int) -> Ids:
        """The target ids of one pair."""
        begin = self.target_offsets[index]
        return self.target_ids[begin : begin + self.target_lengths[index]]


def open_store(folder: Path) -> Store:
    """The store in this folder; its files must have the sizes that its header states."""
    with unreadable(folder):
        header = json.loads((folder / "header.json").read_bytes())
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']!r} instead of {FORMAT!r}")
        arrays: dict[str, Any] = {}
        for side in SIDES:
            ids = mapped(folder / f"{side}.ids", header["dtype"], header[f"{side}_ids"])
            offsets = mapped(folder / f"{side}.offsets", "<i8", header["pairs"] + 1)
            arrays |= {f"{side}_ids": ids, f"{side}_offsets": offsets}
            arrays[f"{side}_lengths"] = np.diff(offsets).astype(np.int32)
        known = {key: header[key] for key in ("left_out", "tokenizers", "fingerprint")}
        corpora, closed = tuple(header.get("corpora", ())), bool(header.get("closed"))
        return Store(folder, **arrays, **known, cut=header.get("cut", 0), corpora=corpora, closed=closed)


@contextmanager
def unreadable(folder: Path) -> Iterator[None]:
    """Inside, what is wrong with the files of a store is an error that says so."""
    try:
        yield
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DataError(
            f"the prepared data cannot be read: {reason}",
            where=str(folder),
            hint="remove the folder: it is made again from the corpus",
            code="bad_store",
        ) from None


def mapped(path: Path, dtype: str, count: int) -> Any:
    need, size = count * np.dtype(dtype).itemsize, path.stat().st_size
    if size != need:
        raise ValueError(f"{path.name} has {size:,} bytes instead of {need:,}")
    return np.asarray(np.memmap(path, dtype=dtype, mode="r"))  # plain: slices of a memmap are slow


def build_store(  # noqa: PLR0913  most have a default
    pairs: Iterable[AnyPair],
    tokenizers: Tokenizers,
    folder: Path,
    *,
    max_length: int,
    cut: int = 0,
    marker: PairMarker | None = None,
    directions: Sequence[Direction] = (),
    processes: int = 0,
    progress: Progress = silent,
    total: int | None = None,
) -> Store:
    """Encode tidied pairs into `folder`, which appears only when it is complete.

    Pairs with a blank side, or with more than `max_length` tokens on one, are left out and counted; of a
    source the first `cut` tokens are kept, if it is not 0. A `marker` puts marks into pairs first. With
    `directions`, one for each corpus, a pair says which corpus it is of; corpora come one after the other.
    Order is kept whatever the number of processes; 0 takes one per core. Memory does not grow with the
    corpus.
    """
    encoder = Encoder(tokenizers, max_length, cut, marker, directions)
    chunks = _encoded(pairs, encoder, processes or _cores())
    work = folder.with_name(f"{folder.name}.tmp-{secrets.token_hex(4)}")
    try:
        with writing(folder):
            work.mkdir(parents=True)
            _write(chunks, work, encoder, progress, total)
            shutil.rmtree(folder, ignore_errors=True)
            work.rename(folder)
    finally:
        chunks.close()
        shutil.rmtree(work, ignore_errors=True)
    return open_store(folder)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Inside, what the disk refuses is an error that says so."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise RunError(
            f"cannot write the prepared data: {(error.strerror or str(error)).lower()}",
            where=str(folder),
            hint="free some disk space" if full else "choose an output folder that can be written",
            code="disk_full" if full else "io_error",
        ) from None


@dataclass(frozen=True)
class EncodedChunk:
    """The ids of some pairs."""

    pairs: int  # read, with those left out
    ids: tuple[Ids, Ids]  # of both sides, end to end
    lengths: tuple[NDArray[np.int64], NDArray[np.int64]]
    corpora: NDArray[np.int64]  # pairs that are kept of each corpus
    left_out: Counter[str]
    cut: int  # of those that are kept, with a source that was longer


class Encoder:
    """Pairs of text to a `EncodedChunk` of ids."""

    def __init__(
        self,
        tokenizers: Tokenizers,
        max_length: int,
        cut: int,
        marker: PairMarker | None,
        directions: Sequence[Direction],
    ) -> None:
        self.tokenizers, self.max_length, self.cut, self.marker = tokenizers, max_length, cut, marker
        self.directions = tuple(directions)
        self.frames = RowFrames.of(tokenizers, self.directions or [tokenizers.direction])
        source = Words(tokenizers.text_source)
        self.words = (source, source if tokenizers.shared else Words(tokenizers.target))
        largest = max(tokenizers.source.size, tokenizers.target.size)
        self.dtype = np.dtype("<u2" if largest <= 1 << 16 else "<u4")

    def __call__(self, pairs: Sequence[AnyPair]) -> EncodedChunk:
        some = [pair for pair in pairs if pair[0] and pair[1]]
        numbers = np.array([pair[2] if len(pair) == 3 else 0 for pair in some], dtype=np.int64)
        written: list[Pair] = [(pair[0], pair[1]) for pair in some]
        written = list(map(self.marker, written)) if self.marker else written
        source, target = (words.encode([p[side] for p in written]) for side, words in enumerate(self.words))
        whole = source.lengths()
        source = beginnings(source, self.cut) if self.cut else source
        kept = np.flatnonzero(np.maximum(source.lengths(), target.lengths()) <= self.max_length)
        left_out = Counter(blank=len(pairs) - len(written), too_long=len(written) - len(kept))
        cut = int((whole > source.lengths())[kept].sum())
        source, target, numbers = source.take(kept), target.take(kept), numbers[kept]
        if not self.frames.is_plain:
            source, target = self.frames.sources(source, numbers), self.frames.targets(target, numbers)
        corpora = np.bincount(numbers, minlength=max(1, len(self.directions)))
        ids = source.values.astype(self.dtype), target.values.astype(self.dtype)
        return EncodedChunk(len(pairs), ids, (source.lengths(), target.lengths()), corpora, left_out, cut)


def _write(
    chunks: Iterable[EncodedChunk], folder: Path, encoder: Encoder, progress: Progress, total: int | None
) -> None:
    """Write all chunks and, last, the header."""
    read, kept, cut, left_out = 0, 0, 0, Counter(blank=0, too_long=0)
    corpora = np.zeros(max(1, len(encoder.directions)), dtype=np.int64)
    with ExitStack() as files:
        sides = [SideWriter(folder, side, files) for side in SIDES]
        for chunk in chunks:
            for side, ids, lengths in zip(sides, chunk.ids, chunk.lengths, strict=True):
                side.add(ids, lengths)
            read, kept = read + chunk.pairs, kept + len(chunk.lengths[0])
            left_out.update(chunk.left_out)
            corpora += chunk.corpora
            cut += chunk.cut
            progress("encoding", read, total)
        for file in chain.from_iterable(side.files for side in sides):
            _sync(file)
    progress("encoding", read, read)
    if not kept:
        raise nothing_left(read, left_out, encoder.max_length)
    header = {
        "format": FORMAT,
        "pairs": kept,
        "dtype": encoder.dtype.str,
        "source_ids": sides[0].count,
        "target_ids": sides[1].count,
        "left_out": dict(left_out),
        **({"cut": cut} if cut else {}),  # without it the file is that of a version that cut nothing
        **({"corpora": corpora.tolist()} if encoder.directions else {}),  # and so with these
        **({"closed": True} if encoder.tokenizers.frame.closes else {}),
        "max_length": encoder.max_length,
    }
    write_header(folder, header, [side.fingerprint() for side in sides], encoder.tokenizers.fingerprint)


def write_header(folder: Path, header: dict[str, Any], contents: Iterable[str], tokenizers: str) -> None:
    """The last file of a store, with hashes of what the others contain."""
    fingerprint = hashlib.sha256("".join([*contents, tokenizers]).encode()).hexdigest()
    header = header | {"tokenizers": tokenizers, "fingerprint": fingerprint}
    with (folder / "header.json").open("wb") as file:
        file.write(json.dumps(header, indent=1).encode())
        _sync(file)


class SideWriter:
    """The two growing files of one side."""

    def __init__(self, folder: Path, name: str, files: ExitStack) -> None:
        self.files = [
            files.enter_context((folder / f"{name}.{kind}").open("wb")) for kind in ("ids", "offsets")
        ]
        self.digests = [hashlib.sha256(), hashlib.sha256()]
        self.count = 0
        self.write(b"", np.zeros(1, dtype="<i8").tobytes())

    def add(self, ids: Ids, lengths: NDArray[np.int64]) -> None:
        self.write(ids.tobytes(), (self.count + np.cumsum(lengths)).astype("<i8").tobytes())
        self.count += len(ids)

    def write(self, *parts: bytes) -> None:
        for file, digest, data in zip(self.files, self.digests, parts, strict=True):
            file.write(data)
            digest.update(data)

    def fingerprint(self) -> str:
        return "".join(digest.hexdigest() for digest in self.digests)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _chunks(pairs: Iterable[AnyPair]) -> Iterator[list[AnyPair]]:
    chunk: list[AnyPair] = []
    size = 0
    for pair in pairs:
        chunk.append(pair)
        size += len(pair[0]) + len(pair[1])
        if len(chunk) == CHUNK or size > CHUNK_TEXT:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _encoded(
    pairs: Iterable[AnyPair], encoder: Encoder, processes: int
) -> Generator[EncodedChunk, None, None]:
    """The chunks of all pairs in order; a small corpus is encoded in this process."""
    chunks = _chunks(pairs)
    first = list(islice(chunks, SMALL // CHUNK))
    if processes == 1 or len(first) < SMALL // CHUNK:
        yield from map(encoder, chain(first, chunks))
    else:
        yield from _in_parallel(chain(first, chunks), encoder, processes)


def _in_parallel(chunks: Iterable[list[AnyPair]], encoder: Encoder, processes: int) -> Iterator[EncodedChunk]:
    """`map(encoder, chunks)` by several processes in turn, each with one chunk at a time.

    Should a process die, this one does its work.
    """
    both, context = encoder.tokenizers, multiprocessing.get_context("spawn")
    files = both.source.to_bytes(), both.target.to_bytes(), both.frame, both.direction
    told = (*files, encoder.max_length, encoder.cut, encoder.marker, encoder.directions)
    idle: deque[Connection] = deque()
    busy: deque[tuple[Connection, list[AnyPair]]] = deque()
    with ExitStack() as stack:
        for _ in range(processes):
            here, there = context.Pipe()
            process = context.Process(target=_encode_for, args=(there, *told), daemon=True)
            process.start()
            there.close()
            stack.callback(process.join)
            stack.callback(here.close)
            idle.append(here)
        for chunk in chunks:
            done = None if idle else _answer(*busy[0], encoder)
            worker = idle.popleft() if idle else busy.popleft()[0]
            with suppress(OSError):  # a worker that is gone does not answer either
                worker.send(chunk)
            busy.append((worker, chunk))
            if done is not None:
                yield done
        for worker, chunk in busy:
            yield _answer(worker, chunk, encoder)


def _answer(worker: Connection, chunk: list[AnyPair], encoder: Encoder) -> EncodedChunk:
    try:
        done: EncodedChunk = worker.recv()
    except (EOFError, OSError):
        return encoder(chunk)
    return done


def _encode_for(  # noqa: PLR0913  what an encoder is made of
    parent: Connection,
    source: bytes,
    target: bytes,
    frame: Frame,
    direction: Direction,
    max_length: int,
    cut: int,
    marker: PairMarker | None,
    directions: tuple[Direction, ...],
) -> None:
    """What a worker process does, until its parent has no more for it or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes the pipe
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the processes are the parallelism
    left = parse_tokenizer(source, "source")
    right = left if source == target else parse_tokenizer(target, "target")
    encoder = Encoder(Tokenizers(left, right, frame, direction), max_length, cut, marker, directions)
    with suppress(Exception):  # the parent then does it again, and finds the same fault
        while True:
            parent.send(encoder(parent.recv()))


def _cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_PROCESSES)
