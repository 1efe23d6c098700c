"""Every error a user can cause. Each says what is wrong, where, and what to do.

Error
├── ConfigError         a setting or option cannot work                       exit 2
├── LimitError          an input is larger than a stated limit                exit 2
├── DataError           a text file cannot be read or used                    exit 3
├── ModelError          a model folder cannot be read or used                 exit 3
│   └── TokenizerFileError
├── ThresholdError      a stated threshold was not met                        exit 4
└── RunError            failed while running (disk full, diverged, …)         exit 1
"""

from collections.abc import Iterable
from typing import ClassVar


class Error(Exception):
    """Root of everything jumok raises on purpose.

    `message` says what happened, `where` names the file, line or key, `hint` what to try. For programs there
    are `code`, one stable word, and `field`, the path of the value that is wrong (`interventions.0.layer`)
    where a caller gave several: nobody has to read it out of the message.
    """

    exit_code: ClassVar[int] = 1
    default_code: ClassVar[str] = "failed"

    def __init__(
        self, message: str, *, where: str = "", hint: str = "", code: str = "", field: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.where, self.hint, self.field = message, where, hint, field
        self.code = code or self.default_code

    def __str__(self) -> str:
        return "\n  ".join(part for part in (self.message, self.where, self.hint) if part)


class ConfigError(Error, ValueError):
    """The configuration cannot work; the message says what to change."""

    exit_code = 2
    default_code = "bad_config"


class LimitError(Error, ValueError):
    """An input is larger than a stated limit."""

    exit_code = 2
    default_code = "too_large"


class DataError(Error):
    """The data cannot be used; the message names file and line."""

    exit_code = 3
    default_code = "bad_data"


class ModelError(Error):
    """The model folder cannot be used; the message names the file."""

    exit_code = 3
    default_code = "bad_model"


class TokenizerFileError(ModelError):
    """A tokenizer file is damaged, hostile or belongs to another model."""

    default_code = "bad_tokenizer"


class ThresholdError(Error):
    """A threshold that the user stated was not met."""

    exit_code = 4
    default_code = "threshold"


class RunError(Error):
    """Something failed while running."""


def nearest(name: str, names: Iterable[str], otherwise: str = "") -> str:
    """A hint that offers the closest known name; when none is close, `otherwise` or a list of them all."""
    from difflib import get_close_matches  # only an error needs it, and `jumok --help` must not wait

    known = sorted(names)
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else otherwise or f"known: {', '.join(known)}"


def has_torch() -> bool:
    """Whether PyTorch is installed; it is not imported."""
    from importlib.util import find_spec

    return find_spec("torch") is not None


def needs_torch(what: str) -> ConfigError:
    """The error for what a plain install does not have."""
    return ConfigError(f"{what} needs PyTorch", hint="pip install 'jumok[train]'", code="extra_missing")


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, in Python or (worded in its own ways) in torch."""
    said = str(error) if isinstance(error, RuntimeError) else ""
    words = ("not enough memory", "can't allocate memory", "out of memory")
    return isinstance(error, MemoryError) or any(each in said for each in words)
