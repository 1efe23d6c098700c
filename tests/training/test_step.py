"""One update: teacher forcing, accumulation, clipping, bad numbers, and memory that runs out."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from jumok.backends import head
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TrainingConfig, TransformerConfig
from jumok.data.batch import Batch, Room, lay_pairs
from jumok.models.build import build_model
from jumok.models.interface import Memory, PlainPrediction, Prediction, Seq2Seq
from jumok.models.sentences import Sentences
from jumok.text.tokenizer import BOS
from jumok.training.optimizer import Optimizers
from jumok.training.step import (
    StepResult,
    batch_loss,
    is_out_of_memory,
    rolled_out,
    sides_of,
    step_seed,
    to_learn,
    train_step,
    with_guesses,
)

VOCAB = 12
SMALL = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 1, "decoder_layers": 1}
MODELS: dict[str, ModelConfig] = {
    "rnn": RnnConfig(width=8, dropout=0),
    "luong": LuongConfig(width=8, dropout=0),
    "transformer": TransformerConfig(**SMALL, dropout=0),
}
SGD = TrainingConfig(optimizer="sgd", momentum=0.0, clip=0.0, lr=0.1)


def make(arch: str, **changes: Any) -> Seq2Seq:
    torch.manual_seed(0)
    return build_model(replace(MODELS[arch], **changes), VOCAB, VOCAB, shared=True)


def pairs(rows: int, seed: int = 0) -> tuple[list[list[int]], list[list[int]]]:
    generator = np.random.default_rng(seed)

    def sentences() -> list[list[int]]:
        return [generator.integers(4, VOCAB, generator.integers(1, 6)).tolist() for _ in range(rows)]

    return sentences(), sentences()


def cut(sources: list[list[int]], targets: list[list[int]], parts: int) -> list[Batch]:
    rows = np.array_split(np.arange(len(sources)), parts)
    return [lay_pairs([sources[i] for i in part], [targets[i] for i in part]) for part in rows]


def weights(model: Seq2Seq) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.named_parameters()}


def update(
    model: Seq2Seq, batches: list[Batch], config: TrainingConfig = SGD, *, seed: int = 1, step: int = 1
) -> StepResult:
    return train_step(model, Optimizers(model, config), batches, config, lr=config.lr, step=step, seed=seed)


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    for name, value in one.items():
        assert torch.equal(value, other[name]), name


class Listening(Seq2Seq):
    """Remembers what the decoder was fed, and always predicts the token after the one it was fed."""

    def __init__(self) -> None:
        super().__init__()
        self.fed: list[Tensor] = []

    def encode(self, source: Sentences) -> Memory:
        return Memory(source.tokens[:, None].float(), source)

    def decode(self, target_in: Sentences, memory: Memory) -> Prediction:
        self.fed.append(target_in.tokens)
        next_tokens = (target_in.tokens.long() + 1) % VOCAB
        return PlainPrediction(torch.nn.functional.one_hot(next_tokens, VOCAB).float())


def forced(share: float, **more: Any) -> TrainingConfig:
    return TrainingConfig(teacher_forcing=share, **more)


def test_teacher_forcing_of_1_feeds_the_reference_in_one_pass() -> None:
    model, (batch,) = Listening(), cut(*pairs(4), parts=1)
    batch_loss(model, batch, forced(1.0))
    (fed,) = model.fed
    assert torch.equal(fed, batch.target_in)


@pytest.mark.parametrize("arch", MODELS)
def test_teacher_forcing_of_1_is_bit_identical_to_the_plain_pass(arch: str) -> None:
    """Dropout included, as no number is drawn for the choice."""
    model, (batch,) = make(arch, dropout=0.3).train(), cut(*pairs(4), parts=1)
    torch.manual_seed(7)
    found, _ = batch_loss(model, batch, forced(1.0, label_smoothing=0.0))
    torch.manual_seed(7)
    plain, _ = model(*sides_of(batch)).loss(to_learn(batch), 0.0)
    assert torch.equal(found, plain)


def test_teacher_forcing_of_0_feeds_only_predictions() -> None:
    """After BOS, each input is what the model said one step before."""
    model, (batch,) = Listening(), cut(*pairs(4), parts=1)
    batch_loss(model, batch, forced(0.0))
    reference, own = model.fed
    assert torch.equal(reference, batch.target_in)
    starts = batch.target_in == BOS
    assert starts.sum() == 4
    assert (own[starts] == BOS).all()
    assert torch.equal(own[1:][~starts[1:]], ((batch.target_in + 1) % VOCAB)[:-1][~starts[1:]])


def test_teacher_forcing_in_between_feeds_the_share_it_names() -> None:
    model, batch = Listening(), lay_pairs([[5] * 50] * 40, [[5] * 50] * 40)
    torch.manual_seed(0)
    batch_loss(model, batch, forced(0.3))
    _, mixed = model.fed
    rows = mixed.view(40, 51)
    assert (rows[:, 0] == BOS).all()
    assert ((rows[:, 2:] == 5) | (rows[:, 2:] == 6)).all()  # the model says 6 where the reference says 5
    assert (rows[:, 2:] == 5).float().mean().item() == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("arch", MODELS)
def test_a_rollout_without_the_reference_is_what_greedy_search_writes(arch: str) -> None:
    model, (batch,) = make(arch).eval(), cut(*pairs(4), parts=1)
    source, target_in = sides_of(batch)
    found = rolled_out(model, source, target_in, 0.0)
    for row, (begin, end) in enumerate(sorted({*map(tuple, target_in.range.T.tolist())})):
        one, _ = source.select([row])
        state, written = model.start(model.encode(one)), [BOS]
        while len(written) < end - begin:
            logits, state = model.step(torch.tensor(written[-1:]), state)
            written.append(int(logits[0].argmax()))
        assert found.tokens[begin:end].tolist() == written
    assert not torch.equal(found.tokens, with_guesses(model, source, target_in, 0.0).tokens)
    assert torch.equal(rolled_out(model, source, target_in, 1.0).tokens, target_in.tokens)


def test_a_batch_learns_from_its_rollout() -> None:
    model, (batch,) = make("luong").eval(), cut(*pairs(4), parts=1)
    source, target_in = sides_of(batch)
    loss, _ = batch_loss(model, batch, forced(0.0, rollout=True, label_smoothing=0.0))
    own = rolled_out(model, source, target_in, 0.0)
    plain, _ = model.decode(own, model.encode(source)).loss(to_learn(batch), 0.0)
    assert torch.equal(loss, plain)


def test_both_passes_of_r_drop_read_the_same_inputs() -> None:
    """They differ by dropout alone, also where part of the inputs is the model's own."""
    model, batch = Listening(), lay_pairs([[5] * 50] * 4, [[5] * 50] * 4)
    batch_loss(model, batch, forced(0.5, rdrop=1.0))
    _, one, two = model.fed
    assert torch.equal(one, two)
    assert not torch.equal(one, batch.target_in)


