"""Tokenizers of a run: with tags behind all tokens, within the size that was asked for."""

import pytest

from jumok.config import RunConfig, TextConfig
from jumok.errors import ConfigError
from jumok.progress import silent
from jumok.run.vocabulary import check_frame, chosen_direction, learn_tokenizers
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
