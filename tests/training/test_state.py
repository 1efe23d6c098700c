"""What a run remembers: the place in the loop, the moving average, the learner written down and read back."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from jumok.config import LuongConfig, RnnConfig, TrainingConfig, TransformerConfig
from jumok.data.batch import lay_pairs
from jumok.data.sampler import Cursor
from jumok.errors import RunError
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.training.optimizer import Optimizers
from jumok.training.state import Average, Learner, LoopState
from jumok.training.step import sides_of, train_step

MODELS = {
    "rnn": RnnConfig(width=8),
    "luong": LuongConfig(width=8),
    "transformer": TransformerConfig(width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=1),
    "t5": TransformerConfig(
        width=8,
        heads=2,
        feedforward=8,
        encoder_layers=1,
        decoder_layers=1,
        positions="relative",
        rms_norm=True,
        gated=True,
        activation="gelu",
        logits_bias=True,
    ),
}
BATCH = lay_pairs([[5, 6, 7], [8, 9]], [[7, 6, 5], [9, 8]])

counts = st.integers(0, 10**9)
states = st.builds(
    LoopState,
    step=counts,
    epoch=counts,
    position=counts,
    elapsed=st.floats(0, 1e9),
    best_score=st.none() | st.floats(-1e9, 1e9),
    best_step=counts,
    since_best=counts,
    skipped=st.lists(counts, max_size=10).map(tuple),
    parts=st.integers(1, 64),
    world=st.integers(1, 64),
)


@given(states)
def test_a_loop_state_survives_json(state: LoopState) -> None:
    assert LoopState.from_dict(json.loads(json.dumps(state.to_dict()))) == state


def test_a_cursor_goes_in_and_comes_out() -> None:
    state = LoopState(step=7).at(Cursor(2, 3))
    assert state.cursor == Cursor(2, 3)
    assert state.step == 7


def test_a_state_is_best_only_at_the_step_of_its_best_score() -> None:
    assert not LoopState().is_best
    assert LoopState(step=4, best_score=-2.0, best_step=4).is_best
    assert not LoopState(step=5, best_score=-2.0, best_step=4).is_best


def test_a_state_from_before_there_were_several_processes_is_of_one() -> None:
    data = LoopState(step=7).to_dict()
    del data["world"]
    assert LoopState.from_dict(data) == LoopState(step=7, world=1)


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        (
            2,
            1,
            "the run was trained by 2 processes up to step 7, and is now given to 1 process\n"
            "  go on with `torchrun --nproc-per-node 2 -m jumok train …` for the same numbers",
        ),
        (
            1,
            4,
            "the run was trained by 1 process up to step 7, and is now given to 4 processes\n"
            "  go on with `jumok train …` for the same numbers",
        ),
    ],
)
def test_another_number_of_processes_is_refused(before: int, now: int, message: str) -> None:
    with pytest.raises(RunError) as caught:
        LoopState(step=7, world=before).within(now)
    assert str(caught.value) == (
        f"{message}, or pass --allow-world-change: the same sentences, rounded otherwise"
    )
    assert caught.value.code == "world_changed"


@given(states, st.integers(1, 64))
def test_an_allowed_number_of_processes_keeps_the_pieces_of_an_update(state: LoopState, world: int) -> None:
    found = state.within(world, allow_change=True)
    pieces, before = found.world * found.parts, state.world * state.parts
    assert found.world == world
    assert before <= pieces < before + world
    assert found.within(world) == found


def make(arch: str, *, ema: float, optimizer: str = "adamw", seed: int = 0) -> Learner:
    torch.manual_seed(seed)
    model = build_model(MODELS[arch], 12, 12, shared=True)
    config = TrainingConfig(optimizer=optimizer)
    return Learner(model, Optimizers(model, config), Average(model, ema) if ema else None)


def train(learner: Learner, steps: range) -> None:
    config = TrainingConfig()
    for step in steps:
        train_step(learner.model, learner.optimizers, [BATCH], config, lr=0.01, step=step, seed=1)
        if learner.average is not None:
            learner.average.update(step)


def live(model: Seq2Seq) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.named_parameters()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())


def written(learner: Learner) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """What a checkpoint would hold."""
    return (
        {name: value.clone() for name, value in learner.model_tensors().items()},
        {name: value.clone() for name, value in learner.optimizer_tensors().items()},
    )


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw", "muon"])
@pytest.mark.parametrize("ema", [0.0, 0.9])
@pytest.mark.parametrize("arch", MODELS)
def test_save_load_go_on_equals_never_having_stopped(arch: str, ema: float, optimizer: str) -> None:
    """Bit for bit: weights, average and the optimiser's memory."""
    unbroken = make(arch, ema=ema, optimizer=optimizer)
    train(unbroken, range(1, 4))
    saved = written(unbroken)
    train(unbroken, range(4, 7))
    resumed = make(arch, ema=ema, optimizer=optimizer, seed=5)
    resumed.load(*saved)
    train(resumed, range(4, 7))
    assert same(live(unbroken.model), live(resumed.model))
    for one, other in zip(written(unbroken), written(resumed), strict=True):
        assert same(one, other)


