"""Forecasts are formulas: they grow with what they should grow with, and stay near what was measured."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import (
    DataConfig,
    LuongConfig,
    RnnConfig,
    RunConfig,
    StartConfig,
    TextConfig,
    TrainingConfig,
    TransformerConfig,
)
from jumok.errors import ConfigError
from jumok.models.build import build_model
from jumok.run.forecast import (
    EFFICIENCY,
    SecondForecast,
    active_weights,
    all_weights,
    held_bytes,
    kept_numbers,
    least_seconds,
    matrices,
    need_of,
    parts_that_fit,
    piece_tokens,
    refuse_too_large,
    tokens_per_second,
    work_left,
)
from jumok.run.machine import Machine

H200 = Machine("cuda", "NVIDIA H200", 16, 139 * 2**30, bf16=True, gflops=790_000.0)
CPU = Machine("cpu", "CPU", 2, 8 * 2**30, bf16=False, gflops=50.0)
BASE = RunConfig(
    model=TransformerConfig(),
    text=TextConfig(vocabulary=32_000),
    training=TrainingConfig(batch_tokens=50_000, batches="packed"),
)
MODELS: list[Any] = [
    TransformerConfig(),
    TransformerConfig(width=1024, heads=16, feedforward=4096, tied=False),
    RnnConfig(width=512, layers=2),
    LuongConfig(width=512, cell="lstm", score="concat", bidirectional=False),
]


def test_the_base_model_on_one_h200() -> None:
    assert 1.5e6 < tokens_per_second(BASE, H200) < 2.5e6
    assert 1e9 < need_of(BASE, H200).bytes(50_000) < 20e9


def test_a_cpu_does_six_operations_per_weight_and_token_and_pass() -> None:
    """At a share of its matrix speed, of as many cores as it may use."""
    operations = 6 * active_weights(BASE.model, 32_000)
    rate = tokens_per_second(BASE, CPU)
    assert rate * operations == pytest.approx(EFFICIENCY["cpu", "packed"] * 50e9)
    for change, share in (
        ({"rdrop": 1.0}, 0.5),
        ({"threads": 1}, 0.5),
        ({"threads": 2}, 1),
        ({"threads": 9}, 1),
    ):
        training = replace(BASE.training, **change)
        assert tokens_per_second(replace(BASE, training=training), CPU) == pytest.approx(share * rate)


def test_small_models_are_bound_by_the_number_of_kernels() -> None:
    tiny = TransformerConfig(encoder_layers=3, decoder_layers=3, width=128, heads=4, feedforward=512)
    config = replace(BASE, model=tiny, training=replace(BASE.training, batch_tokens=1000))
    packed = tokens_per_second(config, H200)
    assert packed == tokens_per_second(config, replace(H200, gflops=2 * H200.gflops))
    by_length = replace(config, training=replace(config.training, batches="sorted"))
    assert tokens_per_second(by_length, H200) < packed


def test_recurrent_models_are_bound_by_their_steps_in_time() -> None:
    one = replace(BASE, model=LuongConfig(width=256))
    rates = [
        tokens_per_second(replace(one, model=model), H200)
        for model in (LuongConfig(width=256, input_feeding=True), LuongConfig(width=256, layers=4), one.model)
    ]
    assert rates == sorted(rates)
    assert rates[0] < rates[-1] / 5


@given(st.sampled_from(MODELS), st.integers(1, 8), st.integers(1000, 10**6))
def test_parts_that_fit_do_fit(model: Any, gigabytes: int, tokens: int) -> None:
    machine = replace(H200, memory=(8 + gigabytes) * 2**30)
    config = replace(BASE, model=model, training=replace(BASE.training, batch_tokens=tokens))
    parts = parts_that_fit(config, machine)
    assert parts > 0
    split = replace(config, training=replace(config.training, accumulate=parts))
    refuse_too_large(split, machine)
    assert piece_tokens(split, machine) * parts >= tokens


@pytest.mark.parametrize(
    "model",
    [
        TransformerConfig(encoder_layers=1, decoder_layers=2, width=256, tied=False),
        RnnConfig(width=256, layers=2),
        LuongConfig(width=256, cell="lstm", score="concat", bidirectional=False),
    ],
    ids=lambda model: model.arch,
)
@pytest.mark.parametrize("shared", [True, False])
def test_weights_are_counted_well_enough(model: Any, *, shared: bool) -> None:
    config = replace(BASE, model=model, text=TextConfig(vocabulary=1000, shared=shared))
    built = build_model(model, 1000, 1000, shared=shared)
    assert all_weights(config) == pytest.approx(sum(p.numel() for p in built.parameters()), rel=0.15)


def test_memory_grows_with_everything() -> None:
    need = need_of(BASE, H200)
    fp32 = need_of(replace(BASE, training=replace(BASE.training, precision="fp32")), H200)
    by_length = need_of(replace(BASE, training=replace(BASE.training, batches="sorted")), H200)
    averaged = need_of(replace(BASE, training=replace(BASE.training, ema=0.99)), H200)
    twice = need_of(replace(BASE, training=replace(BASE.training, rdrop=1.0)), H200)
    assert fp32.per_token == 2 * need.per_token == twice.per_token
    assert by_length.per_token > 2 * need.per_token
    copying = need_of(replace(BASE, model=replace(BASE.model, copy=True)), H200)
    assert copying.per_token == need.per_token + 6 * BASE.text.vocabulary
    assert averaged.at_rest > need.at_rest
    assert need.tokens(need.bytes(1000)) in (999, 1000)


def test_biases_of_positions_grow_with_the_length() -> None:
    """Each head keeps some numbers for every place that a token looks at."""
    plain, banded = (
        TransformerConfig(width=16, heads=2, feedforward=24, positions=positions)
        for positions in ("sinusoidal", "relative")
    )
    more = [kept_numbers(banded, length) - kept_numbers(plain, length) for length in (10, 20, 30)]
    assert 0 < more[0] == more[1] - more[0] == more[2] - more[1]


def test_what_attention_keeps_beside_the_recurrent_layers() -> None:
    """Six times its width, and of the pairs of words a third of those that "concat" keeps per unit of it."""
    shape: dict[str, Any] = {"width": 24, "layers": 2, "cell": "lstm"}
    plain = kept_numbers(RnnConfig(**shape), 10)
    for score, pairs in (("general", 3 * 10 / 4), ("concat", 2 * 24 * 10 / 4)):
        assert kept_numbers(LuongConfig(**shape, score=score), 10) - plain == 6 * 24 + pairs


@pytest.mark.parametrize("model", MODELS)
def test_a_model_without_a_formula_keeps_at_most_a_few_times_what_one_with_it_keeps(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = matrices(model)
    monkeypatch.setattr("jumok.run.forecast.matrices", lambda _: known)
    unknown: Any = SimpleNamespace(width=model.width)
    assert 0.5 < active_weights(unknown, 8_000) / active_weights(model, 8_000) < 1.4
    assert 1 < kept_numbers(unknown, 10) / kept_numbers(model, 10) < 4  # rather too many than too few


def test_processes_share_an_update_and_a_sharded_model() -> None:
    four = replace(H200, processes=4)
    assert piece_tokens(BASE, four) * 4 == piece_tokens(BASE, H200)
    assert tokens_per_second(BASE, four) > tokens_per_second(BASE, H200)
    sharded = replace(BASE, training=replace(BASE.training, shard=True, batches="auto"))
    assert need_of(sharded, four).at_rest < need_of(BASE, four).at_rest


def test_a_cpu_is_never_refused_and_threads_count() -> None:
    huge = replace(BASE, training=replace(BASE.training, batch_tokens=1 << 26, batches="sorted"))
    refuse_too_large(huge, CPU)
    one = replace(huge, training=replace(huge.training, threads=1))
    assert tokens_per_second(one, CPU) == tokens_per_second(huge, CPU) / 2


def test_active_weights_of_the_base_model() -> None:
    assert active_weights(TransformerConfig(), 32_000) == pytest.approx(30.2e6, rel=0.01)


def second_look(planned: float, speed: float, steps: int = 10_000) -> list[tuple[int, str]]:
    """What a run of so many seconds a step says in its first 200 steps."""
    said: list[tuple[int, str]] = []
    look = SecondForecast(planned, steps, lambda step, text: said.append((step, text)))
    for step in range(1, 201):
        look.on_step(step, step * speed, 1000)
    return said


def test_a_forecast_that_was_far_off_is_corrected_once_and_within_a_minute() -> None:
    [(step, text)] = second_look(planned=63 * 3600, speed=0.5)
    assert step * 0.5 < 60
    expected = "about 1h23m in all, at 2,000 tokens/s as measured now; the forecast was 63h00m"
    assert text == expected
    assert "the forecast was 10m00s" in second_look(planned=600, speed=0.5)[0][1]


@pytest.mark.parametrize("planned", [5000, 5000 / 1.4, 5000 * 1.4])
def test_a_forecast_that_holds_is_left_alone(planned: float) -> None:
    assert second_look(planned, speed=0.5) == []


@pytest.mark.parametrize("planned", [5000 / 1.6, 5000 * 1.6])
def test_a_forecast_that_is_wrong_by_more_than_half_is_corrected(planned: float) -> None:
    assert len(second_look(planned, speed=0.5)) == 1


def test_a_second_look_counts_from_the_fifth_second_to_the_fortieth() -> None:
    """The first seconds are those of a machine that warms up."""
    for seconds, rate in (((0, 5), 0), ((5, 10), 100), ((35, 40), 100), ((40, 60), 0)):
        said = list[str]()
        look = SecondForecast(1e6, 1_000, lambda _, text, said=said: said.append(text))  # type: ignore[misc]
        for second in range(61):
            look.on_step(second, float(second), 700 if seconds[0] < second <= seconds[1] else 0)
        assert f" at {rate} tokens/s" in said[0]


def test_a_run_that_is_over_before_has_nothing_to_correct() -> None:
    assert second_look(planned=1, speed=0.1) == []
    assert second_look(planned=1, speed=100.0) != []  # however slow its steps are


def started(**training: Any) -> RunConfig:
    """The base model, started from another one."""
    changed = replace(BASE.training, **training)
    return replace(BASE, start=StartConfig(model="m"), training=changed)


def test_frozen_weights_and_adapters_take_less_memory() -> None:
    whole = held_bytes(started())
    half = held_bytes(started(freeze="encoder,embeddings"))
    none = held_bytes(started(freeze="encoder,decoder,embeddings"))
    adapters = held_bytes(started(lora=8))
    assert none < half < whole < held_bytes(started(anchor=1.0)) == held_bytes(started(ema=0.9))
    assert none == pytest.approx(whole / 3)  # the weights and their copies
    assert none < adapters < whole
    assert adapters < held_bytes(started(lora=8, ema=0.9))
    recurrent = replace(started(freeze="encoder"), model=LuongConfig())
    assert held_bytes(recurrent) == held_bytes(replace(started(), model=LuongConfig()))


def test_frozen_layers_take_less_time() -> None:
    assert work_left(started()) == 1
    encoder, both = work_left(started(freeze="encoder")), work_left(started(freeze="encoder,embeddings"))
    assert 0.5 < both < encoder < 1
    assert work_left(replace(started(freeze="encoder"), model=RnnConfig())) == 1
    tables = BASE.model.width * BASE.text.vocabulary
    share = tables / 2 / active_weights(BASE.model, BASE.text.vocabulary)
    assert work_left(started(freeze="embeddings")) == pytest.approx(1 - share / 3)  # 2 of 6 operations
    slow, fast = (tokens_per_second(one, CPU) for one in (started(), started(freeze="encoder,embeddings")))
    assert fast == pytest.approx(slow / both)


def test_options_of_a_transformer_are_in_its_forecast() -> None:
    def need(**options: Any) -> Any:
        return need_of(replace(BASE, model=replace(BASE.model, **options)), H200)

    plain = need()
    assert need(gated=True).at_rest > plain.at_rest
    assert need(gated=True).per_token > need(activation="gelu").per_token > plain.per_token
    assert need(head_width=32).at_rest < plain.at_rest
    assert need(head_width=32).per_token < plain.per_token
    assert need(positions="relative").per_token > plain.per_token
    assert need(rms_norm=True, logits_bias=True).at_rest == plain.at_rest


SMALL = TransformerConfig(encoder_layers=1, decoder_layers=2, width=2, heads=1, feedforward=3, head_width=4)
OF_SMALL = RunConfig(model=SMALL, text=TextConfig(vocabulary=300), start=StartConfig(model="m"))
# an encoder layer has 4·2·4 + 2·2·3 = 44 weights, a decoder layer 8·2·4 + 2·2·3 = 76, the only table 600


def unknown(*matrices: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model of width 2 that has no formula, and these matrices."""
    monkeypatch.setattr("jumok.run.forecast.matrices", lambda _: list(matrices))
    return SimpleNamespace(width=2)


