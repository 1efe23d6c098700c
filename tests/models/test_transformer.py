"""The Transformer against the paper: size, causality, cache, positions."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from jumok.backends.recording import RecordingBackend
from jumok.backends.torch import TorchBackend
from jumok.config import TransformerConfig
from jumok.data.batch import Batch, Room, lay_pairs
from jumok.models.build import build_model
from jumok.models.cache import ROOM, WholePass
from jumok.models.sentences import Sentences
from jumok.models.transformer import Pass, TransformerSeq2Seq
from jumok.nn.attention import SplitProjection
from jumok.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions
from jumok.training.step import sides_of, to_learn

TINY = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def formula(config: TransformerConfig, vocab: int) -> int:
    """Parameters of a tied, post-norm Transformer with one shared vocabulary."""
    D, F = config.width, config.feedforward
    attention = 4 * (D * D + D)  # W_Q, W_K, W_V, W_O and a bias each
    feedforward = D * F + F + F * D + D
    norm = 2 * D
    encoder_layer = attention + feedforward + 2 * norm
    decoder_layer = 2 * attention + feedforward + 3 * norm
    return vocab * D + config.encoder_layers * encoder_layer + config.decoder_layers * decoder_layer


def test_the_defaults_are_the_papers_base_model_and_its_size_the_formula() -> None:
    """Row 8: 6 + 6 layers, 512, 8 heads, 2048; 63 million parameters with the paper's 37,000 pieces."""
    base = TransformerConfig()
    sizes = (base.encoder_layers, base.decoder_layers, base.width, base.heads, base.feedforward)
    assert sizes == (6, 6, 512, 8, 2048)
    assert (base.norm, base.positions, base.tied) == ("post", "sinusoidal", True)
    with torch.device("meta"):
        model = build_model(base, 37_000, 37_000, shared=True)
    assert count(model) == formula(base, 37_000) == 63_082_496


@settings(max_examples=20, deadline=None)
@given(
    heads=st.integers(1, 4),
    head_width=st.integers(1, 4),
    feedforward=st.integers(1, 9),
    layers=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    projection=st.sampled_from(["merged", "split"]),
)
def test_any_size_has_as_many_parameters_as_the_formula(
    heads: int, head_width: int, feedforward: int, layers: tuple[int, int], projection: str
) -> None:
    config = TransformerConfig(
        heads=heads,
        width=2 * heads * head_width,
        feedforward=feedforward,
        encoder_layers=layers[0],
        decoder_layers=layers[1],
        projection=projection,
    )
    assert count(build_model(config, 11, 11, shared=True)) == formula(config, 11)


def test_cross_attention_sees_all_of_the_source(bench: Any, transformer_config: TransformerConfig) -> None:
    """Row 9: every source state reaches the first target position."""
    model, batch = bench.model(transformer_config), bench.batch([6], 1)
    memory = model.encode(batch.source)
    states = memory.states.detach().requires_grad_()
    logits = model.decode(batch.target_in, replace(memory, states=states)).logits()
    (gradient,) = torch.autograd.grad(logits.square().sum(), states)
    assert (gradient.abs().amax(dim=-1) > 0).all()


def test_masked_self_attention_never_looks_ahead(bench: Any, transformer_config: TransformerConfig) -> None:
    model, ops = bench.model(transformer_config), RecordingBackend(record=True)
    bench.logits(model.using(ops), bench.batch([4], 5))
    decoder = [(kind, n) for n in range(transformer_config.decoder_layers) for kind in ("dec_self", "cross")]
    encoder = [("enc_self", n) for n in range(transformer_config.encoder_layers)]
    assert list(ops.stages) == encoder + decoder + [("copy", 0)] * transformer_config.copy
    for (kind, _), stages in ops.stages.items():
        if kind == "dec_self":
            assert not stages.weights.triu(1).any()
            assert (stages.weights[..., 0] > 0).all()


def test_the_encoder_sees_its_own_sentence_alone(bench: Any, transformer_config: TransformerConfig) -> None:
    model, ops = bench.model(transformer_config), RecordingBackend(record=True)
    model.using(ops).encode(bench.batch([4, 2], 1).source)
    assert not ops.stages["enc_self", 0].weights[1, :, :2, 2:].any()


def test_cached_steps_equal_the_uncached_pass_past_the_first_buffer(
    bench: Any, transformer_config: TransformerConfig
) -> None:
    """Row 10: within 1e-5, also after the cache has grown more than once."""
    model, batch = bench.model(transformer_config), bench.batch([3, 6], 2 * ROOM + 5)
    with torch.inference_mode():
        memory = model.encode(batch.source)
        uncached = model.decode(batch.target_in, memory).logits()
        cached = bench.step_by_step(model, batch.target_in, memory)
    torch.testing.assert_close(cached, uncached, atol=1e-5, rtol=1e-5)


