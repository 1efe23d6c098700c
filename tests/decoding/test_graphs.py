import logging

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