def test_weights_that_a_token_passes_counted_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    assert active_weights(SMALL, 300) == (44 + 2 * 76 + 600) / 2
    assert active_weights(replace(SMALL, gated=True), 300) == (50 + 2 * 82 + 600) / 2  # a third matrix
    for cell, gates in (("rnn", 1), ("gru", 3), ("lstm", 4)):
        model = RnnConfig(width=2, layers=2, cell=cell)  # type: ignore[arg-type]
        assert active_weights(model, 300) == (2 * 2 * gates * 2 * 4 + 3 * 4 + 600) / 2
    assert active_weights(unknown((3, 4), (5, 6), monkeypatch=monkeypatch), 300) == (12 + 30 + 600) / 2


def test_numbers_that_a_token_leaves_behind_counted_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an encoder layer 4·4 + 4·2 + 3, of a decoder layer 7·4 + 7·2 + 3, and 4·2 around them."""
    assert kept_numbers(SMALL, 10) == (27 + 2 * 45) / 2 + 8
    assert kept_numbers(replace(SMALL, activation="gelu"), 10) == (30 + 2 * 48) / 2 + 8
    assert kept_numbers(replace(SMALL, gated=True), 10) == (33 + 2 * 51) / 2 + 8
    banded = replace(SMALL, heads=3, head_width=1, positions="relative")
    assert kept_numbers(banded, 10) == (23 + 180 + 2 * (38 + 120)) / 2 + 8
    assert kept_numbers(RnnConfig(width=2, layers=2, cell="gru"), 10) == 2 * (2 * 3 + 2) * 2 + 8 * 2
    assert kept_numbers(unknown((3, 4), (5, 6), monkeypatch=monkeypatch), 10) == 4 * (3 + 5) / 2 + 8 * 2


@pytest.mark.parametrize(
    ("training", "taken"),
    [
        ({}, 18 * 796),  # weight, gradient, two moments, a copy
        ({"ema": 0.9}, 22 * 796),
        ({"anchor": 1.0, "ema": 0.9}, 26 * 796),
        ({"lora": 8}, 14 * 796),
        ({"lora": 8, "ema": 0.9}, 18 * 796),
        ({"freeze": "encoder"}, 18 * 752 + 6 * 44),
        ({"freeze": "decoder", "ema": 0.9}, 22 * 644 + 6 * 152),
        ({"freeze": "embeddings"}, 18 * 196 + 6 * 600),
    ],
)
def test_bytes_of_796_weights(training: dict[str, Any], taken: int) -> None:
    config = replace(OF_SMALL, training=TrainingConfig(batches="packed", **training))
    assert all_weights(config) == 796
    assert held_bytes(config) == taken
    assert need_of(config, H200).at_rest == taken + 3 * 2**30  # chunks of logits, and CUDA
    separate = replace(config, text=TextConfig(vocabulary=300, shared=False))
    assert all_weights(separate) == 796 + 600
    assert all_weights(replace(separate, model=replace(SMALL, tied=False))) == 796 + 1200


@pytest.mark.parametrize(
    ("freeze", "operations"),
    [
        ("decoder", 6 * 44 + 4 * 152 + 6 * 600),
        ("encoder", 4 * 44 + 6 * 152 + 6 * 600),
        ("encoder,embeddings", 2 * 44 + 6 * 152 + 4 * 600),  # nothing comes back through the encoder
        ("decoder,embeddings", 6 * 44 + 4 * 152 + 4 * 600),
    ],
)
def test_operations_of_frozen_layers_counted_by_hand(freeze: str, operations: int) -> None:
    config = replace(OF_SMALL, training=TrainingConfig(freeze=freeze))
    assert work_left(config) == operations / (6 * 796)


def test_no_pass_on_a_gpu_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """However fast it multiplies: it starts so many kernels, or goes through so many steps in time."""
    endless = replace(H200, gflops=1e30)

    def milliseconds(model: Any, batches: Any = "packed", **training: Any) -> float:
        asked = TrainingConfig(batch_tokens=1000, batches=batches, **training)
        config = replace(BASE, model=model, data=DataConfig(max_length=100), training=asked)
        return 1000 * 1000 / tokens_per_second(config, endless)

    kernels = 45 * (1 + 1.5 * 2) + 80
    assert milliseconds(SMALL) == pytest.approx(kernels * 5.5e-3)
    assert milliseconds(SMALL, accumulate=3) == pytest.approx(3 * kernels * 5.5e-3)
    assert milliseconds(SMALL, "sorted") == pytest.approx(kernels * 1e-2)
    plain = LuongConfig(width=8, layers=3)
    assert milliseconds(plain) == pytest.approx(50 * 2 * 3 * 0.04)
    assert milliseconds(replace(plain, input_feeding=True)) == pytest.approx(50 * (3 * 0.04 + 2))
    config: Any = SimpleNamespace(model=unknown(*[(1, 1)] * 8, monkeypatch=monkeypatch))
    assert least_seconds(config, "packed") == pytest.approx((45 * 2 + 80) * 1e-5)  # four matrices a layer


def test_shares_of_the_speed_that_was_measured() -> None:
    """Cells compute in fp32 a step at a time; a CPU gains by bf16 in a Transformer's products alone."""
    for model, machine, precision, share in (
        (LuongConfig(width=512), H200, "auto", 0.1),
        (BASE.model, H200, "auto", 0.5),
        (BASE.model, CPU, "fp32", 0.4),
        (BASE.model, replace(CPU, gain=16.0), "bf16", 0.4 * 8),
        (BASE.model, replace(CPU, gain=16.0), "fp32", 0.4),
        (LuongConfig(width=512), replace(CPU, gain=16.0), "bf16", 0.4),
    ):
        training = TrainingConfig(batch_tokens=6 * 10**7, batches="packed", precision=precision)  # type: ignore[arg-type]
        config = replace(BASE, model=model, training=training)
        six = 6 * active_weights(model, 32_000)
        assert tokens_per_second(config, machine) * six == pytest.approx(share * machine.gflops * 1e9)


