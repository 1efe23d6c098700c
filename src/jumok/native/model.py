"""NativeModel: ids in, answers or log-probabilities out, computed by the C library.

    tensors = {name: tensor.numpy() for name, tensor in state_dict.items()}
    model = NativeModel(config, pack_weights(config, tensors, shared=True))
    [[best]] = model.search([[260, 261]], [32], SearchOptions(beam=5))

Sources and targets are ids without their end, which is added here. Numbers are float32; with type="int8" the
matrices are int8 codes. No answer depends on the other sentences of a call, nor on the number of threads.
"""

import ctypes
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jumok.answers import Answer, NotFiniteError, no_learned_row
from jumok.architectures import AlignHead, ModelConfig
from jumok.config import DecodingConfig
from jumok.edits import Where
from jumok.errors import ConfigError, ModelError, RunError
from jumok.native.draws import DrawArrays, Draws
from jumok.native.library import (
    BAD_ARGUMENT,
    NO_KEY,
    NO_MEMORY,
    NOT_FINITE,
    OK,
    PAST_TABLE,
    STOPPED,
    CAnswers,
    CBatch,
    COptions,
    library,
    thread_count,
)
from jumok.native.phrases import PhraseArrays, PhraseOptions
from jumok.native.record import NOTHING, Probe, Recording, no_key, past_table
from jumok.native.structs import address, c_config, c_tensors
from jumok.native.weights import PackedWeights, Type, layout
from jumok.text.frame import closed
from jumok.text.specials import EOS

MOST_BEAM = 1 << 16  # as in batch.c

Ids = Sequence[int]
Lists = Sequence[Ids] | Sequence[NDArray[np.int32]]
LINE = 512


@dataclass(frozen=True)
class SearchOptions:
    """How a search goes; as in `DecodingConfig`."""

    beam: int = 5
    n_best: int = 1
    length_penalty: float = 1.0
    min_len: int = 0
    keep: int = 0
    """Most answers to each sentence; 0 for as many as the beam is wide."""
    rows: int = 0
    """Most hypotheses that are computed together; 0 lets the library choose."""
    align: AlignHead | None = None
    """The head that says where answers come from; None: no one asks."""
    tags: tuple[int, int] = (0, 0)
    """Tokens of each source that are nobody's words: the first so many, and the last besides the end."""

    @staticmethod
    def of(
        config: DecodingConfig, align: AlignHead | None = None, tags: tuple[int, int] = (0, 0)
    ) -> "SearchOptions":
        """The search of `n_best` answers with different texts: some of a beam may have the same.

        Of draws all are kept.
        """
        beam = config.draws or config.beam
        keep = 1 if config.n_best == 1 and not config.draws else beam
        return SearchOptions(
            beam, config.n_best, config.length_penalty, config.min_len, keep, align=align, tags=tags
        )

    @property
    def kept(self) -> int:
        return min(self.keep or self.beam, self.beam)


