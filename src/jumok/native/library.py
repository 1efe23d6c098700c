"""The C library through ctypes: where it is, what it is called with, and which instructions it uses.

`c/jumok.h` says what each structure and function means; the classes here have the same fields in the same
order. JUMOK_NATIVE_LIBRARY in the environment names another file, JUMOK_NATIVE_LEVEL forces a level.
"""

import ctypes
import os
import sys
from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_void_p,
)
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jumok.errors import ConfigError
from jumok.native.build import source_mark

LEVELS = ("portable", "avx2", "avx512", "vnni", "neon")
"""What the kernels are written for, by the numbers of kernels.h."""
PATH, LEVEL = "JUMOK_NATIVE_LIBRARY", "JUMOK_NATIVE_LEVEL"
F32, I8 = 0, 1
OK, NOT_FINITE, PAST_TABLE, NO_MEMORY, BAD_ARGUMENT, NO_KEY, STOPPED = range(7)

Ints = POINTER(c_int32)


class CTensor(Structure):
    """A named matrix, packed, or a vector."""

    _fields_ = (
        ("name", c_char_p),
        ("type", c_int32),
        ("rows", c_int32),
        ("columns", c_int32),
        ("data", c_void_p),
        ("scale", c_void_p),
        ("bias", c_void_p),
    )


class CConfig(Structure):
    """The shape of a model."""

    _fields_ = (
        *((name, c_int32) for name in ("arch", "width", "heads", "feedforward")),
        *((name, c_int32) for name in ("encoder_layers", "decoder_layers", "source_vocab", "target_vocab")),
        *((name, c_int32) for name in ("norm", "residual", "scaled", "positions", "max_positions")),
        *((name, c_int32) for name in ("cell", "bidirectional", "score", "input_feeding")),
        *((name, c_int32) for name in ("activation", "gated", "rms_norm", "head_width")),
        *((name, c_int32) for name in ("embedding_norm", "logits_bias", "buckets", "max_distance")),
        ("norm_epsilon", c_float),
        ("embedding_scale", c_float),
    )


class CBatch(Structure):
    """Sources end to end, and what is asked for each."""

    _fields_ = (
        ("count", c_int32),
        ("ids", c_void_p),
        ("offsets", c_void_p),
        ("limits", c_void_p),
        ("prefix", c_void_p),
        ("prefix_offsets", c_void_p),
        ("shortlist", c_void_p),
        ("shortlist_offsets", c_void_p),
        ("phrases", c_void_p),
        ("edits", c_void_p),
        ("recording", c_void_p),
        ("tree", c_void_p),
        ("draws", c_void_p),
        ("watch", c_void_p),
    )


class CAttentionEdit(Structure):
    """What is changed in one attention layer."""

    _fields_ = (
        *((name, c_int32) for name in ("kind", "layer", "no_scale")),
        ("factors", c_void_p),
        ("uniform", c_void_p),
        ("cuts", c_int32),
        ("cells", c_int32),
        *((name, c_void_p) for name in ("cut", "cell", "weight")),
    )


class CEdits(Structure):
    """All that is changed inside a model."""

    _fields_ = (
        ("count", c_int32),
        ("attention", c_void_p),
        ("no_source_positions", c_int32),
        ("no_target_positions", c_int32),
        ("source_positions", c_void_p),
        ("target_positions", c_void_p),
        ("target_count", c_int32),
        ("bridge", c_void_p),
    )


class CRecording(Structure):
    """What is kept of a pass, and where."""

    _fields_ = (("keep", c_int32), *((name, c_void_p) for name in ("stages", "data", "places")))


class CTree(Structure):
    """Where the steps of a beam search are written to."""

    _fields_ = (
        ("room", c_int64),
        ("count", c_int64),
        *((name, c_void_p) for name in ("step", "row", "token", "place", "log_prob")),
    )


class CPhrases(Structure):
    """Phrases that answers must contain, and texts that they must not."""

    _fields_ = (
        *((name, c_int64) for name in ("phrase_count", "spelling_count", "text_count")),
        *((name, c_void_p) for name in ("first", "flags", "spellings", "ids", "id_offsets", "text_of")),
        *((name, c_void_p) for name in ("texts", "text_offsets", "pieces", "piece_offsets", "widths")),
        ("enough", c_int32),
        ("bans", c_int32),
        ("soft", c_double),
    )


class COptions(Structure):
    """How a search goes."""

    _fields_ = (
        *((name, c_int32) for name in ("beam", "n_best", "keep", "min_len", "threads", "rows")),
        ("length_penalty", c_double),
        ("align", c_int32),
        ("align_head", c_int32),
        ("align_after", c_int32),
        ("align_before", c_int32),
        ("align_behind", c_int32),
    )


class CAnswers(Structure):
    """Where the answers are written to."""

    _fields_ = tuple(
        (name, c_void_p) for name in ("tokens", "log_probs", "lengths", "finished", "places", "looks")
    )


