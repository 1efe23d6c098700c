"""The fastest back end that this machine has."""

import logging

import pytest
import torch

from jumok.backends import choose
from jumok.backends.choose import choose_backend
from jumok.backends.native import NativeBackend
from jumok.backends.torch import TorchBackend
from jumok.backends.triton.backend import TritonBackend


def test_a_cpu_has_the_c_library_for_float32_and_torch_for_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    for built, dtype, kind in (
        (True, torch.float32, NativeBackend),
        (True, torch.float64, TorchBackend),
        (False, torch.float32, TorchBackend),
    ):
        monkeypatch.setattr(choose, "is_available", lambda built=built: built)
        assert type(choose_backend("cpu", dtype)) is kind


def test_a_gpu_has_triton_or_a_notice(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(choose, "find_spec", lambda _name: object())
    assert type(choose_backend("cuda", torch.bfloat16)) is TritonBackend
    monkeypatch.setattr(choose, "find_spec", lambda _name: None)
    with caplog.at_level(logging.WARNING, "jumok"):
        assert type(choose_backend(torch.device("cuda", 0))) is TorchBackend
    (record,) = caplog.records
    assert record.getMessage() == "Triton is not installed: plain torch does the work of our kernels, slower"
