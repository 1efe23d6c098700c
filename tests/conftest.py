"""For all tests: no time limits on examples, and in CI the same examples every time."""

import os

from hypothesis import settings

settings.register_profile("jumok", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("jumok")
