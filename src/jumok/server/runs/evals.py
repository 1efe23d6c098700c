"""The evaluations that runs keep in `eval/*.json`: schema eval/1 and nothing else."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from jumok.evaluation.document import EvalDocument
from jumok.seals import unsealed
from jumok.server.runs.catalog import Runs, is_showable
from jumok.server.runs.tail import plain, read_small

LARGEST = 16 << 20


class Evals:
    """All evaluations of all runs. The id of one is its run's name and its file's: `demo~rnn:dates-test`."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self._known: dict[Path, tuple[tuple[int, int], dict[str, Any] | None]] = {}
        self._lock = Lock()

    def all(self) -> list[dict[str, Any]]:
        """A summary of each, by id; what is not an evaluation is left out."""
        found = []
        for id, run, file in self._files():
            if summary := self._summary(file):
                found.append({"id": id, "run": run, **summary})
        return sorted(found, key=lambda one: str(one["id"]))

    def find(self, id: str) -> dict[str, Any] | None:
        """The whole document of one evaluation."""
        file = next((file for one, _, file in self._files() if one == id), None)
        return parse(read_small(file, LARGEST)) if file else None

    def _files(self) -> Iterator[tuple[str, str, Path]]:
        for run, folder in self.runs.folders().items():
            with suppress(OSError):
                for file in sorted((folder / "eval").iterdir()):
                    if file.suffix == ".json" and is_showable(file.name):
                        yield f"{run}:{file.stem}", run, file

    def _summary(self, file: Path) -> dict[str, Any] | None:
        """What the list says of a file, which is read again only when it has changed."""
        try:
            about = file.stat()
        except OSError:
            return None
        stamp = (about.st_mtime_ns, about.st_size)
        with self._lock:
            known = self._known.get(file)
        if known is None or known[0] != stamp:
            document = parse(read_small(file, LARGEST))
            known = (stamp, document and summary_of(document))
            with self._lock:
                self._known[file] = known
        return known[1]


def parse(data: bytes | None) -> dict[str, Any] | None:
    """An eval/1 document; None for anything else, and for one that was changed."""
    try:
        document = plain(unsealed(json.loads(data or b"")))
        EvalDocument.model_validate(document)
    except (ValueError, RecursionError):
        return None
    return document  # type: ignore[no-any-return]


def summary_of(document: dict[str, Any]) -> dict[str, Any]:
    """Model, test set, number of sentences and metrics."""
    metrics = {
        name: {"value": metric["value"], "ci95": metric.get("ci95")}
        for name, metric in document["metrics"].items()
    }
    data = document["data"]
    return {"model": document["model"], "data": data["name"], "n": data["n"], "metrics": metrics}
