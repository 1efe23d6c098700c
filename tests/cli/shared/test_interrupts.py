"""Signals in processes of their own: what is said, in which order, and that every wait has an end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from jumok.cli.shared.interrupts import interruptible

FINISHING = "{}: finishing the step and saving, {} at most; once more ends at once\n"
SCRIPT = """
import ctypes, signal, sys, threading, time
from jumok.cli.shared import interrupts
from jumok.cli.shared.interrupts import interruptible

if sys.argv[1] in ("stuck", "held"):  # they will not end in good order: the test need not wait for it
    interrupts.LAST = 0.2
begun = sys.argv[1] != "early"
with interruptible(lambda: "ended at step 7", grace=float(sys.argv[2]), begun=lambda: begun) as got:
    if sys.argv[1] == "stuck":  # in C, where Python calls no handler; the other thread gets the signal
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    print("ready", file=sys.stderr, flush=True)
    if sys.argv[1] == "stuck":
        ctypes.CDLL(None).sleep(600)
    if sys.argv[1] == "held":  # an exit waits for other threads
        threading.Thread(target=time.sleep, args=(600,)).start()
    while sys.argv[1] in ("deaf", "held", "early") or not got:
        time.sleep(0.01)
print("saved", file=sys.stderr, flush=True)
sys.exit(128 + got[0])
"""


@contextmanager
def started(kind: str, grace: float) -> "Iterator[subprocess.Popen[str]]":
    """A process that is ready to be interrupted."""
    words = [sys.executable, "-c", SCRIPT, kind, str(grace)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stderr is not None
    return process.stderr.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_is_told_and_then_obeyed(number: signal.Signals) -> None:
    with started("obedient", 600) as process:
        process.send_signal(number)
        assert said(process) == FINISHING.format(number.name, "10m00s")
        assert said(process) == "saved\n"
        assert process.wait(60) == 128 + number


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_before_the_work_has_begun_one_signal_ends_it(number: signal.Signals) -> None:
    """There is no step to finish, and nothing to save."""
    with started("early", 600) as process:
        process.send_signal(number)
        assert said(process) == f"{number.name}: ended at step 7\n"
        assert process.wait(60) == 128 + number
        assert said(process) == ""


@pytest.mark.parametrize("kind", ["deaf", "stuck", "held"])
def test_a_second_signal_ends_what_does_not_listen(kind: str) -> None:
    """Also where Python does not come to its turn at all."""
    with started(kind, 600) as process:
        process.send_signal(signal.SIGTERM)
        assert said(process) == FINISHING.format("SIGTERM", "10m00s")  # told although nobody listens
        process.send_signal(signal.SIGTERM)
        assert said(process) == "ended at step 7\n"
        assert process.wait(60) == 128 + signal.SIGTERM
        assert said(process) == ""


@pytest.mark.parametrize("kind", ["deaf", "stuck", "held"])
def test_the_wait_has_an_end(kind: str) -> None:
    with started(kind, 0.3) as process:
        process.send_signal(signal.SIGTERM)
        assert [said(process), said(process)] == [FINISHING.format("SIGTERM", "0s"), "ended at step 7\n"]
        assert process.wait(60) == 128 + signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_handlers_are_put_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with interruptible(speaks=False) as flag:
        os.kill(os.getpid(), number)
        assert flag == [number]
    assert signal.getsignal(number) is before
    assert signal.set_wakeup_fd(-1) == -1
