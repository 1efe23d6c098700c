"""What continuous batching is worth: a real server, many clients, one at a time beside all at once.

    python benchmarks/serving.py            32 clients, a Transformer of 3+3 layers and width 256
    python benchmarks/serving.py --smoke    4 clients, a tiny one
    python benchmarks/serving.py --cores    one process with one thread, one with two, two with one each

Weights are random, so lengths are set by each request: as many new tokens as it asks for, neither more nor
less. `one at a time` sends the same requests one after the other. Then a short sentence is sent alone, and
again while a long one is being decoded.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
from random_models import make_model

SHORT, LONG = 8, 200  # new tokens


def start(folder: Path, threads: int = 0) -> tuple[subprocess.Popen[str], str]:
    """A server of its own process, and its address; with so many threads, or as many as it takes itself."""
    environment = {**os.environ, **({"OMP_NUM_THREADS": str(threads)} if threads else {})}
    command = [sys.executable, "-m", "jumok", "serve", f"m={folder}", "--port", "0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert server.stdout is not None
    return server, json.loads(server.stdout.readline())["address"].rstrip("/")


async def ask(client: httpx2.AsyncClient, text: str, length: int, beam: int) -> float:
    """Seconds from sending one text to its translation."""
    body: dict[str, Any] = {"texts": [text], "beam": beam, "min_len": length - 1, "max_len": length}
    began = time.perf_counter()
    answer = await client.post("/v1/translate", json=body)
    answer.raise_for_status()
    return time.perf_counter() - began


async def throughput(
    client: httpx2.AsyncClient, work: list[tuple[str, int]], beam: int, clients: int
) -> float:
    """Requests per second when this many clients share the work."""
    waiting = list(work)

    async def one() -> None:
        while waiting:
            await ask(client, *waiting.pop(), beam)

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(clients)))
    return len(work) / (time.perf_counter() - began)


async def beside_a_long_one(
    client: httpx2.AsyncClient, texts: list[str], beam: int, rounds: int
) -> list[float]:
    """Seconds of short sentences, each sent while a long one is being decoded."""
    found: list[float] = []
    for n in range(3 * rounds):
        long = asyncio.create_task(ask(client, texts[n], LONG, beam))
        await asyncio.sleep(0.05)
        seconds = await ask(client, texts[-1 - n], SHORT, beam)
        found += [] if long.done() else [seconds]  # it ended first: nothing was measured
        await long
        if len(found) == rounds:
            break
    return found


async def measure(address: str, texts: list[str], *, clients: int, requests: int, rounds: int) -> None:
    limits = httpx2.Limits(max_connections=clients + 2)
    async with httpx2.AsyncClient(base_url=address, timeout=120, limits=limits) as client:
        draw = random.Random(0)
        for beam in (1, 5):
            work = [(draw.choice(texts), draw.randint(5, 40)) for _ in range(requests)]
            await throughput(client, work[: clients * 2], beam, clients)  # warm
            alone = await throughput(client, work, beam, 1)
            together = await throughput(client, work, beam, clients)
            solo = statistics.median([await ask(client, text, SHORT, beam) for text in texts[:rounds]])
            beside = await beside_a_long_one(client, texts, beam, rounds)
            waited = statistics.median(beside) if beside else None
            print(
                f"beam {beam}: {alone:.1f} requests/s one at a time, {together:.1f} with {clients} clients "
                f"({together / alone:.1f}x); a short sentence {solo * 1e3:.0f} ms alone, "
                + (f"{waited * 1e3:.0f} ms ({waited / solo:.2f}x)" if waited else "too short to be met")
                + " beside a long one",
                flush=True,
            )


LAYOUTS = {
    "1 process, 1 thread": (1, 1),
    "1 process, 2 threads": (1, 2),
    "2 processes, 1 thread each": (2, 1),
}


async def cpu_seconds(clients: list[httpx2.AsyncClient]) -> float:
    """Processor time that the servers have used so far."""
    total = 0.0
    for client in clients:
        lines = (await client.get("/metrics")).text.splitlines()
        total += sum(float(line.split()[1]) for line in lines if line.startswith("process_cpu_seconds_total"))
    return total


async def compare_layouts(
    servers: dict[str, list[str]], texts: list[str], *, clients: int, requests: int, rounds: int
) -> None:
    """The same requests to each layout in turn, several rounds; medians of what each took."""
    limits = httpx2.Limits(max_connections=clients + 2)
    for beam in (1, 5):
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in servers}
        for round_ in range(rounds + 1):
            draw = random.Random(round_)
            work = [(draw.choice(texts), draw.randint(5, 40)) for _ in range(requests)]
            for name, addresses in servers.items():
                open_ = [httpx2.AsyncClient(base_url=one, timeout=120, limits=limits) for one in addresses]
                used, began, share = await cpu_seconds(open_), time.perf_counter(), len(open_)
                await asyncio.gather(
                    *(throughput(c, work[n::share], beam, clients // share) for n, c in enumerate(open_))
                )
                seconds, used = time.perf_counter() - began, await cpu_seconds(open_) - used
                for client in open_:
                    await client.aclose()
                if round_:  # the first one warms
                    found[name].append((requests / seconds, used / requests * 1e3, used / seconds))
        for name, rows in found.items():
            rate, spent, cores = (statistics.median(column) for column in zip(*rows, strict=True))
            print(
                f"beam {beam}, {name}: {rate:.1f} requests/s, {spent:.1f} ms of processor time for each, "
                f"{cores:.2f} cores busy",
                flush=True,
            )


def measure_cores(folder: Path, texts: list[str], sizes: dict[str, int]) -> None:
    """Start all layouts, measure them side by side, and stop them."""
    started = {
        name: [start(folder, threads) for _ in range(count)] for name, (count, threads) in LAYOUTS.items()
    }
    try:
        servers = {name: [address for _, address in one] for name, one in started.items()}
        asyncio.run(compare_layouts(servers, texts, **sizes))
    finally:
        for server, _ in (pair for one in started.values() for pair in one):
            server.terminate()
            server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="a tiny model and few requests")
    parser.add_argument("--cores", action="store_true", help="threads beside processes")
    options = parser.parse_args()
    smoke: bool = options.smoke
    sizes = (
        {"clients": 4, "requests": 8, "rounds": 2}
        if smoke
        else {"clients": 32, "requests": 160, "rounds": 15}
    )
    with tempfile.TemporaryDirectory() as folder:
        texts = make_model(Path(folder) / "model", "tiny" if smoke else "small")
        if options.cores:
            measure_cores(Path(folder) / "model", texts, {**sizes, "rounds": 2 if smoke else 3})
            return
        server, address = start(Path(folder) / "model")
        try:
            asyncio.run(measure(address, texts, **sizes))
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
