"""Gradients by distance: those of plain autograd; they vanish along a recurrence, not through attention."""

import copy
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.explain.seeing import picture, seeing
from torch.nn.functional import cross_entropy

import jumok
from jumok.backends.torch import TorchBackend
from jumok.config import LuongConfig, RnnConfig, TransformerConfig
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, LimitError
from jumok.explain.gradients import MOST_PARAMETERS, check_lengths, gradient_norms, gradients
from jumok.explain.ops import mask_edge
from jumok.models.sentences import Sentences
from jumok.text.tokenizer import BOS, EOS

CPU = torch.device("cpu")
TEXT, TARGET = "the dog sees a man!", "영화를 봤다."


def test_the_norms_are_those_of_plain_autograd(translator: Translator) -> None:
    """The same loss on the plain back end, differentiated by the embedding table of the source alone."""
    found = gradients(translator, TEXT, TARGET)
    source, target = (translator.tokenizers.source.encode(one) for one in (TEXT, TARGET))
    model = copy.deepcopy(translator.model).using(TorchBackend())
    table = copy.deepcopy(model.source_embedding)  # no longer the target's, nor the output's
    model.source_embedding = table
    read = Sentences.lay([[*source, EOS]], CPU)
    logits = model(read, Sentences.lay([[BOS, *target]], CPU)).logits()
    loss = cross_entropy(logits, torch.tensor([*target, EOS]))
    loss.backward()
    assert found.loss == pytest.approx(loss.item(), rel=1e-5)
    assert len(found.norms) == len(found.tokens) == len(source) + 1
    once = [i for i, id in enumerate([*source, EOS]) if [*source, EOS].count(id) == 1]
    expected = [table.weight.grad[[*source, EOS][i]].norm().item() / table.scale for i in once]
    np.testing.assert_allclose([found.norms[i] for i in once], expected, rtol=1e-4)
    assert len(once) >= 4


def test_without_a_target_it_is_the_models_own_answer(translator: Translator) -> None:
    found, answer = gradients(translator, TEXT), translator.translate([TEXT])[0]
    assert found.target == answer.text
    assert found.loss == pytest.approx(-answer.score_per_token, abs=1e-4)


RECURRENT = {"cell": "gru", "width": 16, "layers": 1, "dropout": 0.0}


def test_an_untrained_recurrence_forgets_and_attention_does_not(workshop) -> None:  # type: ignore[no-untyped-def]
    """In one direction each step multiplies the gradient: the ratio of two lengths is a power."""
    first = {}
    for config in (RnnConfig(**RECURRENT), LuongConfig(**RECURRENT), TransformerConfig(width=16, heads=2)):
        translator = workshop.translator(config, max_length=90)
        directions = None if config.arch == "transformer" else 1
        found = gradients(translator, TEXT, TARGET, lengths=[10, 20, 40, 80], fresh=0, directions=directions)
        assert [one.length for one in found.by_length] == [10, 20, 40, 80]
        first[config.arch] = [one.first for one in found.by_length]
    ten, twenty, forty, eighty = first["rnn"]
    assert eighty < 1e-10 < 1e-4 < min(*first["luong"], *first["transformer"])
    for shorter, longer, steps in ((ten, twenty, 10), (twenty, forty, 20), (forty, eighty, 40)):
        assert 0.3 < (longer / shorter) ** (1 / steps) < 0.8


def test_two_directions_move_the_far_end_to_the_middle(workshop) -> None:  # type: ignore[no-untyped-def]
    translator = workshop.translator(RnnConfig(**RECURRENT), max_length=90)
    [one], [two] = (
        gradients(translator, TEXT, TARGET, lengths=[60], fresh=0, directions=n).by_length for n in (1, 2)
    )
    assert one.first == one.smallest < 1e-8
    assert two.first > 1e-3 > 1e-4 > two.smallest


def test_fresh_weights_come_from_the_seed_alone(rnn: Translator) -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, same, other = (gradients(rnn, TEXT, TARGET, fresh=seed).norms for seed in (3, 3, 4))
    assert one == same != other
    assert torch.equal(before, torch.random.get_rng_state())
    assert one != gradients(rnn, TEXT, TARGET).norms


def test_a_token_that_no_query_sees_has_no_gradient(workshop) -> None:  # type: ignore[no-untyped-def]
    """Interventions stay in force: cut every edge to one token, in the encoder and from the decoder."""
    model = workshop.model("transformer")
    read, written = (len(model.tokenizers.source.encode(one)) + 1 for one in (TEXT, TARGET))
    cut = model.edit(
        mask_edge("enc_self", "*", "*", list(range(read)), 2),
        mask_edge("cross", "*", "*", list(range(written)), 2),
    )
    found = cut.gradients(TEXT, TARGET)
    assert found.norms[2] == 0
    assert min(found.norms[:2]) > 0


