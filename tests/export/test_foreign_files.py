"""Files of a tokenizer that came from elsewhere; `test_round_trip.py` opens those of whole models."""

import json
from dataclasses import replace

import pytest
import tokenizers
from tests.export.test_kept_rows import foreign

from jumok.errors import ConfigError
from jumok.export.foreign_files import foreign_files, names_in_order
from jumok.export.kept_rows import kept_rows
from jumok.text.foreign import ForeignTokenizer
from jumok.text.foreign_form import TextCut
from jumok.text.frame import PLAIN, Frame


def test_tokens_have_the_new_ids() -> None:
    loaded = foreign()
    kept, tokenizer = kept_rows(loaded), loaded.tokenizers.target
    assert isinstance(tokenizer, ForeignTokenizer)
    assert names_in_order(tokenizer, kept) == ["<pad>", "</s>", "<unk>", "\u2581a", "b", "c", "<mask>"]
    frame = Frame(source=("<mask>", "…", "</s>"))
    files = foreign_files(tokenizer, frame, kept, loaded.config, "bart")
    made = tokenizers.Tokenizer.from_str(files["tokenizer.json"].decode())
    assert made.encode("bc").ids == [6, 4, 5, 1]
    settings = json.loads(files["tokenizer_config.json"])
    assert (settings["pad_token"], settings["eos_token"], settings["unk_token"]) == ("<pad>", "</s>", "<unk>")


def test_sentencepiece_alone_is_refused_but_for_marian() -> None:
    loaded = foreign()
    tokenizer = loaded.tokenizers.target
    assert isinstance(tokenizer, ForeignTokenizer)
    # Only whether it is there is asked, not what it says.
    tokenizer.foreign = replace(tokenizer.foreign, cuts=(TextCut(sentencepiece=b"model"),))
    with pytest.raises(ConfigError, match="with SentencePiece itself, and the format needs a tokenizer.json"):
        foreign_files(tokenizer, PLAIN, kept_rows(loaded), loaded.config, "t5")
    files = foreign_files(tokenizer, PLAIN, kept_rows(loaded), loaded.config, "marian")
    assert files["source.spm"] == files["target.spm"] == b"model"
    assert json.loads(files["vocab.json"])["b"] == 4
