"""Several processes as one trainer, one for each GPU: `torchrun --nproc-per-node N -m jumok train …`.

The rest of the package asks a `World` and never a rank. An update is shared out: each process runs its pieces
and divides their losses by the target tokens of the whole update, so that the sum of all gradients,

    g = sum over processes r, pieces i of r:  d/dw (loss of piece i) / (target tokens of the update)

is the gradient of one process that runs all the pieces; summing the gradients once per update is all that the
processes exchange. That is done by plain all-reduces over few long vectors and not by torch's
DistributedDataParallel: it acts from hooks inside the backward pass, and our backward pass is replayed from a
CUDA graph, where no hook runs.

Small messages (who stops when, how many tokens) go over a second group, between the hosts, so that no GPU
waits for them.
"""

import json
import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from jumok.errors import ConfigError, DataError, Error, LimitError, ModelError, RunError, TokenizerFileError

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)

VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")  # what torchrun sets
BUCKET = 16 * 2**20  # numbers summed by one all-reduce
GRADIENTS = timedelta(minutes=15)  # how long one process may wait for another in an update
CONTROL = timedelta(hours=6)  # and otherwise: the others wait while the first prepares data or validates
# A process that ends is noticed at once; these limits are for machines that fall silent.

KINDS = {kind.__name__: kind for kind in (ConfigError, LimitError, DataError, ModelError, TokenizerFileError)}
TOLD = "every process of the run ends with this error"