def test_without_an_average_the_saved_model_is_the_live_one() -> None:
    learner = make("rnn", ema=0.0)
    train(learner, range(1, 3))
    assert same(learner.model_tensors(), live(learner.model))
    assert not any(key.startswith("weights/") for key in learner.optimizer_tensors())


def test_with_an_average_the_saved_model_is_the_average_and_the_live_weights_go_beside_it() -> None:
    learner = make("rnn", ema=0.9)
    train(learner, range(1, 4))
    assert same(learner.model_tensors(), learner.average.shadow)
    assert not same(learner.model_tensors(), live(learner.model))
    beside = learner.optimizer_tensors()
    weights = {key.removeprefix("weights/"): v for key, v in beside.items() if key.startswith("weights/")}
    assert same(weights, live(learner.model))


def test_a_run_without_an_average_can_go_on_with_one_and_the_other_way_round() -> None:
    plain = make("rnn", ema=0.0)
    train(plain, range(1, 3))
    averaging = make("rnn", ema=0.9, seed=5)
    averaging.load(*written(plain))
    assert same(live(averaging.model), live(plain.model))
    assert same(averaging.average.shadow, live(plain.model))
    train(averaging, range(3, 5))
    back = make("rnn", ema=0.0, seed=6)
    back.load(*written(averaging))
    assert same(live(back.model), live(averaging.model))


def test_the_average_follows_its_formula() -> None:
    learner = make("rnn", ema=0.9)
    expected = live(learner.model)
    for step in range(1, 30):
        train(learner, range(step, step + 1))
        decay = min(0.9, (1 + step) / (10 + step))
        now = live(learner.model)
        expected = {name: old + (1 - decay) * (now[name] - old) for name, old in expected.items()}
    torch.testing.assert_close(learner.average.shadow, expected, atol=1e-6, rtol=1e-5)


def test_inside_averaged_the_model_carries_the_average_and_its_own_weights_again_afterwards() -> None:
    learner = make("transformer", ema=0.9)
    train(learner, range(1, 4))
    own = live(learner.model)
    average = {name: value.clone() for name, value in learner.average.shadow.items()}
    with learner.averaged():
        assert same(live(learner.model), average)
    assert same(live(learner.model), own)
    assert same(learner.average.shadow, average)


def test_an_error_inside_averaged_still_puts_the_weights_back() -> None:
    learner = make("rnn", ema=0.9)
    train(learner, range(1, 3))
    own = live(learner.model)

    def fail() -> None:
        with learner.averaged():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert same(live(learner.model), own)


def test_without_an_average_averaged_changes_nothing() -> None:
    learner = make("rnn", ema=0.0)
    own = live(learner.model)
    with learner.averaged():
        assert same(live(learner.model), own)
    assert same(live(learner.model), own)


@pytest.mark.parametrize("arch", MODELS)
def test_looking_at_the_average_does_not_disturb_training(arch: str) -> None:
    disturbed, calm = make(arch, ema=0.9), make(arch, ema=0.9)
    for learner, looks in ((disturbed, True), (calm, False)):
        for step in range(1, 5):
            train(learner, range(step, step + 1))
            if looks:
                look(learner)
    assert same(live(disturbed.model), live(calm.model))
    assert same(disturbed.average.shadow, calm.average.shadow)


def look(learner: Learner) -> Any:
    with learner.averaged(), torch.inference_mode():
        learner.model.eval()
        return learner.model(*sides_of(BATCH)).logits()


def test_a_skipped_step_counts_for_the_average_too() -> None:
    """Its weights are those of the step before, so nobody has to ask whether it was skipped."""
    learner = make("rnn", ema=0.5)
    train(learner, range(1, 3))
    before = {name: value.clone() for name, value in learner.average.shadow.items()}
    learner.average.update(3)
    now = live(learner.model)
    expected = {name: old + (now[name] - old) * (1 - 4 / 13) for name, old in before.items()}
    torch.testing.assert_close(learner.average.shadow, expected)


def test_scores_on_another_validation_text_no_longer_count() -> None:
    fresh = LoopState()
    assert fresh.judged("a") == (LoopState(judged_on="a"), False)
    state = LoopState(step=7, best_score=15.0, best_loss=1.0, best_step=5, since_best=2, judged_on="a")
    assert state.judged("a") == (state, False)
    assert state.judged("a", other=True) == (state, False)  # other training text, the same validation
    after, anew = state.judged("b")
    assert anew
    assert after == LoopState(step=7, judged_on="b")
    old = replace(state, judged_on="")  # of an earlier version, which did not say
    assert old.judged("b") == (replace(state, judged_on="b"), False)
    assert old.judged("b", other=True) == (LoopState(step=7, judged_on="b"), True)
