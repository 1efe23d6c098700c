"""How long work tells its caller that it goes on: one callable, so library code never prints."""

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""`progress(what, done, total)`: called often, with a total of None while it is unknown."""


def silent(what: str, done: int, total: int | None) -> None:
    """Show nothing."""
