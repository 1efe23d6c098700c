"""The folder of `--keep`: one file for each trace, found again by its id after a restart."""

import logging
import re
import threading
from pathlib import Path

from jumok.errors import DataError, RunError
from jumok.explain.trace import Trace, open_trace

log = logging.getLogger("jumok.server")

TRACE_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)
LARGEST = 256 << 20  # bytes of one file
MOST_BYTES = 4 << 30  # of all files together: clients must not fill the disk


class TraceFolder:
    """Files `<id>.trace`, as `Trace.save` writes them. Threads may share it."""

    def __init__(self, folder: Path, *, most: int = MOST_BYTES) -> None:
        self.folder, self.most = folder, most
        self._lock = threading.Lock()
        self._taken: int | None = None  # bytes of all files, once they have been counted

    def save(self, trace: Trace) -> None:
        """Keep the weights and states of a trace. Its stages can be computed again from the model.

        A disk or a folder that is full is a line in the log, and no harm to the request.
        """
        with self._lock:
            path = self.path(trace.id)
            try:
                if path is not None and not path.exists() and not self._is_full():
                    self._taken = self._counted() + trace.save(path, heads=()).stat().st_size
            except (RunError, OSError) as error:
                log.warning("a trace could not be kept: %s", getattr(error, "message", error))

    def open(self, id: str) -> Trace | None:
        """The trace of this id; None for one that is not there, or whose file is damaged."""
        path = self.path(id)
        if path is None or not path.is_file():
            return None
        try:
            if path.stat().st_size > LARGEST:
                raise DataError(f"the file has more than {LARGEST:,} bytes")
            trace = open_trace(path)
        except (DataError, OSError) as error:
            log.warning("the kept trace %s cannot be read: %s", id, error)
            return None
        return trace if trace.id == id else None

    def path(self, id: str) -> Path | None:
        """Where a trace is kept; None for what is no id, so that nothing else ever becomes part of a path."""
        return self.folder / f"{id}.trace" if TRACE_ID.fullmatch(id) else None

    def _is_full(self) -> bool:
        full = self._counted() >= self.most
        if full:
            log.warning("no more traces are kept: they take %s bytes", f"{self._counted():,}")
        return full

    def _counted(self) -> int:
        if self._taken is None:
            self._taken = sum(path.stat().st_size for path in self.folder.glob("*.trace"))
        return self._taken
