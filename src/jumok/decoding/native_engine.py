"""The native engine: jobs to answers by the C library, without torch."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from jumok.checkpoint.contents import Contents, read_shortlist
from jumok.decoding.engines import Answers, Explained, Scores, first_lack
from jumok.decoding.jobs import Job
from jumok.decoding.request import Request
from jumok.native.library import thread_count
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.shortlist import Shortlist

if TYPE_CHECKING:
    from jumok.decoding.torch_engine import TorchEngine

SENTENCES = 256
"""Of one call of the library: enough to sort by length, few enough that an interrupt is soon heard."""
EACH = 32
"""And so many for each thread."""


class NativeEngine:
    """A model in the C library. Threads may share it."""

    name = "native"

    def __init__(self, model: NativeModel, contents: Contents, *, strict: bool = False) -> None:
        self.model, self.contents, self.strict = model, contents, strict
        self._torch: TorchEngine | None = None
        self._lock = Lock()

    @property
    def about(self) -> dict[str, str]:
        return {"name": self.name, "type": self.model.type, "level": self.model.level}

    @cached_property
    def shortlist(self) -> Shortlist:
        """That of the folder, read when it is first asked for."""
        return read_shortlist(self.contents)

    def lacks(self, request: Request) -> str:
        return first_lack(request)

    def answers(self, jobs: Sequence[Job], request: Request, explained: Explained) -> Answers:
        config, shortlist = request.decoding, self.shortlist if request.shortlist else None
        options = SearchOptions.of(config)
        for batch in chunks(jobs):
            limits = [job.limit(config) for job in batch]
            prefixes = [job.prefix for job in batch] if any(job.prefix for job in batch) else None
            lists = [shortlist.ids(job.source, job.prefix) for job in batch] if shortlist else None
            with explained(batch):
                answers = self.model.search(
                    [job.source for job in batch], limits, options, prefixes=prefixes, shortlists=lists
                )
            yield batch, answers

    def scores(self, jobs: Sequence[Job], budget: int, explained: Explained) -> Scores:
        for batch in chunks(jobs):
            with explained(batch):
                log_probs = self.model.score([job.source for job in batch], [job.prefix for job in batch])
            yield batch, log_probs

    def to_torch(self) -> "TorchEngine":
        from jumok.checkpoint.model import load_packed
        from jumok.decoding.torch_engine import TorchEngine

        with self._lock:
            if self._torch is None:
                self._torch = TorchEngine(load_packed(self.contents, self.model.parts).model, self.contents)
            return self._torch


def chunks(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Jobs of similar length, longest first, a call's worth at a time."""
    order = sorted(jobs, key=lambda job: len(job.source) + len(job.prefix), reverse=True)
    size = max(SENTENCES, EACH * thread_count())
    for begin in range(0, len(order), size):
        yield order[begin : begin + size]
