"""A model folder describes itself to jumok, to other tools and to people."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from jumok.checkpoint.card import model_files
from jumok.config import DataConfig, LuongConfig, RunConfig, TextConfig
from jumok.settings import parse_config
from jumok.text.frame import END, PLAIN, SOURCE, TARGET, TEXT, Direction, Frame
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


def tokenizers_of(frame: Frame = PLAIN, *, shared: bool = False, pictures: bool = False) -> Any:
    """As much of the tokenizers as a card tells of."""
    return SimpleNamespace(
        source=SimpleNamespace(size=49 if pictures else 12_000),
        target=SimpleNamespace(size=12_000 if shared else 8_500),
        shared=shared,
        pictures=SimpleNamespace(side=28, places=49) if pictures else None,
        frame=frame,
        fingerprint="ab" * 32,
        files=dict,
    )


def card_of(tokenizers: Any, config: RunConfig, info: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The header and the rest of a card."""
    card = model_files(config, tokenizers, info)["README.md"].decode()
    header, body = card.removeprefix("---\n").split("\n---\n")
    return {
        key: json.loads(value) for key, value in (line.split(": ", 1) for line in header.split("\n"))
    }, body


def test_the_whole_card_of_a_model_of_several_directions_that_descends_from_another() -> None:
    ways = (Direction("de", "en"), Direction("ko", "en"))
    tags = tuple((code, f"<{code}>") for code in ("de", "en", "ko"))
    frame = Frame(source=(SOURCE, TARGET, TEXT, END), languages=tags, pairs=ways)
    info = {
        "step": 12_000,
        "whole": True,
        "directions": {"de→en": {"bleu": 31.256789, "pairs": 1500}, "ko→en": {"bleu": "none", "chrf": 0.5}},
        "descends_from": [{"name": "a|b", "data": "old.tsv", "sha256": "0f"}, {"name": "first"}, "nothing"],
        "origin": {
            **{"name": "m2m", "family": "M2M", "program": "transformers"},
            "files": {"model.bin": "aa", "spm.model": "bb"},
        },
    }
    header, body = card_of(tokenizers_of(frame), RunConfig(model=LuongConfig(width=8)), info)
    assert header == {
        **{"language": ["de", "en", "ko"], "license": "unknown", "library_name": "jumok"},
        **{"pipeline_tag": "translation", "datasets": [], "metrics": []},
    }
    assert (
        body
        == """# luong

A sequence-to-sequence model made with jumok.

```python
import jumok

model = jumok.load("path/to/this/folder")
print(model.translate("...", to="en", from_language="de").text)
```

## facts

| | |
|---|---|
| architecture | luong |
| vocabulary | 12,000 source and 8,500 target tokens |
| step | 12,000 |
| whole | True |

## directions

| direction | bleu | pairs | chrf |
|---|---|---|---|
| de→en | 31.26 | 1,500 |  |
| ko→en | none |  | 0.5 |

## descends from

| model | its data | SHA-256 of its manifest |
|---|---|---|
| a\\|b | old.tsv | 0f |
| first |  |  |

## where it came from

Imported from m2m, M2M of transformers.

| file | SHA-256 |
|---|---|
| model.bin | `aa` |
| spm.model | `bb` |

The complete settings are in `config.json`. `jumok verify` says whether this folder is whole and unchanged.
"""
    )


def test_the_card_of_a_model_of_pictures() -> None:
    config = RunConfig(model=LuongConfig(width=8), data=DataConfig(target_language="en"))
    info = {"metric": "per", "score": 0.5, "license": "mit"}
    header, body = card_of(tokenizers_of(pictures=True), config, info)
    task = {"type": "image-to-text"}
    result = {
        **{"task": task, "dataset": {"type": "text", "name": "validation"}},
        "metrics": [{"type": "per", "value": 0.5}],
    }
    assert header == {
        **{"language": ["en"], "license": "mit", "library_name": "jumok"},
        **{"pipeline_tag": "image-to-text", "datasets": [], "metrics": ["per"]},
        "model-index": [{"name": "en luong", "results": [result]}],
    }
    assert body.startswith("# en luong\n")
    assert 'print(model.translate("picture.png").text)' in body
    assert "| vocabulary | pictures of 28 pixels in 49 patches, 8,500 tokens |" in body
    assert "## " not in body.partition("## facts")[2]  # nothing to tell of directions, parents or programs
    assert (
        json.loads(model_files(config, tokenizers_of(pictures=True), {})["config.json"])["source"] == "image"
    )


@pytest.mark.parametrize(
    ("source", "said"),
    [((TARGET, TEXT, END), ', to="de"'), ((SOURCE, TEXT, END), ', from_language="en"'), ((TEXT, END), "")],
)
def test_the_card_shows_how_a_language_is_asked_for(source: tuple[str, ...], said: str) -> None:
    frame = Frame(source=source, languages=(("en", "<en>"), ("de", "<de>")))  # each into every other
    _, body = card_of(tokenizers_of(frame, shared=True), CONFIG, {"directions": "x", "descends_from": "y"})
    assert f'print(model.translate("..."{said}).text)' in body
    assert "| vocabulary | 12,000 tokens, shared |" in body
    assert "## " not in body.partition("## facts")[2]


def test_a_score_without_a_number_is_no_result() -> None:
    header, _ = card_of(tokenizers_of(), CONFIG, {"metric": "bleu", "score": None})
    assert header["metrics"] == ["bleu"]
    assert "model-index" not in header


def test_what_loads_the_folder_is_told_of_frame_and_vocabularies() -> None:
    frame = Frame(source=(TARGET, TEXT, END), languages=(("en", "<en>"), ("de", "<de>")))
    told = json.loads(model_files(CONFIG, tokenizers_of(frame), {})["config.json"])
    plain = json.loads(model_files(CONFIG, tokenizers_of(shared=True), {})["config.json"])
    assert (told["frame"], "frame" in plain) == ("frame.json", False)
    sizes = ("vocab_size", "source_vocab_size", "target_vocab_size", "shared_vocabulary")
    assert [told[name] for name in sizes] == [8_500, 12_000, 8_500, False]
    assert [plain[name] for name in sizes] == [12_000, 12_000, 12_000, True]
    assert told["tokenizer_sha256"] == "ab" * 32
    assert told["is_encoder_decoder"] is True
    assert told["decoder_start_token_id"] == 0
    assert "source" not in told
