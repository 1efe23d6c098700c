"""Several folders opened as one model: names, engines, searches, and every refusal by its text."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.conftest import COPYING, LINES, TINY, untrained

from jumok.checkpoint.model import save_model
from jumok.config import DataConfig, ModelConfig, TextConfig
from jumok.decoding.ensembles import EnsembleEngine, check_mean, member_folders, open_models
from jumok.decoding.torch_engine import TorchEngine
from jumok.decoding.translator import Translator, load
from jumok.errors import ConfigError, ModelError
from jumok.models.ensemble import EnsembleSeq2Seq
from jumok.native.library import available
from jumok.text.frame import END, TEXT, Frame
from jumok.text.tokenizer import Tokenizers, train_tokenizer

needs_library = pytest.mark.skipif(not available(), reason="the C library was not built")
TEXTS = ["a man rides a horse.", "", "the dog", "나는 어제 영화를 봤다.", "one two three four one"]
SEARCHES: list[dict[str, Any]] = [
    {"beam": 1},
    {"beam": 4, "n_best": 2},
    {"beam": 3, "prefix": "the"},
    {"beam": 3, "require": ["dog"], "ban": ["e"]},
    {"sample": True, "seed": 3, "top_k": 9},
    {"mbr": 4, "seed": 3},
    {"beam": 2, "no_repeat_ngram": 2},
]
Make = Callable[..., Path]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Saves a model of this configuration with weights of its own."""
    place = tmp_path_factory.mktemp("members")

    def save(name: str, model: ModelConfig, seed: int = 1, **changes: Any) -> Path:
        if (place / name).exists():
            return place / name
        loaded = untrained(model)
        torch.manual_seed(seed)
        with torch.no_grad():
            for parameter in loaded.model.parameters():  # tied ones stay tied
                parameter.add_(0.1 * seed * torch.randn_like(parameter))
        config, tokenizers = loaded.config, changes.pop("tokenizers", loaded.tokenizers)
        config = replace(config, data=replace(config.data, **changes))
        return save_model(
            place / name, loaded.model.state_dict(), config, tokenizers, {"step": 3, "score": 1.5}
        )

    return save


@pytest.fixture(scope="module")
def three(make: Make) -> list[Path]:
    """One of each architecture, the one without attention first."""
    return [make(name, config, n) for n, (name, config) in enumerate(TINY.items())]


def test_names_of_one_and_of_several(tmp_path: Path) -> None:
    assert member_folders("runs/a") == ["runs/a"]
    assert member_folders("runs/a+runs/b+demo/rnn") == ["runs/a", "runs/b", "demo/rnn"]
    assert member_folders(["runs/a", tmp_path]) == ["runs/a", str(tmp_path)]
    plus = tmp_path / "c++"
    plus.mkdir()
    assert member_folders(plus) == [str(plus)]  # a folder that is called so


def test_refusals_of_names() -> None:
    for name in ("a+", "+b", "a++b"):
        with pytest.raises(ConfigError) as caught:
            member_folders(name)
        assert str(caught.value) == (
            f"{name} names no ensemble: there is no folder on one side of a plus\n"
            "  write the folders of its members with a plus between them: A+B"
        )
    with pytest.raises(ConfigError, match="an ensemble has no members\n  name at least one model folder"):
        load([])
    with pytest.raises(ConfigError, match="there is no mean of 'log'\n  did you mean 'logs'?"):
        check_mean("log")
    with pytest.raises(ConfigError, match="65 models are more than the 64 that an ensemble may have"):
        open_models([f"m{n}" for n in range(65)])


def test_a_member_that_is_not_there_is_named(three: list[Path]) -> None:
    with pytest.raises(ModelError, match="there is no model folder /no/such"):
        load([three[0], "/no/such"])


@needs_library
def test_every_member_native_is_native_and_one_that_is_not_makes_all_torch(
    make: Make, three: list[Path]
) -> None:
    notes: list[str] = []
    assert isinstance(open_models(three, "cpu", note=notes.append), EnsembleEngine)
    assert notes == []
    mixed = [*three, make("copying", COPYING)]
    engine = open_models(mixed, "cpu", note=notes.append)
    assert isinstance(engine, TorchEngine)
    assert notes == ["torch is used: some members of the ensemble are not for the native engine"]
    with pytest.raises(ConfigError, match="the native engine has no model that copies"):
        open_models(mixed, "cpu", "native")
    assert isinstance(open_models(three, "cpu", "torch"), TorchEngine)


