"""The work of every contestant of cpu_decoding.py: weights, sentences and shortlists, drawn with numpy.

The weights have the names of our own state dict; whoever runs them writes them in a form of its own. Imported
in environments that have numpy and little else.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
BOS, PAD, EOS = range(3)  # as in jumok.text.tokenizer
LEARNED = 260  # special ids and single bytes stand before
POSITIONS = 640  # rows of a peer's table
SEED = 0


@dataclass(frozen=True)
class Size:
    """A post-norm Transformer with ReLU, sinusoidal positions and one table for both sides and the output."""

    encoder_layers: int
    decoder_layers: int
    width: int
    heads: int
    feedforward: int
    vocabulary: int
    frequent: int  # pieces on every shortlist
    likely: int  # pieces that each source piece adds to it


SIZES = {
    "base": Size(6, 6, 512, 8, 2048, 32_000, 760, 24),
    "small": Size(3, 3, 256, 4, 1024, 8_000, 840, 24),
    "tiny": Size(1, 1, 32, 2, 64, 400, 20, 4),
}


def make_weights(size: Size) -> dict[str, Floats]:
    """Random weights whose answers never end, by name."""
    draw = np.random.default_rng(SEED)
    D, F = size.width, size.feedforward
    found: dict[str, Floats] = {}

    def normal(*shape: int, std: float) -> Floats:
        return (std * draw.standard_normal(shape, dtype=np.float32)).astype(np.float32)

    def linear(name: str, rows: int, columns: int, gain: float = 1.0) -> None:
        found[f"{name}.weight"] = normal(rows, columns, std=gain * columns**-0.5)
        found[f"{name}.bias"] = normal(rows, std=0.02)

    def norm(name: str) -> None:
        found[f"{name}.norm.weight"] = 1 + normal(D, std=0.05)
        found[f"{name}.norm.bias"] = normal(D, std=0.05)

    table = normal(size.vocabulary, D, std=D**-0.5)
    for side, layers in (("encoder", size.encoder_layers), ("decoder", size.decoder_layers)):
        for n in range(layers):
            layer = f"{side}.{n}"
            linear(f"{layer}.attention.project.linear", 3 * D, D)
            linear(f"{layer}.attention.output.linear", D, D, gain=0.3)
            norm(f"{layer}.add_attention")
            if side == "decoder":
                linear(f"{layer}.cross.project_query.linear", D, D)
                linear(f"{layer}.cross.project_memory.linear", 2 * D, D)
                linear(f"{layer}.cross.output.linear", D, D, gain=0.3)
                norm(f"{layer}.add_cross")
            linear(f"{layer}.feedforward.inner", F, D)
            linear(f"{layer}.feedforward.outer", D, F)
            norm(f"{layer}.add_feedforward")

    # Features get a constant part in one direction; the rows of all that is no learned piece are its
    # opposite, and learned rows have none of it. So the logit of an end is near -30 where others are near 0,
    # and every search goes on to its limit without a filter. Random signs keep a piece from being its own
    # best successor.
    direction = normal(D, std=1.0)
    direction /= np.linalg.norm(direction)
    table -= np.outer(table @ direction, direction)
    table[:LEARNED] = -direction
    last = f"decoder.{size.decoder_layers - 1}.add_feedforward.norm"
    found[f"{last}.weight"] *= np.sign(normal(D, std=1.0))
    found[f"{last}.bias"] += 30 * direction
    found["source_embedding.weight"] = found["target_embedding.weight"] = table
    return found


def sinusoidal(width: int, rows: int = POSITIONS) -> Floats:
    """The table of positions (P, D): sine and cosine of each angle in turn."""
    exponent = np.arange(0, width, 2, dtype=np.float32) / np.float32(width)
    angle = np.arange(rows, dtype=np.float32)[:, None] / np.float32(10_000) ** exponent
    return np.stack((np.sin(angle), np.cos(angle)), axis=-1).reshape(rows, width)


def make_sources(size: Size, count: int, length: int) -> list[list[int]]:
    """Sentences of so many pieces, the end of each included; words as uneven as Zipf's law makes them."""
    draw = np.random.default_rng(SEED + 1)
    words = size.vocabulary - LEARNED
    chance = 1 / (np.arange(words) + 3.0)
    ids = LEARNED + draw.choice(words, size=(count, length - 1), p=chance / chance.sum())
    return [[*row, EOS] for row in ids.tolist()]


def make_likely(size: Size) -> NDArray[np.int32]:
    """The target pieces that each source piece makes likely (V, likely): of about its own frequency."""
    draw = np.random.default_rng(SEED + 2)
    words = size.vocabulary - LEARNED
    rank = np.maximum(np.arange(size.vocabulary) - LEARNED, 0)[:, None]
    far = np.exp(draw.standard_normal((size.vocabulary, size.likely)))
    return (LEARNED + (rank * far + draw.integers(0, 50, far.shape)) % words).astype(np.int32)


def frequent(size: Size) -> list[int]:
    """The pieces on every shortlist."""
    return [EOS, *range(LEARNED, LEARNED + size.frequent)]


def shortlist(size: Size, likely: NDArray[np.int32], source: list[int]) -> NDArray[np.int32]:
    """The pieces that an answer to this sentence may have, ascending."""
    listed = np.zeros(size.vocabulary, dtype=bool)
    listed[EOS] = listed[LEARNED : LEARNED + size.frequent] = True
    listed[likely[source[:-1]]] = True
    return np.flatnonzero(listed).astype(np.int32)


def write_task(folder: Path, name: str) -> Path:
    """The folder with weights.npz of this size; made once, and again if this file changes."""
    made_by = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    there, about = folder / name, json.dumps(asdict(SIZES[name]) | {"seed": SEED, "made_by": made_by})
    if not (there / "size.json").exists() or (there / "size.json").read_text(encoding="utf-8") != about:
        there.mkdir(parents=True, exist_ok=True)
        np.savez(there / "weights.npz", **make_weights(SIZES[name]))  # type: ignore[arg-type]
        (there / "size.json").write_text(about, encoding="utf-8")
    return there


def size_of(folder: Path) -> Size:
    """What stands in a folder of write_task."""
    about = json.loads((folder / "size.json").read_text(encoding="utf-8"))
    return Size(**{name: about[name] for name in Size.__dataclass_fields__})


def read_weights(folder: Path) -> dict[str, Floats]:
    with np.load(folder / "weights.npz") as file:
        return dict(file)


def transformer_settings(size: Size) -> dict[str, Any]:
    """What our own configuration calls these sizes."""
    return {
        "encoder_layers": size.encoder_layers,
        "decoder_layers": size.decoder_layers,
        "width": size.width,
        "heads": size.heads,
        "feedforward": size.feedforward,
    }
