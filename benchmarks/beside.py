"""What a document costs those who ask beside it: plain requests alone, and while one is translated.

    python benchmarks/beside.py MODEL SENTENCES.txt [--count 60] [--json FILE]

A server of its own process; one request of one sentence after the other, with a pause of 50 ms, first alone,
then beside a job of /v1/documents with 20,000 paragraphs. Milliseconds are those that a client sees.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2

PAUSE_S = 0.05


def asked(client: httpx2.Client, sentences: list[str], count: int) -> dict[str, float]:
    """The time of each plain request, in milliseconds."""
    spent = []
    for n in range(count):
        began = time.perf_counter()
        client.post("/v1/translate", json={"texts": [sentences[n % len(sentences)]]}).raise_for_status()
        spent.append(1000 * (time.perf_counter() - began))
        time.sleep(PAUSE_S)
    return {
        "median": round(statistics.median(spent), 1),
        "p95": round(statistics.quantiles(spent, n=20)[-1], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sentences = options.sentences.read_text(encoding="utf-8").splitlines()[:500]
    command = [sys.executable, "-m", "jumok", "serve", f"m={options.model}", "--port", "0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = json.loads(server.stdout.readline())["address"].rstrip("/")
    try:
        with httpx2.Client(base_url=address, timeout=120) as client:
            asked(client, sentences, 10)  # warm
            alone = asked(client, sentences, options.count)
            text = "\n\n".join(sentences * 40).encode()
            job: dict[str, Any] = client.post("/v1/documents", params={"name": "a.txt"}, content=text).json()
            while not client.get(f"/v1/documents/{job['id']}").json()["done"]:
                time.sleep(0.05)
            beside = asked(client, sentences, options.count)
            job = client.get(f"/v1/documents/{job['id']}").json()
            assert job["status"] == "running", "the document was done too soon: give more sentences"
    finally:
        server.terminate()
        server.wait()
    result = {
        "command": "python benchmarks/beside.py MODEL SENTENCES.txt --json FILE",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores that others used too",
        "kept": "all that the command computed",
        "alone": alone,
        "beside": beside,
        "segments_meanwhile": job["done"],
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
