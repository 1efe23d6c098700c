"""CTranslate2 as a contestant: the weights through its own specification, the shortlist as its `vmap`."""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec

from cpu_peers.task import (
    BOS,
    EOS,
    LEARNED,
    PAD,
    Floats,
    frequent,
    make_likely,
    read_weights,
    sinusoidal,
    size_of,
)
from cpu_peers.worker import Ids, Setting, Translate, serve

SPECIAL = {PAD: "<pad>", BOS: "<s>", EOS: "</s>", 3: "<unk>"}


def word(id: int) -> str:
    return SPECIAL.get(id) or f"w{id}"


def place(folder: Path, setting: Setting) -> Path:
    return folder / f"ctranslate2-{setting['type']}"


def prepare(folder: Path, setting: Setting) -> None:
    """Convert the weights, once."""
    there, size = place(folder, setting), size_of(folder)
    if (there / "model.bin").exists() and os.path.getmtime(there) > os.path.getmtime(folder / "size.json"):
        return
    shutil.rmtree(there, ignore_errors=True)
    weights = read_weights(folder)
    spec = TransformerSpec.from_config((size.encoder_layers, size.decoder_layers), size.heads, pre_norm=False)
    fill(spec, weights)
    words = [word(id) for id in range(size.vocabulary)]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    with TemporaryDirectory() as scratch:
        lines = ["\t" + " ".join(map(word, frequent(size)))]
        for id, ids in enumerate(make_likely(size).tolist()):
            if id >= LEARNED:
                lines.append(word(id) + "\t" + " ".join(sorted({word(one) for one in ids})))
        (Path(scratch) / "vmap.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        spec.register_vocabulary_mapping(str(Path(scratch) / "vmap.txt"))
        spec.validate()
        spec.optimize(quantization="int8" if setting["type"] == "int8" else "float32")
        there.mkdir()
        spec.save(str(there))


def fill(spec: Any, weights: dict[str, Floats]) -> None:
    """Give each variable of the specification its array."""

    def linear(its: Any, name: str) -> None:
        its.weight, its.bias = weights[f"{name}.weight"], weights[f"{name}.bias"]

    def norm(its: Any, name: str) -> None:
        its.gamma, its.beta = weights[f"{name}.norm.weight"], weights[f"{name}.norm.bias"]

    table = weights["target_embedding.weight"]
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = table
    spec.decoder.projection.weight = table
    for side, its in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        its.position_encodings.encodings = sinusoidal(table.shape[1])
        for n, layer in enumerate(its.layer):
            mine = f"{side}.{n}"
            linear(layer.self_attention.linear[0], f"{mine}.attention.project.linear")
            linear(layer.self_attention.linear[1], f"{mine}.attention.output.linear")
            norm(layer.self_attention.layer_norm, f"{mine}.add_attention")
            if side == "decoder":
                linear(layer.attention.linear[0], f"{mine}.cross.project_query.linear")
                linear(layer.attention.linear[1], f"{mine}.cross.project_memory.linear")
                linear(layer.attention.linear[2], f"{mine}.cross.output.linear")
                norm(layer.attention.layer_norm, f"{mine}.add_cross")
            linear(layer.ffn.linear_0, f"{mine}.feedforward.inner")
            linear(layer.ffn.linear_1, f"{mine}.feedforward.outer")
            norm(layer.ffn.layer_norm, f"{mine}.add_feedforward")


def load(folder: Path, setting: Setting) -> Translate:
    """A translator of the type and with the threads that the setting names."""
    threads = setting["threads"]
    layout = {"inter_threads": threads, "intra_threads": 1}
    if setting.get("layout") == "intra":
        layout = {"inter_threads": 1, "intra_threads": threads}
    translator = ctranslate2.Translator(
        str(place(folder, setting)), device="cpu", compute_type=setting["type"], **layout
    )
    ids = {word(id): id for id in range(size_of(folder).vocabulary)}
    words = list(ids)

    def translate(sources: Ids, beam: int, batch: int, new: int) -> Ids:
        found = translator.translate_batch(
            [[words[id] for id in source] for source in sources],
            beam_size=beam,
            max_batch_size=batch,
            max_decoding_length=new,
            use_vmap=bool(setting.get("shortlist")),
        )
        return [[ids[one] for one in result.hypotheses[0]] for result in found]

    return translate


if __name__ == "__main__":
    serve(prepare, load, f"ctranslate2 {ctranslate2.__version__}, numpy {np.__version__}")