class CountingBackend(TorchBackend):
    """Notes how many rows each matrix is multiplied with."""

    def __init__(self) -> None:
        self.rows: dict[int, list[int]] = {}

    def branch(self, x: Tensor, weight: Tensor, bias: Tensor, **options: Any) -> Any:
        self.rows.setdefault(weight.data_ptr(), []).append(len(x))
        return super().branch(x, weight, bias, **options)


def test_a_step_projects_one_position_and_never_the_source_again(bench: Any) -> None:
    """Row 10: nothing is computed twice."""
    ops = CountingBackend()
    model, batch = bench.model(TransformerConfig(**TINY)).using(ops), bench.batch([6], 12)
    with torch.inference_mode():
        memory = model.encode(batch.source)
        ops.rows.clear()
        state = model.start(memory)
        source = {layer.cross.project_memory.linear.weight.data_ptr(): [6] for layer in model.decoder}
        assert ops.rows == source
        ops.rows.clear()
        for token in batch.target_in.tokens[:, None]:
            _, state = model.step(token, state)
    assert not ops.rows.keys() & source.keys()
    assert len(ops.rows) == 6 * TINY["decoder_layers"]  # qkv, output, query, output, two of the feed-forward
    assert all(rows == [1] * 12 for rows in ops.rows.values())


def test_the_cost_of_a_step_grows_by_one_more_key_only(bench: Any) -> None:
    """Row 10: all that grows with the position is the product with one more key and one more value."""
    D, layers = TINY["width"], TINY["decoder_layers"]
    model, batch = bench.model(TransformerConfig(**TINY)), bench.batch([6], 40)
    costs = []
    with torch.inference_mode():
        state = model.start(model.encode(batch.source))
        for token in batch.target_in.tokens[:, None]:
            with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
                _, state = model.step(token, state)
            costs.append(counter.get_total_flops())
    growth = {later - earlier for earlier, later in zip(costs, costs[1:], strict=False)}
    assert growth == {layers * 2 * 2 * D}  # q·k and weight·v, a multiply and an add each


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_merged_and_split_models_with_the_same_weights_are_equal(bench: Any, norm: str) -> None:
    """Row 6, for the whole model: outputs and gradients."""
    merged = bench.model(TransformerConfig(**TINY, norm=norm))
    split = bench.model(TransformerConfig(**TINY, norm=norm, projection="split"), seed=1)
    others = {
        name: value for name, value in merged.state_dict().items() if name in dict(split.named_parameters())
    }
    split.load_state_dict(others, strict=False)
    pairs = []
    for name, module in split.named_modules():
        if isinstance(module, SplitProjection):
            module.load_merged(merged.get_submodule(name))
            pairs.append((merged.get_submodule(name), module))
    assert len(pairs) == 2 + 2 * 3
    batch = bench.batch([4, 2], 3)
    logits = [bench.logits(model, batch) for model in (merged, split)]
    torch.testing.assert_close(logits[0], logits[1])
    for one in logits:
        one.square().sum().backward()
    for whole, parts in pairs:
        shape = (*parts.weight.shape[:2], parts.weight.shape[3], parts.weight.shape[2])
        torch.testing.assert_close(
            whole.linear.weight.grad.view(shape).mT, parts.weight.grad, atol=1e-4, rtol=1e-4
        )


def permuted_difference(bench: Any, positions: str) -> float:
    """How far encoding a permuted source is from the permuted encoding of the source."""
    model, batch = bench.model(TransformerConfig(**TINY, positions=positions)), bench.batch([7], 1)
    order = torch.tensor([3, 6, 0, 5, 1, 4, 2])
    with torch.inference_mode():
        straight = model.encode(batch.source).states[order]
        permuted = model.encode(batch.source.with_tokens(batch.source.tokens[order])).states
    return (straight - permuted).abs().max().item()


def test_without_positions_the_encoder_is_permutation_equivariant(bench: Any) -> None:
    """Row 11: attention alone sees a bag of tokens."""
    assert permuted_difference(bench, "none") < 1e-5


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_with_positions_the_encoder_knows_the_order(bench: Any, positions: str) -> None:
    assert permuted_difference(bench, positions) > 1e-2


