"""What continuous batching is worth: a real server, many clients, one at a time beside all at once.

    python benchmarks/serving.py            32 clients, a Transformer of 3+3 layers and width 256
    python benchmarks/serving.py --smoke    4 clients, a tiny one

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
import torch

from jumok.checkpoint.model import save_model
from jumok.config import DecodingConfig, RunConfig, TextConfig, TransformerConfig
from jumok.data.builtin import builtin_corpus
from jumok.models.build import build_model
from jumok.presets import TRANSFORMERS
from jumok.text.tokenizer import Tokenizers, train_tokenizer

SHORT, LONG = 8, 200  # new tokens


def make_model(folder: Path, preset: str) -> list[str]:
    """A model of this size with random weights and a real vocabulary; sentences to send to it."""
    pairs = list(builtin_corpus("homeassistant-ko-en", "train").pairs())
    text = TextConfig(vocabulary=8000)
    tokenizer = train_tokenizer((line for pair in pairs for line in pair), text)
    config = RunConfig(
        model=TransformerConfig(**TRANSFORMERS[preset]), text=text, decoding=DecodingConfig(max_len=512)
    )
    torch.manual_seed(0)
    model = build_model(config.model, tokenizer.size, tokenizer.size, shared=True)
    weights = {name: weight.detach() for name, weight in model.named_parameters()}
    save_model(folder, weights, config, Tokenizers(tokenizer, tokenizer), {})
    return [source for source, _ in pairs if 10 <= len(source) <= 60]


def start(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A server of its own process, and its address."""
    command = [sys.executable, "-m", "jumok", "serve", f"m={folder}", "--port", "0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="a tiny model and few requests")
    smoke = parser.parse_args().smoke
    sizes = (
        {"clients": 4, "requests": 8, "rounds": 2}
        if smoke
        else {"clients": 32, "requests": 160, "rounds": 15}
    )
    with tempfile.TemporaryDirectory() as folder:
        texts = make_model(Path(folder) / "model", "tiny" if smoke else "small")
        server, address = start(Path(folder) / "model")
        try:
            asyncio.run(measure(address, texts, **sizes))
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