@pytest.mark.parametrize("arch", MODELS)
def test_the_loss_of_r_drop_is_that_of_the_paper(arch: str) -> None:
    """(CE_1 + CE_2) / 2 + alpha / 4 · (KL(p_1 || p_2) + KL(p_2 || p_1)), by hand, of passes with dropout."""
    model, (batch,), alpha = make(arch, dropout=0.3).train(), cut(*pairs(4), parts=1), 3.0
    torch.manual_seed(7)
    found, nll = batch_loss(model, batch, TrainingConfig(rdrop=alpha, label_smoothing=0.0))
    torch.manual_seed(7)
    p, q = (model(*sides_of(batch)).logits().log_softmax(-1) for _ in "12")
    assert not torch.equal(p, q)
    right = to_learn(batch).long()[:, None]
    entropy = -(p.gather(1, right) + q.gather(1, right)).sum() / 2
    apart = ((p.exp() * (p - q)) + (q.exp() * (q - p))).sum()
    torch.testing.assert_close(found, entropy + alpha / 4 * apart, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(nll, entropy, rtol=1e-5, atol=1e-4)


def test_fillers_are_not_learned_from() -> None:
    model, config = make("transformer"), TrainingConfig(teacher_forcing=0.0)
    exact, roomy = lay_pairs(*pairs(6)), lay_pairs(*pairs(6), Room(64, 128))
    assert to_learn(exact).all()
    assert (to_learn(roomy) != 0).sum() == exact.tokens
    for fixed in (False, True):
        found = batch_loss(model, roomy, config, fixed=fixed)
        torch.testing.assert_close(found, batch_loss(model, exact, config), rtol=1e-5, atol=1e-5)


def test_guesses_are_made_a_part_of_the_places_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = make("transformer"), lay_pairs(*pairs(40), Room(256, 320))
    whole = with_guesses(model, *sides_of(batch), 0.0)
    sizes: list[int] = []

    def argmax(x: Tensor, dim: int) -> Tensor:
        sizes.append(len(x))
        return x.max(dim=dim).indices

    monkeypatch.setattr(head, "CHUNK", 128 * VOCAB * 4)
    monkeypatch.setattr(Tensor, "argmax", argmax)
    assert torch.equal(with_guesses(model, *sides_of(batch), 0.0).tokens, whole.tokens)
    assert sizes == [128, 128, 64]


@pytest.mark.parametrize("arch", MODELS)
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_every_architecture_learns_from_its_own_predictions(arch: str, share: float) -> None:
    model = make(arch)
    before = weights(model)
    result = update(model, cut(*pairs(4), parts=1), TrainingConfig(teacher_forcing=share))
    assert not result.read().skipped
    assert any(not torch.equal(value, before[name]) for name, value in model.named_parameters())


@pytest.mark.parametrize("arch", MODELS)
def test_1_2_or_4_micro_batches_give_the_same_update(arch: str) -> None:
    """Gradient accumulation divides by the tokens of all micro-batches, not of each."""
    sources, targets = pairs(8)
    results, after = [], []
    for parts in (1, 2, 4):
        model = make(arch)
        results.append(update(model, cut(sources, targets, parts)))
        after.append(weights(model))
    for result, one in zip(results[1:], after[1:], strict=True):
        assert result.tokens == results[0].tokens
        assert result.sentences == results[0].sentences == 8
        assert result.read().loss == pytest.approx(results[0].read().loss, rel=1e-5)
        assert result.read().nll == pytest.approx(results[0].read().nll, rel=1e-5)
        assert result.read().grad_norm == pytest.approx(results[0].read().grad_norm, rel=1e-4)
        torch.testing.assert_close(one, after[0], atol=1e-6, rtol=1e-5)


def test_a_result_counts_the_tokens_of_both_sides() -> None:
    result = update(make("rnn"), [lay_pairs([[5, 6], [5]], [[7], [7, 8, 9]])])
    assert result.tokens == (3 + 2) + (2 + 4)  # each with its end
    assert result.sentences == 2


def test_the_gradient_of_a_step_is_clipped_and_its_norm_told_before() -> None:
    sources, targets = pairs(4)
    free, clipped = make("luong"), make("luong")
    before = weights(free)
    norm = update(free, cut(sources, targets, 1)).read().grad_norm
    told = update(
        clipped,
        cut(sources, targets, 1),
        TrainingConfig(optimizer="sgd", momentum=0.0, lr=0.1, clip=norm / 4),
    )
    assert told.read().grad_norm == pytest.approx(norm, rel=1e-5)
    for name, value in clipped.named_parameters():
        change, free_change = value - before[name], free.get_parameter(name) - before[name]
        torch.testing.assert_close(change, free_change / 4, atol=1e-6, rtol=1e-3)


def test_no_gradient_is_left_behind() -> None:
    model = make("luong")
    update(model, cut(*pairs(4), parts=2))
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw", "muon"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_leaves_every_weight_untouched(optimizer: str, bad: float) -> None:
    model, config = make("luong"), TrainingConfig(optimizer=optimizer, weight_decay=0.1)
    optimizers = Optimizers(model, config)
    with torch.no_grad():
        model.target_embedding.weight[5, 0] = bad
    before = weights(model)
    result = train_step(model, optimizers, cut(*pairs(4), parts=2), config, lr=0.1, step=1, seed=1)
    assert result.read().skipped
    assert not np.isfinite(result.read().loss)
    assert not any(memory.any() for memory in optimizers.tensors().values())
    for name, value in model.named_parameters():
        assert torch.equal(value.nan_to_num(7.0), before[name].nan_to_num(7.0)), name


@pytest.mark.parametrize("clip", [0.0, 1.0])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_leaves_every_weight_untouched(clip: float, bad: float) -> None:
    model, config = make("transformer"), TrainingConfig(clip=clip)
    optimizers = Optimizers(model, config)
    batches = cut(*pairs(4), parts=1)
    train_step(model, optimizers, batches, config, lr=0.1, step=1, seed=1)
    before = weights(model)
    memory = copy.deepcopy(optimizers.tensors())
    handle = model.encoder[0].feedforward.inner.weight.register_hook(lambda gradient: gradient * bad)
    result = train_step(model, optimizers, batches, config, lr=0.1, step=2, seed=1)
    assert result.read().skipped
    assert np.isfinite(result.read().loss)
    assert not np.isfinite(result.read().grad_norm)
    assert_same(weights(model), before)
    assert_same(optimizers.tensors(), memory)
    handle.remove()
    assert not train_step(model, optimizers, batches, config, lr=0.1, step=3, seed=1).read().skipped


@pytest.mark.parametrize("arch", MODELS)
def test_a_step_depends_on_seed_and_number_and_on_nothing_before(arch: str) -> None:
    """So resuming needs no state of a random generator."""
    batches = cut(*pairs(4), parts=2)

    def stepped(seed: int, step: int) -> dict[str, Tensor]:
        model = make(arch, dropout=0.3)
        torch.rand(np.random.default_rng().integers(1, 50))  # whatever was drawn before
        update(model, batches, seed=seed, step=step)
        return weights(model)

    first = stepped(1, 5)
    assert_same(first, stepped(1, 5))
    for other in (stepped(2, 5), stepped(1, 6)):
        assert any(not torch.equal(value, other[name]) for name, value in first.items())


@given(st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 64))
def test_step_seeds_are_valid_and_the_same_everywhere(seed: int, step: int, micro: int) -> None:
    made = step_seed(seed, step, micro)
    assert made == step_seed(seed, step, micro)
    assert 0 <= made < 2**63


def test_step_seeds_differ_by_each_of_their_parts() -> None:
    seeds = {step_seed(a, b, c) for a in range(10) for b in range(10) for c in range(10)}
    assert len(seeds) == 1000


def test_training_in_bfloat16_keeps_weights_in_full_precision() -> None:
    model = make("transformer")
    batches = cut(*pairs(4), parts=1)
    config = TrainingConfig()
    half = train_step(
        model, Optimizers(model, config), batches, config, lr=1e-3, step=1, seed=1, autocast=torch.bfloat16
    )
    full = update(make("transformer"), batches, config)
    assert half.read().loss == pytest.approx(full.read().loss, rel=0.05)
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())


GPU = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
CPU = RuntimeError("[enforce fail at alloc_cpu.cpp:124] . DefaultCPUAllocator: not enough memory: you tried")


def test_out_of_memory_is_known_by_its_class_or_its_words() -> None:
    assert is_out_of_memory(GPU)
    assert is_out_of_memory(CPU)
    assert not is_out_of_memory(RuntimeError("shapes"))
    assert not is_out_of_memory(ValueError("not enough memory"))
