"""The learning rate, step by step."""

from math import sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import TrainingConfig
from jumok.training.schedule import constant, cooldown, cosine, inverse_sqrt, learning_rate, noam

steps, warmups = st.integers(1, 100_000), st.integers(1, 10_000)


@given(step=steps, warmup=warmups)
def test_noam_is_the_papers_formula_scaled_to_its_peak(step: int, warmup: int) -> None:
    """D^-0.5 min(step^-0.5, step warmup^-1.5), divided by its own largest value."""

    def paper(at: int) -> float:
        return 512**-0.5 * min(at**-0.5, at * warmup**-1.5)

    assert noam(step, peak=3.0, warmup=warmup) == pytest.approx(3 * paper(step) / paper(warmup))


def test_inverse_sqrt_peaks_where_warmup_ends() -> None:
    rates = [inverse_sqrt(step, peak=1e-3, warmup=4) for step in range(1, 17)]
    assert max(rates) == rates[3] == 1e-3
    assert rates[0] == pytest.approx(0.25e-3)
    assert rates[15] == pytest.approx(0.5e-3)  # sqrt(4 / 16)


def test_constant_rises_and_stays() -> None:
    assert [constant(step, peak=2.0, warmup=4) for step in (1, 2, 4, 5, 1000)] == [0.5, 1, 2, 2, 2]


def test_cosine_falls_to_zero_along_half_a_cosine() -> None:
    rates = [cosine(10, peak=2.0, warmup=1, done=done) for done in (0.0, 0.25, 0.5, 1.0, 1.5)]
    assert rates == pytest.approx([2, 1 + 1 / sqrt(2), 1, 0, 0], abs=1e-12)
    assert cosine(1, peak=2.0, warmup=10, done=0.0) == pytest.approx(0.2)


def test_cooldown_is_linear_over_the_last_share() -> None:
    assert [cooldown(done, 0.2) for done in (0, 0.8, 0.9, 1.0, 1.1)] == pytest.approx([1, 1, 0.5, 0, 0])
    assert [cooldown(done, 0.0) for done in (0, 0.5, 1.0)] == [1, 1, 1]


def config(**changes: Any) -> TrainingConfig:
    return TrainingConfig(**{"lr": 1.0, "warmup": 4, "max_steps": 100, "cooldown": 0.0} | changes)


@pytest.mark.parametrize(
    ("schedule", "expected"), [("noam", 0.5), ("inverse_sqrt", 0.5), ("constant", 1.0), ("cosine", 0.9045)]
)
def test_learning_rate_follows_the_configured_schedule(schedule: str, expected: float) -> None:
    assert learning_rate(16, 0.2, config(schedule=schedule)) == pytest.approx(expected, abs=1e-4)


@given(
    schedule=st.sampled_from(["noam", "inverse_sqrt", "cosine", "constant"]),
    step=steps,
    done=st.floats(0, 1),
    warmup=st.integers(0, 99),
    share=st.floats(0, 1),
)
def test_the_rate_is_never_negative_and_never_above_the_peak(
    schedule: str, step: int, done: float, warmup: int, share: float
) -> None:
    rate = learning_rate(step, done, config(schedule=schedule, warmup=warmup, cooldown=share))
    assert 0 <= rate <= 1


@pytest.mark.parametrize("schedule", ["noam", "inverse_sqrt", "constant", "cosine"])
def test_with_a_cooldown_every_schedule_ends_at_zero(schedule: str) -> None:
    assert learning_rate(100, 1.0, config(schedule=schedule, cooldown=0.2)) == 0


def test_no_warmup_starts_at_the_peak() -> None:
    assert learning_rate(1, 0.0, config(schedule="constant", warmup=0)) == 1.0
