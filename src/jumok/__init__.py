"""Sequence-to-sequence models that people can train, see inside and ship."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from jumok.errors import ConfigError, DataError, Error, LimitError, ModelError, RunError

if TYPE_CHECKING:
    from jumok.checkpoint.averaging import average_models
    from jumok.checkpoint.manifest import verify
    from jumok.comparison.compare import ComparisonReport, compare
    from jumok.decoding.results import Translation
    from jumok.decoding.translator import Translator
    from jumok.documents.report import DocumentReport
    from jumok.documents.translate import translate_document
    from jumok.evaluation.calibrate import calibrate
    from jumok.evaluation.evaluate import Evaluation, evaluate
    from jumok.explain.ops import (
        ban,
        bridge,
        force_prefix,
        mask_edge,
        mask_head,
        no_positions,
        no_scale,
        positions,
        replace_source,
        require,
        scale_head,
        set_row,
        uniform,
    )
    from jumok.explain.side_by_side import SideBySide, side_by_side
    from jumok.explain.trace import Trace, open_trace
    from jumok.export.model import export_model
    from jumok.importing.model import import_model
    from jumok.model import Model, load
    from jumok.run.check import check
    from jumok.run.train import TrainedRun, train

__version__ = "0.1.0"

__all__ = [
    "ComparisonReport",
    "ConfigError",
    "DataError",
    "DocumentReport",
    "Error",
    "Evaluation",
    "LimitError",
    "Model",
    "ModelError",
    "RunError",
    "SideBySide",
    "Trace",
    "TrainedRun",
    "Translation",
    "Translator",
    "__version__",
    "average_models",
    "ban",
    "bridge",
    "calibrate",
    "check",
    "compare",
    "evaluate",
    "export_model",
    "force_prefix",
    "import_model",
    "load",
    "mask_edge",
    "mask_head",
    "no_positions",
    "no_scale",
    "open_trace",
    "positions",
    "replace_source",
    "require",
    "scale_head",
    "set_row",
    "side_by_side",
    "train",
    "translate_document",
    "uniform",
    "verify",
]

# Names are imported on first use: `jumok --help` waits for none of them, and some need torch.
_HOMES = {
    "ComparisonReport": "jumok.comparison.compare",
    "DocumentReport": "jumok.documents.report",
    "Evaluation": "jumok.evaluation.evaluate",
    "Model": "jumok.model",
    "SideBySide": "jumok.explain.side_by_side",
    "Trace": "jumok.explain.trace",
    "TrainedRun": "jumok.run.train",
    "Translation": "jumok.decoding.results",
    "Translator": "jumok.decoding.translator",
    "average_models": "jumok.checkpoint.averaging",
    "calibrate": "jumok.evaluation.calibrate",
    "check": "jumok.run.check",
    "compare": "jumok.comparison.compare",
    "evaluate": "jumok.evaluation.evaluate",
    "export_model": "jumok.export.model",
    "import_model": "jumok.importing.model",
    "load": "jumok.model",
    "open_trace": "jumok.explain.trace",
    "side_by_side": "jumok.explain.side_by_side",
    "train": "jumok.run.train",
    "translate_document": "jumok.documents.translate",
    "verify": "jumok.checkpoint.manifest",
}


def __getattr__(name: str) -> Any:
    if name in __all__:  # what has no other home is an intervention
        try:
            return getattr(import_module(_HOMES.get(name, "jumok.explain.ops")), name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
        raise import_module("jumok.errors").needs_torch(f"jumok.{name}")
    raise AttributeError(f"module 'jumok' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