class NativeModel:
    """A model in the C library. Nothing in it changes; threads may share it."""

    def __init__(self, config: ModelConfig, parts: Mapping[str, PackedWeights], where: str = "") -> None:
        """A model from its packed parts; a ModelError that names `where` if the library cannot run it."""
        self._handle: int | None = None
        self.config, self.parts = config, dict(parts)
        self.library = library()
        sizes = (parts["source_embedding"].rows, parts["target_embedding"].rows)
        names = [part.name for part in layout(config, *sizes)]
        shape, tensors = c_config(config, *sizes), c_tensors({name: parts[name] for name in names})
        error = ctypes.create_string_buffer(LINE)
        handle = self.library.c.jm_model_new(
            ctypes.byref(shape), tensors, len(tensors), ctypes.cast(error, ctypes.c_char_p), LINE
        )
        if not handle:
            reason = error.value.decode(errors="replace")
            raise ModelError(f"the native engine cannot run this model: {reason}", where=where)
        self._handle = handle

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.library.c.jm_model_free(self._handle)
            self._handle = None

    @property
    def type(self) -> Type:
        """What the matrices are stored in."""
        return self.parts["output"].type

    @property
    def types(self) -> str:
        """The same as people read it."""
        return self.type

    @property
    def table_rows(self) -> int | None:
        """Positions that there is a learned row for; None: any number."""
        return self.config.table_rows

    @property
    def level(self) -> str:
        """Which instructions of the CPU are used."""
        return self.library.level

    def search(  # noqa: PLR0913  most have defaults
        self,
        sources: Sequence[Ids],
        limits: Sequence[int],
        options: SearchOptions,
        *,
        prefixes: Sequence[Ids] | None = None,
        shortlists: Lists | None = None,
        phrases: PhraseOptions | None = None,
        draws: Draws | None = None,
        looker: Probe = NOTHING,
        threads: int | None = None,
    ) -> list[list[Answer]]:
        """The answers to each sentence, best first.

        `limits[i]` is the most tokens of answer i, its end included; `prefixes[i]` are the tokens that it
        begins with; `shortlists[i]` the only target ids it may use, ascending; `phrases` says what it must
        and must not contain, and how many hypotheses are kept for it, at most `options.beam`; with `draws`
        so many answers are drawn; `looker` looks inside: a tree is of one sentence, and of draws there is
        neither tree nor recording. Raises NotFiniteError, LookupError past a learned table, and ValueError
        for ids that it does not have, and for a row of attention that edits leave no key.
        """
        if not sources:
            return []
        ids, offsets = joined(list(map(closed, sources)))
        bound = np.array(limits, dtype=np.int32)
        check_sizes(len(sources), bound, options.beam, (prefixes, shortlists))
        batch = CBatch(count=len(sources), ids=address(ids), offsets=address(offsets), limits=address(bound))
        held = []
        for name, given in (("prefix", prefixes), ("shortlist", shortlists)):
            if given is not None:
                held.append(joined(given))
                setattr(batch, name, address(held[-1][0]))
                setattr(batch, f"{name}_offsets", address(held[-1][1]))
        arrays = None if phrases is None else PhraseArrays(phrases)
        if arrays is not None:
            batch.phrases = ctypes.addressof(arrays.c)
        drawn = None if draws is None else DrawArrays(draws, options.beam, bound)
        if drawn is not None:
            batch.draws = ctypes.addressof(drawn.c)
        changed = looker.put(batch, self.config, offsets, int(bound.max()))
        keep = options.kept
        room = int(bound.sum()) * keep
        found = SearchArrays.of(room, len(sources) * keep, aligned=options.align is not None)
        answers = found.in_c()
        asked = c_options(options, threads or thread_count())
        bad = ctypes.c_int32(-1)
        code = self.library.c.jm_search(
            self._handle, ctypes.byref(batch), ctypes.byref(asked), ctypes.byref(answers), ctypes.byref(bad)
        )
        self._check(code, bad.value, sources, looker)
        del changed  # it had to live until now
        return unpacked(bound, keep, found, [len(source) for source in sources])

    def score(
        self, sources: Sequence[Ids], targets: Sequence[Ids], *, threads: int | None = None
    ) -> list[list[float]]:
        """log P of each target token and of the end, given the source. Raises as `search` does."""
        found = self.force(sources, [(*target, EOS) for target in targets], threads=threads)
        return [log_probs.tolist() for log_probs in found]

    def force(
        self,
        sources: Sequence[Ids],
        targets: Sequence[Ids],
        *,
        looker: Probe = NOTHING,
        threads: int | None = None,
    ) -> list[NDArray[np.float32]]:
        """log P of each of these tokens, at least one each; a `looker` may record a pass of their sizes."""
        if len(sources) != len(targets):
            raise ValueError(f"there are {len(sources)} sources and {len(targets)} targets")
        if not sources:
            return []
        ids, offsets = joined(list(map(closed, sources)))
        right, places = joined(targets)
        batch = CBatch(count=len(sources), ids=address(ids), offsets=address(offsets))
        longest = int(np.diff(places).max())
        changed = looker.put(batch, self.config, offsets, longest)
        log_probs, bad = np.zeros(len(right), np.float32), ctypes.c_int32(-1)
        code = self.library.c.jm_score(
            self._handle,
            ctypes.byref(batch),
            address(right),
            address(places),
            threads or thread_count(),
            address(log_probs),
            ctypes.byref(bad),
        )
        self._check(code, bad.value, sources, looker)
        del changed  # it had to live until now
        return np.split(log_probs, places[1:-1])

    def recording(
        self,
        sources: Sequence[Ids],
        rooms: Sequence[int],
        *,
        steps: bool = True,
        stages: Collection[Where] = (),
    ) -> Recording:
        """Room for what the model computes while it reads each source and writes up to so many tokens."""
        sizes = [(len(closed(source)), room) for source, room in zip(sources, rooms, strict=True)]
        return Recording(self.library.c, self._handle, self.config, sizes, steps=steps, stages=stages)

    def _check(self, code: int, bad: int, sources: Sequence[Ids], looker: Probe) -> None:
        """What went wrong, as an exception."""
        edits = looker.edits
        if code == OK:
            return
        if code == STOPPED and looker.watch is not None:
            looker.watch.end()
        if code == NOT_FINITE:
            raise NotFiniteError(bad)
        if code == PAST_TABLE and (rows := self.table_rows):
            raise no_learned_row(past_table(edits, len(closed(sources[bad])), rows), rows)
        if code == NO_KEY and edits is not None:
            raise no_key(edits, len(closed(sources[bad])))
        if code == NO_MEMORY:
            raise RunError(
                "there is not enough memory for these sentences",
                hint="translate shorter texts or fewer at a time, or choose a smaller beam",
                code="no_memory",
            )
        if code == BAD_ARGUMENT:
            raise ValueError(f"the native engine cannot search sentence {bad}: an id or a length is wrong")
        raise RuntimeError(f"the native engine gave code {code}, which has no meaning")


