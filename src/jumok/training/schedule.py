"""Learning rate as a pure function of the step and of the share of the run that is done.

Steps count from 1. `done` runs from 0 to 1: steps over the planned steps, or time over the time limit.
"""

from math import cos, pi, sqrt

from jumok.config import TrainingConfig


def noam(step: int, *, peak: float, warmup: int) -> float:
    """D^-0.5 · min(step^-0.5, step · warmup^-1.5) (Vaswani et al. 2017, eq. 3), scaled to reach `peak`."""
    return peak * min(sqrt(warmup / step), step / warmup)


def inverse_sqrt(step: int, *, peak: float, warmup: int) -> float:
    """Rise linearly to `peak` over `warmup` steps, then fall as 1/sqrt(step)."""
    return peak * min(step / warmup, sqrt(warmup / step))


def cosine(step: int, *, peak: float, warmup: int, done: float) -> float:
    """Rise linearly to `peak`, then fall along half a cosine to zero when the run is done."""
    return peak * min(step / warmup, (1 + cos(pi * min(done, 1.0))) / 2)


def constant(step: int, *, peak: float, warmup: int) -> float:
    """Rise linearly to `peak` and stay."""
    return peak * min(step / warmup, 1.0)


def cooldown(done: float, share: float) -> float:
    """1 until the last `share` of the run, then linearly to 0."""
    return 1.0 if share == 0 else min(1.0, max(0.0, 1 - done) / share)


def learning_rate(step: int, done: float, config: TrainingConfig) -> float:
    """The rate for one step of a run."""
    peak, warmup = config.lr, max(config.warmup, 1)
    match config.schedule:
        case "noam":
            rate = noam(step, peak=peak, warmup=warmup)
        case "inverse_sqrt":
            rate = inverse_sqrt(step, peak=peak, warmup=warmup)
        case "cosine":
            return cosine(step, peak=peak, warmup=warmup, done=done)
        case "constant":
            rate = constant(step, peak=peak, warmup=warmup)
    return rate * cooldown(done, config.cooldown)
