"""Steps in buffers that stay where they are give the numbers of the model's own steps."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.conftest import transformers

from jumok.config import TransformerConfig
from jumok.models.build import build_model
from jumok.models.cache import BatchShape, Buffers
from jumok.models.fixed import FixedSteps, logits, wide_bias
from jumok.models.sentences import Sentences
from jumok.models.transformer import TransformerSeq2Seq

VOCAB = 13
SHAPE = BatchShape(sentences=4, beam=3, source=8, target=8)
SMALL = TransformerConfig(width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=2)


def make(config: TransformerConfig, seed: int) -> tuple[TransformerSeq2Seq, FixedSteps, Buffers]:
    """In float64: norms of small embeddings magnify the rounding of float32."""
    torch.manual_seed(seed)
    model = build_model(config, VOCAB, VOCAB, shared=False).eval().double()
    assert isinstance(model, TransformerSeq2Seq)
    steps = FixedSteps(model, torch.float64)
    return model, steps, steps.make_buffers(SHAPE, torch.zeros(steps.numbers(SHAPE), dtype=torch.float64))


def sources(lengths: list[int]) -> Sentences:
    return Sentences.lay([torch.randint(4, VOCAB, (n,)).tolist() for n in lengths], torch.device("cpu"))


@settings(max_examples=40, deadline=None)
@given(config=transformers(), seed=st.integers(0, 999), count=st.integers(1, 8))
@torch.inference_mode()
def test_steps_in_place_are_those_of_the_model_for_beams_that_change_places(
    config: TransformerConfig, seed: int, count: int
) -> None:
    model, steps, buffers = make(config, seed)
    B, W = 3, SHAPE.beam  # one sentence is not there
    source = sources([5, 2, 4])
    steps.read(source, buffers)
    state = model.start(model.encode(source).select([row for row in range(B) for _ in range(W)]))
    for step in range(count):
        token, place = torch.randint(VOCAB, (SHAPE.sentences, W)), torch.tensor([step])
        found = steps.step(token, place, buffers, places=SHAPE.target)
        wanted, state = model.step(token[:B].flatten(), state)
        torch.testing.assert_close(found[: B * W].double(), wanted, atol=1e-5, rtol=1e-5)
        assert found.isfinite().all()
        parents = torch.randint(W, (SHAPE.sentences, W))
        buffers.reorder(parents, place)
        state = state.select((torch.arange(B)[:, None] * W + parents[:B]).flatten())


@torch.inference_mode()
def test_sentences_that_are_kept_go_on_as_if_nothing_had_happened() -> None:
    _, steps, buffers = make(SMALL, 0)
    steps.read(sources([6, 6, 6, 6]), buffers)
    tokens = torch.randint(4, VOCAB, (3, 4, 3))
    for step in range(2):
        steps.step(tokens[step], torch.tensor([step]), buffers, 8)
        buffers.reorder(torch.randint(3, (4, 3)), torch.tensor([step]))
    whole = steps.make_buffers(SHAPE, torch.zeros(steps.numbers(SHAPE), dtype=torch.float64))
    for name in Buffers.__dataclass_fields__:
        getattr(whole, name).copy_(getattr(buffers, name))
    wanted = steps.step(tokens[2], torch.tensor([2]), whole, 8).view(4, 3, -1)
    rows = torch.tensor([3, 1])
    buffers.keep(rows, places=2)
    found = steps.step(tokens[2, rows], torch.tensor([2]), buffers.first(2), 8).view(2, 3, -1)
    torch.testing.assert_close(found, wanted[rows])


@pytest.mark.parametrize("beam", [2, 127, 128, 300])
def test_ancestors_are_known_in_beams_of_any_width(beam: int) -> None:
    """The kernels compare them with the numbers of slots."""
    _, steps, _ = make(SMALL, 0)
    shape = BatchShape(sentences=1, beam=beam, source=8, target=2)
    buffers = steps.make_buffers(shape, torch.zeros(steps.numbers(shape)))
    parents = torch.arange(beam).flip(0)[None]
    buffers.reorder(parents, torch.tensor([1]))
    assert torch.equal(buffers.ancestors[:, :, 1].long(), parents)


@torch.inference_mode()
def test_new_weights_are_taken_to_the_same_place() -> None:
    model, steps, _ = make(SMALL, 0)
    address = steps.model.head.data_ptr()
    for parameter in model.parameters():
        parameter.data += 1
    assert not torch.equal(steps.model.head, model.head)
    steps.refresh(model)
    assert steps.model.head.data_ptr() == address
    for one, other in zip(steps.model.parameters(), model.parameters(), strict=True):
        assert torch.equal(one, other)


@torch.inference_mode()
def test_buffers_may_be_longer_than_a_table_of_positions() -> None:
    config = TransformerConfig(width=8, heads=2, feedforward=8, positions="learned", max_positions=5)
    _, steps, buffers = make(config, 0)
    steps.read(sources([3, 3]), buffers)
    token = torch.full((SHAPE.sentences, SHAPE.beam), 5)
    assert steps.step(token, torch.tensor([4]), buffers, SHAPE.target).isfinite().all()


def test_a_bias_covers_what_it_must_and_no_more_than_there_is() -> None:
    _, steps, _ = make(SMALL, 0)
    assert wide_bias(260, 32_000) == 320
    assert wide_bias(260, 300) == 300
    bias = torch.zeros(1, 300)
    bias[0, 7] = -torch.inf
    scores = torch.arange(300.0)[None].flip(1).roll(7, dims=1)  # 7 is best, then 8
    _, ids = steps.best(scores, 2, bias, torch.zeros(1, dtype=torch.bool))
    assert ids.tolist() == [[8, 9]]


def test_logits_are_float32_whatever_the_model_computes_in() -> None:
    x, head = torch.randn(3, 4, dtype=torch.bfloat16), torch.randn(5, 4, dtype=torch.bfloat16)
    assert logits(x, head).dtype == torch.float32


@pytest.mark.gpu
def test_a_gpu_sums_logits_in_float32() -> None:
    x, head = (torch.randn(n, 64, device="cuda", dtype=torch.bfloat16) for n in (32, 128))
    torch.testing.assert_close(logits(x, head), x.float() @ head.float().T, atol=1e-3, rtol=1e-3)
