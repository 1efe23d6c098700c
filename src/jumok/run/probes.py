"""Attention taking shape: at each validation, where the model looked while it wrote a few sentences.

One safetensors file per validation, `probes/step-0002000.safetensors`: a uint8 tensor `0`, `1`, … for each
sentence, [L, H, T, S] of `explain.tensors.atlas`, and what stands on its axes in the metadata.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from jumok.checkpoint.folder import replace_file
from jumok.decoding.results import Translation
from jumok.decoding.translator import Translator
from jumok.errors import RunError
from jumok.explain.capture import capture
from jumok.explain.tensors import atlas, pack
from jumok.explain.tokens import label
from jumok.text.tokenizer import EOS

PROBES = "probes"
FORMAT = "probes/1"
MOST_FILES = 200
NAME = re.compile(r"step-([0-9]{7,18})\.safetensors")


def write_probe(run: Path, step: int, translator: Translator, answers: Sequence[Translation]) -> str | None:
    """Keep the cross attention behind these answers; returns the file's place in the run folder.

    None for a model without attention, or when no sentence fits into the model. A RunError if the disk, or
    the memory, is full: training goes on without the picture.
    """
    try:
        data = probe_bytes(step, translator, answers)
        if data is None:
            return None
        (run / PROBES).mkdir(exist_ok=True)
        file = run / PROBES / f"step-{step:07d}.safetensors"
        replace_file(file, data)
        thin_out(file.parent)
    except OSError as error:
        message = f"cannot keep the attention of step {step}: {error.strerror}"
        raise RunError(message, where=str(run / PROBES), code="io_error") from None
    except torch.OutOfMemoryError:
        raise RunError(f"no memory for the attention of step {step}", code="out_of_memory") from None
    return f"{PROBES}/{file.name}"


def probe_bytes(step: int, translator: Translator, answers: Sequence[Translation]) -> bytes | None:
    """The content of a file: one teacher-forced pass over the model's own output."""
    both, longest = translator.tokenizers, translator.config.data.max_length
    sources = both.source.encode_many(answer.source for answer in answers)
    fitting = [i for i, ids in enumerate(sources) if 0 < len(ids) <= longest and answers[i].tokens]
    if not fitting:
        return None
    written = [[token.id for token in answers[i].tokens if token.id != EOS] for i in fitting]
    ended = [answers[i].finished for i in fitting]
    read = [both.framed(sources[i]) for i in fitting]
    captured = capture(translator.model, read, written, ended=ended)
    if "cross" not in captured[0].weights:
        return None
    sentences = [
        {
            "sentence": i,
            "source": [label(piece) for piece in both.source.pieces(one.source)],
            "target": [label(piece) for piece in both.target.pieces(one.target)],
            "text": answers[i].text,
        }
        for i, one in zip(fitting, captured, strict=True)
    ]
    about: dict[str, Any] = {"step": step, "sentences": sentences}
    metadata = {"format": FORMAT, "probe": json.dumps(about, ensure_ascii=False)}
    return pack({str(n): atlas(one.weights["cross"]) for n, one in enumerate(captured)}, metadata)


def thin_out(folder: Path) -> None:
    """Keep at most `MOST_FILES` probes: of more, every second one goes, never the first or the last."""
    found = sorted((int(match[1]), file) for file in folder.iterdir() if (match := NAME.fullmatch(file.name)))
    if len(found) > MOST_FILES:
        for _, file in found[1:-1:2]:
            with suppress(FileNotFoundError):
                file.unlink()
