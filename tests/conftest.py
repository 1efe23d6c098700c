"""For all tests: no time limits on examples, in CI the same examples every time, and the browser last."""

import os

import pytest
from hypothesis import settings

settings.register_profile("jumok", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("jumok")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser's driver keeps an event loop running, and other tests start loops of their own."""
    items.sort(key=lambda item: "browser" in item.path.parts)
