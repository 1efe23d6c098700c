"""A server under load for a long time: nothing mixed, lost or doubled, memory flat, refusals clear.

    python benchmarks/soak.py --minutes 60 --requests 1000000 --json benchmarks/soak.json
    python benchmarks/soak.py --size small --minutes 20 --json benchmarks/soak_small.json
    python benchmarks/soak.py --smoke       a few seconds of everything

A real `jumok serve` has the three bundled models, which are tiny, or with --size three of a usual size, with
random weights and answers of 6 to 20 tokens. Clients ask in many ways (greedy, beams, draws, several texts,
streams, scores), leave in the middle, read slowly or not at all. Every answer is compared with one
that was known before. A round is: find the rate that the server can answer (`capacity`), send 70 % of it for
a while, then three times of it, then watch how soon a request is answered as usual. In the middle a served
folder is replaced on disk, and the server is stopped with requests in flight and started anew.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from jumok import __version__
from jumok.checkpoint.bundled import bundled
from jumok.data.builtin import builtin_corpus
from jumok.decoding.translator import Translator, load

REFUSED = (429, 503, 504)
CLIENTS = 32  # that find the capacity
MOST_OPEN = 640  # connections; the server refuses beyond 512
USUAL, OVER = 0.7, 3.0
LEAVERS = 0.05


@dataclass(frozen=True)
class Question:
    """One request, and what its answer must be."""

    kind: str
    path: str
    body: bytes
    answer: tuple[Any, ...]


@dataclass
class Tally:
    """What came back."""

    sent: int = 0
    answered: int = 0
    left: int = 0
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)


def questions(
    models: dict[str, Translator], texts: Sequence[str], lengths: Sequence[int] = ()
) -> list[Question]:
    """Requests of every kind to every model, with answers from the same models in this process.

    With `lengths` each asks for an answer of one of them: random weights find no end.
    """
    bounds: list[dict[str, Any]] = [{"min_len": n - 1, "max_len": n} for n in lengths] or [{}]
    ways: list[tuple[str, dict[str, Any]]] = [
        *[("greedy", {"beam": 1})] * 11,
        *[("beam", {"beam": 4})] * 4,
        ("answers", {"beam": 4, "n_best": 3}),
        ("draws", {"sample": True, "seed": 7}),
        ("mbr", {"mbr": 4, "seed": 3}),
        ("prefix", {"beam": 2, "prefix": "19"}),
    ]
    found = []
    for number, (name, model) in enumerate(models.items()):
        for way, (kind, options) in enumerate(ways):
            some = texts[(number + way) % 7 :: 7]
            for at, bound in enumerate(bounds):
                part, asked = some[at :: len(bounds)], {**options, **bound}
                answers = [one.text for one in model.translate(part, **asked)]
                for text, answer in zip(part, answers, strict=True):
                    body = {"model": name, "texts": [text], **asked}
                    found.append(Question(kind, "/v1/translate", dump(body), (answer,)))
        many, asked = texts[number :: len(texts) // 8][:8], {"beam": 2, **bounds[-1]}
        answer = tuple(one.text for one in model.translate(many, **asked))
        found += [
            Question("texts", "/v1/translate", dump({"model": name, "texts": many, **asked}), answer)
        ] * 40
        for at, text in enumerate(texts[number::9]):
            asked = {"beam": 2, **bounds[at % len(bounds)]}
            [best] = model.translate([text], **asked)
            body = {"model": name, "text": text, **asked}
            found.append(Question("stream", "/v1/translate/stream", dump(body), (best.text,)))
            [score] = model.score([text], [best.text])
            body = {"model": name, "sources": [text], "targets": [best.text]}
            found.append(Question("score", "/v1/score", dump(body), (round(score.score, 2),)))
    return found


def dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def told(question: Question, data: bytes) -> tuple[Any, ...]:
    """What the body of an answer says."""
    if question.kind == "stream":
        last = data.decode().rstrip().rsplit("\n\n", 1)[-1]
        return (json.loads(last.partition("data: ")[2]).get("text"),)
    results = json.loads(data)["results"]
    if question.kind == "score":
        return (round(results[0]["score"], 2),)
    return tuple(one["text"] for one in results)


def stream_problem(data: bytes) -> int:
    """The status of a stream that ended with an error; 0 of any other."""
    name, _, body = data.decode().rstrip().rsplit("\n\n", 1)[-1].partition("data: ")
    return int(json.loads(body)["status"]) if name.startswith("event: error") else 0


class Connection:
    """HTTP/1.1 by hand: many requests a second with little work on this side."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def send(self, question: Question) -> None:
        if self.writer is None or self.writer.is_closing():
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = f"POST {question.path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {len(question.body)}\r\n\r\n".encode() + question.body)
        await self.writer.drain()

    async def receive(self) -> tuple[int, bytes]:
        assert self.reader is not None
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        status = int(head[9:12])
        if b"transfer-encoding: chunked" in head:
            body = b""
            while size := int(await self.reader.readline(), 16):
                body += (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readline()
        else:
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or b"0")
            body = await self.reader.readexactly(length)
        if b"connection: close" in head:
            self.close()
        return status, body

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.writer = None


