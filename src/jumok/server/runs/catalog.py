"""The training runs under one folder, from their files alone: whether the trainer lives or not.

A run is a folder that holds `config.toml` or `metrics.jsonl`, directly under the runs folder or one level
deeper. Its name is the folder's name; for `demo/rnn` it is `demo~rnn`, which needs no care in an address.
Names are looked up in the listing and never joined to a path.
"""

import os
import time
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from math import isnan
from pathlib import Path
from threading import Lock
from typing import Any

from jumok.config import ENDLESS, FALLING
from jumok.server.runs.log import FEWEST, RunHistory, RunLog, number
from jumok.server.runs.probes import probe_files
from jumok.server.runs.start import read_start
from jumok.server.runs.tail import parse_event, plain, read_small

METRICS, CONFIG = "metrics.jsonl", "config.toml"
QUIET_S = 120  # a run without news for longer, and without its lock, has been interrupted
MOST_CONFIG = 1 << 20
LOCKS = Path("/proc/locks")
STATUSES = ("completed", "stopped", "failed")


class Runs:
    """All runs under one folder or more; without a folder there are none. Threads may share it."""

    def __init__(self, *roots: Path | None) -> None:
        self.roots = [*dict.fromkeys(root for root in roots if root is not None)]
        self._logs: dict[Path, RunLog] = {}
        self._lock = Lock()

    def folders(self) -> dict[str, Path]:
        """The runs there are now, by name; a folder directly under a root goes first, and the first root."""
        found: dict[str, Path] = {}
        deeper: dict[str, Path] = {}
        for folder in (folder for root in reversed(self.roots) for folder in subfolders(root)):
            if is_run(folder):
                found[folder.name] = folder
            else:
                deeper |= {f"{folder.name}~{one.name}": one for one in subfolders(folder) if is_run(one)}
        return deeper | found

    def name_of(self, folder: Path) -> str | None:
        """The name under which a run folder is shown, if it is."""
        place = os.path.realpath(folder)
        return next((name for name, one in self.folders().items() if os.path.realpath(one) == place), None)

    def find(self, name: str) -> "Run | None":
        """The run of this name."""
        folder = self.folders().get(name)
        return None if folder is None else Run(name, folder, self.log(folder))

    def all(self) -> list["Run"]:
        """Every run, by name."""
        return [Run(name, folder, self.log(folder)) for name, folder in sorted(self.folders().items())]

    def log(self, folder: Path) -> RunLog:
        """The events of a run; what was read before is not read again."""
        with self._lock:
            return self._logs.setdefault(folder, RunLog(folder / METRICS))


@dataclass(frozen=True)
class Run:
    """One run as its files tell it now."""

    name: str
    folder: Path
    log: RunLog = field(repr=False)

    @property
    def metrics(self) -> Path:
        return self.folder / METRICS

    def summary(self) -> dict[str, Any]:
        """A line of the list of runs."""
        with self.log.story() as (story, _):
            return self._summary(story, read_config(self.folder))

    def details(self) -> dict[str, Any]:
        """The summary, the settings, the names of the curves, and what was said along the way.

        `offset` is where in the file this ends: events after it are what is new.
        """
        config, probes = read_config(self.folder), list(probe_files(self.folder))
        start = read_start(self.folder)
        with self.log.story() as (story, offset):
            return {
                **self._summary(story, config),
                "config": config,
                "series": story.names,
                "notices": list(story.notices.values()),
                "samples": [{"step": step, "samples": story.samples[step]} for step in sorted(story.samples)],
                "probes": probes,
                "start": start,
                "offset": offset,
            }

    def series(self, names: Sequence[str], points: int) -> dict[str, dict[str, list[Any]]]:
        """Curves of at most `points` points; a name that the run does not have is an empty one."""
        found = {}
        with self.log.story() as (story, _):
            for name in dict.fromkeys(names):
                kind, _, column = name.partition(".")
                if kind in story.tables:
                    found[name] = story.tables[kind].curve(column, max(points, FEWEST))
                else:
                    found[name] = {"step": [], "elapsed_s": [], "value": []}
        return found

    def _summary(self, story: RunHistory, config: Mapping[str, Any]) -> dict[str, Any]:
        updated = last_change(self.metrics) or last_change(self.folder)
        training = section(config, "training")
        metric, most, limit, arch = (
            training.get("metric"),
            training.get("max_steps"),
            number(training.get("time_limit")),
            section(config, "model").get("arch"),
        )
        if limit and most == ENDLESS:
            most = None
        return {
            "name": self.name,
            "title": self.name.replace("~", "/"),
            "status": self._status(story, updated),
            "reason": story.reason,
            "arch": arch if isinstance(arch, str) else None,
            "step": story.step,
            "max_steps": most if isinstance(most, int) else None,
            "elapsed_s": None if isnan(story.elapsed) else story.elapsed,
            "time_limit": limit or None,
            "best": best_of(story, metric if isinstance(metric, str) else "score"),
            "updated": None if updated is None else as_time(updated),
        }

    def _status(self, story: RunHistory, updated: float | None) -> str:
        """As the end event says; without one, running if there is a sign of life."""
        if story.ended in STATUSES:
            return str(story.ended)
        lately = updated is not None and time.time() - updated < QUIET_S
        return "running" if lately or is_locked(self.folder) else "unknown"


def best_of(story: RunHistory, metric: str) -> dict[str, Any] | None:
    """The best validation so far; what is better when lower is stored with its sign turned."""
    if story.best is None:
        return None
    step, score = story.best
    return {"metric": metric, "value": -score if metric in FALLING else score, "step": step}


def subfolders(folder: Path) -> list[Path]:
    """The folders in a folder whose names can be shown, by name; none if it cannot be read."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(folder):
            with suppress(OSError):
                if is_showable(entry.name) and entry.is_dir():
                    found.append(folder / entry.name)
    return sorted(found)


def is_showable(name: str) -> bool:
    """Whether a name is text that every client can show and send back."""
    return not name.startswith(".") and name.isprintable()  # a name in no encoding has lone surrogates


def is_run(folder: Path) -> bool:
    with suppress(OSError):
        return (folder / CONFIG).is_file() or (folder / METRICS).is_file()
    return False


def read_config(folder: Path) -> dict[str, Any]:
    """The settings of a run; empty when they are missing, changed since it began, or cannot be read."""
    data = read_small(folder / CONFIG, MOST_CONFIG) or b""
    try:
        noted = parse_event(read_small(folder / "run.json", MOST_CONFIG) or b"") or {}
        if noted.get("config_sha256") not in (None, sha256(data).hexdigest()):
            return {}
        config: dict[str, Any] = plain(tomllib.loads(data.decode()))
    except (ValueError, RecursionError):
        return {}
    return config


def section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = config.get(name)
    return found if isinstance(found, dict) else {}


def last_change(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def as_time(seconds: float) -> str:
    """Seconds since 1970 as the events write times."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00:00:00.000Z"


def is_locked(folder: Path) -> bool:
    """Whether a trainer holds the run's lock, as far as this system tells.

    Only looks: to try the lock would turn away a trainer that starts at this moment.
    """
    try:
        holder = (read_small(folder / ".lock", 64) or b"").decode("ascii").strip()
        inode = str((folder / ".lock").stat().st_ino)
        lines = LOCKS.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return False
    # 7: FLOCK  ADVISORY  WRITE 4321 08:01:131077 0 EOF
    held = ((line.split() + [""] * 6)[1:6] for line in lines)
    return any(
        kind == "FLOCK" and process == holder and place.rpartition(":")[2] == inode
        for kind, _, _, process, place in held
    )