def test_learned_positions_refuse_a_longer_source_target_or_step(bench: Any) -> None:
    model = bench.model(TransformerConfig(**TINY, positions="learned", max_positions=4))
    fits, long = bench.batch([4], 4), bench.batch([5], 5)
    message = "position 4 has no learned row: the table ends at 4"
    memory = model.encode(fits.source)
    model.decode(fits.target_in, memory)
    with pytest.raises(LookupError, match=message):
        model.encode(long.source)
    with pytest.raises(LookupError, match=message):
        model.decode(long.target_in, memory)
    with pytest.raises(LookupError, match=message):
        bench.step_by_step(model, long.target_in, memory)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "none"])
def test_other_positions_work_past_any_length(bench: Any, positions: str) -> None:
    model, batch = (
        bench.model(TransformerConfig(**TINY, positions=positions, max_positions=4)),
        bench.batch([90], 90),
    )
    assert bench.logits(model, batch).isfinite().all()


@pytest.mark.parametrize(
    ("positions", "kind"),
    [
        ("sinusoidal", SinusoidalPositions),
        ("learned", LearnedPositions),
        ("rotary", NoPositions),
        ("none", NoPositions),
    ],
)
def test_each_kind_of_positions_has_its_module(positions: str, kind: type[nn.Module]) -> None:
    model = TransformerSeq2Seq(TransformerConfig(**TINY, positions=positions), 9, 9, shared=True)
    assert isinstance(model.source_positions, kind)
    assert isinstance(model.target_positions, kind)


def test_a_bias_of_the_keys_changes_nothing_and_so_gets_no_gradient(bench: Any) -> None:
    """It adds the same number to all scores of a query, which the softmax ignores."""
    model, batch = bench.model(TransformerConfig(**TINY)).train(), bench.batch([5], 4)
    bench.logits(model, batch).square().sum().backward()
    query, key, value = model.encoder[0].attention.project.linear.bias.grad.chunk(3)
    assert key.abs().max() < 1e-5 < min(query.abs().max(), value.abs().max())


@pytest.mark.parametrize("norm", ["post", "pre", "none"])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_a_layer_by_hand(norm: str, *, residual: bool, scaled: bool) -> None:
    """An encoder layer with and without its sums, norms and division, from its own matrices."""
    torch.manual_seed(0)
    config = TransformerConfig(**TINY, norm=norm, residual=residual, scaled=scaled)
    model = TransformerSeq2Seq(config, 9, 9, shared=True)
    layer = model.encoder[0]
    x, F, K = torch.randn(5, 8), nn.functional, 4

    def normed(y: Tensor) -> Tensor:
        return F.layer_norm(y, (8,)) if norm != "none" else y

    def attend(y: Tensor) -> Tensor:
        query, key, value = layer.attention.project.linear(y).view(5, 3, 2, K).permute(1, 2, 0, 3)
        scores = query @ key.mT / (K**0.5 if scaled else 1)  # (H, L, L)
        return layer.attention.output.linear((scores.softmax(-1) @ value).transpose(0, 1).flatten(1))

    def feed(y: Tensor) -> Tensor:
        return layer.feedforward.outer(layer.feedforward.inner(y).relu())

    wanted = x
    for sublayer in (attend, feed):
        change = sublayer(normed(wanted) if norm == "pre" else wanted)
        wanted = wanted + change if residual else change
        wanted = normed(wanted) if norm == "post" else wanted
    spans = Sentences.lay([[0] * 5], torch.device("cpu")).own_spans
    run = Pass(model, WholePass(model.ops, model.heads, "enc_self", spans), None, None)
    found = model.through(model.encoder[:1], x, run, nn.Identity())
    torch.testing.assert_close(found, wanted)


def test_a_model_without_a_part_draws_the_same_weights() -> None:
    """It starts where the whole model starts; only what it leaves out is missing."""
    states = {}
    for name, change in {"whole": {}, "none": {"norm": "none"}, "unscaled": {"scaled": False}}.items():
        torch.manual_seed(0)
        states[name] = TransformerSeq2Seq(TransformerConfig(**TINY, **change), 9, 9, shared=True).state_dict()
    assert states["none"].keys() == {name for name in states["whole"] if ".norm." not in name}
    assert states["unscaled"].keys() == states["whole"].keys()
    for name in ("none", "unscaled"):
        assert all(torch.equal(value, states["whole"][key]) for key, value in states[name].items())


@pytest.mark.parametrize("layers", [1, 4])
def test_what_replaces_its_input_starts_at_full_size(layers: int) -> None:
    """Shrunk in each layer, the signal would be lost where nothing carries it past."""
    torch.manual_seed(0)
    sizes = {"width": 64, "heads": 2, "feedforward": 64, "encoder_layers": layers, "decoder_layers": layers}
    model = TransformerSeq2Seq(TransformerConfig(**sizes, residual=False), 9, 9, shared=True)
    glorot = (6 / (64 + 64)) ** 0.5 / 3**0.5
    for layer in (*model.encoder, *model.decoder):
        assert layer.feedforward.outer.weight.std().item() == pytest.approx(glorot, rel=0.1)
        assert layer.attention.output.linear.weight.std().item() == pytest.approx(glorot, rel=0.1)


