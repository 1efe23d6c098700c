"""Prometheus metrics, written by hand: counters, gauges, histograms. No label ever holds text or a path."""

import os
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Literal

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SENTENCES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)

Labels = tuple[str, ...]


class Metric:
    """One name with a number for each set of labels that was seen. Threads may share it."""

    def __init__(self, kind: Literal["counter", "gauge"], name: str, about: str, *labels: str) -> None:
        self.kind, self.name, self.about, self.labels = kind, name, about, labels
        self._values: dict[Labels, float] = {}
        self._lock = threading.Lock()

    def add(self, amount: float, **labels: str) -> None:
        key = tuple(labels[name] for name in self.labels)
        with self._lock:
            self._values[key] = self._values.get(key, 0.0) + amount

    def set(self, value: float, **labels: str) -> None:
        with self._lock:
            self._values[tuple(labels[name] for name in self.labels)] = value

    def value(self, **labels: str) -> float:
        return self._values.get(tuple(labels[name] for name in self.labels), 0.0)

    def lines(self) -> Iterator[str]:
        yield from head(self.kind, self.name, self.about)
        with self._lock:
            values = sorted(self._values.items())
        if not self.labels:
            values = values or [((), 0.0)]
        for key, value in values:
            yield f"{self.name}{braces(self.labels, key)} {number(value)}"


class Histogram:
    """How often values fell below each bound, for each set of labels. Threads may share it."""

    def __init__(self, name: str, about: str, bounds: Sequence[float], *labels: str) -> None:
        self.name, self.about, self.bounds, self.labels = name, about, tuple(bounds), labels
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}
        self._lock = threading.Lock()

    def observe(self, value: float, **labels: str) -> None:
        key = tuple(labels[name] for name in self.labels)
        with self._lock:
            counts = self._counts.setdefault(key, [0] * (len(self.bounds) + 1))
            counts[bisect_left(self.bounds, value)] += 1
            self._sums[key] = self._sums.get(key, 0.0) + value

    def lines(self) -> Iterator[str]:
        yield from head("histogram", self.name, self.about)
        with self._lock:
            found = [(key, list(counts), self._sums[key]) for key, counts in sorted(self._counts.items())]
        bounds = [*map(number, self.bounds), "+Inf"]
        for key, counts, total in found:
            for bound, below in zip(bounds, accumulate(counts), strict=True):
                yield f"{self.name}_bucket{braces((*self.labels, 'le'), (*key, bound))} {below}"
            yield f"{self.name}_sum{braces(self.labels, key)} {number(total)}"
            yield f"{self.name}_count{braces(self.labels, key)} {sum(counts)}"


class Metrics:
    """All metrics of one server."""

    def __init__(self) -> None:
        self.requests = Metric(
            "counter", "jumok_http_requests_total", "Answered requests.", "route", "method", "status"
        )
        self.request_seconds = Histogram(
            "jumok_http_request_duration_seconds", "Time from receipt to answer.", SECONDS, "route"
        )
        self.translate_seconds = Histogram(
            "jumok_translate_duration_seconds", "Time a translation took.", SECONDS, "model"
        )
        self.sentences = Metric(
            "counter", "jumok_translate_sentences_total", "Sentences read and written.", "model", "side"
        )
        self.tokens = Metric(
            "counter", "jumok_translate_tokens_total", "Pieces read and written.", "model", "side"
        )
        self.queue_length = Metric("gauge", "jumok_queue_length", "Requests that wait.", "model")
        self.queue_seconds = Histogram("jumok_queue_wait_seconds", "Time requests waited.", SECONDS, "model")
        self.batch_sentences = Histogram(
            "jumok_batch_sentences", "Sentences in the batch, at each step.", SENTENCES, "model"
        )
        self.cache_bytes = Metric("gauge", "jumok_trace_cache_bytes", "Size of the kept traces.")
        self.cache_hits = Metric("counter", "jumok_trace_cache_hits_total", "Traces that were still kept.")
        self.cache_misses = Metric("counter", "jumok_trace_cache_misses_total", "Traces that were not.")
        self.model_info = Metric(
            "gauge", "jumok_model_info", "Served models.", "model", "arch", "fingerprint"
        )
        self.load_seconds = Metric(
            "gauge", "jumok_model_load_duration_seconds", "Time a model took to load.", "model"
        )
        self.started = time.time()

    def render(self) -> str:
        """The text that Prometheus reads."""
        mine = [one for one in vars(self).values() if isinstance(one, Metric | Histogram)]
        lines = [line for one in mine for line in one.lines()]
        return "\n".join([*lines, *process_lines(self.started), ""])


def process_lines(started: float) -> Iterator[str]:
    """The standard figures of the process."""
    figures: list[tuple[Literal["counter", "gauge"], str, str, Callable[[], float]]] = [
        ("counter", "process_cpu_seconds_total", "CPU time used.", time.process_time),
        ("gauge", "process_resident_memory_bytes", "Memory in use.", resident_bytes),
        ("gauge", "process_start_time_seconds", "When the server started.", lambda: started),
    ]
    for kind, name, about, read in figures:
        yield from head(kind, name, about)
        yield f"{name} {number(read())}"


def resident_bytes(statm: Path = Path("/proc/self/statm")) -> float:
    """Memory of this process; where the system does not say, the most it ever had."""
    try:
        return float(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024


def head(kind: str, name: str, about: str) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"


def braces(names: Sequence[str], values: Sequence[str]) -> str:
    pairs = ",".join(f'{name}="{escape(value)}"' for name, value in zip(names, values, strict=True))
    return f"{{{pairs}}}" if pairs else ""


def escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
