"""The three small models that come with the package: one of each generation, for a first look at the page.

They read written dates in 20 languages and write ISO dates. `scripts/make_trio.py` trained them.
"""

from pathlib import Path

import jumok
from jumok.config import ARCHS

TRAINED = Path(jumok.__file__).parent / "trained"

EXAMPLES = (
    "1998년 3월 24일 화요일",
    "den 5 mars 2024 kl. 14:30",
    "5. März 2024",
    "1998년 3월 24일 화요일 오후 8시 35분부터 1998년 11월 9일 월요일 오전 7시 12분까지",
)
"""Sentences that show something: a short one, a time, another script, and one too long for a fixed vector."""


def bundled() -> dict[str, Path]:
    """Name and folder of each model."""
    return {arch: TRAINED / arch for arch in ARCHS}
