"""Tokenizers of a run: with tags behind all tokens, within the size that was asked for."""

from types import SimpleNamespace
from typing import Any

import pytest

from jumok.config import RunConfig, TextConfig
from jumok.errors import ConfigError
from jumok.progress import silent
from jumok.run.vocabulary import check_frame, chosen_direction, grown_tokenizers, learn_tokenizers
from jumok.text.frame import PLAIN, Direction, tagged

PAIRS = [("a man rides", "ein Mann reitet"), ("a horse sees", "ein Pferd sieht")] * 40
FRAME = tagged([Direction("en", "de"), Direction("de", "en")])


@pytest.mark.parametrize("shared", [True, False])
def test_tags_count_among_the_tokens(shared: bool) -> None:  # noqa: FBT001
    run = RunConfig(text=TextConfig(vocabulary=310, shared=shared))
    both = learn_tokenizers(lambda: PAIRS, run, silent, FRAME)
    plain = learn_tokenizers(lambda: PAIRS, run, silent)
    assert both.source.size <= 310
    assert len(both.text_source.tags) == 2
    assert len(both.target.tags) == (2 if shared else 0)
    assert (both.frame, plain.frame) == (FRAME, PLAIN)


def test_directions_of_the_data_are_those_of_the_model() -> None:
    both = learn_tokenizers(lambda: PAIRS, RunConfig(text=TextConfig(vocabulary=310)), silent, FRAME)
    assert chosen_direction(both, Direction("EN", "de")) == Direction("en", "de")
    assert chosen_direction(both, Direction("DE", "DE")) == Direction("de", "de"), "text in one language"
    with pytest.raises(ConfigError, match="the model has no language 'fr'"):
        chosen_direction(both, Direction("fr", "fr"))
    with pytest.raises(ConfigError, match="no such language"):
        chosen_direction(both, Direction("fr", "en"))


def test_a_model_without_tags_learns_no_second_language() -> None:
    plain = learn_tokenizers(lambda: PAIRS, RunConfig(text=TextConfig(vocabulary=310)), silent)
    with pytest.raises(ConfigError, match="the model that the run starts from has no tags"):
        check_frame(plain, FRAME)
    check_frame(plain, PLAIN)


@pytest.mark.parametrize("shared", [True, False])
def test_grown_tokenizers_have_new_tokens_of_their_own_side(shared: bool) -> None:  # noqa: FBT001
    run = RunConfig(text=TextConfig(vocabulary=310, shared=shared))
    both = learn_tokenizers(lambda: PAIRS, run, silent)
    more = [("zyx wvu", "qqq ttt")] * 40
    grown = grown_tokenizers(both, lambda: more, 12)
    assert grown.shared is shared
    assert grown.frame == both.frame
    for old, new, side in ((both.source, grown.source, 0), (both.target, grown.target, 1)):
        assert old.size < new.size <= old.size + 12
        assert len(new.encode(more[0][side])) < len(old.encode(more[0][side]))
    if not shared:  # what the other side says teaches this one nothing
        assert grown.source.encode(more[0][1]) == both.source.encode(more[0][1])
        assert grown.target.encode(more[0][0]) == both.target.encode(more[0][0])


def test_what_a_model_does_not_speak_is_refused_with_what_it_does() -> None:
    both: Any = SimpleNamespace(frame=FRAME)
    with pytest.raises(ConfigError) as caught:
        chosen_direction(both, Direction("fr", "fr"))
    assert str(caught.value) == "the model has no language 'fr'\n  it has de, en"
    assert chosen_direction(both, Direction("", "de")) == Direction("en", "de")
    assert chosen_direction(SimpleNamespace(frame=PLAIN), Direction("fr", "en")) == Direction()  # type: ignore[arg-type]


def test_each_side_may_be_cut_in_its_own_way() -> None:
    text = TextConfig(vocabulary=310, kind="char", target_kind="bpe", shared=True)
    both = learn_tokenizers(lambda: PAIRS, RunConfig(text=text), silent)
    assert not both.shared
    assert len(both.source.encode("a man rides")) == len("a man rides")
    assert len(both.target.encode("ein Mann reitet")) < len("ein Mann reitet")
