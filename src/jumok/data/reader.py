"""One pass over a corpus: what the plan needs to know, and which pairs validation may have."""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from jumok.data.corpus import Corpus, Pair
from jumok.data.pictures import PictureCorpus
from jumok.errors import DataError
from jumok.progress import Progress, silent
from jumok.text.normalize import tidy

FEWEST_PAIRS = 20
KEPT = 1 << 26  # bytes, about, of text that stay in memory, so that it need not be read again
PAIR = 160  # bytes that two strings and their pair have besides their characters
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Survey:
    """A corpus in figures. Hashes stand for the tidied texts; 0 marks a blank side."""

    pairs: int
    source_characters: int
    target_characters: int
    source_words: int
    target_words: int
    longest: int  # characters of the longer side that 99 % of the pairs stay within
    source_hashes: Hashes  # (pairs,)
    target_hashes: Hashes  # (pairs,)
    texts: list[Pair] | None = None  # the tidied pairs, unless they are too large to keep

    @property
    def usable(self) -> int:
        """Pairs with text on both sides."""
        return int(((self.source_hashes != 0) & (self.target_hashes != 0)).sum())

    @property
    def words(self) -> int:
        """Words of both sides; where a script writes no spaces, eight characters count as one."""
        characters = self.source_characters + self.target_characters
        return max(self.source_words + self.target_words, characters // 8)


def text_hash(text: str) -> int:
    """64 bits that stand for a text; never 0 for a text that is not blank."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) | 1 if text else 0


def survey(corpus: Corpus, progress: Progress = silent, total: int | None = None) -> Survey:
    """Read the corpus once. Memory: 20 bytes a pair, and the texts of a small corpus."""
    texts: list[Pair] | None = []
    sources, targets, lengths = bytearray(), bytearray(), bytearray()
    characters, words, count = [0, 0], [0, 0], 0
    pictures = isinstance(corpus, PictureCorpus)
    for source, target in corpus.pairs():
        source, target = source if pictures else tidy(source), tidy(target)
        sources += text_hash(source).to_bytes(8, "little")
        targets += text_hash(target).to_bytes(8, "little")
        texts_of = ("", target) if pictures else (source, target)  # the name of a picture is no text
        lengths += min(max(map(len, texts_of)), 2**31).to_bytes(4, "little")
        for side, text in enumerate(texts_of):
            characters[side] += len(text)
            words[side] += text.count(" ") + 1 if text else 0
        count += 1
        if texts is not None:
            texts.append((source, target))
            texts = texts if sum(characters) + count * PAIR <= KEPT else None
        if count % 20_000 == 0:
            progress("reading", count, total)
    progress("reading", count, count)
    if count == 0:
        raise DataError(f"{corpus.name} is empty", hint="give files with one sentence per line", code="empty")
    return Survey(
        pairs=count,
        source_characters=characters[0],
        target_characters=characters[1],
        source_words=words[0],
        target_words=words[1],
        longest=int(np.quantile(np.frombuffer(lengths, dtype="<u4"), 0.99)),
        source_hashes=np.frombuffer(sources, dtype="<u8"),
        target_hashes=np.frombuffer(targets, dtype="<u8"),
        texts=texts,
    )


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