def test_what_is_known_of_an_ensemble(three: list[Path]) -> None:
    model, alone = load(three), [load(one) for one in three]
    info = model.info
    assert info["name"] == "rnn+luong+transformer"
    assert [one["name"] for one in info["members"]] == ["rnn", "luong", "transformer"]
    assert [one["arch"] for one in info["members"]] == ["rnn", "luong", "transformer"]
    assert info["parameters"] == sum(one.info["parameters"] for one in alone)
    assert info["mean"] == "probabilities"
    assert "score" not in info  # that of a member, and not of this
    assert info["arch"] == "luong"  # the first that attends to its source leads
    marks = {info["fingerprint"], load(three, mean="logs").info["fingerprint"]}
    marks |= {one.info["fingerprint"] for one in alone} | {load(three[:2]).info["fingerprint"]}
    assert len(marks) == 6
    assert load(three[::-1]).info["fingerprint"] == info["fingerprint"]
    assert str(model) == "Translator('rnn+luong+transformer', luong)"


def test_a_member_named_twice_counts_twice(three: list[Path]) -> None:
    one, two = three[1:]
    assert load([one, one]).info == load(one).info  # an ensemble of one model is that model
    model = load(f"{one}+{two}+{one}", engine="torch")
    assert [member["weight"] for member in model.info["members"]] == pytest.approx([2 / 3, 1 / 3])
    assert isinstance(model.model, EnsembleSeq2Seq)
    assert model.model.weights == pytest.approx((2 / 3, 1 / 3))


@needs_library
@pytest.mark.parametrize("mean", ["probabilities", "logs"])
@pytest.mark.parametrize("options", SEARCHES, ids=str)
def test_both_engines_give_the_same(three: list[Path], options: dict[str, Any], mean: str) -> None:
    native, torchs = (load(three, engine=engine, mean=mean) for engine in ("auto", "torch"))
    found, wanted = (each.translate(TEXTS, **options) for each in (native, torchs))
    assert [one.text for one in found] == [one.text for one in wanted]
    assert [one.score for one in found] == pytest.approx([one.score for one in wanted], abs=1e-4)


def test_a_target_is_as_probable_as_the_mean_says(three: list[Path]) -> None:
    """Token by token: log of the mean of what the members say, or the mean of their logs, normalised."""
    text, target = TEXTS[0], "the dog sees"

    def scores(model: Translator) -> list[float]:
        return [token.logprob for token in model.score(text, target).tokens]

    alone = torch.tensor([scores(load(one)) for one in three], dtype=torch.float64)
    assert scores(load(three)) == pytest.approx(alone.exp().mean(0).log().tolist(), abs=1e-4)
    logs = scores(load(three, mean="logs"))
    assert all(one >= other - 1e-4 for one, other in zip(logs, alone.mean(0).tolist(), strict=True))
    assert logs != pytest.approx(scores(load(three)), abs=1e-2)


@settings(max_examples=10, deadline=None)
@given(
    order=st.permutations(range(3)), mean=st.sampled_from(["probabilities", "logs"]), beam=st.integers(1, 4)
)
def test_the_order_of_members_does_not_matter(
    three: list[Path], order: list[int], mean: str, beam: int
) -> None:
    one, other = load(three, mean=mean), load([three[n] for n in order], mean=mean)
    found, wanted = (each.translate(TEXTS, beam=beam) for each in (one, other))
    assert [best.text for best in found] == [best.text for best in wanted]
    assert [best.score for best in found] == pytest.approx([best.score for best in wanted], abs=1e-4)


def test_a_stream_ends_in_the_same_answer(three: list[Path]) -> None:
    model = load(three)
    *_, last = model.stream(TEXTS[0], beam=2)
    assert last.translation.text == model.translate(TEXTS[0], beam=2).text  # type: ignore[union-attr]


