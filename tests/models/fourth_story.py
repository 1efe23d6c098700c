"""The life of a fourth model: trained, resumed, searched, evaluated, traced, served. Run by test_fourth.py.

    python fourth_story.py cpu

In an empty folder, with a package on the path to which the model has been added in three places.
"""

import asyncio
import contextlib
import io
import json
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from jumok.cli.main import cli
from jumok.decoding.translator import load
from jumok.errors import Error

WORDS = ["the", "a", "cat", "dog", "sees", "likes", "big", "small", "house", "tree"]
SIZES = ("model.width=32", "model.encoder_layers=2", "model.decoder_layers=2", "text.kind=char")
PACE = (
    "training.schedule=constant",
    "training.cooldown=0",
    "training.warmup=5",
    "training.validate_every=10",
)


def write_corpus(name: str, count: int) -> None:
    """Sentences, and what they are in capital letters."""
    lines = [" ".join(random.choices(WORDS, k=random.randint(2, 4))) for _ in range(count)]  # noqa: S311
    Path(f"{name}.en").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path(f"{name}.de").write_text("\n".join(map(str.upper, lines)) + "\n", encoding="utf-8")


def jumok(*words: str) -> str:
    """What a command prints."""
    out = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(out, encoding="utf-8", write_through=True)) as text:
        assert not cli.main(args=list(words), standalone_mode=False), words
        text.detach()
    return out.getvalue().decode()


def train(folder: str, steps: int, device: str) -> list[dict[str, Any]]:
    """Events of a run that goes on to this step."""
    files = ("--source", "train.en", "--target", "train.de", "--valid-source", "valid.en")
    chosen = [word for setting in (*SIZES, *PACE) for word in ("--set", setting)]
    more = ("--out", folder, "--max-steps", str(steps), "--device", device, "--json")
    said = jumok("train", "--arch", "cnn", *files, "--valid-target", "valid.de", *chosen, *more)
    return [json.loads(line) for line in said.splitlines()]


def last_weights(folder: str) -> bytes:
    return max(Path(folder).glob("checkpoints/step-*/model.safetensors")).read_bytes()


@contextlib.contextmanager
def serving(folder: str) -> Iterator[str]:
    from jumok.server.app import build_app  # a machine with a GPU need not have what a server needs
    from jumok.server.serve import Server, listen
    from jumok.server.settings import ServerSettings

    settings, up = ServerSettings(port=0), threading.Event()
    sock = listen(settings)
    server = Server(build_app({"cnn": load(folder, device="cpu")}, settings=settings), settings, up.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[sock])), daemon=True)
    thread.start()
    assert up.wait(30)
    yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    server.should_exit = True
    thread.join(30)


def ask(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, data, {"Content-Type": "application/json"}), timeout=60) as answer:  # noqa: S310
        return json.load(answer)


def main(device: str) -> None:
    random.seed(0)
    for name, count in (("train", 400), ("valid", 20), ("test", 10)):
        write_corpus(name, count)

    events = [*train("run", 20, device), *train("run", 40, device)]  # goes on
    losses = [one["loss"] for one in events if one["type"] == "valid"]
    assert [one["resumed_from"] for one in events if one["type"] == "start"] == [None, 20], events
    assert len(losses) == 4, losses
    assert losses[-1] < losses[0] - 0.5, losses
    if device == "cpu":
        train("whole", 40, device)
        assert last_weights("run") == last_weights("whole"), "stopping and going on is never having stopped"

    for beam in ("1", "3"):
        found = jumok("translate", "-m", "run", "--beam", beam, "--device", device, "the cat sees")
        assert found.strip(), found
    assert "BLEU" in jumok("evaluate", "-m", "run", "-s", "test.en", "-t", "test.de", "--device", device)
    if device != "cpu":
        return
    assert "cnn" in jumok("inspect", "-m", "run")
    assert "attention: scores" in jumok("inspect", "-m", "run", "--shapes", "the cat")
    jumok("inspect", "-m", "run", "--text", "the cat sees", "-o", "cat.trace")
    assert "cross" in jumok("inspect", "--trace", "cat.trace")
    edits = ("mask_head kind=cross layer=1 head=1", "positions side=source mode=none")
    jumok(
        "inspect", "-m", "run", "--text", "the cat", *(word for one in edits for word in ("--what-if", one))
    )
    for words, answer in (
        (("inspect", "-m", "run", "--cost"), "there are no formulas for the cost of a cnn model"),
        (("export", "onnx", "-m", "run", "-o", "onnx"), "there are no graphs for cnn models"),
        (("export", "native", "-m", "run", "-o", "c"), "the native engine has no cnn models"),
        (("translate", "-m", "run", "--engine", "native", "a"), "has no model of the architecture cnn"),
    ):
        with pytest.raises(Error, match=answer):
            jumok(*words)
    with serving("run") as url:
        assert ask(f"{url}/v1/models/cnn")["kinds"] == {"cross": {"layers": 2, "heads": 1, "d_head": 32}}
        assert ask(f"{url}/v1/translate", {"model": "cnn", "texts": ["the cat"]})["results"]
        assert ask(f"{url}/v1/trace", {"model": "cnn", "text": "the cat"})["model"]["arch"] == "cnn"


if __name__ == "__main__":
    main(sys.argv[1])
