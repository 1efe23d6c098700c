"""A piece without its padding, by threads: the gradients are those of the padded piece."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from jumok.config import TrainingConfig, TransformerConfig
from jumok.data.batch import Padded, pad_pairs
from jumok.models.build import build_model
from jumok.models.transformer import TransformerSeq2Seq
from jumok.nn import native
from jumok.training import threads
from jumok.training.optimizer import Optimizers
from jumok.training.step import train_step
from jumok.training.threads import cut_rows, laid_rows, runs_in_threads, threaded_gradients

needs_library = pytest.mark.skipif(not native.usable(), reason="the C library is not built here")
SMALL = TransformerConfig(encoder_layers=1, decoder_layers=2, width=16, heads=2, feedforward=24, dropout=0.0)
TRAINING = TrainingConfig(label_smoothing=0.1)


@pytest.fixture(autouse=True)
def thread_count() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def make(config: TransformerConfig = SMALL) -> TransformerSeq2Seq:
    torch.manual_seed(0)
    model = build_model(config, 300, 300, shared=True)
    assert isinstance(model, TransformerSeq2Seq)
    return model


def pairs(count: int, seed: int = 0) -> Padded:
    draw = np.random.default_rng(seed)
    sides = [[draw.integers(260, 300, draw.integers(0, 30)).tolist() for _ in range(count)] for _ in "st"]
    return pad_pairs(*sides)


def gradients(model: TransformerSeq2Seq) -> dict[str, torch.Tensor]:
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return found


def padded_gradients(
    model: TransformerSeq2Seq, piece: Padded
) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    from jumok.training.step import piece_loss

    loss, nll = piece_loss(model, piece, TRAINING)
    (loss * 0.01).backward()  # type: ignore[no-untyped-call]
    return gradients(model), torch.stack((loss.detach(), nll))


@needs_library
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"norm": "pre"},
        {"norm": "none"},
        {"positions": "learned"},
        {"positions": "rotary"},
        {"tied": False},
    ],
)
def test_gradients_are_those_of_the_padded_piece(count: int, change: dict[str, str]) -> None:
    model, piece = make(replace(SMALL, **change)), pairs(80)
    wanted, sums = padded_gradients(model, piece)
    torch.set_num_threads(count)
    assert len(cut_rows(piece, count)) == count
    found = threaded_gradients(model, piece, 0.1, share=0.01, seed=1)
    assert torch.get_num_threads() == count
    torch.testing.assert_close(found, sums, rtol=1e-5, atol=1e-3)
    own = gradients(model)
    assert own.keys() == wanted.keys()
    for name, grad in wanted.items():
        torch.testing.assert_close(own[name], grad, rtol=1e-3, atol=1e-5, msg=name)


@needs_library
def test_gradients_add_up_from_piece_to_piece() -> None:
    model = make()
    torch.set_num_threads(2)
    for seed in (0, 1):
        threaded_gradients(model, pairs(80, seed), 0.1, share=0.01, seed=1)
    both = gradients(model)
    single = []
    for seed in (0, 1):
        threaded_gradients(model, pairs(80, seed), 0.1, share=0.01, seed=1)
        single.append(gradients(model))
    for name, grad in both.items():
        torch.testing.assert_close(grad, single[0][name] + single[1][name], rtol=1e-5, atol=1e-6)


@needs_library
def test_the_same_seed_gives_the_same_numbers_and_another_others() -> None:
    model, piece = make(replace(SMALL, dropout=0.3)), pairs(80)
    torch.set_num_threads(2)
    runs = [threaded_gradients(model, piece, 0.1, share=0.01, seed=seed) for seed in (5, 5, 6)]
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


@needs_library
def test_updates_of_the_weights_reach_every_thread() -> None:
    model, piece = make(), pairs(80)
    optimizers = Optimizers(model, TRAINING)
    torch.set_num_threads(2)
    losses = []
    for step in range(1, 9):
        result = train_step(model, optimizers, [piece], TRAINING, lr=0.01, step=step, seed=0)
        losses.append(result.read().loss)
    twin = threads.twins_of(model, 1)[0]
    for mine, its in zip(model.parameters(), twin.parameters(), strict=True):
        assert mine.data_ptr() == its.data_ptr()
        assert its.grad is None
    assert losses[-1] < 0.9 * losses[0]
    wanted, sums = padded_gradients(model, piece)
    torch.testing.assert_close(
        threaded_gradients(model, piece, 0.1, share=0.01, seed=1), sums, rtol=1e-5, atol=1e-3
    )


@needs_library
def test_a_failure_in_a_thread_is_raised_and_the_threads_are_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, piece = make(), pairs(80)
    torch.set_num_threads(2)

    def fail(piece: Padded) -> None:
        raise torch.OutOfMemoryError("not enough memory")

    monkeypatch.setattr(threads, "laid_rows", fail)
    with pytest.raises(torch.OutOfMemoryError):
        threaded_gradients(model, piece, 0.1, share=0.01, seed=1)
    assert torch.get_num_threads() == 2


@needs_library
def test_a_part_that_failed_leaves_nothing_to_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    model, piece = make(), pairs(80)
    torch.set_num_threads(2)
    threaded_gradients(model, piece, 0.1, share=0.01, seed=1)
    wanted, whole = gradients(model), threads.own_gradients

    def fail_here(one: TransformerSeq2Seq, *rest: object) -> torch.Tensor:
        if one is model:  # the other part comes to its end
            raise torch.OutOfMemoryError("not enough memory")
        return whole(one, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(threads, "own_gradients", fail_here)
        with pytest.raises(torch.OutOfMemoryError):
            threaded_gradients(model, piece, 0.1, share=0.01, seed=1)
    model.zero_grad(set_to_none=True)
    threaded_gradients(model, piece, 0.1, share=0.01, seed=1)
    for name, gradient in gradients(model).items():
        assert torch.equal(gradient, wanted[name]), name


def test_parts_are_of_about_as_many_tokens_and_have_all_rows() -> None:
    piece = pairs(120)
    for count in (1, 2, 3, 5):
        parts = cut_rows(piece, count)
        sizes = [part.tokens + part.source_tokens for part in parts]
        assert sum(sizes) == piece.tokens + piece.source_tokens
        assert max(sizes) - min(sizes) <= 2 * 62
        assert torch.equal(torch.cat([part.source for part in parts]), piece.source)
    assert len(cut_rows(pairs(4), 8)) == 1


def test_rows_laid_end_to_end_have_every_token_and_know_their_sentences() -> None:
    piece = pad_pairs([[260, 261], []], [[270], [271, 272]])
    batch, target = laid_rows(piece)
    assert batch.source.tolist() == [260, 261, 2, 2]
    assert batch.source_range.tolist() == [[0, 0, 0, 3], [3, 3, 3, 4]]
    assert batch.source_readers.tolist() == [[0, 0, 0, 2], [2, 2, 2, 5]]
    assert batch.target_in.tolist() == [0, 270, 0, 271, 272]
    assert target.tolist() == [270, 2, 271, 272, 2]
    assert batch.target_range.tolist() == [[0, 0, 2, 2, 2], [2, 2, 5, 5, 5]]
    assert batch.target_reads.tolist() == [[0, 0, 3, 3, 3], [3, 3, 4, 4, 4]]


@needs_library
@pytest.mark.parametrize(
    ("change", "autocast"), [({"rdrop": 1.0}, None), ({"teacher_forcing": 0.5}, None), ({}, torch.bfloat16)]
)
def test_what_it_cannot_do_is_left_to_the_usual_way(
    change: dict[str, float], autocast: torch.dtype | None
) -> None:
    model, piece = make(), pairs(4)
    assert runs_in_threads(model, piece, TRAINING, None)
    assert not runs_in_threads(model, piece, replace(TRAINING, **change), autocast)
    learned = make(replace(SMALL, positions="learned", max_positions=4))
    assert not runs_in_threads(learned, piece, TRAINING, None)  # the usual way says what is wrong
