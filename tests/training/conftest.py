"""A run that has ended, shared with the tests of `run/`."""

from tests.run.conftest import trained

__all__ = ["trained"]