def test_pre_norm_ends_with_a_norm_of_its_own() -> None:
    pre, post = (
        TransformerSeq2Seq(TransformerConfig(**TINY, norm=norm), 9, 9, shared=True)
        for norm in ("pre", "post")
    )
    assert isinstance(pre.decoder_norm, nn.LayerNorm)
    assert isinstance(pre.encoder_norm, nn.LayerNorm)
    assert count(pre) - count(post) == 2 * 2 * TINY["width"]


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_encoder_ends_normalised(bench: Any, norm: str) -> None:
    model, batch = bench.model(TransformerConfig(**TINY, norm=norm)), bench.batch([6], 1)
    states = model.encode(batch.source).states
    torch.testing.assert_close(states.mean(dim=-1), torch.zeros(6), atol=1e-5, rtol=0)
    torch.testing.assert_close(states.var(dim=-1, correction=0), torch.ones(6), atol=1e-3, rtol=0)


@pytest.mark.parametrize("layers", [1, 4])
def test_what_the_sub_layers_add_starts_smaller_the_deeper_the_stack(layers: int) -> None:
    """1/sqrt(2N) of Glorot-uniform, so that N layers of two sub-layers add up to one."""
    torch.manual_seed(0)
    sizes = {"width": 64, "heads": 2, "feedforward": 64, "encoder_layers": layers, "decoder_layers": layers}
    model = TransformerSeq2Seq(TransformerConfig(**sizes), 9, 9, shared=True)
    glorot = (6 / (64 + 64)) ** 0.5 / 3**0.5
    for layer in (*model.encoder, *model.decoder):
        assert layer.feedforward.inner.weight.std().item() == pytest.approx(glorot, rel=0.1)
        for adds in (layer.feedforward.outer, layer.attention.output.linear):
            assert adds.weight.std().item() == pytest.approx(glorot / (2 * layers) ** 0.5, rel=0.1)
            assert not adds.bias.any()


@pytest.mark.parametrize("room", [Room(64, 64, 9, 9), Room(128, 192, 12, 9)])
def test_a_fixed_room_in_which_no_length_is_known_changes_nothing(
    bench: Any, transformer_config: TransformerConfig, room: Room
) -> None:
    """What a captured step computes: losses and gradients, however large the room."""
    sources, targets = [[4, 5, 6], [7], [9] * 7], [[8], [9, 10, 11], []]
    model, found = bench.model(transformer_config, shared=True).double(), []
    for batch, fixed in ((lay_pairs(sources, targets), False), (lay_pairs(sources, targets, room), True)):
        model.zero_grad()
        loss, nll = model(*sides_of(batch, fixed=fixed)).loss(to_learn(batch), 0.1)
        loss.backward()
        found.append((loss.detach(), nll, {name: p.grad for name, p in model.named_parameters()}))
    kind = {"atol": 1e-5, "rtol": 1e-5} if transformer_config.copy else {"atol": 1e-9, "rtol": 1e-9}
    torch.testing.assert_close(found[1], found[0], **kind)


def test_a_fixed_room_without_sentences_gives_no_gradient(bench: Any, transformer_config: Any) -> None:
    """A process may have none in an update, and replays its step all the same."""
    model, batch = bench.model(transformer_config).train(), Batch.empty(Room(64, 64))
    loss, nll = model(*sides_of(batch, fixed=True)).loss(to_learn(batch), 0.1)
    assert loss.item() == nll.item() == 0
    loss.backward()
    assert not any(parameter.grad.any() for parameter in model.parameters() if parameter.grad is not None)


def test_rows_of_relative_positions_are_what_each_head_adds_at_a_distance() -> None:
    torch.manual_seed(0)
    config = TransformerConfig(width=16, heads=2, feedforward=16, positions="relative", max_distance=20)
    model = build_model(config, 300, 300, shared=True)
    assert isinstance(model, TransformerSeq2Seq)
    assert model.encoder_bias is not None
    rows = model.position_rows(30)
    assert rows is not None
    assert rows.shape == (30, 2)
    for away in range(30):
        added = model.encoder_bias(torch.tensor([[-away]])).flatten()
        assert torch.equal(rows[away], added)
    assert torch.equal(rows[20], rows[29])  # whatever is far away is equally far
    assert len(rows.unique(dim=0)) == 16  # half of the buckets: the others are behind the query
