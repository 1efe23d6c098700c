"""Files of a tokenizer that came from elsewhere; `test_round_trip.py` opens those of whole models."""

import json
from dataclasses import replace

import pytest
import tokenizers
from tests.export.test_kept_rows import foreign

from jumok.errors import ConfigError
from jumok.export.foreign_files import check_library, foreign_files, library_file, names_in_order
from jumok.export.kept_rows import KeptRows, kept_rows
from jumok.text.foreign import ForeignTokenizer
from jumok.text.foreign_form import ForeignForm, TextCut
from jumok.text.frame import PLAIN, Frame
from jumok.text.specials import EOS, FIRST, PAD, UNK


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


def test_every_word_of_the_files() -> None:
    """A tokenizer.json is read word by word: what is left out or said otherwise cuts otherwise."""
    loaded = foreign()
    kept, tokenizer = kept_rows(loaded), loaded.tokenizers.target
    assert isinstance(tokenizer, ForeignTokenizer)
    frame = Frame(source=("<mask>", "…", "</s>"))
    files = foreign_files(tokenizer, frame, kept, loaded.config, "bart")
    text = {"Sequence": {"id": "A", "type_id": 0}}
    around = [{"SpecialToken": {"id": "<mask>", "type_id": 0}}, text]
    around.append({"SpecialToken": {"id": "</s>", "type_id": 0}})
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    assert json.loads(files["tokenizer.json"]) == {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": i, "content": name, **plain}
            for i, name in ((0, "<pad>"), (1, "</s>"), (2, "<unk>"), (6, "<mask>"))
        ],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": around,
            "pair": [*around, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {
                "<mask>": {"id": "<mask>", "ids": [6], "tokens": ["<mask>"]},
                "</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]},
            },
        },
        "decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        "model": {"type": "BPE", "vocab": {"\u2581a": 3, "b": 4, "c": 5}, "merges": []},
    }
    assert "\u2581".encode() in files["tokenizer.json"]  # for people to read
    assert json.loads(files["tokenizer_config.json"]) == {
        "bos_token": "<pad>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "model_max_length": loaded.config.data.max_length + 1,  # with the end
        "clean_up_tokenization_spaces": False,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "attention_mask"],
    }


def test_scores_of_a_unigram_model_stay_and_bytes_are_spelled_as_bytes() -> None:
    """Rows that it has no score for get 0, as their tables have them; rows of tags are no words of its."""
    pieces = ("a", "b", "c")
    model = {"type": "Unigram", "vocab": [["<pad>", -9.0], ["b", -1.5], ["a", -2.5]], "unk_id": 0}
    cut = TextCut(library=json.dumps({"normalizer": None, "pre_tokenizer": None, "model": model}))
    tokenizer = ForeignTokenizer(ForeignForm(pieces, ("<mask>",), "bytes", (cut,)))
    kept = KeptRows((PAD, EOS, UNK, *range(FIRST, FIRST + 4)), 0)
    names = names_in_order(tokenizer, kept)
    found = library_file(tokenizer, PLAIN, kept, names)
    scores = [["<pad>", -9.0], ["</s>", 0.0], ["<unk>", 0.0], ["a", -2.5], ["b", -1.5], ["c", 0.0]]
    assert found["model"] == {"type": "Unigram", "vocab": scores, "unk_id": 2}
    usual = {"add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    assert found["decoder"] == {"type": "ByteLevel", **usual}


def test_marians_settings_name_both_languages() -> None:
    loaded = foreign()
    tokenizer = loaded.tokenizers.target
    assert isinstance(tokenizer, ForeignTokenizer)
    cuts = (TextCut(sentencepiece=b"left"), TextCut(sentencepiece=b"right"))
    tokenizer.foreign = replace(tokenizer.foreign, cuts=cuts)
    files = foreign_files(tokenizer, PLAIN, kept_rows(loaded), loaded.config, "marian")
    assert (files["source.spm"], files["target.spm"]) == (b"left", b"right")
    settings = json.loads(files["tokenizer_config.json"])
    data = loaded.config.data
    assert settings["tokenizer_class"] == "MarianTokenizer"
    assert (settings["source_lang"], settings["target_lang"]) == (data.source_language, data.target_language)
    assert list(json.loads(files["vocab.json"]).values()) == list(range(7))
    with pytest.raises(ConfigError, match="export it to native or ctranslate2, or import it from a folder"):
        check_library(tokenizer)
