"""Sources in one part, however long."""

from dataclasses import replace

from jumok.checkpoint.bundled import bundled
from jumok.comparison.unsplit import NO_LIMIT, unsplit
from jumok.config import TransformerConfig
from jumok.decoding.translator import load

SOURCE = "den 5 mars 2024 kl. 14:30 " * 8


def test_a_long_source_is_not_split() -> None:
    translator = load(bundled()["luong"], "cpu")
    translator.config = replace(translator.config, data=replace(translator.config.data, max_length=12))
    split, whole = (one.translate(SOURCE, beam=1) for one in (translator, unsplit(translator)))
    assert whole.text != split.text
    assert len(whole.tokens) < len(split.tokens)
    assert unsplit(translator).config.data.max_length == NO_LIMIT
    assert translator.config.data.max_length == 12


def test_a_short_source_is_translated_as_ever() -> None:
    translator = load(bundled()["rnn"], "cpu")
    assert unsplit(translator).translate("5. März 2024", beam=1) == translator.translate(
        "5. März 2024", beam=1
    )


def test_a_table_of_positions_sets_a_limit() -> None:
    translator = load(bundled()["transformer"], "cpu")
    assert isinstance(translator.config.model, TransformerConfig)
    learned = replace(translator.config.model, positions="learned", max_positions=40)
    translator.config = replace(translator.config, model=learned)
    whole = unsplit(translator)
    assert whole.config.data.max_length == 39
    assert whole.config.decoding.max_len == 39