def test_refusals_say_how_much_is_there_and_what_would_fit() -> None:
    """796 weights and 66.5 numbers of 2 bytes for a token, beside 3 GiB, on a machine of 4 GiB."""
    machine = replace(H200, name="A card", memory=4 * 2**30)
    much = replace(OF_SMALL, training=TrainingConfig(batch_tokens=10**7, batches="packed"))
    with pytest.raises(ConfigError) as caught:
        refuse_too_large(much, machine)
    assert str(caught.value) == (
        "training.batch_tokens=10000000 needs about 4 GiB, and A card has 4 GiB\n"
        "  set training.accumulate=2: the same update in 2 parts; "
        "or training.batch_tokens to 6458000 or less"
    )
    for start, hint in (
        ("m", "teach adapters only (--lora 8), or freeze parts (--freeze encoder,embeddings)"),
        (
            "",
            "choose a smaller one (--preset small, model.width, text.vocabulary), or share it between "
            "several GPUs: torchrun with training.shard=true",
        ),
    ):
        with pytest.raises(ConfigError) as caught:
            refuse_too_large(
                replace(much, start=StartConfig(model=start)), replace(machine, memory=3 * 2**30)
            )
        said = f"this model needs about 3.0 GiB before the first sentence, and A card has 3 GiB\n  {hint}"
        assert str(caught.value) == said
