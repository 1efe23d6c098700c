"""What the notes claim and no other test holds them to, each in a few lines of its own."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from tests.models.test_learning import LESSONS, VOCAB, Sequence, answers, draw, taught
from torch import Tensor, nn

import jumok
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.data.builtin import builtin_corpus
from jumok.model import Model
from jumok.models.build import build_model
from jumok.models.sentences import Sentences
from jumok.nn.attention import AttentionOutput, MergedProjection
from jumok.nn.functional import attention_stages, luong_dot, merge_heads
from jumok.nn.positions import sinusoidal
from jumok.text.tokenizer import BOS, EOS

CPU = torch.device("cpu")


# Words become vectors

TABLE = torch.tensor([[1.87, 1.09], [-0.78, 0.27], [1.09, 0.67], [-1.36, -0.60]])  # let's, to, go, <EOS>


def test_an_embedding_is_a_one_hot_vector_times_the_table() -> None:
    embedding = nn.Embedding.from_pretrained(TABLE)
    go = torch.tensor([0.0, 0.0, 1.0, 0.0])
    assert torch.equal(go @ TABLE, embedding(torch.tensor(2)))
    torch.testing.assert_close(go @ TABLE, torch.tensor([1.09, 0.67]))


def test_a_word_and_its_place_are_added() -> None:
    for place in (0, 1, 5):
        wave = torch.tensor([math.sin(place), math.cos(place)])  # two numbers have one frequency
        torch.testing.assert_close(TABLE[2] + sinusoidal(torch.tensor([place]), 2)[0], TABLE[2] + wave)
    first, second = (TABLE[2] + sinusoidal(torch.tensor([place]), 2)[0] for place in (0, 2))
    assert not torch.allclose(first, second)


# Products, square roots, softmax


def test_a_product_is_the_cosine_times_both_lengths() -> None:
    torch.manual_seed(0)
    query, keys = torch.randn(1, 8), torch.randn(20, 8)
    cosine = torch.cosine_similarity(query, keys)
    torch.testing.assert_close(luong_dot(query, keys)[0], cosine * query.norm() * keys.norm(dim=-1))
    same_length = keys / keys.norm(dim=-1, keepdim=True)
    assert torch.equal(luong_dot(query, same_length)[0].argsort(), cosine.argsort())


@pytest.mark.parametrize("size", [4, 64, 1024])
def test_products_of_random_vectors_spread_with_the_root_of_their_size(size: int) -> None:
    torch.manual_seed(0)
    products = (torch.randn(20_000, size) * torch.randn(20_000, size)).sum(-1)
    assert products.std().item() == pytest.approx(math.sqrt(size), rel=0.03)


def test_a_softmax_makes_shares_of_any_numbers() -> None:
    shares = torch.tensor([[-1e4, 3.0, -2.5], [0.0, 0.0, 0.0], [700.0, 699.0, -5.0]]).softmax(-1)
    assert ((shares >= 0) & (shares <= 1)).all()
    torch.testing.assert_close(shares.sum(-1), torch.ones(3))
    by_hand = [math.exp(one) / (math.exp(3) + math.exp(-2.5)) for one in (3, -2.5)]
    torch.testing.assert_close(shares[0, 1:], torch.tensor(by_hand))


def test_large_scores_leave_the_softmax_no_gradient() -> None:
    def mean_gradient(size: int, *, divided: bool) -> float:
        torch.manual_seed(0)
        query, key, value = (torch.randn(200, 1, length, size) for length in (1, 10, 10))
        stages = attention_stages(
            query, key, value, torch.ones(200, 1, 1, 10, dtype=torch.bool), scale=divided
        )
        weights = stages.weights  # the derivative of a share by its own score is p (1 - p)
        return (weights * (1 - weights)).mean().item()

    plain = [mean_gradient(size, divided=False) for size in (4, 64, 1024)]
    scaled = [mean_gradient(size, divided=True) for size in (4, 64, 1024)]
    assert plain[0] > 2 * plain[1] > 4 * plain[2]
    assert max(scaled) < 1.2 * min(scaled)


# The note's own code


def test_the_notes_code_is_attention_and_lacks_its_matrices() -> None:
    """Note 003's two functions in other words: equal to ours where W_Q, W_K, W_V and W_O are the identity."""
    torch.manual_seed(0)
    x = torch.randn(5, 8)
    cut = [part.view(1, 5, 2, 4).transpose(1, 2) for part in (x, x, x)]  # (batch, heads, length, d_k)
    scores = torch.matmul(cut[0], cut[1].transpose(-2, -1)) / math.sqrt(4)
    mask = torch.ones(5, 5).tril()
    weights = scores.masked_fill(mask == 0, -1e9).softmax(-1)
    written = torch.matmul(weights, cut[2]).transpose(1, 2).reshape(1, 5, 8)

    stages = attention_stages(*cut, mask.bool()[None, None])
    torch.testing.assert_close(merge_heads(stages.context), written)
    project, output = MergedProjection(8, 2, parts=3), AttentionOutput(8)
    assert {name for name, _ in project.named_parameters()} == {"linear.weight", "linear.bias"}
    with torch.no_grad():
        project.linear.weight.copy_(torch.eye(8).repeat(3, 1))
        output.linear.weight.copy_(torch.eye(8))
        project.linear.bias.zero_()
        output.linear.bias.zero_()
    torch.testing.assert_close(project.linear(x), x.repeat(1, 3))  # with identities, the note's code
    torch.testing.assert_close(output.linear(written), written)


