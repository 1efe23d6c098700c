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
