"""Metrics for Prometheus, in a registry of their own for each server. No label ever holds text or a path."""

from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import Metric as Family

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """All metrics of one server. Threads may share them."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(name, about, labels, registry=self._registry)

        def gauge(name: str, about: str, *labels: str) -> Gauge:
            return Gauge(name, about, labels, registry=self._registry)

        def histogram(name: str, about: str, label: str, buckets: Sequence[float] = SECONDS) -> Histogram:
            return Histogram(name, about, (label,), buckets=buckets, registry=self._registry)

        self.requests = counter(
            "jumok_http_requests_total", "Answered requests.", "route", "method", "status"
        )
        self.request_seconds = histogram(
            "jumok_http_request_duration_seconds", "Time from receipt to answer.", "route"
        )
        self.translate_seconds = histogram(
            "jumok_translate_duration_seconds", "Time a translation took.", "model"
        )
        self.sentences = counter(
            "jumok_translate_sentences_total", "Sentences read and written.", "model", "side"
        )
        self.tokens = counter("jumok_translate_tokens_total", "Tokens read and written.", "model", "side")
        self.queue_length = gauge("jumok_queue_length", "Requests that wait.", "model")
        self.queue_seconds = histogram("jumok_queue_wait_seconds", "Time requests waited.", "model")
        self.batch_sentences = histogram(
            "jumok_batch_sentences", "Sentences in the batch, at each step.", "model", SENTENCES
        )
        self.cache_bytes = gauge("jumok_trace_cache_bytes", "Size of the kept traces.")
        self.cache_hits = counter("jumok_trace_cache_hits_total", "Traces that were still kept.")
        self.cache_misses = counter("jumok_trace_cache_misses_total", "Traces that were not.")
        self.documents = counter("jumok_documents_total", "Documents that have ended.", "model", "status")
        self.document_segments = counter(
            "jumok_document_segments_total", "Segments of documents that have had their turn.", "model"
        )
        self.documents_bytes = gauge("jumok_documents_bytes", "Size of the kept documents.")
        self.model_info = gauge("jumok_model_info", "Served models.", "model", "arch", "fingerprint")
        self.load_seconds = gauge("jumok_model_load_duration_seconds", "Time a model took to load.", "model")
        ProcessCollector(registry=self._registry)

    def collect(self) -> Iterator[Family]:
        """All metrics, without the times at which each was first seen."""
        for family in self._registry.collect():
            family.samples = [one for one in family.samples if not one.name.endswith("_created")]
            yield family

    def render(self) -> str:
        """The text that Prometheus reads."""
        return generate_latest(self).decode()

    def value(self, name: str, **labels: str) -> float:
        """One number as Prometheus would read it; 0 for one that has not been seen."""
        return self._registry.get_sample_value(name, labels) or 0.0
