"""For all tests: no time limits on examples, in CI the same ones; a GPU if there is one; the browser last."""

import os

import pytest
import torch
from hypothesis import settings

settings.register_profile("jumok", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("jumok")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser's driver keeps an event loop running, and other tests start loops of their own."""
    items.sort(key=lambda item: "browser" in item.path.parts)
    for item in items:
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a GPU"))
