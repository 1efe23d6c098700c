"""Peak bytes of live tensors."""

import torch

from jumok.comparison.memory import LiveTensors, peak_of, update_peak, weight_bytes
from jumok.config import RnnConfig, RunConfig, TrainingConfig
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq


def built() -> Seq2Seq:
    torch.manual_seed(0)
    return build_model(RnnConfig(width=16, layers=1), 50, 50, shared=True)


def test_a_tensor_counts_as_long_as_it_lives() -> None:
    with LiveTensors() as live:
        x = torch.zeros(1000)
        y = x.view(10, 100)
        assert live.now == 4000
        del x
        assert live.now == 4000  # the view keeps all of it
        del y
        assert live.now == 0
        z = torch.zeros(10)
        assert (live.now, live.peak) == (40, 4000)
        del z


def test_a_peak_holds_the_weights_and_what_was_made() -> None:
    model = built()
    numbers = sum(weight.numel() for weight in model.parameters())
    assert weight_bytes(model) == 4 * numbers
    assert peak_of(model, lambda: torch.zeros(100)) == 4 * numbers + 400


def test_an_update_holds_weights_gradients_and_moments() -> None:
    model, pairs = built(), [([4, 5, 6], [7, 8])] * 40
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    small, large = (
        update_peak(model, RunConfig(training=TrainingConfig(batch_tokens=tokens)), pairs)
        for tokens in (20, 200)
    )
    assert 4 * weight_bytes(model) < small < large
    assert large == update_peak(model, RunConfig(training=TrainingConfig(batch_tokens=200)), pairs)
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())
    assert all(weight.grad is None for weight in model.parameters())
