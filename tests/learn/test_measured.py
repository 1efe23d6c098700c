"""Measured numbers in the chapters of the book are those of the stored readings."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_chapter_on_teacher_forcing_says_what_was_measured(language: str) -> None:
    """Shares of dates that are right but for the digit that was put in: benchmarks/free_running.py."""
    readings = json.loads((ROOT / "benchmarks" / "free_running.json").read_text(encoding="utf-8"))
    path = ROOT / "web" / "src" / "learn" / "chapters" / "teacher-forcing.json"
    blocks = json.loads(path.read_text(encoding="utf-8"))[language]["blocks"]
    [sentence] = [block["text"] for block in blocks if str(readings["dates"]) in block["text"]]
    models = readings["models"]
    shares = [f"{100 * models[arch]['digit_share']:.0f}\u00a0%" for arch in ("rnn", "luong", "transformer")]
    places = [sentence.index(share) for share in shares]
    assert places == sorted(places)
