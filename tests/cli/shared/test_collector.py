"""The collector rests while a program starts, and not longer."""

import gc

import pytest

from jumok.cli.shared.collector import collector_resting


def test_it_rests_until_the_program_has_started() -> None:
    before = gc.get_freeze_count()
    try:
        with collector_resting() as started:
            assert not gc.isenabled()
            started()
            assert gc.isenabled()
            assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()


def test_it_wakes_when_a_start_fails() -> None:
    with pytest.raises(OSError, match="no port"), collector_resting():
        raise OSError("no port")
    assert gc.isenabled()
