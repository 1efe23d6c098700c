"""jumok.check: the words of jumok.train, the findings of jumok check."""

from pathlib import Path

import pytest

import jumok


def test_it_looks_at_what_train_would_read(tmp_path: Path) -> None:
    texts = {
        "a": "".join(f"one {n}\n" for n in range(40)),
        "b": "".join(f"eins {n}\n" for n in range(39)) + "\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    report = jumok.check(tmp_path / "a", tmp_path / "b")
    kinds = {finding.kind: finding.count for finding in report.findings}
    assert "leak_valid" not in kinds
    assert sum(kinds.values()) >= 1
    assert any(40 in finding.lines for finding in report.findings)  # the blank target
    both = jumok.check(
        tmp_path / "a", tmp_path / "b", valid_source=tmp_path / "a", valid_target=tmp_path / "b"
    )
    assert len(both.parts) == 2
    assert len(both.findings) > len(report.findings)  # every validation pair is a training pair


def test_a_set_that_comes_with_the_package() -> None:
    assert not jumok.check(data="dates").has_errors


def test_there_must_be_something_to_look_at() -> None:
    with pytest.raises(jumok.ConfigError, match="there is no data to learn from"):
        jumok.check()
    with pytest.raises(jumok.DataError, match="missing.en"):
        jumok.check("missing.en", "missing.de")