# Sequence and distance


def chain(found: Tensor) -> int:
    """Operations that have to wait for each other: the longest way through the graph."""
    lengths: dict[object, int] = {None: 0}
    waiting = [found.grad_fn]
    while waiting:
        node = waiting[-1]
        before = [parent for parent, _ in node.next_functions] if node is not None else []
        unknown = [parent for parent in before if parent not in lengths]
        if unknown:
            waiting += unknown
        else:
            lengths[node] = 1 + max((lengths[parent] for parent in before), default=0)
            waiting.pop()
    return lengths[found.grad_fn]


def test_the_longest_chain_of_operations_grows_with_the_length_in_an_rnn_alone() -> None:
    cell, project = nn.GRUCell(8, 8), nn.Linear(8, 24)
    recurrent, attended = [], []
    for length in (5, 50):
        x, state = torch.randn(length, 8), torch.zeros(1, 8)
        for row in x:
            state = cell(row[None], state)
        recurrent.append(chain(state))
        query, key, value = project(x)[None, None].chunk(3, dim=-1)
        seen = torch.ones(1, 1, length, length, dtype=torch.bool)
        attended.append(chain(attention_stages(query, key, value, seen).context))
    assert recurrent[1] > 9 * recurrent[0]
    assert attended[0] == attended[1]


def test_convolutions_see_further_layer_by_layer_and_attention_everything_at_once() -> None:
    torch.manual_seed(0)
    for layers in (1, 2, 4):
        x = torch.randn(1, 4, 21, requires_grad=True)
        stack = nn.Sequential(*(nn.Conv1d(4, 4, kernel_size=3, padding=1) for _ in range(layers)))
        stack(x)[0, :, 10].sum().backward()  # the one in the middle
        assert x.grad is not None
        assert int((x.grad[0].abs().sum(0) > 0).sum()) == 2 * layers + 1
    x = torch.randn(1, 1, 21, 4, requires_grad=True)
    seen = torch.ones(1, 1, 21, 21, dtype=torch.bool)
    attention_stages(x, x, x, seen).context[0, 0, 10].sum().backward()
    assert x.grad is not None
    assert (x.grad[0, 0].abs().sum(-1) > 0).all()


