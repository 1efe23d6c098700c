"""What the picture of all attention weighs: the atlas of one sentence pair, all layers, heads and kinds.

    python benchmarks/trace_size.py            100 x 100 tokens, 6+6 layers, 8 heads
    python benchmarks/trace_size.py --smoke    small, for a quick look

Fresh weights attend to nearly everything alike, and trained ones do not. So queries and keys are scaled: read
the row whose entropy is that of the model in question (peaked heads have 1 to 2 bits).
"""

import argparse
import gzip
import json

import torch

from jumok.config import TransformerConfig
from jumok.explain.capture import capture
from jumok.explain.head_profile import head_profile
from jumok.explain.tensors import atlas, pack
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq

VOCABULARY = 4000
RAW, GZIP = 1_500_000, 600_000  # bytes


def peaked(config: TransformerConfig, factor: float) -> Seq2Seq:
    """A model whose queries and keys are `factor` times as large as a fresh one's."""
    torch.manual_seed(0)
    model = build_model(config, VOCABULARY, VOCABULARY, shared=True).eval()
    D = config.width
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("attention.project.linear.weight", "project_memory.linear.weight")):
                weight[: weight.shape[0] - D] *= factor  # all but the values, which come last
            elif name.endswith("project_query.linear.weight"):
                weight *= factor
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="a small pair and model")
    smoke = parser.parse_args().smoke
    length, layers, heads, width = (20, 2, 4, 64) if smoke else (100, 6, 8, 512)
    config = TransformerConfig(
        encoder_layers=layers, decoder_layers=layers, heads=heads, width=width, feedforward=4 * width
    )
    draw = torch.Generator().manual_seed(0)
    # The end of each side is the last token.
    source, target = torch.randint(260, VOCABULARY, (2, length - 1), generator=draw).tolist()
    print(f"atlas of {length} x {length} tokens, {layers} layers x {heads} heads x 3 kinds")
    print(f"{'W_Q, W_K':>9}  {'bits per row':>12}  {'raw':>10}  {'gzip':>10}  {'JSON of the weights':>20}")
    for factor in (1.0, 1.5, 2.0, 2.5, 3.0):
        (one,) = capture(peaked(config, factor), [source], [target])
        entropies = [
            bits
            for weights in one.weights.values()
            for layer in head_profile(weights, [False] * length, causal=False, same=True)["entropy"]
            for bits in layer
        ]
        raw = pack({f"{kind}.atlas": atlas(weights) for kind, weights in one.weights.items()})
        small = gzip.compress(raw, compresslevel=6)
        text = json.dumps({kind: weights.tolist() for kind, weights in one.weights.items()})
        print(
            f"{factor:>8.1f}x  {sum(entropies) / len(entropies):>12.2f}  {len(raw):>10,}  {len(small):>10,}"
            f"  {len(text):>20,}",
            flush=True,
        )
    print(f"budget: {RAW:,} bytes raw, {GZIP:,} gzip")


if __name__ == "__main__":
    main()
