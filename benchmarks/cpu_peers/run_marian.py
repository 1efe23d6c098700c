"""Marian as a contestant: through `pymarian`, the weights in its own names, quantised by its own converter.

Marian's table of positions has other angles than ours, so its answers differ; the work is the same.
"""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from pymarian import Translator

from cpu_peers.task import EOS, Floats, Size, read_weights, size_of
from cpu_peers.worker import Ids, Setting, Translate, serve

END, UNKNOWN = 0, 1  # of Marian; all rows below LEARNED are the same, so ids need not change


def place(folder: Path, setting: Setting) -> Path:
    return folder / f"marian-{setting['type']}.bin"


def prepare(folder: Path, setting: Setting) -> None:
    """Write the weights as model.npz, once, and let Marian's own converter quantise them."""
    there, plain, size = place(folder, setting), folder / "marian.npz", size_of(folder)
    if there.exists() and os.path.getmtime(there) > os.path.getmtime(folder / "size.json"):
        return
    arrays = named(size, read_weights(folder))
    arrays["special:model.yml"] = np.frombuffer(settings(size).encode() + b"\0", dtype=np.int8)
    np.savez(plain, **arrays)  # type: ignore[arg-type]
    words = {END: "</s>", UNKNOWN: "<unk>"}
    lines = [f"{words.get(id) or f'w{id}'}: {id}" for id in range(size.vocabulary)]
    (folder / "marian.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    convert = ["convert", "-f", str(plain), "-t", str(there), "--gemm-type", setting["type"]]
    subprocess.run([sys.executable, "-m", "pymarian", *convert], check=True, stdout=sys.stderr)


def settings(size: Size) -> str:
    """What Marian has to know of the model."""
    return "\n".join(
        [
            "type: transformer",
            "version: v1.12.0",
            f"dim-emb: {size.width}",
            f"dim-vocabs: [{size.vocabulary}, {size.vocabulary}]",
            f"enc-depth: {size.encoder_layers}",
            f"dec-depth: {size.decoder_layers}",
            f"transformer-heads: {size.heads}",
            f"transformer-dim-ffn: {size.feedforward}",
            "transformer-ffn-depth: 2",
            "transformer-ffn-activation: relu",
            'transformer-preprocess: ""',
            "transformer-postprocess: dan",
            "transformer-postprocess-emb: d",
            "transformer-decoder-autoreg: self-attention",
            "tied-embeddings-all: true",
            "tied-embeddings: false",
            "tied-embeddings-src: false",
        ]
    )


def named(size: Size, weights: dict[str, Floats]) -> dict[str, Floats]:
    """The weights in Marian's names and shapes."""
    V = size.vocabulary
    found = {"Wemb": weights["target_embedding.weight"], "decoder_ff_logit_out_b": np.zeros((1, V), "f4")}

    def linear(to: str, ends: str, mine: str) -> None:
        matrices = np.split(weights[f"{mine}.weight"], len(ends))
        for end, matrix, bias in zip(
            ends, matrices, np.split(weights[f"{mine}.bias"], len(ends)), strict=True
        ):
            found[f"{to}_W{end}"] = np.ascontiguousarray(matrix.T)
            found[f"{to}_b{end}"] = bias[None].copy()

    def norm(to: str, mine: str) -> None:
        found[f"{to}_ln_scale"] = weights[f"{mine}.norm.weight"][None].copy()
        found[f"{to}_ln_bias"] = weights[f"{mine}.norm.bias"][None].copy()

    for side, layers in (("encoder", size.encoder_layers), ("decoder", size.decoder_layers)):
        for n in range(layers):
            to, mine = f"{side}_l{n + 1}", f"{side}.{n}"
            linear(f"{to}_self", "qkv", f"{mine}.attention.project.linear")
            linear(f"{to}_self", "o", f"{mine}.attention.output.linear")
            norm(f"{to}_self_Wo", f"{mine}.add_attention")
            if side == "decoder":
                linear(f"{to}_context", "q", f"{mine}.cross.project_query.linear")
                linear(f"{to}_context", "kv", f"{mine}.cross.project_memory.linear")
                linear(f"{to}_context", "o", f"{mine}.cross.output.linear")
                norm(f"{to}_context_Wo", f"{mine}.add_cross")
            linear(f"{to}_ffn", "1", f"{mine}.feedforward.inner")
            linear(f"{to}_ffn", "2", f"{mine}.feedforward.outer")
            norm(f"{to}_ffn_ffn", f"{mine}.add_feedforward")
    return found


def load(folder: Path, setting: Setting) -> Translate:
    """A translator for each way to search; Marian reads the model anew for each."""
    made: dict[tuple[int, int, int], Translator] = {}

    def translate(sources: Ids, beam: int, batch: int, new: int) -> Ids:
        key = (beam, batch, new)
        if key not in made:
            made.clear()
            vocabulary, length = folder / "marian.yml", len(sources[0])
            made[key] = Translator(
                f"--models {place(folder, setting)} --vocabs {vocabulary} {vocabulary} --beam-size {beam} "
                f"--mini-batch {batch} --maxi-batch {1 if batch == 1 else 100} "
                f"--cpu-threads {setting['threads']} "
                f"--max-length-factor {(new - 0.5) / length} --max-length 1000 --quiet --quiet-translation"
            )
        lines = [" ".join(f"w{id}" for id in source if id != EOS) for source in sources]
        found = made[key].translate(lines)
        return [[int(word[1:]) for word in line.split() if word.startswith("w")] for line in found]

    return translate


if __name__ == "__main__":
    serve(prepare, load, f"pymarian {version('pymarian')}, numpy {np.__version__}")
