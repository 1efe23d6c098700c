"""Where models drop numbers while they learn: as often as the papers say, and nowhere else."""

from typing import Any

import pytest
import torch
from torch import Tensor

from jumok.backends.torch import TorchBackend
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.models.build import build_model

SIZES: dict[str, Any] = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 2, "decoder_layers": 3}
SOURCE, TARGET = (7, 8), (6, 8)  # all tokens of a side, and the width


class Drops(TorchBackend):
    """Notes what is dropped, and drops nothing."""

    def __init__(self) -> None:
        self.seen: list[tuple[tuple[int, ...], float, bool]] = []

    def drop(self, x: Tensor, share: float, *, training: bool) -> Tensor:
        self.seen.append((tuple(x.shape), share, training))
        return x


CASES: list[tuple[ModelConfig, list[tuple[int, int]]]] = [
    # Embeddings, and what each sub-layer adds: two of an encoder layer, three of a decoder layer.
    (TransformerConfig(**SIZES, dropout=0.3), [SOURCE] * (1 + 2 * 2) + [TARGET] * (1 + 3 * 3)),
    (TransformerConfig(**SIZES, dropout=0.3, norm="pre"), [SOURCE] * (1 + 2 * 2) + [TARGET] * (1 + 3 * 3)),
    # Embeddings, and what the head multiplies; between layers torch does it itself.
    (RnnConfig(width=8, dropout=0.3), [SOURCE, TARGET, TARGET]),
    (LuongConfig(width=8, dropout=0.3), [SOURCE, TARGET, TARGET]),
    (LuongConfig(width=8, dropout=0.3, input_feeding=True), [SOURCE, TARGET, TARGET]),
]


@pytest.mark.parametrize(("config", "places"), CASES)
@pytest.mark.parametrize("training", [True, False])
def test_every_place_where_numbers_are_dropped(
    bench: Any, config: ModelConfig, places: list[tuple[int, int]], *, training: bool
) -> None:
    model, ops = build_model(config, bench.vocab, bench.vocab, shared=True).train(training), Drops()
    batch = bench.batch([3, 4], [5, 1])
    with torch.inference_mode():
        model.using(ops)(batch.source, batch.target_in)
    assert ops.seen == [(shape, 0.3, training) for shape in places]


def test_between_recurrent_layers_of_both_sides() -> None:
    for config in (RnnConfig(width=8, layers=2, dropout=0.3), LuongConfig(width=8, layers=2, dropout=0.3)):
        model: Any = build_model(config, 9, 9, shared=True)
        assert (model.encoder.cell.dropout, model.decoder.dropout) == (0.3, 0.3)
        assert (model.encoder.cell.num_layers, model.decoder.num_layers) == (2, 2)
        assert (model.encoder.cell.batch_first, model.decoder.batch_first) == (True, True)
        assert not model.decoder.bidirectional
