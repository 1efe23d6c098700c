"""What a document costs those who ask beside it: plain requests alone, and while one is translated.

    python benchmarks/beside.py MODEL SENTENCES.txt [--count 60] [--rounds 4] [--json FILE]

A server of its own process; one request of one sentence after the other, with a pause of 50 ms, first alone,
then beside a job of /v1/documents with 20,000 paragraphs that is cancelled afterwards; in several rounds, so
that what else the machine does falls on both. `ms` is what a client sees on its clock. `processor_ms` is what
the server computed from a request to its answer, in all of its threads: beside a document its own
work and what the document took before the answer was there, whatever other programs do meanwhile.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil

PAUSE_S = 0.05


@dataclass
class Asked:
    """Plain requests, and what became of them."""

    ms: list[float] = field(default_factory=list)
    processor_ms: list[float] = field(default_factory=list)

    def ask(self, client: httpx2.Client, server: psutil.Process, texts: list[str]) -> None:
        """One request for each text, with pauses."""
        for text in texts:
            before, began = processor_s(server), time.perf_counter()
            client.post("/v1/translate", json={"texts": [text]}).raise_for_status()
            self.ms.append(1000 * (time.perf_counter() - began))
            self.processor_ms.append(1000 * (processor_s(server) - before))
            time.sleep(PAUSE_S)

    def summary(self) -> dict[str, float]:
        return {
            "requests": len(self.ms),
            "median_ms": round(statistics.median(self.ms), 1),
            "p95_ms": round(statistics.quantiles(self.ms, n=20)[-1], 1),
            "processor_ms": round(statistics.mean(self.processor_ms), 1),
        }


def processor_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def begin(client: httpx2.Client, text: bytes) -> str:
    """A document whose translation has begun."""
    answer = client.post("/v1/documents", files={"file": ("a.txt", text)})
    assert answer.is_success, answer.text
    job: dict[str, Any] = answer.json()
    while not client.get(f"/v1/documents/{job['id']}").json()["done"]:
        time.sleep(0.05)
    return str(job["id"])


def measure(client: httpx2.Client, server: psutil.Process, options: argparse.Namespace) -> dict[str, Any]:
    sentences = options.sentences.read_text(encoding="utf-8").splitlines()[:500]
    text = "\n\n".join(sentences * 40).encode()
    alone, beside, segments, spent = Asked(), Asked(), 0, 0.0
    Asked().ask(client, server, sentences[:10])  # warm
    for n in range(options.rounds):
        asked = [sentences[(n * options.count + k) % len(sentences)] for k in range(options.count)]
        alone.ask(client, server, asked)
        id = begin(client, text)
        before, began = client.get(f"/v1/documents/{id}").json()["done"], time.perf_counter()
        beside.ask(client, server, asked)
        job = client.get(f"/v1/documents/{id}").json()
        assert job["status"] == "running", "the document was done too soon: give more sentences"
        segments, spent = segments + job["done"] - before, spent + time.perf_counter() - began
        client.delete(f"/v1/documents/{id}").raise_for_status()
    found: dict[str, Any] = {"alone": alone.summary(), "beside": beside.summary()}
    return found | {"segments_meanwhile": segments, "segments_per_s": round(segments / spent, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--count", type=int, default=60, help="requests in each half of a round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    command = [sys.executable, "-m", "jumok", "serve", f"m={options.model}", "--port", "0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = json.loads(server.stdout.readline())["address"].rstrip("/")
    try:
        with httpx2.Client(base_url=address, timeout=120) as client:
            found = measure(client, psutil.Process(server.pid), options)
    finally:
        server.terminate()
        server.wait()
    result = {
        "command": "python benchmarks/beside.py MODEL SENTENCES.txt --json FILE",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores that others used too",
        "model": options.model,
        "kept": "all that the command computed",
        **found,
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
