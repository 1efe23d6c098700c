"""A file of Marian with the weights of a folder of transformers, so that the two can be compared."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

NAMES = {"self_attn": "self", "encoder_attn": "context"}
LETTERS = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "out_proj": "o"}
NORMS = {
    "self_attn_layer_norm": "self_Wo_ln",
    "encoder_attn_layer_norm": "context_Wo_ln",
    "final_layer_norm": "ffn_ffn_ln",
}


def marian_file(folder: Path, out: Path) -> Path:
    """`model.npz` beside its vocabulary and SentencePiece models; without `<pad>`, which Marian has not."""
    out.mkdir()
    tensors = load_file(folder / "model.safetensors")
    said = json.loads((folder / "config.json").read_text())
    vocabulary = json.loads((folder / "vocab.json").read_text())
    pad = vocabulary.pop("<pad>")
    arrays = {
        "Wemb": tensors["model.shared.weight"][:pad],
        "decoder_ff_logit_out_b": tensors["final_logits_bias"][:, :pad],
    }
    for side in ("encoder", "decoder"):
        for n in range(said[f"{side}_layers"]):
            theirs, ours = f"model.{side}.layers.{n}", f"{side}_l{n + 1}"
            for attention, name in NAMES.items():
                for matrix, letter in LETTERS.items():
                    if f"{theirs}.{attention}.{matrix}.weight" in tensors:
                        arrays[f"{ours}_{name}_W{letter}"] = tensors[
                            f"{theirs}.{attention}.{matrix}.weight"
                        ].T
                        arrays[f"{ours}_{name}_b{letter}"] = tensors[f"{theirs}.{attention}.{matrix}.bias"][
                            None
                        ]
            for number in (1, 2):
                arrays[f"{ours}_ffn_W{number}"] = tensors[f"{theirs}.fc{number}.weight"].T
                arrays[f"{ours}_ffn_b{number}"] = tensors[f"{theirs}.fc{number}.bias"][None]
            for norm, name in NORMS.items():
                if f"{theirs}.{norm}.weight" in tensors:
                    arrays[f"{ours}_{name}_scale"] = tensors[f"{theirs}.{norm}.weight"][None]
                    arrays[f"{ours}_{name}_bias"] = tensors[f"{theirs}.{norm}.bias"][None]
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    arrays["special:model.yml"] = np.frombuffer(settings(said).encode() + b"\0", dtype=np.int8)
    np.savez(out / "model.npz", **arrays)
    lines = "".join(f"{json.dumps(token, ensure_ascii=False)}: {n}\n" for token, n in vocabulary.items())
    (out / "opus.vocab.yml").write_text(lines, encoding="utf-8")
    for name in ("source.spm", "target.spm"):
        (out / name).write_bytes((folder / name).read_bytes())
    return out / "model.npz"


def settings(said: dict[str, int]) -> str:
    return f"""type: transformer
dim-emb: {said["d_model"]}
enc-depth: {said["encoder_layers"]}
dec-depth: {said["decoder_layers"]}
transformer-heads: {said["encoder_attention_heads"]}
transformer-dim-ffn: {said["encoder_ffn_dim"]}
transformer-ffn-activation: swish
transformer-preprocess: ""
transformer-postprocess: dan
tied-embeddings-all: true
dim-vocabs:
  - 10
"""
