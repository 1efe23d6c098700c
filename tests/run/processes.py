"""Several real processes as torchrun would start them."""

import os
import socket
from collections.abc import Callable
from typing import Any

from tests.processes import start

LIMIT = 120  # seconds; a test that takes longer has a process that waits for nobody


def started(size: int, function: Callable[..., Any], *args: Any) -> list[Any]:
    """`function(*args)` in each of `size` processes that know of each other."""
    port = free_port()
    return [start(as_rank, rank, size, port, function, args) for rank in range(size)]


def together(size: int, function: Callable[..., Any], *args: Any) -> list[int | None]:
    """The exit codes of `size` processes, each running `function(*args)`."""
    children = started(size, function, *args)
    for child in children:
        child.join(LIMIT)
    codes = [child.exitcode for child in children]
    for child in children:
        if child.exitcode is None:
            child.kill()
            child.join()
    return codes


def as_rank(rank: int, size: int, port: int, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    import torch

    torch.set_num_threads(1)
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    function(*args)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
