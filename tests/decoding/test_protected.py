"""Placeholders survive in every way to translate: whatever random models write, each is there once."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.conftest import LINES, TINY

from jumok.backends.choose import choose_backend
from jumok.checkpoint.model import LoadedModel
from jumok.config import DataConfig, DecodingConfig, RunConfig, TextConfig
from jumok.decoding.jobs import make_request
from jumok.decoding.stream import Final, Partial
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError
from jumok.model import Model
from jumok.models.build import build_model
from jumok.text.layouts import Protection
from jumok.text.tokenizer import EOS, Tokenizers, train_tokenizer

SIGNS = ("{name}", "%s", "https://a.org/x.y", "<b>", "</b>", "😀", "{n, plural, one {", "} other {", "12345")
TEXT = "Hi {name}, you. See https://a.org/x.y!\n\n- <b>the</b> %s man"


def untaught(*, marks: bool) -> Translator:
    """A model of random weights, with marks in its vocabulary or without."""
    text = TextConfig(vocabulary=340, marks=marks)
    tokenizer = train_tokenizer(LINES, text)
    torch.manual_seed(2)
    network = build_model(TINY["luong"], tokenizer.size, tokenizer.size, shared=True)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(2)
        network.target_embedding.weight[EOS] *= 2
    network.ops = choose_backend("cpu")
    data = DataConfig(max_length=12, source_language="en", target_language="de")
    config = RunConfig(
        model=TINY["luong"], text=text, data=data, decoding=DecodingConfig(max_len=16, loops=True)
    )
    both = Tokenizers(tokenizer, tokenizer)
    return Translator(
        LoadedModel(both, config, Path("tiny"), {"parameters": 7, "step": 3}, model=network.eval())
    )


@pytest.fixture(scope="module", params=[True, False], ids=["marks", "signs"])
def model(request: pytest.FixtureRequest) -> Translator:
    return untaught(marks=request.param)


def check(text: str, answer: str) -> None:
    assert {sign: answer.count(sign) for sign in SIGNS} == {sign: text.count(sign) for sign in SIGNS}
    assert answer.count("\n") == text.count("\n")


WORDS = [
    "the dog ",
    "a man. ",
    "{name} ",
    "%s ",
    "https://a.org/x.y ",
    "<b>",
    "</b>",
    "😀 ",
    "\n",
    "12345 ",
    "! ",
]
PARTS = st.sampled_from([*WORDS, "{n, plural, one {a man} other {# {name} man}} "])


@settings(max_examples=25)
@given(parts=st.lists(PARTS, max_size=12), sentences=st.sampled_from(["split", "as-is"]))
def test_placeholders_exactly_once_and_lines_in_are_lines_out(
    model: Translator, parts: list[str], sentences: str
) -> None:
    text = "".join(parts)
    answer = model.translate(text, sentences=sentences, beam=2).text
    counted = {sign: answer.count(sign) for sign in SIGNS}
    assert counted == {sign: text.count(sign) for sign in SIGNS}, answer
    if sentences == "split":
        assert answer.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "options",
    [{"beam": 1}, {"beam": 3, "n_best": 3}, {"sample": True, "n_best": 2}, {"mbr": 4}, {"min_len": 3}],
)
def test_every_way_to_search(model: Translator, options: dict[str, object]) -> None:
    for one in model.translate(TEXT, **options).hypotheses:
        check(TEXT, one.text)


def test_streams_and_iterators_give_the_same(model: Translator) -> None:
    *partials, last = model.stream(TEXT, beam=2)
    assert isinstance(last, Final)
    check(TEXT, last.translation.text)
    assert last.translation.text == model.translate(TEXT, beam=2).text
    sure = ""
    for one in partials:
        assert isinstance(one, Partial)
        assert one.text.startswith(sure)
        sure = one.text[: one.sure]
    assert last.translation.text.startswith(sure)
    [other] = model.translate_iter([TEXT], beam=2)
    assert other.text == last.translation.text


def test_what_is_kept_besides(model: Translator) -> None:
    [kept, plain] = model.translate(["the dog sees 나는", "a man"], keep=[[(4, 7), (13, 15)], []])
    assert kept.text.count("dog") == kept.text.count("나는") == 1
    assert plain.text == model.translate("a man").text
    assert model.translate("the dog", keep=[(0, 7)]).text == "the dog"
    with pytest.raises(ConfigError, match="keep has spans for 1 texts, and there are 2"):
        model.translate(["a", "b"], keep=[[(0, 1)]])
    with pytest.raises(ConfigError, match=r"keep has \(3, 1\), which is no span"):
        model.translate("abcd", keep=[(3, 1)])
    with pytest.raises(ConfigError, match="a stream takes no spans to keep"):
        model.translate_iter(["a"], keep=[(0, 1)])


def test_links_are_those_of_the_texts_that_people_see(model: Translator) -> None:
    found = model.translate(TEXT, align=True)
    assert found.links
    for link in found.links:
        assert 0 <= link.source[0] <= link.source[1] <= len(TEXT)
        assert 0 <= link.target[0] <= link.target[1] <= len(found.text)


def test_a_trace_shows_what_the_model_reads() -> None:
    for marks, read in ((True, "the ⓵ man"), (False, "the {name} man")):
        translator = untaught(marks=marks)
        traced = Model(translator._engine).translate("the {name} man", attention=True)
        assert traced.text.count("{name}") == 1
        assert traced.trace.manifest["source"]["text"] == read
        trace = Model(translator._engine).trace("the {name} man")
        assert trace.manifest["source"]["text"] == read


def test_who_protects(model: Translator, luong: Translator) -> None:
    def protects(translator: Translator, **options: object) -> Protection:
        return translator.protects(make_request(translator.config.decoding, options))

    assert protects(model) is (Protection.MARKS if model.config.text.marks else Protection.SIGNS)
    assert protects(model, protect=False) is Protection.NONE
    assert protects(luong) is Protection.SIGNS
    same = Translator(replace(luong._engine.contents, config=replace(luong.config, data=DataConfig())))
    assert protects(same) is Protection.NONE
    assert protects(same, protect=True) is Protection.SIGNS


def test_a_text_longer_than_the_model_takes_is_never_cut_inside_a_span(model: Translator) -> None:
    text = "the dog " * 6 + "https://a.org/x.y?a_long_one=with-many-tokens&more=of-them " + "sees a man " * 6
    answer = model.translate(text, sentences="as-is").text
    assert answer.count("https://a.org/x.y?a_long_one=with-many-tokens&more=of-them") == 1
