"""The children of an experiment, forked from a process that has torch already: a start costs two seconds.

`tests/cli/test_compare.py` starts real ones, too.
"""

import os
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import IO, Any

import pytest

from jumok.comparison import conduct
from tests.processes import start


class ForkedChild:
    """What an experiment knows of a `subprocess.Popen` with pipes for its input and output."""

    def __init__(self, command: list[str], stdin: int, stdout: int, stderr: IO[bytes]) -> None:
        assert (stdin, stdout) == (PIPES.PIPE, PIPES.PIPE)
        (its_input, inwards), (outwards, its_output) = os.pipe(), os.pipe()
        streams = [Connection(one) for one in (its_input, its_output, os.dup(stderr.fileno()))]
        self.process = start(be_child, command[-1], *streams)
        for one in streams:
            one.close()
        self.stdin, self.stdout = os.fdopen(inwards, "wb"), os.fdopen(outwards, "rb")

    def wait(self) -> int:
        self.process.join()
        assert self.process.exitcode is not None
        return self.process.exitcode

    def kill(self) -> None:
        self.process.kill()

    def __enter__(self) -> "ForkedChild":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.stdin.close()
        self.stdout.close()
        self.wait()


PIPES = SimpleNamespace(Popen=ForkedChild, PIPE=-1)


def be_child(folder: str, *streams: Any) -> None:
    """The child's program, with these streams."""
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
    sys.stdin = os.fdopen(0)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, encoding="utf-8") for number in (1, 2))
    sys.exit(conduct.child_main(Path(folder)))


@pytest.fixture
def forked_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """During a test."""
    monkeypatch.setattr(conduct, "subprocess", PIPES)
