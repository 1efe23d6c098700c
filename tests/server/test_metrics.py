"""The text for Prometheus."""

import re

import httpx2

from jumok.server.metrics import Metrics

LINE = re.compile(r'[a-z_]+(\{([a-z_]+="([^"\\\n]|\\.)*",?)*\})? -?[0-9.e+-]+')


def test_each_server_has_its_own_numbers() -> None:
    one, other = Metrics(), Metrics()
    one.requests.labels(route="/", method="GET", status="200").inc()
    found = [
        each.value("jumok_http_requests_total", route="/", method="GET", status="200")
        for each in (one, other)
    ]
    assert found == [1, 0]


def test_times_of_first_sight_are_left_out() -> None:
    metrics = Metrics()
    metrics.request_seconds.labels(route="/").observe(0.3)
    assert 'jumok_http_request_duration_seconds_bucket{le="0.5",route="/"} 1.0' in metrics.render()
    assert "_created" not in metrics.render()


def test_every_metric_of_the_design_is_there() -> None:
    names = set(re.findall("# TYPE ([a-z_]+)", Metrics().render()))
    assert names >= {
        "jumok_http_requests_total",
        "jumok_http_request_duration_seconds",
        "jumok_translate_duration_seconds",
        "jumok_translate_sentences_total",
        "jumok_translate_tokens_total",
        "jumok_queue_length",
        "jumok_queue_wait_seconds",
        "jumok_batch_sentences",
        "jumok_trace_cache_bytes",
        "jumok_trace_cache_hits_total",
        "jumok_trace_cache_misses_total",
        "jumok_model_info",
        "jumok_model_load_duration_seconds",
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
    }


def test_what_the_server_tells(client: httpx2.Client) -> None:
    client.post("/v1/translate", json={"texts": ["GEHEIM"], "max_len": 2})
    client.get("/v1/models/GEHEIM")
    client.get("/GEHEIM/GEHEIM")
    answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = [line for line in answer.text.strip().split("\n") if not line.startswith("#")]
    assert all(LINE.fullmatch(line) for line in lines)
    assert 'jumok_http_requests_total{method="GET",route="/v1/models/{model}",status="404"}' in answer.text
    assert 'jumok_http_requests_total{method="GET",route="unmatched",status="404"}' in answer.text
    assert 'jumok_model_info{arch="rnn",fingerprint="",model="rnn"} 1' in answer.text
    assert "GEHEIM" not in answer.text


def test_what_dashboards_are_built_on_stays() -> None:
    """Names, kinds and labels of all our metrics, and the bounds of their buckets."""
    metrics = Metrics()
    kinds = dict(re.findall("# TYPE (jumok_[a-z_]+) ([a-z]+)", metrics.render()))
    assert kinds == {
        "jumok_http_requests_total": "counter",
        "jumok_http_request_duration_seconds": "histogram",
        "jumok_translate_duration_seconds": "histogram",
        "jumok_translate_sentences_total": "counter",
        "jumok_translate_tokens_total": "counter",
        "jumok_queue_length": "gauge",
        "jumok_queue_wait_seconds": "histogram",
        "jumok_batch_sentences": "histogram",
        "jumok_trace_cache_bytes": "gauge",
        "jumok_trace_cache_hits_total": "counter",
        "jumok_trace_cache_misses_total": "counter",
        "jumok_documents_total": "counter",
        "jumok_document_segments_total": "counter",
        "jumok_documents_bytes": "gauge",
        "jumok_model_info": "gauge",
        "jumok_model_load_duration_seconds": "gauge",
    }
    metrics.queue_seconds.labels(model="m").observe(0.04)
    metrics.batch_sentences.labels(model="m").observe(3)
    metrics.documents.labels(model="m", status="done").inc()
    metrics.tokens.labels(model="m", side="source").inc(7)
    told = metrics.render()
    bounds = dict[str, list[str]]()
    for name, bound in re.findall(r'(jumok_[a-z_]+)_bucket\{le="([^"]+)",model="m"\}', told):
        bounds.setdefault(name, []).append(bound)
    seconds = "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1.0 2.5 5.0 10.0 30.0 +Inf"
    sentences = "1.0 2.0 4.0 8.0 16.0 32.0 64.0 128.0 256.0 +Inf"
    assert {name: " ".join(found) for name, found in bounds.items()} == {
        "jumok_queue_wait_seconds": seconds,
        "jumok_batch_sentences": sentences,
    }
    assert 'jumok_documents_total{model="m",status="done"} 1.0' in told
    assert 'jumok_translate_tokens_total{model="m",side="source"} 7.0' in told
    assert metrics.value("jumok_documents_total", model="other", status="done") == 0
