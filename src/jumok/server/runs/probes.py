"""The probes of a run: where the model looked at each validation, as training left it in `probes/`."""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.errors import DataError
from jumok.explain.tensors import unpack
from jumok.server.runs.tail import plain, read_small

NAME = re.compile(r"step-([0-9]{7,15})\.safetensors")
LARGEST = 16 << 20


def probe_files(run: Path) -> dict[int, Path]:
    """The probes of a run by step."""
    found = {}
    with suppress(OSError):
        for file in (run / "probes").iterdir():
            if match := NAME.fullmatch(file.name):
                found[int(match[1])] = file
    return dict(sorted(found.items()))


def read_probe(run: Path, step: int) -> dict[str, Any] | None:
    """The probe of a step: its sentences with the labels of both axes and the atlas, base64 of uint8
    [L, H, Q, K]. None if there is none, or if its file is damaged.
    """
    file = probe_files(run).get(step)
    data = read_small(file, LARGEST) if file else None
    if data is None:
        return None
    try:
        metadata, tensors = unpack(data, str(file))
        about = plain(json.loads(metadata["probe"]))
        sentences = list(match_up(about["sentences"], tensors))
    except (DataError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return {"step": step, "sentences": sentences}


def match_up(sentences: Any, tensors: Mapping[str, NDArray[Any]]) -> Iterator[dict[str, Any]]:
    """Each sentence with its tensor; ValueError where labels and shape do not agree."""
    for number, one in enumerate(sentences):
        maps = tensors[str(number)]
        source, target = list(map(str, one["source"])), list(map(str, one["target"]))
        if maps.dtype != np.uint8 or maps.ndim != 4 or maps.shape[2:] != (len(target), len(source)):
            raise ValueError(f"sentence {number} has another shape than its labels")
        yield {
            "source": source,
            "target": target,
            "text": str(one["text"]),
            "shape": list(maps.shape),
            "atlas": b64encode(maps.tobytes()).decode("ascii"),
        }
