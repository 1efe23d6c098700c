"""How long work tells its caller that it goes on, so library code never prints; times and counts in words."""

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""`progress(what, done, total)`: called often, with a total of None while it is unknown."""


def silent(what: str, done: int, total: int | None) -> None:
    """Show nothing."""


def duration(seconds: float) -> str:
    """`41s`, `11m02s`, `3h05m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def counted(count: int, noun: str) -> str:
    """`1 line`, `2,000 lines`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