def test_a_picture_has_a_gradient_at_every_patch() -> None:
    translator = seeing("transformer")
    found = gradients(translator, picture(0), "a")
    assert len(found.norms) == len(found.tokens) == translator.tokenizers.pictures.places
    assert min(found.norms) > 0
    with pytest.raises(ConfigError, match="a picture always has the same number of patches"):
        gradients(translator, picture(0), "a", lengths=[3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lengths": [0]}, "a length of 0 has no token"),
        ({"lengths": [3] * 17}, "there are 17 lengths"),
        ({"directions": 1}, "trained weights have the directions that they have"),
        ({"directions": 1, "fresh": 0}, "a transformer reads in no direction"),
    ],
)
def test_what_cannot_be_measured_is_said(transformer: Translator, options: dict, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ConfigError, match=message):
        gradients(transformer, TEXT, TARGET, **options)


def test_sixteen_lengths_may_be_asked_for_at_once() -> None:
    check_lengths(TEXT, range(1, 17))
    with pytest.raises(ConfigError, match="there are 17 lengths"):
        check_lengths(TEXT, range(1, 18))


def test_neither_side_may_be_too_long(transformer: Translator) -> None:
    with pytest.raises(LimitError, match=re.escape("the source has 2,001 tokens, its end included")):
        gradients(transformer, TEXT, TARGET, lengths=[2000])
    with pytest.raises(LimitError, match="the target has"):
        gradients(transformer, "a", "나는 어제 영화를 봤다. 나는 어제", most=6)
    with pytest.raises(ConfigError, match="the text is empty"):
        gradients(transformer, " ", TARGET)


def test_a_learned_table_ends(workshop) -> None:  # type: ignore[no-untyped-def]
    config = replace(workshop.small, positions="learned", max_positions=32)
    with pytest.raises(LimitError, match="32"):
        gradients(workshop.translator(config), TEXT, TARGET, lengths=[40])


def test_a_large_model_gets_no_second_set_of_weights(
    transformer: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumok.models.cost.count_parameters", lambda _: MOST_PARAMETERS + 1)
    with pytest.raises(ConfigError, match="fresh weights are drawn for 50,000,000"):
        gradients(transformer, TEXT, TARGET, fresh=0)
    monkeypatch.setattr("jumok.models.cost.count_parameters", lambda _: MOST_PARAMETERS)
    assert gradients(transformer, TEXT, TARGET, fresh=0).fresh == 0


def test_longer_texts_are_the_same_tokens_again_and_the_end_is_not_among_them(rnn: Translator) -> None:
    told: list[tuple[str, int, int | None]] = []
    source = rnn.tokenizers.source.encode("a man rides")
    count = len(source)
    found = gradients(
        rnn,
        "a man rides",
        TARGET,
        lengths=[count, 2 * count + 1, 1],
        progress=lambda what, done, total: told.append((what, done, total)),
    )
    assert told == [("gradients", done, 4) for done in (1, 2, 3, 4)]
    same, longer, first = found.by_length
    own = found.norms[:-1]
    assert (same.loss, same.first) == (found.loss, own[0])
    assert (same.smallest, same.largest) == (min(own), max(own))
    assert (longer.length, first.length) == (2 * count + 1, 1)
    written = [*rnn.tokenizers.target.encode(TARGET), EOS]
    loss, norms = gradient_norms(rnn.model, [*source, *source, source[0]], written)
    assert (longer.loss, longer.first) == (loss, norms[0])
    assert (longer.smallest, longer.largest) == (norms[:-1].min(), norms[:-1].max())
    assert first.first == first.smallest == first.largest


def test_progress_may_end_the_work(rnn: Translator) -> None:
    def stop(what: str, done: int, total: int | None) -> None:
        assert (what, total) == ("gradients", 3)
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gradients(rnn, TEXT, TARGET, lengths=[5, 6], progress=stop)


def test_the_bundled_models_have_learned_to_reach_back() -> None:
    """Trained, the LSTM's gradient at its weakest token is far above that of fresh weights."""
    model = jumok.load("demo/rnn", "cpu")
    text, target = "1998년 3월 24일 화요일 오후 8시 35분부터", "1998-03-24T20:35"
    [trained] = model.gradients(text, target, lengths=[80]).by_length
    [fresh] = model.gradients(text, target, lengths=[80], fresh=0).by_length
    assert fresh.smallest / fresh.largest < 1e-6 < 1e-3 < trained.smallest / trained.largest
