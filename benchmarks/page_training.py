"""What training from the page costs against `jumok train`: the same run alone, and under a server.

    python benchmarks/page_training.py            writes readings/page_training.json
    python benchmarks/page_training.py --smoke    a few steps, for a quick look; writes nothing

Both are the same process with the same options and as many steps, so they compute the same numbers. The page
is a client that does what the page does: it follows the run's events and asks every second how the run
stands. Processor time, in turn: that of the training process, and to the page's side is added all that the
server and this client use meanwhile.
"""

import argparse
import json
import logging
import os
import platform
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Any
from urllib.request import Request, urlopen

import uvicorn

from jumok.checkpoint.bundled import bundled
from jumok.decoding.translator import load
from jumok.server.app import build_app
from jumok.server.serve import listen, make_config
from jumok.server.settings import ServerSettings
from jumok.server.trainer.order import TrainingOrder
from jumok.server.trainer.schema import TrainingRequest

READING = Path(__file__).parent / "readings" / "page_training.json"
WORDS = {"eins": "one", "zwei": "two", "drei": "three", "vier": "four", "rot": "red", "blau": "blue"}
PAIRS = [f"{a} {b} {c}\t{WORDS[a]} {WORDS[b]} {WORDS[c]}" for a in WORDS for b in WORDS for c in WORDS]
POLL_S = 1.0
LONG_S = 3600  # the steps end the run


def children() -> float:
    """Processor time of all processes that were started here and have ended."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def alone(folder: Path, arch: str) -> float:
    """Processor seconds of jumok train."""
    (folder / "x.tsv").write_text("\n".join(PAIRS) + "\n", encoding="utf-8")
    request = TrainingRequest(pairs="", arch=arch, seconds=LONG_S)  # type: ignore[arg-type]
    order = TrainingOrder("x", folder, (folder / "x.tsv",), len(PAIRS), request)
    before = children()
    subprocess.run(order.command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return children() - before


@contextmanager
def server(folder: Path) -> Iterator[str]:
    settings = ServerSettings(port=0, train_in=folder)
    app = build_app({"rnn": load(bundled()["rnn"])}, settings=settings)
    sock = listen(settings)
    running = uvicorn.Server(make_config(app, settings))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    running.should_exit = True
    thread.join()


def ask(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, data, {"Content-Type": "application/json"})) as answer:
        return json.load(answer)


def from_page(folder: Path, arch: str) -> tuple[float, float]:
    """Processor seconds of the training process, and of the server and the client beside it."""
    with server(folder) as url:
        before, own = children(), time.process_time()
        run = ask(f"{url}/v1/training", {"pairs": "\n".join(PAIRS), "arch": arch, "seconds": LONG_S})["run"]
        threading.Thread(target=follow, args=(f"{url}/v1/runs/{run}/events",), daemon=True).start()
        while (now := ask(f"{url}/v1/training")["current"])["status"] in ("starting", "running"):
            time.sleep(POLL_S)
        trained, beside = children() - before, time.process_time() - own
        assert now["status"] in ("loading", "done"), now
    return trained, beside


def follow(url: str) -> None:
    while True:
        with suppress(OSError), urlopen(url) as events:
            for _ in events:
                pass
        time.sleep(POLL_S)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--arch", default="luong")
    given = parser.parse_args()
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it ends while a stream is open
    steps, rounds = (10, 1) if given.smoke else (given.steps, given.rounds)
    os.environ |= {"JUMOK_TRAINING__MAX_STEPS": str(steps), "OMP_NUM_THREADS": "1"}
    found = list[dict[str, float]]()
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            plain = alone(Path(one), given.arch)
            trained, beside = from_page(Path(other), given.arch)
        found.append({"alone_s": plain, "page_s": trained, "beside_s": beside})
    total = [one["page_s"] + one["beside_s"] for one in found]
    cost = median(total) / median(one["alone_s"] for one in found) - 1
    print(f"{given.arch}, {steps} steps, {rounds} rounds: from the page {cost:+.1%} processor time")
    if not given.smoke:
        reading = {
            "command": f"python benchmarks/page_training.py --steps {steps} --rounds {rounds}",
            "machine": f"two cores of a shared host, Python {platform.python_version()}, others beside it",
            "kept": "all that the command computed",
            "arch": given.arch,
            "steps": steps,
            "rounds": found,
            "cost": cost,
        }
        READING.write_text(json.dumps(reading, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