def test_a_deep_stack_of_convolutions_loses_its_gradient() -> None:
    def first(layers: int) -> float:
        torch.manual_seed(0)
        stack = nn.Sequential(
            *(nn.Sequential(nn.Conv1d(8, 8, kernel_size=3, padding=1), nn.Tanh()) for _ in range(layers))
        )
        stack(torch.randn(1, 8, 20)).square().mean().backward()
        gradient = stack[0][0].weight.grad  # type: ignore[index, union-attr]
        assert isinstance(gradient, Tensor)
        return gradient.norm().item()

    assert first(2) > 10 * first(8) > 100 * first(24)


SMALL = {"cell": "gru", "width": 32, "layers": 1, "bidirectional": False, "dropout": 0.0}
DEEP = {"width": 32, "heads": 4, "feedforward": 64, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}


def gradient_of_the_first_word(config: ModelConfig, length: int) -> float:
    torch.manual_seed(0)
    model = build_model(config, 50, 50, shared=False)
    source = Sentences.lay([[49, *(4 + place % 45 for place in range(length - 1))]], CPU)
    logits = model.decode(Sentences.lay([[BOS, 5, 6, 7]], CPU), model.encode(source)).logits()
    (-logits[-1].log_softmax(-1)[8]).backward()
    gradient = model.get_parameter("source_embedding.weight").grad
    assert gradient is not None
    return gradient[49].norm().item()


def test_the_gradient_of_the_first_word_fades_in_an_rnn_and_not_with_attention() -> None:
    fixed = [gradient_of_the_first_word(RnnConfig(**SMALL), length) for length in (5, 20, 80)]
    assert fixed[0] > 100 * fixed[1] > 10_000 * fixed[2]
    for config in (LuongConfig(**SMALL), TransformerConfig(**DEEP)):
        short, long = (gradient_of_the_first_word(config, length) for length in (5, 80))
        assert long > short / 100
        assert long > 1e9 * fixed[2]


def test_a_weighted_sum_hands_the_gradient_to_every_state() -> None:
    torch.manual_seed(0)
    states = torch.randn(1, 1, 6, 4, requires_grad=True)
    query = torch.randn(1, 1, 1, 4)
    stages = attention_stages(query, states.detach(), states, torch.ones(1, 1, 1, 6, dtype=torch.bool))
    stages.context.sum().backward()
    assert states.grad is not None
    torch.testing.assert_close(states.grad[0, 0, :, 0], stages.weights[0, 0, 0].detach())  # to each its share


# Layers


def test_only_attention_moves_information_between_positions() -> None:
    """Another token changes every place; with all attention cut off it changes its own alone."""
    torch.manual_seed(0)
    model = build_model(TransformerConfig(**DEEP), 20, 20, shared=False).eval()

    def changed() -> list[int]:
        one, two = (model.encode(Sentences.lay([ids], CPU)).states for ids in ([5, 6, 7, 8], [5, 6, 17, 8]))
        return [place for place in range(4) if not torch.allclose(one[place], two[place], atol=1e-6)]

    assert changed() == [0, 1, 2, 3]
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.startswith("encoder") and "attention.output" in name:
                weight.zero_()
    assert changed() == [2]


def test_without_the_sums_the_gradient_of_a_deep_stack_is_lost() -> None:
    def bottom(*, residual: bool) -> float:
        torch.manual_seed(0)
        deep = TransformerConfig(**(DEEP | {"encoder_layers": 24}), norm="none", residual=residual)
        model = build_model(deep, 20, 20, shared=False)
        model.encode(Sentences.lay([[5, 6, 7, 8]], CPU)).states.square().mean().backward()
        gradient = model.get_parameter("source_embedding.weight").grad
        assert gradient is not None
        return gradient.norm().item()

    assert bottom(residual=True) > 1e-3 > 1e3 * bottom(residual=False)


# Learning


