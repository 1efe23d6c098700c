"""The text for Prometheus."""

import re
import threading
from pathlib import Path

import httpx2

from jumok.server.metrics import Histogram, Metric, Metrics, resident_bytes

LINE = re.compile(r'[a-z_]+(\{([a-z_]+="([^"\\\n]|\\.)*",?)*\})? -?[0-9.e+-]+')


def test_counters_and_gauges() -> None:
    found = Metric("counter", "x_total", "About x.", "a", "b")
    found.add(1, a="1", b="2")
    found.add(2.5, b="2", a="1")
    assert list(found.lines()) == [
        "# HELP x_total About x.",
        "# TYPE x_total counter",
        'x_total{a="1",b="2"} 3.5',
    ]
    assert found.value(a="1", b="2") == 3.5
    gauge = Metric("gauge", "y", "About y.")
    assert list(gauge.lines())[-1] == "y 0"
    gauge.set(7)
    assert list(gauge.lines())[-1] == "y 7"


def test_labels_are_escaped() -> None:
    found = Metric("gauge", "x", "X.", "a")
    found.set(1, a='q"\\\n')
    assert list(found.lines())[-1] == 'x{a="q\\"\\\\\\n"} 1'


def test_a_histogram_counts_up_to_each_bound() -> None:
    found = Histogram("h", "H.", (1, 2.5), "m")
    for value in (0.5, 1, 2, 3):
        found.observe(value, m="a")
    assert list(found.lines())[2:] == [
        'h_bucket{m="a",le="1"} 2',
        'h_bucket{m="a",le="2.5"} 3',
        'h_bucket{m="a",le="+Inf"} 4',
        'h_sum{m="a"} 6.5',
        'h_count{m="a"} 4',
    ]


def test_threads_do_not_lose_counts() -> None:
    found = Metric("counter", "x", "X.")
    threads = [threading.Thread(target=lambda: [found.add(1) for _ in range(2000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.value() == 8000


def test_memory_is_known_everywhere(tmp_path: Path) -> None:
    assert resident_bytes() > 1 << 20
    assert resident_bytes(tmp_path / "none") > 1 << 20


def test_every_metric_of_the_design_is_there() -> None:
    names = set(re.findall("# TYPE ([a-z_]+)", Metrics().render()))
    assert names == {
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
    assert 'jumok_http_requests_total{route="/v1/models/{model}",method="GET",status="404"}' in answer.text
    assert 'jumok_http_requests_total{route="unmatched",method="GET",status="404"}' in answer.text
    assert 'jumok_model_info{model="rnn",arch="rnn",fingerprint=""} 1' in answer.text
    assert "GEHEIM" not in answer.text
