"""transformers' `generate` as a contestant: a MarianMTModel with the same weights, in fp32."""

import os
from pathlib import Path
from typing import Any

import torch
import transformers

from cpu_peers.task import BOS, EOS, PAD, POSITIONS, Floats, Size, read_weights, sinusoidal, size_of
from cpu_peers.worker import Ids, Setting, Translate, serve


def place(folder: Path) -> Path:
    return folder / "transformers"


def prepare(folder: Path, setting: Setting) -> None:
    """Write the model in its own form, once."""
    there = place(folder)
    weights, about = there / "model.safetensors", folder / "size.json"
    if weights.exists() and os.path.getmtime(weights) > os.path.getmtime(about):
        return
    size = size_of(folder)
    marian = make_marian(size)
    fill(marian, size, read_weights(folder))
    marian.save_pretrained(there)


def make_marian(size: Size) -> Any:
    sides = {
        f"{side}_{what}": value
        for side, layers in (("encoder", size.encoder_layers), ("decoder", size.decoder_layers))
        for what, value in (
            ("layers", layers),
            ("ffn_dim", size.feedforward),
            ("attention_heads", size.heads),
        )
    }
    settings = transformers.MarianConfig(
        vocab_size=size.vocabulary,
        d_model=size.width,
        max_position_embeddings=POSITIONS,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PAD,
        eos_token_id=EOS,
        bos_token_id=BOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
        **sides,
    )
    return transformers.MarianMTModel(settings)


@torch.no_grad()
def fill(marian: Any, size: Size, weights: dict[str, Floats]) -> None:
    """Copy the arrays; ours have queries, keys and values side by side in one matrix."""

    def copy(its: Any, weight: Floats, bias: Floats) -> None:
        its.weight.copy_(torch.from_numpy(weight))
        its.bias.copy_(torch.from_numpy(bias))

    def linear(its: Any, name: str) -> None:
        copy(its, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def attention(its: Any, names: list[str], output: str) -> None:
        parts = [
            (weights[f"{name}.weight"][n : n + size.width], weights[f"{name}.bias"][n : n + size.width])
            for name in names
            for n in range(0, len(weights[f"{name}.bias"]), size.width)
        ]
        for one, (weight, bias) in zip((its.q_proj, its.k_proj, its.v_proj), parts, strict=True):
            copy(one, weight, bias)
        linear(its.out_proj, output)

    marian.model.shared.weight.copy_(torch.from_numpy(weights["target_embedding.weight"]))
    for side, its in (("encoder", marian.model.encoder), ("decoder", marian.model.decoder)):
        for n, layer in enumerate(its.layers):
            mine = f"{side}.{n}"
            attention(
                layer.self_attn, [f"{mine}.attention.project.linear"], f"{mine}.attention.output.linear"
            )
            linear(layer.self_attn_layer_norm, f"{mine}.add_attention.norm")
            if side == "decoder":
                cross = [f"{mine}.cross.project_query.linear", f"{mine}.cross.project_memory.linear"]
                attention(layer.encoder_attn, cross, f"{mine}.cross.output.linear")
                linear(layer.encoder_attn_layer_norm, f"{mine}.add_cross.norm")
            linear(layer.fc1, f"{mine}.feedforward.inner")
            linear(layer.fc2, f"{mine}.feedforward.outer")
            linear(layer.final_layer_norm, f"{mine}.add_feedforward.norm")


def load(folder: Path, setting: Setting) -> Translate:
    marian = transformers.MarianMTModel.from_pretrained(place(folder)).eval()
    for its in (marian.model.encoder, marian.model.decoder):  # loading gives it a table of its own
        its.embed_positions.weight.data = torch.from_numpy(sinusoidal(size_of(folder).width))

    @torch.inference_mode()
    def translate(sources: Ids, beam: int, batch: int, new: int) -> Ids:
        torch.set_num_threads(setting["threads"])
        found: Ids = []
        for first in range(0, len(sources), batch):
            source = torch.tensor(sources[first : first + batch])  # all of one length
            out = marian.generate(
                input_ids=source,
                attention_mask=torch.ones_like(source),
                num_beams=beam,
                max_new_tokens=new,
                early_stopping=True,
                do_sample=False,
                use_cache=True,
            )
            found += [row[: row.index(EOS)] if EOS in row else row for row in out[:, 1:].tolist()]
        return found

    return translate


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    serve(prepare, load, f"transformers {transformers.__version__}, torch {torch.__version__}")
