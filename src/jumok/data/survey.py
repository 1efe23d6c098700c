"""What a pass over a corpus leaves: figures for the plan, hashes, findings, the tidied texts; and which pairs
validation may have."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from tempfile import SpooledTemporaryFile

import numpy as np
from numpy.typing import NDArray

from jumok.data.alignment import Alignment
from jumok.data.checks import Profile
from jumok.data.findings import Finding
from jumok.data.forms import Pair
from jumok.errors import DataError, RunError
from jumok.formats.files import BLOCK

Hashes = NDArray[np.uint64]

IN_MEMORY = 1 << 26  # bytes of tidied text that stay in memory; of more a temporary file is made
FEWEST_PAIRS = 20


class TidyPairs:
    """The tidied pairs of a corpus, in memory or in a temporary file, to be read as often as needed."""

    def __init__(self) -> None:
        self.file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  closed when it is forgotten

    def __del__(self) -> None:
        self.file.close()

    def add(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        try:
            self.file.write("".join(map("{}\t{}\n".format, sources, targets)).encode())
        except OSError as error:
            raise RunError(
                f"cannot keep the tidied text: {(error.strerror or str(error)).lower()}",
                hint="set TMPDIR to a folder with more room than the corpus takes",
                code="io_error",
            ) from None

    def __iter__(self) -> Iterator[Pair]:
        place, rest = 0, b""
        while True:
            self.file.seek(place)
            block = self.file.read(BLOCK)
            if not block:
                return
            place += len(block)
            whole, _, rest = (rest + block).rpartition(b"\n")
            for line in whole.decode().split("\n") if whole else ():
                source, _, target = line.partition("\t")
                yield source, target


@dataclass(frozen=True, eq=False)
class Survey:
    """A corpus in figures, and what is wrong with it. Hashes stand for tidied texts; 0 marks a blank side."""

    pairs: int
    source_characters: int
    target_characters: int
    source_words: int
    target_words: int
    longest: int  # characters of the longer side that 99 % of the pairs stay within
    source_hashes: Hashes  # (pairs,)
    target_hashes: Hashes  # (pairs,)
    numbers: Hashes = field(default_factory=lambda: np.empty(0, np.uint64), repr=False)  # of lines (pairs,)
    part: str = "train"
    files: Pair = ("", "")
    lines: tuple[int, int] = (0, 0)  # of the source's file and of the target's
    unit: str = "line"  # what the numbers count
    languages: Pair = ("", "")  # as the files say
    note: str = ""  # what was taken for what
    findings: tuple[Finding, ...] = ()
    profile: Profile = field(default_factory=Profile, repr=False)
    alignment: Alignment = Alignment()
    texts: Iterable[Pair] | None = None  # where they were to be kept

    @property
    def usable(self) -> int:
        """Pairs with text on both sides."""
        return int(self.written.sum())

    @property
    def written(self) -> NDArray[np.bool_]:
        """Which pairs have text on both sides."""
        written: NDArray[np.bool_] = (self.source_hashes != 0) & (self.target_hashes != 0)
        return written

    @property
    def words(self) -> int:
        """Words of both sides; where a script writes no spaces, eight characters count as one."""
        characters = self.source_characters + self.target_characters
        return max(self.source_words + self.target_words, characters // 8)

    @cached_property
    def pair_hashes(self) -> Hashes:
        return pair_hashes(self.source_hashes, self.target_hashes)


class JoinedPairs:
    """The tidied pairs of several corpora, one after the other."""

    def __init__(self, parts: Sequence[Iterable[Pair]]) -> None:
        self.parts = parts

    def __iter__(self) -> Iterator[Pair]:
        return chain.from_iterable(self.parts)


def join_surveys(parts: Sequence[Survey], directions: Sequence[Pair]) -> Survey:
    """Several corpora as one, for a plan: sums, the longest, and the languages where all have the same."""
    totals = ("pairs", "source_characters", "target_characters", "source_words", "target_words")
    kept = [part.texts for part in parts if part.texts is not None]
    return Survey(
        **{name: sum(getattr(part, name) for part in parts) for name in totals},
        longest=max(part.longest for part in parts),
        source_hashes=np.concatenate([part.source_hashes for part in parts]),
        target_hashes=np.concatenate([part.target_hashes for part in parts]),
        languages=directions[0] if len(directions) == 1 else ("", ""),
        texts=JoinedPairs(kept) if len(kept) == len(parts) else None,
    )


def text_hash(text: str) -> int:
    """64 bits that stand for a text; never 0 for a text that is not blank."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) | 1 if text else 0


def pair_hashes(sources: Hashes, targets: Hashes) -> Hashes:
    """64 bits that stand for each pair, from those of its sides."""
    return sources * np.uint64(0x9E3779B97F4A7C15) ^ targets


def check_enough(found: Survey, name: str) -> None:
    """Refuse a corpus that nothing can be learned from."""
    blank = {"source": not found.source_hashes.any(), "target": not found.target_hashes.any()}
    if found.pairs and any(blank.values()):
        raise DataError(
            f"every {' and every '.join(side for side in blank if blank[side])} of {name} is blank",
            hint="are these the right files and columns? data.columns says which columns are read",
            code="too_small",
        )
    if found.usable < FEWEST_PAIRS:
        plural = "pair" if found.usable == 1 else "pairs"
        raise DataError(
            f"{name} has {found.usable} {plural} with text on both sides",
            hint=f"a model needs at least {FEWEST_PAIRS}, and thousands to be useful; "
            "jumok train --data dates shows a working set",
            code="too_small",
        )


def usual_hold_out(found: Survey) -> int:
    """Pairs to validate on when nobody says how many."""
    return min(1000, max(10, found.usable // 25))


def hold_out(found: Survey, count: int, seed: int) -> NDArray[np.int64]:
    """Rows to validate on, chosen so that neither side of any of them occurs again in the rest.

    Pairs whose source and target are both unique are taken first; if there are too few of them, sources that
    are unique, so that at least no source is shared. The choice follows from texts and seed, not from order.
    """
    once = _occurs_once(found.source_hashes)
    for candidates in (once & _occurs_once(found.target_hashes), once & (found.target_hashes != 0)):
        rows = np.flatnonzero(candidates)
        if len(rows) >= count:
            keys = found.source_hashes[rows] ^ np.uint64(_mix(seed))
            return np.sort(rows[np.argsort(_scatter(keys), kind="stable")[:count]])
    raise DataError(
        f"cannot hold out {count} pairs for validation: only {len(rows)} sources occur just once",
        hint="give validation files with --valid-source and --valid-target, or lower data.hold_out",
        code="no_validation",
    )


def _occurs_once(hashes: Hashes) -> NDArray[np.bool_]:
    _, inverse, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    once: NDArray[np.bool_] = (counts[inverse] == 1) & (hashes != 0)
    return once


def _mix(seed: int) -> int:
    return int.from_bytes(blake2b(str(seed).encode(), digest_size=8).digest())


def _scatter(keys: Hashes) -> Hashes:
    """A fixed bijection of 64-bit numbers, so that order says nothing about the key."""
    with np.errstate(over="ignore"):
        keys = (keys ^ (keys >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        return keys ^ (keys >> np.uint64(29))
