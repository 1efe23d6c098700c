"""Every back end that a CPU has agrees with plain torch, for every architecture and option.

`triton/test_backend.py` says the same of the kernels.
"""

import inspect
from typing import Any

import pytest
import torch
from tests.backends.twins import check_twins, pairs, twin
from tests.models.conftest import CONFIGS

from jumok.backends.c_ops import is_available
from jumok.backends.native import NativeBackend
from jumok.backends.recording import RecordingBackend
from jumok.backends.torch import TorchBackend
from jumok.backends.triton.backend import TritonBackend
from jumok.training.step import sides_of

needs_c = pytest.mark.skipif(not is_available(), reason="the C library is not built here")
BACKENDS: dict[str, Any] = {"native": NativeBackend, "recording": RecordingBackend}
both = pytest.mark.parametrize(
    "name", [pytest.param("native", marks=needs_c), pytest.param("recording", marks=())]
)


@both
@pytest.mark.parametrize("config", CONFIGS)
def test_a_model_says_the_same_on_every_back_end(name: str, config: str) -> None:
    check_twins(config, BACKENDS[name]())


@needs_c
@pytest.mark.parametrize("config", CONFIGS)
def test_the_same_in_a_fixed_room(config: str) -> None:
    check_twins(config, NativeBackend(), fixed=True)


@needs_c
@pytest.mark.parametrize("config", CONFIGS)
def test_a_gradient_that_was_given_is_left_as_it_was(config: str) -> None:
    """`branch` adds to a gradient in place, which must never be the caller's."""
    logits = twin(config, NativeBackend(), "cpu")(*sides_of(pairs())).logits()
    given = torch.randn_like(logits)
    kept = given.clone()
    logits.backward(given)
    assert torch.equal(given, kept)


@pytest.mark.parametrize("kind", [TorchBackend, NativeBackend, TritonBackend, RecordingBackend])
def test_a_back_end_has_every_op_with_the_arguments_of_the_protocol(kind: type) -> None:
    ops = {name for name in vars(TorchBackend) if not name.startswith("_")}
    assert len(ops) > 15
    for name in ops:
        wanted, found = (inspect.signature(getattr(one, name)).parameters for one in (TorchBackend, kind))
        assert list(found) == list(wanted), name
