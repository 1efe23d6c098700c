"""A model of several languages is asked for one of them, in torch and in C, and says what it lacks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.decoding.conftest import LINES, TINY

from jumok.checkpoint.model import LoadedModel, save_model
from jumok.config import DataConfig, DecodingConfig, RunConfig, TextConfig
from jumok.decoding.batched import search
from jumok.decoding.jobs import Job, token_spellings
from jumok.decoding.translator import Translator, load
from jumok.errors import ConfigError
from jumok.explain.trace import make_trace
from jumok.models.build import build_model
from jumok.native.library import available
from jumok.text.frame import SOURCE, TARGET, TEXT, Direction, Frame, closed
from jumok.text.tokenizer import EOS, Tokenizers, train_tokenizer

LANGUAGES = (("de", "<2de>"), ("en", "<2en>"), ("fr", "<2fr>"))
FRAMES: dict[str, dict[str, Any]] = {
    "jumok": {"source": (TARGET, TEXT, "</s>")},
    "nllb": {"source": (SOURCE, TEXT, "</s>"), "target": (TARGET,)},
    "mbart": {"source": (TEXT, "</s>", SOURCE), "target": (TARGET,)},
}
TEXTS = ["a man rides a horse.", "the <2de> dog", "나는 어제 영화를 봤다.", ""]
needs_library = pytest.mark.skipif(not available(), reason="the C library was not built")


def several(frame: str, arch: str = "transformer") -> LoadedModel:
    """A model of random weights, with opinions, that knows three languages."""
    made = Frame(languages=LANGUAGES, **FRAMES[frame])
    tokenizer = train_tokenizer(LINES, TextConfig(vocabulary=330)).with_tags(made.tags)
    torch.manual_seed(1)
    network = build_model(TINY[arch], tokenizer.size, tokenizer.size, shared=True)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(2)
    decoding = DecodingConfig(max_len=12, beam=3, loops=True)
    config = RunConfig(model=TINY[arch], data=DataConfig(max_length=12), decoding=decoding)
    tokenizers = Tokenizers(tokenizer, tokenizer, made)
    return LoadedModel(tokenizers, config, Path("several"), {}, model=network.eval())


@pytest.mark.parametrize("frame", FRAMES)
class TestFramedModels:
    def test_answers_are_those_of_a_search_framed_by_hand(self, frame: str) -> None:
        loaded = several(frame)
        translator, target = Translator(loaded), loaded.tokenizers.target
        tag = {code: target.token_id(name) for code, name in LANGUAGES}
        for text in filter(None, TEXTS):
            ids, framed = target.encode(text), list[int]()
            match frame:
                case "jumok":
                    framed, begin = [tag["fr"], *ids, EOS], []
                case "nllb":
                    framed, begin = [tag["en"], *ids, EOS], [tag["fr"]]
                case _:
                    framed, begin = [*ids, EOS, tag["en"]], [tag["fr"]]
            job = Job(tuple(framed), tuple(begin))
            config = loaded.config.decoding
            config = replace(config, max_len=config.max_len + len(begin))  # which are no tokens of the answer
            [[best, *_]] = search(loaded.model, [job], config, token_spellings(target))
            found = translator.translate(text, to="fr", from_language="en", sentences="as-is", protect=False)
            assert found.text == target.decode(best.ids)
            assert [token.id for token in found.tokens if token.id != EOS] == list(best.ids)
            assert list(best.ids[: len(begin)]) == begin

    def test_languages_change_the_answer(self, frame: str) -> None:
        translator = Translator(several(frame))
        texts = [translator.translate(TEXTS[0], to=to, from_language="en").tokens for to in ("de", "fr")]
        assert texts[0] != texts[1]

    def test_scores_are_those_of_the_search(self, frame: str) -> None:
        translator = Translator(several(frame)).towards("fr", "en")
        found = translator.translate("the dog", beam=1)
        again = translator.score("the dog", found.text)
        if [token.id for token in again.tokens] == [token.id for token in found.tokens]:
            assert again.score == pytest.approx(found.score, abs=1e-4)
        assert [token.id for token in again.tokens][: len(translator.tokenizers.opening)] == list(
            translator.tokenizers.opening
        )

    @needs_library
    @pytest.mark.parametrize("arch", ["transformer", "luong"])
    def test_the_engines_agree(self, frame: str, arch: str, tmp_path: Path) -> None:
        loaded = several(frame, arch)
        save_model(tmp_path / "m", loaded.model.state_dict(), loaded.config, loaded.tokenizers, {})
        native, plain = (load(tmp_path / "m", "cpu", engine=name) for name in ("native", "torch"))
        for options in ({}, {"beam": 1}, {"prefix": "the"}, {"align": True}):
            asked = {"to": "de", "from_language": "en", "sentences": "as-is", **options}
            for a, b in zip(native.translate(TEXTS, **asked), plain.translate(TEXTS, **asked), strict=True):
                assert (a.text, [token.id for token in a.tokens]) == (
                    b.text,
                    [token.id for token in b.tokens],
                )
                assert a.score == pytest.approx(b.score, abs=1e-3)
                assert [(one.source, one.target) for one in a.links] == [
                    (one.source, one.target) for one in b.links
                ]

    def test_tags_are_nobodys_words(self, frame: str) -> None:
        translator = Translator(several(frame)).towards("fr", "en")
        text = "the dog sees a man!"
        found = translator.translate(text, align=True, sentences="as-is")
        spans = {one.source for one in found.links}
        assert all(0 <= begin < end <= len(text) for begin, end in spans)
        assert all(found.text[one.target[0] : one.target[1]] for one in found.links)

    def test_tags_are_tokens_of_a_trace(self, frame: str) -> None:
        translator = Translator(several(frame))
        trace = make_trace(translator, "the dog", options={"to": "fr", "from_language": "en"})
        source, target = trace.manifest["source"], trace.manifest["target"]
        both = translator.towards("fr", "en").tokenizers
        bare = both.target.encode("the dog")
        assert [token["id"] for token in source["tokens"]] == closed(both.framed(bare))
        tags = [token for token in source["tokens"] if token["id"] in both.target.tags]
        assert tags
        assert all(one["type"] == "special" and one["span"] is None for one in tags)
        assert source["text"] == "the dog"
        assert both.bare(both.framed(bare)) == tuple(bare)
        assert [token["id"] for token in target["tokens"]][: len(both.opening)] == list(both.opening)
        assert trace.manifest["decode"]["to"] == "fr"
        assert trace.beam()["nodes"]


def test_what_a_stream_ends_with_is_the_translation() -> None:
    translator = Translator(several("nllb"))
    *partials, final = translator.stream("the dog", to="fr", from_language="de")
    assert final.translation == translator.translate("the dog", to="fr", from_language="de")
    assert partials[0].text == "", "the language is no text"


def test_a_score_is_that_of_the_languages_it_is_asked_for() -> None:
    translator = Translator(several("nllb"))
    answer = translator.translate("the dog", to="fr", from_language="de", beam=1)
    found = translator.score("the dog", answer.text, to="fr", from_language="de")
    assert found == translator.towards("fr", "de").score("the dog", answer.text)
    assert found != translator.score("the dog", answer.text, to="fr", from_language="en")
    with pytest.raises(ConfigError, match="this model translates from"):
        translator.score("the dog", answer.text, to="fr")


class TestChoosing:
    def test_which_language_must_be_said(self) -> None:
        with pytest.raises(ConfigError, match="this model translates into de, en, fr: say which"):
            Translator(several("jumok")).translate("the dog")

    def test_a_language_that_is_not_there(self) -> None:
        with pytest.raises(ConfigError, match="to='ko': this model has no such language"):
            Translator(several("jumok")).translate("the dog", to="ko")

    def test_the_source_need_not_be_said_where_nothing_depends_on_it(self) -> None:
        translator = Translator(several("jumok"))
        assert translator.translate("the dog", to="de").text == (
            translator.translate("the dog", to="de", from_language="fr").text
        )
        with pytest.raises(ConfigError, match="this model translates from"):
            Translator(several("nllb")).translate("the dog", to="de")

    def test_a_choice_stays(self) -> None:
        translator = Translator(several("nllb")).towards("fr", "de")
        assert translator.towards() is translator
        assert translator.config.data.target_language == "fr"
        assert translator.info["source_language"] == "de"
        assert translator.towards(from_language="en").tokenizers.direction == Direction("en", "fr")

    def test_all_directions(self) -> None:
        assert len(Translator(several("nllb")).directions) == 6


class TestOneDirection:
    @pytest.fixture
    def one(self) -> Translator:
        loaded = several("jumok")
        data = replace(loaded.config.data, source_language="de", target_language="en")
        tokenizers = Tokenizers(loaded.tokenizers.source, loaded.tokenizers.target)
        return Translator(replace(loaded, config=replace(loaded.config, data=data), tokenizers=tokenizers))

    def test_its_own_language_may_be_named(self, one: Translator) -> None:
        assert one.translate("the dog", to="en") == one.translate("the dog")
        assert one.directions == (Direction("de", "en"),)

    def test_it_has_no_other(self, one: Translator) -> None:
        with pytest.raises(ConfigError, match="to='fr': this model translates de→en and nothing else"):
            one.translate("the dog", to="fr")

    def test_one_that_does_not_say(self, one: Translator) -> None:
        one.config = replace(one.config, data=DataConfig())
        with pytest.raises(ConfigError, match="to='fr': this model does not say its languages"):
            one.translate("the dog", to="fr")