class Load:
    """Clients of one server, and what they saw."""

    def __init__(self, port: int, asked: Sequence[Question], chance: random.Random) -> None:
        self.port, self.asked, self.chance = port, asked, chance
        self.tally = Tally()
        self.free: list[Connection] = []
        self.open = 0

    async def one(self, question: Question, leave_after: float | None = None) -> tuple[int, float]:
        """Ask once; (status, seconds), or (0, …) of one who left or was cut off."""
        connection = self.free.pop() if self.free else Connection(self.port)
        tally, began = self.tally, time.perf_counter()
        tally.sent += 1
        self.open += 1
        try:
            if leave_after is not None:
                await connection.send(question)
                await asyncio.sleep(leave_after)
                connection.close()
                tally.left += 1
                return 0, 0.0
            status, data = await self._ask(connection, question)
        except (OSError, asyncio.IncompleteReadError) as error:
            connection.close()
            tally.lost.append(f"{question.kind}: {type(error).__name__}")
            return 0, 0.0
        finally:
            self.open -= 1
        self.free.append(connection)
        if question.kind == "stream" and status == 200 and (problem := stream_problem(data)):
            status = problem  # it had begun when its time was over
        tally.statuses[status] += 1
        tally.kinds[question.kind] += 1
        if status == 200:
            tally.answered += 1
            if (said := told(question, data)) != question.answer:
                tally.wrong.append(f"{question.kind}: {said} for {question.answer}")
        elif status not in REFUSED:
            tally.wrong.append(f"{question.kind}: status {status} {data[:200]!r}")
        return status, time.perf_counter() - began

    async def _ask(self, connection: Connection, question: Question) -> tuple[int, bytes]:
        """An idle connection may just have been closed: then on a new one, as every client library does."""
        try:
            reused = connection.writer is not None
            await connection.send(question)
            return await connection.receive()
        except (OSError, asyncio.IncompleteReadError):
            if not reused:
                raise
            connection.close()
            await connection.send(question)
            return await connection.receive()

    def pick(self) -> Question:
        return self.chance.choice(self.asked)

    async def capacity(self, seconds: float) -> float:
        """Answers a second when as many clients as a machine has all ask again at once."""
        until, before = time.perf_counter() + seconds, self.tally.answered

        async def client() -> None:
            while time.perf_counter() < until:
                await self.one(self.pick())

        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        return (self.tally.answered - before) / seconds

    async def at_rate(self, rate: float, seconds: float) -> list[tuple[int, float]]:
        """What `send_at_rate` gets, without those who left."""
        return [found for found in await asyncio.gather(*await self.send_at_rate(rate, seconds)) if found[0]]

    async def send_at_rate(self, rate: float, seconds: float) -> list[asyncio.Task[tuple[int, float]]]:
        """Requests that come when they come, answered or not; times count from when each should have gone."""
        began, due, tasks = time.perf_counter(), 0.0, list[asyncio.Task[tuple[int, float]]]()
        while (due := due + self.chance.expovariate(rate)) < seconds:
            if (wait := began + due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            if self.open >= MOST_OPEN:
                continue  # this side is full; the server has refused for long
            leaves = self.chance.random() < LEAVERS
            late = max(time.perf_counter() - began - due, 0)
            after = self.chance.uniform(0, 0.05) if leaves else None
            tasks.append(asyncio.create_task(self._timed(self.pick(), after, late)))
        return tasks

    async def _timed(self, question: Question, leave_after: float | None, late: float) -> tuple[int, float]:
        status, seconds = await self.one(question, leave_after)
        return status, seconds + late

    async def slow_reader(self, bytes_at_once: int) -> None:
        """One who takes an answer a few bytes at a time, or (with 0) never: the server has to close it."""
        while True:
            connection = Connection(self.port)
            try:
                question = self.chance.choice([one for one in self.asked if one.kind in ("stream", "texts")])
                await connection.send(question)
                if not bytes_at_once:
                    await asyncio.sleep(15)
                while bytes_at_once and await connection.reader.read(bytes_at_once):  # type: ignore[union-attr]
                    await asyncio.sleep(0.05)
                    if connection.reader.at_eof():  # type: ignore[union-attr]
                        break
            except OSError:
                await asyncio.sleep(0.2)
            finally:
                connection.close()


def start(folders: dict[str, Path], port: int = 0) -> tuple[subprocess.Popen[str], int]:
    words = [f"{name}={folder}" for name, folder in folders.items()]
    command = [sys.executable, "-m", "jumok", "serve", *words, "--port", str(port), "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    assert server.stdout is not None
    return server, int(json.loads(server.stdout.readline())["address"].rstrip("/").rsplit(":", 1)[1])


def share(values: Sequence[float], of: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * of), len(ordered) - 1)]


