"""A model folder describes itself to jumok, to other tools and to people."""

import json

import pytest

from jumok.checkpoint.card import model_files
from jumok.config import DataConfig, LuongConfig, RunConfig, TextConfig
from jumok.settings import parse_config
from jumok.text.tokenizer import Tokenizer, Tokenizers, train_tokenizer

CONFIG = RunConfig(
    model=LuongConfig(width=8), data=DataConfig(name="dates", source_language="ko", target_language="en")
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["a b c d"] * 5, TextConfig(vocabulary=300))


@pytest.fixture(scope="module")
def other() -> Tokenizer:
    return train_tokenizer(["x y z"] * 5, TextConfig(vocabulary=300))


def test_config_holds_all_that_is_needed_to_load(tokenizer: Tokenizer) -> None:
    files = model_files(CONFIG, Tokenizers(tokenizer, tokenizer), {"step": 3})
    assert set(files) == {
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "generation_config.json",
        "README.md",
    }
    config = json.loads(files["config.json"])
    assert parse_config(config["jumok"]) == CONFIG
    assert config["model_type"] == "jumok"
    assert config["architectures"] == ["LuongSeq2Seq"]
    assert config["format_version"] == 1
    assert config["source_vocab_size"] == config["target_vocab_size"] == tokenizer.size
    assert config["tokenizer_sha256"] == tokenizer.fingerprint
    assert [config[f"{name}_token_id"] for name in ("bos", "pad", "eos", "unk")] == [0, 1, 2, 3]
    assert config["info"] == {"step": 3}
    assert "auto_map" not in config


def test_two_vocabularies_are_two_files(tokenizer: Tokenizer, other: Tokenizer) -> None:
    files = model_files(CONFIG, Tokenizers(tokenizer, other), {})
    assert files["source_tokenizer.json"] == tokenizer.to_bytes()
    assert files["target_tokenizer.json"] == other.to_bytes()
    assert "tokenizer.json" not in files
    assert f"{tokenizer.size:,} source and {other.size:,} target tokens".encode() in files["README.md"]


def test_other_tools_find_their_settings(tokenizer: Tokenizer) -> None:
    files = model_files(CONFIG, Tokenizers(tokenizer, tokenizer), {})
    assert json.loads(files["tokenizer_config.json"]) == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "model_max_length": 128,
        "clean_up_tokenization_spaces": False,
    }
    assert json.loads(files["generation_config.json"]) == {
        "num_beams": 5,
        "max_new_tokens": 256,
        "length_penalty": 1.0,
        "bos_token_id": 0,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 0,
    }


def test_the_card_tells_people_what_it_is(tokenizer: Tokenizer) -> None:
    info = {"metric": "bleu", "score": 31.5, "parameters": 1234567, "license": "apache-2.0"}
    card = model_files(CONFIG, Tokenizers(tokenizer, tokenizer), info)["README.md"].decode()
    header, body = card.removeprefix("---\n").split("\n---\n")
    fields = {key: json.loads(value) for key, value in (line.split(": ", 1) for line in header.split("\n"))}
    assert fields["language"] == ["ko", "en"]
    assert fields["license"] == "apache-2.0"
    assert fields["library_name"] == "jumok"
    assert fields["pipeline_tag"] == "translation"
    assert fields["datasets"] == ["dates"]
    assert fields["model-index"][0]["results"][0]["metrics"] == [{"type": "bleu", "value": 31.5}]
    assert body.startswith("# dates ko to en luong\n")
    assert 'jumok.load("path/to/this/folder")' in body
    assert "| parameters | 1,234,567 |" in body


def test_text_in_the_card_stays_in_its_place(tokenizer: Tokenizer) -> None:
    info = {"note": "a | b\n---\n# not a heading", "license": 'x"\nevil: true'}
    card = model_files(CONFIG, Tokenizers(tokenizer, tokenizer), info)["README.md"].decode()
    assert "| note | a \\| b --- # not a heading |" in card
    assert r'license: "x\"\nevil: true"' in card


def test_the_same_model_has_the_same_files(tokenizer: Tokenizer) -> None:
    both = Tokenizers(tokenizer, tokenizer)
    assert model_files(CONFIG, both, {"step": 1}) == model_files(CONFIG, both, {"step": 1})
