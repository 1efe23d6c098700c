"""Cost against length."""

import pytest
import torch

from jumok.comparison.growth import exponent, kept_bytes, measure_growth
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.models.build import build_model
from jumok.models.cost import forward_cost
from jumok.models.interface import Seq2Seq

V = 50
CONFIGS: dict[str, ModelConfig] = {
    "rnn": RnnConfig(width=16, layers=1),
    "luong": LuongConfig(width=16, layers=1),
    "transformer": TransformerConfig(width=16, heads=2, feedforward=32, encoder_layers=1, decoder_layers=1),
}


def built(config: ModelConfig) -> Seq2Seq:
    torch.manual_seed(0)
    return build_model(config, V, V, shared=True)


@pytest.mark.parametrize("arch", CONFIGS)
def test_measured_figures_stand_beside_the_formula(arch: str) -> None:
    config = CONFIGS[arch]
    found = measure_growth(built(config), config, V, lengths=(8, 16, 32))
    assert found is not None
    assert found["lengths"] == [8, 16, 32]
    assert found["flops"] == [forward_cost(config, n, n, V).flops for n in (8, 16, 32)]
    assert found["formula_bytes"] == [forward_cost(config, n, n, V).activation_bytes for n in (8, 16, 32)]
    assert all(ms > 0 for ms in found["ms"])
    assert found["ms_fit"] == f"n^{found['exponents']['ms']:.2f}"
    assert "2·T·D·V" in found["formula"]


@pytest.mark.parametrize("arch", CONFIGS)
def test_kept_memory_is_exact_and_grows(arch: str) -> None:
    model = built(CONFIGS[arch]).eval()
    first, second = kept_bytes(model, 8), kept_bytes(model, 32)
    assert first == kept_bytes(model, 8)
    assert second > 3 * first


def test_kept_memory_is_what_a_known_graph_saves() -> None:
    class Square(Seq2Seq):
        """x² of a weight: autograd keeps the product's input and what the loss saves, nothing else."""

        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def forward(self, source: torch.Tensor, mask: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            x = self.weight.expand(source.shape[1] * V).view(1, -1, V) * 1.0  # (B, T, V), keeps nothing
            return x * x

    n, number, mask_and_ids = 6, 4, 4 + 8
    kept = n * V * number  # x, kept once though used twice
    loss = n * V * number + n * (number + mask_and_ids)  # logits, log_z, real, target
    assert kept_bytes(Square(), n) == kept + loss


def test_learned_positions_end_where_their_table_ends() -> None:
    config = TransformerConfig(
        width=16,
        heads=2,
        feedforward=16,
        encoder_layers=1,
        decoder_layers=1,
        positions="learned",
        max_positions=20,
    )
    assert measure_growth(built(config), config, V, lengths=(8, 16, 32))["lengths"] == [8, 16]


def test_the_exponent_of_a_power() -> None:
    lengths = [16, 32, 64, 128]
    assert exponent(lengths, [3 * n**1.5 for n in lengths]) == pytest.approx(1.5)
    assert exponent(lengths, [9, 9, *(n**2 for n in lengths[2:])]) > 1
    assert exponent([16], [1]) == 0


def test_a_table_of_positions_too_short_to_grow_has_none() -> None:
    config = TransformerConfig(width=16, heads=2, feedforward=32, positions="learned", max_positions=10)
    assert measure_growth(built(config), config, V, lengths=(8, 16, 32)) is None