async def recovery(load: Load, usual: float) -> float:
    """Seconds until a greedy request is answered within four times the usual time."""
    began = time.perf_counter()
    plain = [one for one in load.asked if one.kind == "greedy"]
    while time.perf_counter() - began < 60:
        asked = time.perf_counter()
        status, seconds = await load.one(load.chance.choice(plain))
        if status == 200 and seconds <= max(4 * usual, 0.05):
            return asked - began
        await asyncio.sleep(0.02)
    return 60.0


async def one_round(load: Load, memory: list[int], process: psutil.Process, seconds: float) -> dict[str, Any]:
    """Capacity, the usual load, too much of it, and how soon it is over."""
    rate = await load.capacity(seconds / 10)
    readers = [asyncio.create_task(load.slow_reader(size)) for size in (40, 200, 0)]

    async def watch() -> None:
        while True:
            memory.append(process.memory_info().rss)
            await asyncio.sleep(0.5)

    watcher = asyncio.create_task(watch())
    calm = await load.at_rate(USUAL * rate, seconds * 0.7)
    good = [took for status, took in calm if status == 200]
    for one in (*readers, watcher):
        one.cancel()
    await asyncio.gather(*readers, watcher, return_exceptions=True)
    p50 = statistics.median(good)
    tasks = await load.send_at_rate(OVER * rate, seconds * 0.1)
    back = await recovery(load, p50)  # from when the last of the flood has come
    flood = [found for found in await asyncio.gather(*tasks) if found[0]]
    return {
        "capacity_per_s": round(rate, 1),
        "usual": {
            "answers": len(good),
            "refused": len(calm) - len(good),
            "p50_ms": round(1000 * p50, 2),
            "p99_ms": round(1000 * share(good, 0.99), 2),
        },
        "three_times": dict(sorted(Counter(str(status) for status, _ in flood).items())),
        "recovery_s": round(back, 3),
    }


