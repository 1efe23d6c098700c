"""Forced, free and after a slip: each again step by step with the model's own `step`, and in numpy."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.explain.conftest import Workshop

import jumok
from jumok.decoding.batched import lay_sources
from jumok.decoding.jobs import make_request
from jumok.errors import ConfigError, LimitError
from jumok.explain import free_running
from jumok.explain.free_running import DecoderRun, FreeRunning
from jumok.model import Model
from jumok.text.tokenizer import BOS, EOS

TEXT, ANSWER = "den 5 mars 2024 kl. 14:30", "2024-03-05T14:30"
ARCHS = ("rnn", "luong", "transformer")


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    return {arch: jumok.load(f"demo/{arch}", "cpu") for arch in ARCHS}


def step_by_step(model: Model, given: list[int], steps: int) -> tuple[list[int], np.ndarray]:
    """The tokens of a run that is given its first ones and then reads its own; log p at each (steps, V)."""
    network = model.on_torch("").model
    read, found, state = [BOS], [], None
    with torch.inference_mode():
        source = lay_sources([model.tokenizers.source.encode(TEXT)], torch.device("cpu"))
        state = network.start(network.encode(source))
        for place in range(steps):
            logits, state = network.step(torch.tensor([read[-1]]), state)
            z = logits[0].double().numpy()
            found.append(z - z.max() - np.log(np.exp(z - z.max()).sum()))
            read.append(given[place] if place < len(given) else int(z.argmax()))
    return read[1:], np.stack(found)


def check(run: DecoderRun, reference: list[int], given: list[int], model: Model) -> None:
    """A run against the loop above."""
    ids, log_probs = step_by_step(model, given, len(run.tokens))
    assert [one.id for one in run.tokens] == ids
    assert [one.best[0].id for one in run.tokens] == log_probs.argmax(-1).tolist()
    best = np.sort(np.exp(log_probs))[:, :-6:-1]  # (steps, 5), the most probable first
    np.testing.assert_allclose([[other.p for other in one.best] for one in run.tokens], best, atol=1e-5)
    losses = [-row[right] for row, right in zip(log_probs, reference, strict=False)]
    assert [one.loss for one in run.tokens if one.loss is not None] == pytest.approx(
        losses, rel=1e-3, abs=1e-5
    )
    assert run.loss == pytest.approx(np.mean(losses), rel=1e-3, abs=1e-5)
    pairs = list(zip(ids, reference, strict=False))
    assert [one.right for one in run.tokens[: len(pairs)]] == [one == other for one, other in pairs]
    apart = sum(one != other for one, other in pairs) + abs(len(ids) - len(reference))
    assert (run.wrong, run.finished) == (apart, ids[-1] == EOS)
    assert run.text == model.tokenizers.target.decode([id for id in ids if id != EOS])


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("slip", [0, 6, 15])
def test_the_three_runs_step_by_step(models: dict[str, Model], arch: str, slip: int) -> None:
    model = models[arch]
    found = model.free_running(TEXT, ANSWER, slip=slip)
    reference = [*model.tokenizers.target.encode(ANSWER), EOS]
    check(found.forced, reference, reference, model)
    check(found.free, reference, [], model)
    assert found.slipped is not None
    second = next(one.id for one in found.forced.tokens[slip].best if one.id not in (reference[slip], EOS))
    check(found.slipped, reference, [*reference[:slip], second], model)
    assert found.forced.loss == pytest.approx(-model.score(TEXT, ANSWER).score_per_token, abs=1e-4)
    assert found.free.text == model.translate(TEXT, beam=1).text


def test_after_one_wrong_month_attention_goes_on_and_the_rnn_does_not(models: dict[str, Model]) -> None:
    """What the chapter shows: the only mistake of a model that looks back is the one put in."""
    found = {arch: models[arch].free_running(TEXT, ANSWER, slip=6, wrong="4") for arch in ARCHS}
    wrong = {arch: one.slipped.wrong for arch, one in found.items() if one.slipped}
    assert wrong["luong"] == wrong["transformer"] == 1
    assert wrong["rnn"] > 1
    assert all(one.free.wrong == 0 for one in found.values())


def test_a_wrong_token_by_its_text_or_its_id(models: dict[str, Model]) -> None:
    model = models["luong"]
    by_text = model.free_running(TEXT, ANSWER, slip=3, wrong="9")
    assert by_text == model.free_running(TEXT, ANSWER, slip=3, wrong=model.tokenizers.target.encode("19")[-1])
    assert by_text.slipped is not None
    assert by_text.slipped.tokens[3].text == "9"
    assert by_text.slip == 3


def test_without_a_slip_there_are_two_runs(models: dict[str, Model]) -> None:
    found = models["rnn"].free_running(TEXT, ANSWER)
    assert found.slipped is None
    assert found.slip is None
    assert found.to_dict()["forced"]["tokens"][0]["right"] is True


@pytest.mark.parametrize("kind", ["rnn", "luong", "transformer"])
def test_runs_that_never_end_or_end_early(workshop: Workshop, kind: str) -> None:
    found: FreeRunning = workshop.model(kind).free_running("a man rides", "the dog sees a man!", slip=0)
    for run in (found.free, found.slipped):
        assert run is not None
        assert run.finished == (run.tokens[-1].id == EOS)
        assert [one.loss is None for one in run.tokens] == [
            place >= len(found.forced.tokens) for place in range(len(run.tokens))
        ]


def test_the_folders_own_search_does_not_count(workshop: Workshop) -> None:
    plain, other = workshop.model("luong"), workshop.model("luong", min_len=16, no_repeat_ngram=2)
    asked = ("a man rides", "the dog")
    assert plain.free_running(*asked, slip=0) == other.free_running(*asked, slip=0)


@pytest.mark.parametrize("longest", [9, 999])
def test_a_run_that_does_not_end_is_stopped(
    workshop: Workshop, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the limit of the folder, or where it is sixteen tokens longer than twice the reference."""
    model = workshop.model("luong", max_len=longest)
    count = len(model.tokenizers.target.encode("the dog"))
    asked: list[dict[str, Any]] = []

    def noted(decoding: Any, options: dict[str, Any]) -> Any:
        asked.append(options)
        return make_request(decoding, options)

    monkeypatch.setattr(free_running, "make_request", noted)
    model.free_running("a man rides", "the dog")
    limit = min(longest, 2 * count + 16)
    assert asked == [{"beam": 1, "max_len": limit, "min_len": 0, "no_repeat_ngram": 0}]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "place": (
        {"slip": 17},
        "slip is 17, and the target has 17 tokens, its end included\n  give a whole number from 0 to 16",
    ),
    "half": (
        {"slip": 0.5},
        "slip is 0.5, and the target has 17 tokens, its end included\n  give a whole number from 0 to 16",
    ),
    "right": (
        {"slip": 6, "wrong": "3"},
        "'3' is the right token at place 6\n  give another one, or another place",
    ),
    "two tokens": (
        {"slip": 6, "wrong": "33"},
        "wrong='33' is no token that this model writes\n"
        "  give an id, or a token as the runs show it, such as one of `best`",
    ),
    "end": (
        {"slip": 6, "wrong": EOS},
        f"wrong={EOS} is no token that this model writes\n"
        "  give an id, or a token as the runs show it, such as one of `best`",
    ),
    "alone": ({"wrong": "3"}, "wrong='3' has no place\n  give slip, the place where it is put in"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused_in_words(models: dict[str, Model], case: str) -> None:
    options, said = WRONG[case]
    with pytest.raises(ConfigError) as caught:
        models["luong"].free_running(TEXT, ANSWER, **options)
    assert str(caught.value) == said


def test_texts_that_are_empty_or_too_long(models: dict[str, Model]) -> None:
    with pytest.raises(ConfigError, match="the text is empty"):
        models["rnn"].free_running(" ", ANSWER)
    with pytest.raises(LimitError, match="give a shorter one"):
        models["rnn"].free_running(TEXT, "1" * 2000)