@needs_library
def test_links_are_those_of_the_first_member_with_attention(three: list[Path]) -> None:
    native, torchs = (load(three, engine=engine) for engine in ("auto", "torch"))
    found, wanted = (each.translate(TEXTS[0], align=True) for each in (native, torchs))
    assert found.links
    assert [(one.source, one.target) for one in found.links] == [
        (one.source, one.target) for one in wanted.links
    ]
    assert not load(three[:1]).aligns
    assert native.aligns


@needs_library
def test_int8_folders_are_members_of_both_engines(tmp_path: Path) -> None:
    from jumok.export.model import export_model

    export_model("demo/transformer", "native", tmp_path / "int8", type="int8", sentences=10)
    members, text = ["demo/luong", tmp_path / "int8"], "5. März 2024"
    native, torchs = (load(members, engine=engine) for engine in ("auto", "torch"))
    assert native.engine["type"] == "float32 + int8"
    assert torchs.engine["name"] == "torch"
    assert native.translate(text).text == torchs.translate(text).text == "2024-03-05"
    near = [each.score(text, "2024-03-05").score for each in (native, torchs)]
    assert near[0] == pytest.approx(near[1], abs=0.05)  # int8 rounds what it reads, too


def test_other_vocabularies_are_refused(make: Make, three: list[Path]) -> None:
    loaded = untrained(TINY["transformer"])
    lines = [line.replace("a", "b") for line in LINES]
    other = train_tokenizer(lines, TextConfig(vocabulary=loaded.tokenizers.target.size))
    assert other.size == loaded.tokenizers.target.size  # as many tokens, and not the same
    strange = make("strange", TINY["transformer"], tokenizers=Tokenizers(other, other))
    with pytest.raises(ModelError) as caught:
        load([three[2], strange])
    mine, its = loaded.tokenizers.source, other
    assert str(caught.value) == (
        f"{three[2]} and {strange} cannot be an ensemble: their source vocabularies differ: "
        f"{mine.size:,} tokens with SHA-256 {mine.fingerprint[:12]}… and "
        f"{its.size:,} tokens with SHA-256 {its.fingerprint[:12]}…\n"
        "  members read and write the same tokens: train them with the same data and text settings"
    )
    assert caught.value.code == "other_vocabulary"


def test_other_tokens_around_a_sentence_are_refused(make: Make, three: list[Path]) -> None:
    both = untrained(TINY["rnn"]).tokenizers
    framed = make("framed", TINY["rnn"], tokenizers=replace(both, frame=Frame(source=("<s>", TEXT, END))))
    with pytest.raises(ModelError, match="other tokens stand around their sentences, such as those of lang"):
        load([three[0], framed])


def test_other_languages_are_refused(make: Make, three: list[Path]) -> None:
    back = make("back", TINY["rnn"], source_language="ko", target_language="en")
    with pytest.raises(ModelError, match="one translates en to ko, the other ko to en"):
        load([three[0], back])
    silent = make("silent", TINY["rnn"], source_language="", target_language="")
    assert load([three[0], silent]).config.data.source_language == "en"


def test_the_shortest_text_that_a_member_takes_is_the_longest_of_all(make: Make, three: list[Path]) -> None:
    short = make("short", TINY["rnn"], max_length=5)
    assert load([three[2], short]).config.data == replace(load(three[2]).config.data, max_length=5)
    assert DataConfig().max_length > 5


def test_a_shortlist_and_confidence_are_of_one_model(three: list[Path]) -> None:
    model = load(three)
    with pytest.raises(ConfigError, match="a shortlist is"):
        model.translate(TEXTS[0], shortlist=True)
    with pytest.raises(ConfigError, match="the model has not been calibrated"):
        model.translate(TEXTS[0], confidence=True)
    assert not model.is_calibrated


def test_looking_inside_is_for_one_model(three: list[Path]) -> None:
    from jumok.model import load as load_model

    model = load_model(three)
    for call in (
        lambda: model.trace(TEXTS[0]),
        lambda: model.translate(TEXTS[0], attention=True),
        lambda: model.forward_pass(TEXTS[0]),
        lambda: model.gradients(TEXTS[0]),
        lambda: model.training_step(TEXTS[0]),
    ):
        with pytest.raises(ConfigError, match="this looks inside one model, and here are 3 that predict"):
            call()
    assert isinstance(model, Translator)