def check_sizes(
    count: int, limits: NDArray[np.int32], beam: int, lists: Sequence[Sequence[object] | None]
) -> None:
    """Refuse what does not fit the sources of a search."""
    if len(limits) != count or (limits < 1).any():
        raise ValueError("every sentence needs a limit of 1 token or more")
    for given in lists:
        if given is not None and len(given) != count:
            raise ValueError(f"there are {len(given)} prefixes or shortlists for {count} sentences")
    if beam > MOST_BEAM:
        raise ConfigError(
            f"a beam of {beam:,} is more than the native engine's {MOST_BEAM:,}",
            hint="choose a smaller beam; 5 is usual",
        )


def c_options(options: SearchOptions, threads: int) -> COptions:
    asked = options.align
    return COptions(
        beam=options.beam,
        n_best=options.n_best,
        keep=options.kept,
        min_len=options.min_len,
        threads=threads,
        rows=options.rows,
        length_penalty=options.length_penalty,
        align=0 if asked is None else asked.layer + 1,
        align_head=0 if asked is None or asked.head is None else asked.head + 1,
        align_after=asked is not None and asked.after,
        align_before=options.tags[0],
        align_behind=options.tags[1],
    )


def joined(lists: Lists) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Lists of ids end to end, and where each begins; the last offset is the end of all."""
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(ids) for ids in lists], out=offsets[1:])
    if lists and isinstance(lists[0], np.ndarray):
        return np.concatenate(lists, dtype=np.int32), offsets
    every: Iterable[int] = (i for ids in lists for i in ids)
    return np.fromiter(every, dtype=np.int32, count=int(offsets[-1])), offsets


@dataclass(frozen=True)
class SearchArrays:
    """What the library writes to; `places` and `looks` are empty where no alignment is asked for."""

    tokens: NDArray[np.int32]
    log_probs: NDArray[np.float32]
    lengths: NDArray[np.int32]
    finished: NDArray[np.int32]
    places: NDArray[np.int32]
    looks: NDArray[np.float32]

    @staticmethod
    def of(room: int, answers: int, *, aligned: bool) -> "SearchArrays":
        """Room for so many tokens of so many answers."""
        return SearchArrays(
            np.zeros(room, np.int32),
            np.zeros(room, np.float32),
            np.full(answers, -1, np.int32),
            np.zeros(answers, np.int32),
            np.zeros(room * aligned, np.int32),
            np.zeros(room * aligned, np.float32),
        )

    def in_c(self) -> CAnswers:
        """Their addresses: they must live on."""
        own = (self.tokens, self.log_probs, self.lengths, self.finished)
        more = (self.places, self.looks) if len(self.places) else ()
        return CAnswers(*map(address, (*own, *more)))

    def alignment(self, begin: int, end: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Where the tokens in these places looked, and with which weight; nothing where no one asked."""
        return tuple(self.places[begin:end].tolist()), tuple(self.looks[begin:end].tolist())


def unpacked(
    limits: NDArray[np.int32], keep: int, found: SearchArrays, sources: Sequence[int]
) -> list[list[Answer]]:
    """The answers of each sentence from the arrays of jumok.h; a source of no tokens aligns with nothing."""
    answers: list[list[Answer]] = []
    place = 0
    for i, limit in enumerate(limits.tolist()):
        mine: list[Answer] = []
        for a in range(keep):
            length, ended = int(found.lengths[i * keep + a]), bool(found.finished[i * keep + a])
            if length >= 0:
                end = place + length - ended
                ids, log_probs = found.tokens[place:end], found.log_probs[place : place + length]
                where = found.alignment(place, end) if sources[i] else ((), ())
                mine.append(Answer(tuple(ids.tolist()), tuple(log_probs.tolist()), ended, *where))
            place += limit
        answers.append(mine)
    return answers
