"""The three small models that come with the package, one of each generation, and their names.

They read written dates in 20 languages and write ISO dates. `scripts/make_trio.py` trained them.
"""

from pathlib import Path

import jumok
from jumok.config import ARCHS

TRAINED = Path(jumok.__file__).parent / "trained"
RECORDS = TRAINED / "runs"
"""How they were trained and how good they are, as run folders without checkpoints."""

EXAMPLES = (
    "1998년 3월 24일 화요일",
    "den 5 mars 2024 kl. 14:30",
    "5. März 2024",
    "1998년 3월 24일 화요일 오후 8시 35분부터 1998년 11월 9일 월요일 오전 7시 12분까지",
)
"""Sentences that show something: a short one, a time, another script, and one too long for a fixed vector."""


def bundled() -> dict[str, Path]:
    """The folder of each model by its architecture."""
    return {arch: TRAINED / arch for arch in ARCHS}


def bundled_names() -> dict[str, Path]:
    """The folder of each model by the name it has wherever a model is asked for: `demo/rnn` and so on."""
    return {f"demo/{arch}": folder for arch, folder in bundled().items()}


def named_folder(path: Path) -> Path:
    """The folder that a path means: itself, or a bundled model if there is no such folder but such a name."""
    return path if path.exists() else bundled_names().get(path.as_posix(), path)