@dataclass(frozen=True)
class World:
    """This process among its fellows. Alone, every method gives back what it got."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0  # among the processes of this machine
    device: str | None = None  # where to compute; None: the best there is
    restarts: int = 0  # how often torchrun has started all processes again
    control: Any = None  # torch's group for small messages

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files and speaks."""
        return self.rank == 0

    def agree(self, value: T) -> T:
        """The first process's value, for all. Small, and made of what JSON holds."""
        if self.size == 1:
            return value
        data = json.dumps(value).encode() if self.is_first else b""
        length = self._exchange(dist.broadcast, torch.tensor([len(data)]), src=0)
        text = torch.frombuffer(bytearray(data or b" " * int(length)), dtype=torch.uint8)
        self._exchange(dist.broadcast, text, src=0)
        told: T = json.loads(bytes(text.tolist()))
        return told

    def gather(self, value: T) -> list[T]:
        """Every process's value, in the order of the processes, for all."""
        if self.size == 1:
            return [value]
        data = json.dumps(value).encode()
        lengths = torch.zeros(self.size, dtype=torch.int64)
        lengths[self.rank] = len(data)
        self._exchange(dist.all_reduce, lengths)
        table = torch.zeros(self.size, int(lengths.max()), dtype=torch.uint8)
        table[self.rank, : len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        self._exchange(dist.all_reduce, table)
        rows = zip(table, lengths.tolist(), strict=True)
        return [json.loads(bytes(row[:length].tolist())) for row, length in rows]

    def sums(self, numbers: Sequence[int]) -> list[int]:
        """Each whole number added up over all processes."""
        if self.size == 1:
            return list(numbers)
        return [int(n) for n in self._exchange(dist.all_reduce, torch.tensor(numbers, dtype=torch.int64))]

    def sum(self, number: int) -> int:
        """A whole number added up over all processes."""
        return self.sums([number])[0]

    def first(self, call: Callable[[], T]) -> T:
        """What the call gives in the first process, which alone makes it; its error is an error of all."""
        if self.size == 1:
            return call()
        if not self.is_first:
            told: dict[str, Any] = self.agree({})
            if "error" in told:
                raise read_error(told["error"])
            value: T = told["value"]
            return value
        try:
            value = call()
        except Exception as error:
            self.agree({"error": write_error(error)})
            told_to_all(error)
            raise
        self.agree({"value": value})
        return value

    def every(self, call: Callable[[], T]) -> T:
        """What the call gives here, once it went well in all processes; else all raise the first error."""
        if self.size == 1:
            return call()
        value: T | None = None
        mishap: Exception | None = None
        try:
            value = call()
        except Exception as error:
            mishap = error
        told = self.gather({**write_error(mishap), "machine": platform.node()} if mishap else {})
        for rank, words in enumerate(told):
            if words:
                place = f"process {rank} of {self.size}, on {words['machine']}"
                raise read_error({**words, "message": f"{place}: {words['message']}"}) from mishap
        return value  # type: ignore[return-value]  # it went well

    def reduce(self, tensors: Sequence[Tensor]) -> None:
        """Add up the tensors of all processes, in place, by few all-reduces on the device."""
        for bucket in buckets(tensors) if self.size > 1 else ():
            flat = torch.cat([tensor.flatten() for tensor in bucket])
            with losing_nobody():
                dist.all_reduce(flat)
            parts = torch.split(flat, [tensor.numel() for tensor in bucket])
            torch._foreach_copy_(bucket, [p.view_as(t) for p, t in zip(parts, bucket, strict=True)])

    def _exchange(self, collective: Callable[..., Any], tensor: Tensor, **options: Any) -> Tensor:
        with losing_nobody():
            collective(tensor, group=self.control, **options)
        return tensor


def buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Tensors of one type in runs of at most `BUCKET` numbers, unless one alone has more."""
    for _, alike in groupby(sorted(tensors, key=lambda t: str(t.dtype)), key=lambda t: t.dtype):
        bucket: list[Tensor] = []
        for tensor in alike:
            if bucket and sum(one.numel() for one in bucket) + tensor.numel() > BUCKET:
                yield bucket
                bucket = []
            bucket.append(tensor)
        yield bucket


@contextmanager
def join(device: str | None = None, environment: Mapping[str, str] = os.environ) -> Iterator[World]:
    """The world that torchrun has started this process in, or a world of one."""
    restarts = int(environment.get("TORCHELASTIC_RESTART_COUNT", "0"))
    if not started_by_torchrun(environment):
        yield World(device=device, restarts=restarts)
        return
    rank, size, local_rank = (int(environment[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    local_size = int(environment.get("LOCAL_WORLD_SIZE", "1"))
    own = own_device(device, local_rank, local_size)
    if own != "cpu":
        torch.cuda.set_device(own)
    with losing_nobody():
        place: dict[str, Any] = {"timeout": GRADIENTS}
        if local_size == size:
            place |= {"store": fresh_store(restarts), "rank": rank, "world_size": size}
        if own == "cpu":
            dist.init_process_group("gloo", **place)
        else:
            dist.init_process_group("nccl", device_id=torch.device(own), **place)
        control = dist.new_group(backend="gloo", timeout=CONTROL)
    yield World(rank, size, local_rank, own, restarts, control)
    dist.destroy_process_group()  # after an error it might wait for ever: the end of the process does it


def fresh_store(restarts: int) -> Any:
    """Where the processes of one machine leave their addresses for each other, a place for each start.

    torchrun keeps one store over its restarts: who came first would read the address of a dead process. On
    several machines torchrun counts restarts on each by itself, so no name is common to all.
    """
    store, _, _ = next(rendezvous("env://", timeout=GRADIENTS))
    return dist.PrefixStore(f"start-{restarts}", store)  # type: ignore[attr-defined]  # torch exports it


def started_by_torchrun(environment: Mapping[str, str]) -> bool:
    """Whether this process is one of several."""
    return all(name in environment for name in VARIABLES) and environment["WORLD_SIZE"] != "1"


def is_first_here(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this is the first process of a run, or its only one; known before they have met."""
    return not started_by_torchrun(environment) or environment["RANK"] == "0"


def own_device(wanted: str | None, local_rank: int, local_size: int) -> str:
    """The device of this process: the GPU with its number, or the CPU."""
    if wanted == "cpu" or (wanted is None and not torch.cuda.is_available()):
        return "cpu"
    if wanted not in (None, "cuda"):
        raise ConfigError(
            f"--device {wanted} is one device for all processes",
            hint="give --device cuda, and each process takes a GPU of its own; or --device cpu",
        )
    if local_size > (count := torch.cuda.device_count()):
        raise ConfigError(
            f"torchrun started {local_size} processes here, and GPUs there are {count}: each needs its own",
            hint=f"start it with --nproc-per-node {count}" if count else "train on the CPU with --device cpu",
        )
    return f"cuda:{local_rank}"


@contextmanager
def losing_nobody() -> Iterator[None]:
    """An exchange between processes; one that has ended makes it an error of this one too."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:  # what torch raises when a connection breaks or the time is up
        raise RunError(
            "another process of this run has ended or falls silent",
            where=re.sub(r"^\[\S+\] ", "", str(error)).split(". ")[0].splitlines()[0],
            hint="the first error of the other processes says why; `torchrun --max-restarts 3` starts them "
            "again, and they go on from the newest checkpoint",
            code="lost_process",
        ) from error


def write_error(error: Exception) -> dict[str, str]:
    """An error in words that another process can raise again."""
    if isinstance(error, Error):
        words = {"message": error.message, "where": error.where, "hint": error.hint, "code": error.code}
        return {"kind": type(error).__name__, **words}
    if isinstance(error, OSError):
        hint = "every process must see the run folder and its data: machines must share them"
        return {"message": error.strerror or str(error), "where": str(error.filename or ""), "hint": hint}
    return {"message": f"{type(error).__name__}: {error}"}


def read_error(words: Mapping[str, str]) -> Error:
    """The error that another process has written, with a note that it is told already."""
    kind: type[Error] = KINDS.get(words.get("kind", ""), RunError)
    parts = {key: words.get(key, "") for key in ("where", "hint", "code")}
    return told_to_all(kind(words["message"], **parts))


def told_to_all(error: E) -> E:
    """The same error with a note that every process ends with it."""
    error.add_note(TOLD)
    return error


def is_told(error: BaseException) -> bool:
    """Whether all processes end with this error, so that one of them is enough to print it."""
    return TOLD in getattr(error, "__notes__", ())


def shared_clock(
    world: World, clock: Callable[[], float], interrupted: Callable[[], bool]
) -> tuple[Callable[[], float], Callable[[], bool]]:
    """The first process's clock, and whether it was interrupted, for all; one message tells both."""
    if world.size == 1:
        return clock, interrupted
    stop = False

    def now() -> float:
        nonlocal stop
        time, stop = world.agree((clock(), interrupted()))
        return time

    return now, lambda: stop
