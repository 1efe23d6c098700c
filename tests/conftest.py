"""For all tests: the same examples and numbers each time; a GPU if there is one; the browser last.

`JUMOK_EXAMPLES=new pytest …` looks for inputs that were never tried.
"""

import gc
import os
from collections.abc import Iterator
from functools import cache

import pytest
import torch
from hypothesis import settings

from jumok.run import machine

settings.register_profile("jumok", deadline=None, derandomize=os.environ.get("JUMOK_EXAMPLES") != "new")
settings.load_profile("jumok")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays until the end: no search for garbage goes through it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.set_threshold(700, 10, 100)  # and few through all else


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """What a test draws does not depend on who was before it."""
    torch.manual_seed(1)


@pytest.fixture(scope="session", autouse=True)
def measured_once() -> Iterator[None]:
    """How fast this machine is, which every training run asks, is found out by the first."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("measure_gflops", "measure_gain"):
            patch.setattr(machine, name, cache(getattr(machine, name)))
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_disk() -> Iterator[None]:
    """No test takes the power away, so none waits for the disk: thousands of times, 10 ms each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # which refuses the same descriptors
        yield


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser's driver keeps an event loop running, and other tests start loops of their own."""
    items.sort(key=lambda item: "browser" in item.path.parts)
    for item in items:
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a GPU"))
