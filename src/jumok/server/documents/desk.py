"""Where documents lie while they are here: so many, so many bytes, so long; one is translated at a time."""

import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from jumok.server.documents.job import DocumentJob, DocumentOrder, bytes_in
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem, busy
from jumok.server.metrics import Metrics

ID_BYTES = 16  # nobody guesses one
ID = f"[0-9a-f]{{{2 * ID_BYTES}}}"
LATER_S = 30  # after which someone may ask again
LOOK_S, WAIT_S, LATELY_S = 0.005, 1.0, 5.0


class DocumentDesk:
    """Documents by id, in a folder of their own that nobody else on this machine can read.

    It belongs to the event loop; only what a job does itself runs in the thread of documents.
    """

    def __init__(
        self,
        limits: Limits,
        metrics: Metrics,
        someone_waits: Callable[[], bool] = lambda: False,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits, self.metrics, self.clock = limits, metrics, clock
        self._someone_waits = someone_waits
        self._jobs: dict[str, DocumentJob] = {}
        self._arriving: dict[str, int] = {}
        self._folder: Path | None = None
        self._met = -LATELY_S  # when a plain request was seen last
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="jumok-documents")
        metrics.documents_bytes.set_function(self.bytes)

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def folder(self) -> Path:
        """Made for the first document; its rights keep others out."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="jumok-documents-"))
        return self._folder

    def bytes(self) -> int:
        """Of all documents and what was made of them."""
        return sum(bytes_in(job.folder) for job in list(self._jobs.values()))

    @contextmanager
    def arriving(self, stated: int) -> Iterator[Path]:
        """A folder for a document on its way; it goes unless `begin` makes a job of it. 429: no room."""
        self.make_room(stated)
        id = secrets.token_hex(ID_BYTES)
        folder = self.folder / id
        folder.mkdir()
        self._arriving[id] = stated
        try:
            yield folder
        finally:
            del self._arriving[id]
            if id not in self._jobs:
                shutil.rmtree(folder, ignore_errors=True)

    def begin(self, folder: Path, order: DocumentOrder) -> DocumentJob:
        """Let a document that has arrived wait for its turn."""
        job = DocumentJob(folder.name, folder, order, self._give_way, used=self.clock())
        self._jobs[job.id] = job
        self._pool.submit(self._run, job)
        return job

    def _run(self, job: DocumentJob) -> None:
        """In the thread."""
        job.run()
        job.used = self.clock()
        if not job.flag.raised:
            self.metrics.documents.labels(model=job.order.model, status=job.status).inc()
            self.metrics.document_segments.labels(model=job.order.model).inc(job.done)

    def _give_way(self) -> bool:
        """Plain requests first; but a document goes on in the end, whatever comes. Was there one lately?"""
        until = time.monotonic() + WAIT_S
        while self._someone_waits() and time.monotonic() < until:
            self._met = time.monotonic()
            time.sleep(LOOK_S)
        return time.monotonic() < self._met + LATELY_S

    def find(self, id: str) -> DocumentJob | None:
        """The job of this id, if it is still here; it then stays for a while."""
        self.trim()
        job = self._jobs.get(id)
        if job is not None:
            job.used = self.clock()
        return job

    def get(self, id: str) -> DocumentJob:
        """The same; 404 for another id."""
        job = self.find(id)
        if job is None:
            raise Problem(404, "unknown_document", "there is no such document, or its time is over")
        return job

    def forget(self, job: DocumentJob) -> None:
        """End a job and take everything of it away."""
        self._jobs.pop(job.id, None)
        job.remove()

    def trim(self) -> None:
        """Take away what nobody has asked for in a while."""
        oldest = self.clock() - self.limits.document_s
        for job in [one for one in self._jobs.values() if one.ended and one.used < oldest]:
            self.forget(job)

    def make_room(self, size: int) -> None:
        """For one document more: the oldest that are done go. 429 if that is not enough."""
        self.trim()
        while not self._fits(size):
            done = [job for job in self._jobs.values() if job.ended]
            if not done:
                raise busy("the server has as many documents as it can keep", after=LATER_S)
            self.forget(min(done, key=lambda job: job.used))

    def _fits(self, size: int) -> bool:
        limits = self.limits
        many = len(self._jobs) + len(self._arriving) < limits.documents
        return many and self.bytes() + sum(self._arriving.values()) + size <= limits.documents_bytes

    def close(self) -> None:
        """End all jobs, each within a block, and leave nothing on disk."""
        for job in list(self._jobs.values()):
            job.flag.raised = True
        self._pool.shutdown(wait=True, cancel_futures=True)
        for job in list(self._jobs.values()):
            self.forget(job)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
