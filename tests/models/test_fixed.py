import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.conftest import transformers

from jumok.config import TransformerConfig
from jumok.models.build import build_model
from jumok.models.static import Cache, Shape, StaticTransformer, best, logits, wide_bias
from jumok.models.transformer import TransformerSeq2Seq

VOCAB = 13
SHAPE = Shape(sentences=4, beam=3, source=8, target=8)


def make(config: TransformerConfig, seed: int) -> tuple[TransformerSeq2Seq, StaticTransformer, Cache]:
    torch.manual_seed(seed)
    model = build_model(config, VOCAB, VOCAB, shared=False).eval()
    assert isinstance(model, TransformerSeq2Seq)
    static = StaticTransformer(model, torch.float32)
    return model, static, static.make_cache(SHAPE, torch.zeros(static.numbers(SHAPE)))


@settings(max_examples=40, deadline=None)
@given(config=transformers(), seed=st.integers(0, 999), steps=st.integers(1, 8))
@torch.inference_mode()
def test_steps_in_place_are_those_of_the_model_for_beams_that_change_places(config, seed, steps) -> None:
    model, static, cache = make(config, seed)
    B, W = 3, SHAPE.beam  # one sentence is not there
    source, lengths = torch.randint(4, VOCAB, (B, 5)), torch.tensor([5, 2, 4])
    mask = torch.arange(5) < lengths[:, None]
    static.read(source, mask, cache)
    positions = static.positions(SHAPE.target)
    rows = torch.arange(B).repeat_interleave(W)
    state = model.start(model.encode(source, mask).select(rows))
    for step in range(steps):
        token, place = torch.randint(VOCAB, (SHAPE.sentences, W)), torch.tensor([step])
        found = static.step(token, place, positions, cache, places=SHAPE.target)
        wanted, state = model.step(token[:B].flatten(), state)
        torch.testing.assert_close(found[: B * W], wanted, atol=1e-4, rtol=1e-4)
        assert found.isfinite().all()
        parents = torch.randint(W, (SHAPE.sentences, W))
        cache.reorder(parents, place)
        state = state.select((torch.arange(B)[:, None] * W + parents[:B]).flatten())


@torch.inference_mode()
def test_sentences_that_are_kept_go_on_as_if_nothing_had_happened() -> None:
    _, static, cache = make(TransformerConfig(width=8, heads=2, feedforward=8), 0)
    source = torch.randint(4, VOCAB, (4, 6))
    static.read(source, torch.ones_like(source, dtype=torch.bool), cache)
    positions, tokens = static.positions(8), torch.randint(4, VOCAB, (3, 4, 3))
    for step in range(2):
        static.step(tokens[step], torch.tensor([step]), positions, cache, 8)
        cache.reorder(torch.randint(3, (4, 3)), torch.tensor([step]))
    whole = static.make_cache(SHAPE, torch.zeros(static.numbers(SHAPE)))
    for name in Cache.__dataclass_fields__:
        getattr(whole, name).copy_(getattr(cache, name))
    wanted = static.step(tokens[2], torch.tensor([2]), positions, whole, 8).view(4, 3, -1)
    rows = torch.tensor([3, 1])
    cache.keep(rows, places=2)
    found = static.step(tokens[2, rows], torch.tensor([2]), positions, cache.first(2), 8).view(2, 3, -1)
    torch.testing.assert_close(found, wanted[rows])


@pytest.mark.parametrize("beam", [2, 127, 128, 300])
def test_ancestors_are_known_in_beams_of_any_width(beam: int) -> None:
    """The kernels compare them with the numbers of slots."""
    _, static, _ = make(TransformerConfig(width=8, heads=2, feedforward=8), 0)
    shape = Shape(sentences=1, beam=beam, source=8, target=2)
    cache = static.make_cache(shape, torch.zeros(static.numbers(shape)))
    parents = torch.arange(beam).flip(0)[None]
    cache.reorder(parents, torch.tensor([1]))
    assert torch.equal(cache.ancestors[:, :, 1].long(), parents)


@torch.inference_mode()
def test_new_weights_are_taken_to_the_same_place() -> None:
    model, static, _ = make(TransformerConfig(width=8, heads=2, feedforward=8, tied=False), 0)
    address = static.head.data_ptr()
    for parameter in model.parameters():
        parameter.data += 1
    assert not torch.equal(static.head, model.output.weight)  # type: ignore[union-attr]
    static.refresh(model)
    assert static.head.data_ptr() == address
    for one, other in zip(static.model.parameters(), model.parameters(), strict=True):
        assert torch.equal(one, other)


@torch.inference_mode()
def test_a_table_that_ends_is_filled_up() -> None:
    config = TransformerConfig(width=8, heads=2, feedforward=8, positions="learned", max_positions=5)
    model, static, _ = make(config, 0)
    rows = static.positions(8)
    assert torch.equal(rows[:5], model.target_positions.table)  # type: ignore[arg-type]
    assert not rows[5:].any()


def test_a_bias_covers_what_it_must_and_no_more_than_there_is() -> None:
    assert wide_bias(260, 32_000) == 320
    assert wide_bias(260, 300) == 300
    bias = torch.zeros(1, 300)
    bias[0, 7] = -torch.inf
    scores = torch.arange(300.0)[None].flip(1).roll(7, dims=1)  # 7 is best, then 8
    _, ids = best(scores, 2, bias, torch.zeros(1, dtype=torch.bool))
    assert ids.tolist() == [[8, 9]]


def test_logits_are_float32_whatever_the_model_computes_in() -> None:
    x, head = torch.randn(3, 4, dtype=torch.bfloat16), torch.randn(5, 4, dtype=torch.bfloat16)
    assert logits(x, head).dtype == torch.float32


@pytest.mark.gpu
def test_a_gpu_sums_logits_in_float32() -> None:
    x, head = (torch.randn(n, 64, device="cuda", dtype=torch.bfloat16) for n in (32, 128))
    torch.testing.assert_close(logits(x, head), x.float() @ head.float().T, atol=1e-3, rtol=1e-3)
