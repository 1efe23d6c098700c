"""Cost against length."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from jumok.comparison import cost
from jumok.comparison.cost import (
    LENGTHS,
    LiveTensors,
    exponent,
    kept_bytes,
    measure_growth,
    peak_of,
    time_of_pass,
    update_peak,
    weight_bytes,
)
from jumok.config import (
    DataConfig,
    LuongConfig,
    ModelConfig,
    RnnConfig,
    RunConfig,
    TrainingConfig,
    TransformerConfig,
)
from jumok.models.build import build_model
from jumok.models.cost import forward_cost
from jumok.models.interface import PlainPrediction, Seq2Seq
from jumok.models.sentences import Sentences

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
    told: list[tuple[str, int, int | None]] = []
    found = measure_growth(
        built(config), config, V, lengths=(8, 16, 32), progress=lambda *said: told.append(said)
    )
    assert told == [("growth with length", done, 3) for done in (1, 2, 3)]
    assert found is not None
    assert found["lengths"] == [8, 16, 32]
    assert found["flops"] == [forward_cost(config, n, n, V).flops for n in (8, 16, 32)]
    assert found["formula_bytes"] == [forward_cost(config, n, n, V).activation_bytes for n in (8, 16, 32)]
    assert all(ms > 0 for ms in found["ms"])
    assert found["ms_fit"] == f"n^{found['exponents']['ms']:.2f}"
    assert "2·T·D·V" in found["formula"]


def test_a_pass_takes_a_part_of_the_time_in_which_it_is_repeated() -> None:
    began = time.perf_counter()
    ms = time_of_pass(small_rnn(), 8)
    assert 0 < 2 * ms < 1000 * (time.perf_counter() - began)  # two passes or more took the median or more


@pytest.mark.parametrize(
    ("seconds", "passes"),
    [(0.001, 15), (0.05, 4), (0.06, 4), (0.1, 3), (9.0, 3)],  # until a fifth of a second is over
)
def test_quick_passes_are_repeated_more_often(
    seconds: float, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def one_pass(model: Seq2Seq, n: int) -> torch.Tensor:
        clock.append(clock[-1] + seconds)
        return torch.zeros(())

    monkeypatch.setattr(cost, "one_pass", one_pass)
    monkeypatch.setattr(cost, "time", SimpleNamespace(perf_counter=lambda: clock[-1]))
    assert time_of_pass(small_rnn(), 8) == pytest.approx(1000 * seconds)
    assert len(clock) - 2 == passes  # after one that wakes everything


def test_lengths_double() -> None:
    assert [LENGTHS[0], *(n // 2 for n in LENGTHS[1:]), 512] == [16, *LENGTHS]


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

        def forward(self, source: Sentences, target_in: Sentences) -> PlainPrediction:
            x = self.weight.expand(source.longest * V).view(-1, V) * 1.0  # (T, V), keeps nothing
            return PlainPrediction(x * x)

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
    model = built(config)
    assert measure_growth(model, config, V, lengths=(8, 16, 32))["lengths"] == [8, 16]
    assert measure_growth(model, config, V, lengths=(8, 20, 32))["lengths"] == [8, 20]
    assert measure_growth(model, config, V, lengths=(8, 21, 32)) is None  # one length shows no growth


def test_the_exponent_of_a_power() -> None:
    lengths = [16, 32, 64, 128]
    assert exponent(lengths, [3 * n**1.5 for n in lengths]) == pytest.approx(1.5)
    assert exponent(lengths, [1e9, *(n**2 for n in lengths[1:])]) == pytest.approx(2)  # of the last three
    assert exponent(lengths, [7, 1, 1, 8]) == pytest.approx(1.5)
    assert exponent(lengths[:2], [1, 8]) == pytest.approx(3)
    assert exponent([16], [1]) == 0


def test_a_table_of_positions_too_short_to_grow_has_none() -> None:
    config = TransformerConfig(width=16, heads=2, feedforward=32, positions="learned", max_positions=10)
    assert measure_growth(built(config), config, V, lengths=(8, 16, 32)) is None


def small_rnn() -> Seq2Seq:
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
    model = small_rnn()
    numbers = sum(weight.numel() for weight in model.parameters())
    assert weight_bytes(model) == 4 * numbers
    assert peak_of(model, lambda: torch.zeros(100)) == 4 * numbers + 400


def test_an_update_holds_weights_gradients_and_moments() -> None:
    model, pairs = small_rnn(), [([4, 5, 6], [7, 8])] * 40
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    small, large = (
        update_peak(model, RunConfig(training=TrainingConfig(batch_tokens=tokens)), pairs)
        for tokens in (20, 200)
    )
    assert 4 * weight_bytes(model) < small < large
    assert large == update_peak(model, RunConfig(training=TrainingConfig(batch_tokens=200)), pairs)
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())
    assert all(weight.grad is None for weight in model.parameters())


@pytest.mark.parametrize(
    ("training", "lengths"),
    [
        ({"batch_tokens": 27}, [5, 5]),  # one of 5 + 4 tokens and two ends has 11: two of them fit
        ({"batch_tokens": 33}, [5, 5, 3]),
        ({"batch_tokens": 44, "accumulate": 2}, [5, 5]),
        ({"batch_tokens": 44, "accumulate": 4}, [5]),
        ({"batch_tokens": 3}, [5]),
    ],
)
def test_an_update_is_of_the_longest_pairs_that_may_be_learned(
    training: dict[str, int], lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    laid: list[list[int]] = []
    monkeypatch.setattr(cost, "lay_pairs", lambda ours, theirs: laid.append([len(one) for one in ours]))
    monkeypatch.setattr(cost, "peak_of", lambda model, work: 7)
    pairs = [([4] * n, [4] * m) for n, m in ((3, 3), (5, 4), (9, 1), (5, 4), (1, 9))]
    config = RunConfig(data=DataConfig(max_length=5), training=TrainingConfig(**training))  # type: ignore[arg-type]
    assert update_peak(small_rnn(), config, pairs) == 7
    short = RunConfig(data=DataConfig(max_length=2), training=TrainingConfig(batch_tokens=99))
    update_peak(small_rnn(), short, pairs)
    assert laid == [lengths, [3]]  # none may be learned: the shortest stands for all


def test_on_a_gpu_the_peak_is_its_own_count_from_before_the_work_on(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    gpu = torch.device("cuda", 3)
    model: Any = SimpleNamespace(parameters=lambda: iter([SimpleNamespace(device=gpu)]))

    def count(device: torch.device) -> int:
        assert device == gpu
        done.append("count")
        return 12345

    monkeypatch.setattr("torch.cuda.reset_peak_memory_stats", lambda device: done.append(f"reset {device}"))
    monkeypatch.setattr("torch.cuda.max_memory_allocated", count)
    assert peak_of(model, lambda: done.append("work")) == 12345
    assert done == ["reset cuda:3", "work", "count"]
