"""Our native engine as a contestant: int8 or float32, with a shortlist or without."""

from pathlib import Path

import numpy as np

from cpu_peers.task import make_likely, read_weights, shortlist, size_of, transformer_settings
from cpu_peers.worker import Ids, Setting, Translate, serve
from jumok import __version__
from jumok.architectures import TransformerConfig
from jumok.checkpoint.manifest import into_pages
from jumok.native.folder import dump_parts, parse_parts
from jumok.native.library import available, library
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.tensors import dump_tensors, parse_tensors
from jumok.native.weights import pack_weights


def place(folder: Path, setting: Setting) -> Path:
    return folder / f"jumok-{setting['type']}.safetensors"


def prepare(folder: Path, setting: Setting) -> None:
    """The weights as our folders hold them: plain, or int8 codes as the kernels of today read them."""
    there, weights = place(folder, setting), read_weights(folder)
    del weights["source_embedding.weight"]  # one table
    if setting["type"] == "int8":
        config = TransformerConfig(**transformer_settings(size_of(folder)))
        data = dump_parts(pack_weights(config, weights, shared=True, type="int8"), "random weights")
    else:
        data = dump_tensors(weights, {})
    fresh = there.with_suffix(".new")
    fresh.write_bytes(data)
    fresh.replace(there)  # another process may have the old file in its memory


def load(folder: Path, setting: Setting) -> Translate:
    size, there = size_of(folder), place(folder, setting)
    config, V = TransformerConfig(**transformer_settings(size)), size.vocabulary
    with there.open("rb") as file:
        data = into_pages(file, there.stat().st_size)
    if setting["type"] == "int8":
        parts, _ = parse_parts(data, config, (V, V), str(there), shared=True)
        model = NativeModel(config, parts)
    else:
        tensors, _ = parse_tensors(data, str(there))
        model = NativeModel(config, pack_weights(config, tensors, shared=True))
    likely = make_likely(size) if setting.get("shortlist") else None

    def translate(sources: Ids, beam: int, batch: int, new: int) -> Ids:
        lists = None if likely is None else [shortlist(size, likely, source) for source in sources]
        found = model.search(
            [source[:-1] for source in sources],
            [new] * len(sources),
            SearchOptions(beam=beam, keep=1, rows=batch * beam),
            shortlists=lists,
            threads=setting["threads"],
        )
        return [list(answers[0].ids) for answers in found]

    return translate


if __name__ == "__main__":
    level = library().level if available() else "no library"
    serve(prepare, load, f"jumok {__version__}, {level}, numpy {np.__version__}")
