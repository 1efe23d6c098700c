"""Sequence-to-sequence models that people can train, see inside and ship."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from jumok.errors import ConfigError, DataError, Error, LimitError, ModelError, RunError

if TYPE_CHECKING:
    from jumok.decoding.translator import Translation, Translator, load
    from jumok.evaluation.evaluate import Evaluation, evaluate
    from jumok.run.train import TrainedRun, train

__version__ = "0.1.0"

__all__ = [
    "ConfigError",
    "DataError",
    "Error",
    "Evaluation",
    "LimitError",
    "ModelError",
    "RunError",
    "TrainedRun",
    "Translation",
    "Translator",
    "__version__",
    "evaluate",
    "load",
    "train",
]

# Names that need torch are imported on first use, so that `jumok --help` never waits for it.
_HOMES = {
    "Evaluation": "jumok.evaluation.evaluate",
    "TrainedRun": "jumok.run.train",
    "Translation": "jumok.decoding.translator",
    "Translator": "jumok.decoding.translator",
    "evaluate": "jumok.evaluation.evaluate",
    "load": "jumok.decoding.translator",
    "train": "jumok.run.train",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'jumok' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
