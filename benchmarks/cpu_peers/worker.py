"""A contestant in a process of its own: it reads orders as lines of JSON and answers each with one line.

    {"do": "prepare", "folder": …, "setting": {…}}      write the weights in the contestant's own form
    {"do": "run", "folder": …, "setting": {…}, "sources": [[…]], "beam": 4, "batch": 32, "new": 32}
    {"do": "forget"}                                    let go of the models

A script of a contestant gives `serve` two functions. It needs numpy and nothing of ours.
"""

import gc
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

Setting = dict[str, Any]
Ids = list[list[int]]
Translate = Callable[[Ids, int, int, int], Ids]
"""`translate(sources, beam, batch, new)`: the best answer to each, without its end."""


def high_water() -> float:
    """The most memory that this process has taken up, in MB; 0 where nobody counts."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def serve(
    prepare: Callable[[Path, Setting], None], load: Callable[[Path, Setting], Translate], versions: str
) -> None:
    """Do what the lines of standard input ask for until it ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints is no answer
    imported, loaded = high_water(), dict[str, Translate]()

    def run(order: dict[str, Any]) -> dict[str, Any]:
        key = json.dumps([order["folder"], order["setting"]], sort_keys=True)
        if key not in loaded:
            loaded[key] = load(Path(order["folder"]), order["setting"])
        gc.collect()
        cpu, began = process_time(), perf_counter()
        found = loaded[key](order["sources"], order["beam"], order["batch"], order["new"])
        seconds, cpu = perf_counter() - began, process_time() - cpu
        lengths = sorted({len(ids) for ids in found})
        told = {"seconds": seconds, "cpu_s": cpu, "lengths": lengths, "sentences": len(found)}
        return told | ({"answers": found} if order.get("answers") else {})

    for line in sys.stdin:
        order = json.loads(line)
        reply: dict[str, Any] = {}
        try:
            match order["do"]:
                case "prepare":
                    prepare(Path(order["folder"]), order["setting"])
                case "run":
                    reply = run(order)
                case "forget":
                    loaded.clear()
        except Exception as error:
            traceback.print_exc()
            first, *_ = str(error).strip().splitlines() or ["no more is known"]
            reply = {"problem": f"{type(error).__name__}: {first[:160]}"}
        memory = {"peak_mb": high_water(), "imported_mb": imported, "versions": versions}
        print(json.dumps(reply | memory), file=answers, flush=True)