FUNCTIONS = {
    "jm_version": (c_char_p, []),
    "jm_level": (c_int, []),
    "jm_set_level": (c_int, [c_int]),
    "jm_levels": (c_int, []),
    "jm_packed_f32": (c_size_t, [c_int32, c_int32]),
    "jm_packed_i8": (c_size_t, [c_int32, c_int32]),
    "jm_pack_f32": (c_int, [c_void_p, c_int32, c_int32, c_void_p]),
    "jm_pack_i8": (c_int, [c_void_p, c_int32, c_int32, c_void_p, c_void_p]),
    "jm_unpack_i8": (c_int, [c_void_p, c_void_p, c_int32, c_int32, c_void_p]),
    "jm_model_new": (c_void_p, [POINTER(CConfig), POINTER(CTensor), c_int32, c_char_p, c_int32]),
    "jm_model_free": (None, [c_void_p]),
    "jm_model_join": (c_void_p, [c_void_p, c_void_p, c_int32, c_int32]),
    "jm_record_at": (c_int64, [c_void_p, POINTER(CRecording), *[c_int32] * 5]),
    "jm_attentions": (c_int32, [c_void_p]),
    "jm_search": (c_int, [c_void_p, POINTER(CBatch), POINTER(COptions), POINTER(CAnswers), Ints]),
    "jm_score": (c_int, [c_void_p, POINTER(CBatch), c_void_p, c_void_p, c_int32, c_void_p, Ints]),
}


@dataclass(frozen=True)
class Library:
    """The loaded library; `c` has its functions."""

    c: ctypes.CDLL
    path: Path

    @property
    def level(self) -> str:
        """The instructions in use."""
        return LEVELS[self.c.jm_level()]

    @property
    def levels(self) -> tuple[str, ...]:
        """The instructions that this CPU and this build have."""
        mask = self.c.jm_levels()
        return tuple(name for number, name in enumerate(LEVELS) if mask >> number & 1)

    @property
    def version(self) -> str:
        return str(self.c.jm_version().decode())

    def use(self, level: str) -> None:
        """Compute with these instructions from now on; a ConfigError if they are not to be had."""
        if level not in LEVELS:
            raise ConfigError(f"{LEVEL}={level} is unknown", hint=f"choose one of {', '.join(LEVELS)}")
        if self.c.jm_set_level(LEVELS.index(level)):
            raise ConfigError(
                f"{LEVEL}={level}: this CPU or this build does not have it",
                hint=f"it has {', '.join(self.levels)}",
            )


def library() -> Library:
    """The library; a ConfigError that says what is missing where there is none."""
    try:
        return _prepared(str(library_path()), os.environ.get(LEVEL, ""))
    except OSError:
        raise ConfigError(
            f"the native engine is not there: {why_not()}", hint="choose --engine torch", code="no_native"
        ) from None


def available() -> bool:
    """Whether there is a library that can be used; a forced level that cannot be is a ConfigError."""
    return not why_not()


def why_not() -> str:
    """Why there is no library, in one line; "" if there is one."""
    path = library_path()
    if not path.is_file():
        if PATH in os.environ:
            return f"{PATH}={path} is no file"
        return "its C library was not built; with a C compiler there, run python -m jumok.native.build"
    try:
        _prepared(str(path), os.environ.get(LEVEL, ""))
    except OSError as error:
        return f"{path.name} cannot be loaded: {_reason(path, str(error).splitlines()[0])}"
    return ""


def _reason(path: Path, said: str) -> str:
    """What the system said about a file that is there. One for another processor glibc calls missing."""
    missing = said.startswith(f"{path}: cannot open shared object file")
    if missing or any(
        sign in said for sign in ("wrong ELF class", "incompatible architecture", "WinError 193")
    ):
        return "it is built for another machine; install the wheel for this one"
    return said[:200]


def library_path() -> Path:
    """Where the library is, or should be."""
    if named := os.environ.get(PATH):
        return Path(named)
    ending = {"win32": "dll", "darwin": "dylib"}.get(sys.platform, "so")
    return Path(__file__).with_name(f"libjumok.{ending}")


def level_forced() -> bool:
    """Whether the environment says which instructions are used."""
    return bool(os.environ.get(LEVEL))


def thread_count() -> int:
    """Threads to use: OMP_NUM_THREADS if it says, else the cores that this process may run on."""
    said = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if said.isdigit() and int(said) > 0:
        return int(said)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return cores or 1


@lru_cache(maxsize=1)  # of the last environment: a level is set once, and again only when that changes
def _prepared(path: str, level: str) -> Library:
    library = Library(_open(path), Path(path))
    if level:
        library.use(level)
    else:
        library.c.jm_set_level(_best_level(path))
    return library


@lru_cache
def _best_level(path: str) -> int:
    """The level that the library chose by itself when it was loaded."""
    return int(_open(path).jm_level())


@lru_cache
def _open(path: str) -> ctypes.CDLL:
    """OSError if it is no library, or one without our functions."""
    c = ctypes.CDLL(path)
    for name, (result, arguments) in FUNCTIONS.items():
        try:
            function = getattr(c, name)
        except AttributeError:
            raise OSError(f"it has no function {name}: it is of another version") from None
        function.restype, function.argtypes = result, arguments
    if c.jm_version().decode() != source_mark():
        raise OSError("it is of other source than this jumok; run python -m jumok.native.build")
    return c
