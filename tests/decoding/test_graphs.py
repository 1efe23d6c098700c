import logging
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from jumok.decoding.graphs import Graphs


@pytest.mark.skipif(torch.cuda.is_available(), reason="here a capture works")
def test_where_nothing_can_be_captured_the_work_is_done_with_one_notice(
    caplog: pytest.LogCaptureFixture,
) -> None:
    graphs, done = Graphs(), list[str]()
    with caplog.at_level(logging.WARNING, "jumok"):
        for key in ("a", "a", "a", "b", "b"):
            graphs.run(key, lambda key=key: done.append(key))  # type: ignore[misc]
    assert done == ["a", "a", "a", "b", "b"]
    (record,) = caplog.records
    assert record.getMessage().startswith("a CUDA graph cannot be captured here (")
    assert graphs.off
    assert len(graphs) == 0
    graphs.clear()
    assert graphs.off  # it would fail again


class TapeGraph:
    """What stands for a CUDA graph: it notes when it is recorded and when it is played."""

    def __init__(self, tape: list[str]) -> None:
        self.tape = tape

    def capture_begin(self, **how: object) -> None:
        self.tape.append("begin")

    def capture_end(self) -> None:
        self.tape.append("end")

    def replay(self) -> None:
        self.tape.append("replay")


def test_what_was_captured_is_played_from_the_second_time_on(monkeypatch: pytest.MonkeyPatch) -> None:
    tape = list[str]()
    stream = SimpleNamespace(wait_stream=lambda other: None)
    monkeypatch.setattr("torch.cuda.CUDAGraph", lambda: TapeGraph(tape))
    monkeypatch.setattr("torch.cuda.graph_pool_handle", lambda: "pool")
    for name in ("Stream", "current_stream"):
        monkeypatch.setattr(f"torch.cuda.{name}", lambda: stream)
    monkeypatch.setattr("torch.cuda.stream", nullcontext)
    graphs = Graphs()
    for _ in range(3):
        graphs.run("add", lambda: tape.append("work"))
    assert tape == ["work", "begin", "work", "end", "replay", "replay"]
    assert len(graphs) == 1


@pytest.mark.gpu
def test_work_is_captured_the_second_time_and_repeated_from_then_on() -> None:
    graphs, x, calls = Graphs(), torch.zeros(1, device="cuda"), list[int]()

    def work() -> None:
        calls.append(1)
        x.add_(1)

    for _ in range(5):
        graphs.run("add", work)
    assert x.item() == 5
    assert len(calls) == 2  # done once, recorded once
    assert len(graphs) == 1


@pytest.mark.gpu
def test_work_that_asks_the_device_is_not_captured(caplog: pytest.LogCaptureFixture) -> None:
    graphs, x = Graphs(), torch.zeros(1, device="cuda")

    def work() -> None:
        x.add_(1)
        x.item()

    for _ in range(3):
        graphs.run("ask", work)
    assert x.item() == 3
    assert graphs.off
    assert len(caplog.records) == 1
    assert torch.rand(2, device="cuda").isfinite().all()  # draws go on after a capture that broke off