def test_the_loss_of_cat_is_minus_log_of_seven_tenths() -> None:
    predicted = torch.tensor([0.1, 0.7, 0.05, 0.15])
    cat = torch.tensor([0.0, 1.0, 0.0, 0.0])
    by_the_note = -(cat * predicted.log()).sum()
    assert by_the_note.item() == pytest.approx(0.3567, abs=1e-4)
    torch.testing.assert_close(by_the_note, nn.functional.cross_entropy(predicted.log(), torch.tensor(1)))


def test_adam_moves_small_and_large_gradients_alike() -> None:
    weights = nn.Parameter(torch.tensor([1.5, 1.5]))
    optimizer = torch.optim.Adam([weights], lr=1e-3)
    weights.grad = torch.tensor([1e-3, 1e3])
    optimizer.step()
    torch.testing.assert_close(weights.detach(), torch.tensor([1.499, 1.499]))


@pytest.mark.slow
def test_right_tokens_teach_an_rnn_faster_than_its_own() -> None:
    """The same model, data and steps: fed the reference, or what it has just written itself."""
    lesson = LESSONS["rnn"]
    hidden = sorted(set(draw(200, lesson.lengths, np.random.default_rng(99))))

    def examples(random: np.random.Generator) -> list[tuple[Sequence, Sequence]]:
        drawn = draw(lesson.rows, lesson.lengths, random)
        return [(source, source[::-1]) for source in drawn if source not in hidden]

    def share_right(forcing: float) -> float:
        training = replace(lesson.training, max_steps=60, teacher_forcing=forcing, rollout=forcing < 1)
        model = taught(replace(lesson, training=training), examples, VOCAB)
        found = answers(model, hidden, lesson.lengths[1] + 2)
        return float(np.mean([one == source[::-1] for one, source in zip(found, hidden, strict=True)]))

    assert share_right(1.0) > 2 * share_right(0.0)


# The bundled models on dates that they have not seen

DATES = sorted(list(builtin_corpus("dates", "test").pairs())[:240], key=lambda pair: len(pair[0]))
SHORT, LONG = DATES[:60], DATES[-60:]


@cache
def bundled(arch: str) -> Model:
    return jumok.load(f"demo/{arch}", "cpu", engine="torch")


def share_right(model: Model, pairs: list[tuple[str, str]]) -> float:
    found = model.translate([source for source, _ in pairs], beam=1)
    return sum(one.text == target for one, (_, target) in zip(found, pairs, strict=True)) / len(pairs)


def test_one_fixed_vector_loses_long_dates_and_attention_does_not() -> None:
    short, long = (share_right(bundled("rnn"), pairs) for pairs in (SHORT, LONG))
    assert short > 0.8 > 0.5 > long
    for arch in ("luong", "transformer"):
        assert min(share_right(bundled(arch), pairs) for pairs in (SHORT, LONG)) > 0.9


def test_what_the_rnn_writes_itself_leads_it_astray() -> None:
    """The last third of long answers: after the right tokens, and after its own."""
    model = bundled("rnn")
    written = model.translate([source for source, _ in LONG], beam=1)
    forced, free = [], []
    for (source, target), answer in zip(LONG, written, strict=True):
        ids, own = (model.tokenizers.target.encode(text) for text in (target, answer.text))
        read = Sentences.lay([[*model.tokenizers.source.encode(source), EOS]], CPU)
        with torch.inference_mode():
            logits = model.model.decode(Sentences.lay([[BOS, *ids]], CPU), model.model.encode(read)).logits()
        last = range(2 * len(ids) // 3, len(ids))
        forced += [int(logits[place].argmax()) == ids[place] for place in last]
        free += [own[place : place + 1] == [ids[place]] for place in last]
    assert np.mean(forced) > np.mean(free) + 0.05


def test_positions_that_were_never_seen_can_be_computed_and_not_read() -> None:
    model = bundled("transformer")
    with model.edit(jumok.positions("shift", "encoder", by=20)) as shifted:
        assert share_right(model, SHORT) > 0.9
        assert share_right(shifted, SHORT) < 0.5