def memory_of(samples: Sequence[int]) -> dict[str, float]:
    """The median of the first and of the last fifth, the first fifth of all left out: caches fill there."""
    rest = samples[len(samples) // 5 :]
    fifth = max(len(rest) // 5, 1)
    before, after = statistics.median(rest[:fifth]), statistics.median(rest[-fifth:])
    return {
        "first_mb": round(before / 1e6, 1),
        "last_mb": round(after / 1e6, 1),
        "change": round(after / before - 1, 4),
    }


def models_of(size: str, folder: Path) -> tuple[dict[str, Path], list[str], Sequence[int]]:
    """Copies of the bundled models, or models of a size; sentences to send, and how long answers are made."""
    folders = {name: folder / name for name in bundled()}
    if not size:
        for name, path in bundled().items():
            shutil.copytree(path, folders[name])
        dates = builtin_corpus("dates", "test").pairs()
        return folders, list(dict.fromkeys(source for source, _ in dates)), ()
    from random_models import make_model  # needs PyTorch

    [texts, *_] = [make_model(path, size, name) for name, path in folders.items()]
    return folders, list(dict.fromkeys(texts)), (6, 9, 13, 20)


async def soak(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    chance = random.Random(11)
    folders, texts, lengths = models_of(arguments.size, folder)
    loaded = {name: load(path, device="cpu") for name, path in folders.items()}
    asked = questions(loaded, texts[: arguments.texts], lengths)
    began, rounds, memories, total = (
        time.monotonic(),
        list[dict[str, Any]](),
        list[dict[str, float]](),
        Tally(),
    )
    halves = ["before the folder is replaced", "after the folder was replaced and the server started anew"]
    port = 0
    for half, about in enumerate(halves, start=1):
        server, port = start(folders, port)
        process, memory = psutil.Process(server.pid), list[int]()
        clients = Load(port, asked, chance)
        try:
            while True:
                found = await one_round(clients, memory, process, arguments.round)
                rounds.append({"half": half, **found})
                done = total.sent + clients.tally.sent
                spent = (time.monotonic() - began) / 60
                say = f"{done:,} requests, {spent:.1f} min, {len(clients.tally.wrong)} wrong"
                print(f"{say}: {json.dumps(found)}", flush=True)
                if spent >= arguments.minutes * half / 2 or done >= arguments.requests * half / 2:
                    break
            if half == 1:
                swap(folders["rnn"], folders["luong"])
                await clients.at_rate(20, 2)  # the server has what it loaded: answers stay what they were
        finally:
            await stop(server, clients)
        memories.append(memory_of(memory))
        add(total, clients.tally)
        if half == 1:  # two models have each other's place now
            asked = [exchange(one) for one in asked]
        print(about, json.dumps(memories[-1]), flush=True)
    return reading(arguments, rounds, memories, total, (time.monotonic() - began) / 60)


def swap(one: Path, other: Path) -> None:
    """Put two folders in each other's place, as an update of a served model would."""
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def exchange(question: Question) -> Question:
    """The same question to whom it belongs now."""
    body, names = json.loads(question.body), {"rnn": "luong", "luong": "rnn"}
    body["model"] = names.get(body["model"], body["model"])
    return Question(question.kind, question.path, dump(body), question.answer)


async def stop(server: subprocess.Popen[str], clients: Load) -> None:
    """SIGTERM with requests in flight: all of them are answered, or told that the server stops."""
    if server.poll() is None:
        late = asyncio.create_task(clients.at_rate(50, 1))
        await asyncio.sleep(0.3)
        before = len(clients.tally.lost)
        server.send_signal(signal.SIGTERM)
        await late
        del clients.tally.lost[before:]  # those that came after the port was closed
        try:
            await asyncio.to_thread(server.wait, 60)
        finally:
            server.kill()


def add(total: Tally, one: Tally) -> None:
    total.sent += one.sent
    total.answered += one.answered
    total.left += one.left
    total.wrong += one.wrong
    total.lost += one.lost
    total.statuses += one.statuses
    total.kinds += one.kinds


def reading(
    arguments: argparse.Namespace,
    rounds: list[dict[str, Any]],
    memories: list[dict[str, float]],
    total: Tally,
    minutes: float,
) -> dict[str, Any]:
    """Everything that was seen, and what was promised of it."""
    p50 = statistics.median(one["usual"]["p50_ms"] for one in rounds)
    p99 = statistics.median(one["usual"]["p99_ms"] for one in rounds)
    back = [one["recovery_s"] for one in rounds]
    kept = {
        "nothing wrong, mixed or doubled": not total.wrong,
        "nothing lost": not total.lost,
        "memory within 5 %": all(abs(one["change"]) <= 0.05 for one in memories),
        "p99 at 70 % at most 4 x p50, median of rounds": p99 <= 4 * p50,
        "recovery within 1 s, every round": max(back) <= 1,
    }
    seen = {**asdict(total), "statuses": {str(k): v for k, v in sorted(total.statuses.items())}}
    seen |= {"kinds": dict(total.kinds), "wrong": total.wrong[:20], "lost": total.lost[:20]}
    seen |= {"wrong_count": len(total.wrong), "lost_count": len(total.lost)}
    return {
        "about": {
            "command": f"benchmarks/soak.py --minutes {arguments.minutes:g} --round {arguments.round:g}"
            + f" --size {arguments.size}" * bool(arguments.size),
            "versions": {"jumok": __version__, "python": platform.python_version()},
            "cores": os.cpu_count(),
            "load_average": [round(one, 1) for one in os.getloadavg()],
            "minutes": round(minutes, 1),
        },
        "seen": seen,
        "p50_ms": p50,
        "p99_ms": p99,
        "recovery_s": {"median": statistics.median(back), "largest": max(back)},
        "memory": memories,
        "kept": kept,
        "rounds": rounds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--round", type=float, default=60, help="Seconds of one round.")
    parser.add_argument("--size", default="", help="Of models with random weights: tiny, small, base, …")
    parser.add_argument("--texts", type=int, default=200, help="Different texts.")
    parser.add_argument("--json", type=Path, help="Write the reading here.")
    parser.add_argument("--smoke", action="store_true", help="A few seconds.")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.minutes, arguments.round, arguments.texts = 0.01, 2.0, 20
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(soak(arguments, Path(folder)))
    print(
        json.dumps(
            {name: found[name] for name in ("p50_ms", "p99_ms", "recovery_s", "memory", "kept")}, indent=1
        )
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    wrong = not (found["kept"]["nothing wrong, mixed or doubled"] and found["kept"]["nothing lost"])
    sys.exit(int(wrong))


if __name__ == "__main__":
    main()
