"""Progress is one callable, and by default a silent one."""

import pytest

from jumok.progress import Progress, counted, duration, silent


def test_silent_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    progress: Progress = silent
    assert progress("reading", 3, 10) is None
    assert progress("reading", 3, None) is None
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.4, "0s"),
        (41, "41s"),
        (59.4, "59s"),
        (59.6, "1m00s"),
        (662, "11m02s"),
        (3599.7, "1h00m"),
        (11_100, "3h05m"),
        (100_000, "27h46m"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_counts() -> None:
    assert [counted(n, "line") for n in (0, 1, 2000)] == ["0 lines", "1 line", "2,000 lines"]
