"""Progress is one callable, and by default a silent one."""

import pytest

from jumok.progress import Progress, silent


def test_silent_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    progress: Progress = silent
    assert progress("reading", 3, 10) is None
    assert progress("reading", 3, None) is None
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")
