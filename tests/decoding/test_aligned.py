"""Alignments in torch, and that every engine and every way to ask gives the same links."""

import pytest
import torch
from tests.explain.conftest import Workshop

from jumok.answers import Answer
from jumok.architectures import AlignHead, TransformerConfig
from jumok.decoding.aligned import align_answers, looks_of
from jumok.decoding.jobs import Job
from jumok.decoding.stream import Final
from jumok.decoding.translator import load
from jumok.errors import ConfigError
from jumok.models.build import build_model
from jumok.native.library import available

SHAPE = TransformerConfig(width=16, heads=2, feedforward=24, encoder_layers=1, decoder_layers=2)
TEXT = "- den 5 mars 2024 kl. 14:30\n\n  3. April 2020!"


@pytest.mark.parametrize("head", [AlignHead(1), AlignHead(0, 1), AlignHead(0, 1, after=True)])
def test_answers_get_what_a_pass_of_their_own_would_give(head: AlignHead) -> None:
    torch.manual_seed(0)
    model = build_model(SHAPE, 20, 20, shared=True).eval()
    jobs = [Job((5, 6, 7)), Job((8,)), Job(())]
    known = Answer((9,), (0.0,), finished=False, alignment=(0,), looks=(1.0,))
    answers = [
        [Answer((9, 5, 6), (0.0,) * 4, finished=True), Answer((9, 5, 6), (0.0,) * 3, finished=False)],
        [known, Answer((), (0.0,), finished=True)],
        [Answer((9,), (0.0, 0.0), finished=True)],
    ]
    found = align_answers(model, jobs, answers, head)
    assert found[1] == answers[1]
    assert found[2] == answers[2]
    for answer in found[0]:
        target = (*answer.ids, 2) if answer.finished else answer.ids
        [(places, looks)] = looks_of(model, [(5, 6, 7)], [target], head)
        assert (answer.alignment, answer.looks) == (places[:3], pytest.approx(looks[:3], abs=1e-6))
        assert all(0 <= place < 3 for place in answer.alignment)
    ended, open_ = found[0]
    assert ended.looks[:2] == pytest.approx(open_.looks[:2], abs=1e-6)


@pytest.mark.skipif(not available(), reason="the C library was not built")
@pytest.mark.parametrize("name", ["demo/transformer", "demo/luong"])
def test_both_engines_give_the_same_links(name: str) -> None:
    fast, slow = load(name, "cpu", engine="native"), load(name, "cpu", engine="torch")
    for options in ({"beam": 1}, {"beam": 4, "n_best": 3}):
        one, other = (model.translate(TEXT, align=True, **options) for model in (fast, slow))
        for mine, its in zip(one.hypotheses, other.hypotheses, strict=True):
            assert mine.text == its.text
            same = [(link.source, link.target) for link in mine.links]
            assert same == [(link.source, link.target) for link in its.links]
            assert [link.weight for link in mine.links] == pytest.approx(
                [link.weight for link in its.links], abs=1e-4
            )
        assert one.links
        assert "".join(one.text[slice(*link.target)] for link in one.links) in one.text.replace(" ", "")
    assert fast.translate(TEXT).links == ()


def test_a_stream_ends_with_links() -> None:
    model = Workshop().model("luong")
    *_, last = model.stream("a man rides. the dog sees!", align=True)
    assert isinstance(last, Final)
    assert last.translation.links == model.translate("a man rides. the dog sees!", align=True).links
    assert last.translation.links


def test_a_model_without_attention_says_so() -> None:
    model = Workshop().model("rnn")
    assert not model.aligns
    with pytest.raises(ConfigError, match="this model cannot align: a model of the architecture rnn has no"):
        model.translate("a man", align=True)


def test_demo_models_say_whether_they_align() -> None:
    assert load("demo/transformer", "cpu").aligns
    assert not load("demo/rnn", "cpu").aligns
