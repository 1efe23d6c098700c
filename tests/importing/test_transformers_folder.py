import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.importing.conftest import Make
from tests.importing.families import make_marian

from jumok.errors import ConfigError, Error, ModelError
from jumok.importing.brought import BroughtFolder
from jumok.importing.model import import_model
from jumok.importing.their_settings import TheirSettings
from jumok.importing.transformers_folder import (
    M2M_LANGUAGES,
    languages_of,
    make_frame,
    read_config,
    read_transformers,
    read_vocabularies,
    read_weights,
)
from jumok.importing.vocabulary import ForeignVocabulary
from jumok.text.frame import PLAIN, Direction, Frame


def settings(folder: Path, **changed: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))


REFUSED: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "gpt2": (
        "bart",
        lambda f: settings(f, model_type="gpt2", architectures=["GPT2LMHeadModel"], is_encoder_decoder=False),
        r"a model of type 'gpt2' \(GPT2LMHeadModel\) is a decoder alone: it writes on, and has no encoder",
    ),
    "bert": (
        "bart",
        lambda f: settings(f, model_type="bert", architectures=["BertForMaskedLM"], is_encoder_decoder=False),
        r"a model of type 'bert' \(BertForMaskedLM\) is an encoder alone: it reads, and has no decoder",
    ),
    "other": ("bart", lambda f: settings(f, model_type="fsmt"), "is not one of those that can be imported"),
    "none": ("bart", lambda f: (f / "config.json").write_text("{}"), "config.json names no model_type"),
    "umt5": ("t5", lambda f: settings(f, model_type="umt5"), "has a table of distances in each layer"),
    "ours": ("bart", lambda f: settings(f, model_type="jumok"), "this is a model of jumok already"),
    "activation": (
        "bart",
        lambda f: settings(f, activation_function="quick_gelu"),
        "the activation 'quick_gelu'",
    ),
    "heads": (
        "bart",
        lambda f: settings(f, decoder_attention_heads=2),
        "encoder_attention_heads=4 and decoder_attention_heads=2 differ",
    ),
    "inner": (
        "bart",
        lambda f: settings(f, encoder_ffn_dim=64, decoder_ffn_dim=64),
        r"fc1.weight has the shape \(48, 32\), and by config.json it should be \(64, 32\)",
    ),
    "more layers": (
        "bart",
        lambda f: settings(f, encoder_layers=3),
        "config.json needs a tensor model.encoder.layers.2.self_attn.q_proj.weight, and the weights",
    ),
    "fewer layers": (
        "bart",
        lambda f: settings(f, encoder_layers=1),
        "the weights have model.encoder.layers.1.fc1.bias, .* and config.json has no place for them",
    ),
    "huge": ("bart", lambda f: settings(f, d_model=10**9), "model.width=1000000000 cannot work"),
    "a word": (
        "bart",
        lambda f: settings(f, d_model="wide"),
        "should have a whole number as d_model, and says 'wide'",
    ),
    "quantised": (
        "bart",
        lambda f: settings(f, quantization_config={"quant_method": "bitsandbytes"}),
        r"its weights are quantised \(bitsandbytes\)",
    ),
    "rows": (
        "bart",
        lambda f: settings(f, vocab_size=300),
        "tokenizer.json has 500 tokens, and the model 300 rows for them",
    ),
    "start": (
        "bart",
        lambda f: settings(f, decoder_start_token_id=9999),
        "the settings say that token 9999 is the start, and the model has 500 tokens",
    ),
    "no weights": ("bart", lambda f: (f / "model.safetensors").unlink(), "the folder has no weights"),
    "no tokenizer": (
        "t5",
        lambda f: (f / "tokenizer.json").unlink(),
        "the folder has no tokenizer: tokenizer.json is missing",
    ),
    "no spm": (
        "marian",
        lambda f: (f / "source.spm").unlink(),
        "the folder has no tokenizer: source.spm is missing",
    ),
    "spm alone": (
        "pegasus",
        lambda f: (f / "tokenizer.json").rename(f / "spiece.model"),
        "a folder of pegasus needs tokenizer.json, which says the number of each token",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_imported_is_refused_by_its_reason(what: str, copied: Make, tmp_path: Path) -> None:
    family, damage, message = REFUSED[what]
    folder = copied(family)
    damage(folder)
    with pytest.raises(Error, match=message):
        import_model(folder, tmp_path / "ours")
    assert [path.name for path in tmp_path.iterdir()] == ["brought"]


def test_a_language_that_the_model_does_not_have_is_refused(brought: Make) -> None:
    with pytest.raises(ConfigError, match="--to xx: the model has no such language"):
        read_transformers(BroughtFolder(brought("m2m100")), ("en", "xx"))


def test_frames_are_those_of_each_family(brought: Make) -> None:
    frames = {
        name: read_transformers(BroughtFolder(brought(name)), ("", "")).tokenizers.frame
        for name in ("marian", "bart", "mbart50", "mbart25", "m2m100", "nllb", "t5")
    }
    assert frames["marian"] == frames["t5"] == PLAIN
    assert frames["bart"] == Frame(source=("<s>", "…", "</s>"), target=("<s>",))
    assert frames["mbart50"].source == frames["m2m100"].source == ("{source}", "…", "</s>")
    assert frames["nllb"].target == ("{target}",)
    assert frames["mbart25"].source == ("…", "</s>", "{source}")
    assert {pair.target for pair in frames["mbart25"].pairs} == {"de_DE"}
    assert dict(frames["m2m100"].languages)["ko"] == "__ko__"
    assert {code for code, _ in frames["nllb"].languages} == {"eng_Latn", "kor_Hang", "deu_Latn"}


def test_mbart_of_25_languages_starts_from_the_language_that_is_asked_for(copied: Make) -> None:
    folder = copied("mbart25")
    said = json.loads((folder / "config.json").read_text())
    said.pop("decoder_start_token_id", None)
    (folder / "config.json").write_text(json.dumps(said))
    (folder / "generation_config.json").unlink()
    with pytest.raises(ConfigError, match="starts from the language that it writes.*\n  say which with --to"):
        read_transformers(BroughtFolder(folder), ("", ""))
    found = read_transformers(BroughtFolder(folder), ("", "ko_KR"))
    assert {pair.target for pair in found.tokenizers.frame.pairs} == {"ko_KR"}


def test_marians_language_tokens_become_a_choice(tmp_path: Path) -> None:
    make_marian(tmp_path, languages=(">>fra<<", ">>ron<<"))
    frame = read_transformers(BroughtFolder(tmp_path), ("", "")).tokenizers.frame
    assert frame.source == ("{target}", "…", "</s>")
    assert frame.languages == (("fra", ">>fra<<"), ("ron", ">>ron<<"))


def test_languages_of_a_model_with_one_direction_are_those_of_its_tokenizer(brought: Make) -> None:
    assert read_transformers(BroughtFolder(brought("marian")), ("", "")).languages == ("en", "ko")
    assert languages_of({"source_lang": 3}, PLAIN) == ("", "")


def test_the_list_of_m2ms_languages_is_the_librarys() -> None:
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    assert {name: codes.split() for name, codes in M2M_LANGUAGES.items()} == FAIRSEQ_LANGUAGE_CODES


def test_a_link_out_of_the_folder_is_refused(copied: Make, tmp_path: Path) -> None:
    folder = copied("bart")
    (folder / "model.safetensors").rename(tmp_path / "elsewhere")
    (folder / "model.safetensors").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelError, match="model.safetensors is a link out of the folder"):
        read_transformers(BroughtFolder(folder), ("", ""))


def test_what_is_told_of_searching_stands_beside_the_settings(copied: Make) -> None:
    folder = copied("bart")
    (folder / "generation_config.json").write_text(
        json.dumps({"num_beams": 7, "max_position_embeddings": None})
    )
    found = read_transformers(BroughtFolder(folder), ("", ""))
    assert (found.beam, found.longest) == (
        7,
        json.loads((folder / "config.json").read_text())["max_position_embeddings"],
    )


def said_by(folder: Path, **fields: object) -> TheirSettings:
    (folder / "config.json").write_text(json.dumps(fields))
    return read_config(BroughtFolder(folder))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "config.json names no model_type"),
        ({"model_type": "jumok"}, "this is a model of jumok already"),
        (
            {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]},
            r"a model of type 'gpt2' \(GPT2LMHeadModel\) is a decoder alone: it writes on",
        ),
        ({"model_type": "llama", "architectures": ["LlamaForCausalLM"]}, "is a decoder alone"),
        ({"model_type": "bert", "architectures": ["BertModel"]}, "is an encoder alone: it reads, and has no"),
        (
            {"model_type": "x", "architectures": ["XForConditionalGeneration"]},
            "'x' .* is not one of those that can",
        ),
        ({"model_type": "x", "architectures": ["XSeq2SeqModel"]}, "is not one of those that can"),
        (
            {"model_type": "x", "architectures": ["XModel"], "is_encoder_decoder": True},
            "is not one of those that",
        ),
        ({"model_type": "x"}, "^a model of type 'x' is not one of those that can be imported"),
        ({"model_type": "x", "architectures": []}, "^a model of type 'x' is not one of those"),
        ({"model_type": ["bart"]}, "is not one of those"),
        ({"model_type": "bart", "quantization_config": "awq"}, r"its weights are quantised \(awq\)"),
        ({"model_type": "bart", "quantization_config": {}}, r"its weights are quantised \(unknown\)"),
    ],
)
def test_models_that_are_none_of_the_families_are_told_what_they_are(
    fields: dict[str, object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=said):
        said_by(tmp_path, **fields)


def test_generation_config_says_what_config_does_not(tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text('{"num_beams": 4, "eos_token_id": 7, "a": null, "b": 1}')
    found = said_by(tmp_path, model_type="bart", eos_token_id=2, num_beams=None, quantization_config=None)
    assert found.fields == {"model_type": "bart", "eos_token_id": 2, "num_beams": 4, "b": 1}


def test_weights_that_are_not_there_are_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="neither model.safetensors nor pytorch_model.bin"):
        read_weights(BroughtFolder(tmp_path))
    (tmp_path / "pytorch_model.bin.index.json").write_text("{}")
    with pytest.raises(ModelError, match="its weights are pickles in several files"):
        read_weights(BroughtFolder(tmp_path))


def test_frames_of_numbers_that_no_token_has(tmp_path: Path) -> None:
    tokens = ["<s>", "</s>", "a", "de_DE", "fr_XX"]
    vocabulary = ForeignVocabulary(
        tokens=tokens, controls=frozenset({0, 1, 3, 4}), spelling="spaces", cuts=(), unknown=None, name="x"
    )

    def frame(
        kind: str, template: tuple[str, ...] | None = None, **fields: object
    ) -> tuple[Frame, int | None]:
        said = said_by(tmp_path, model_type=kind, **fields)
        return make_frame(kind, said, vocabulary, template, {}, ("", ""))

    targets: list[tuple[int | None, tuple[str, ...]]]
    targets = [(0, ("<s>",)), (4, ("fr_XX",)), (5, ()), (-1, ()), (None, ())]
    for forced, target in targets:
        assert frame("bart", forced_bos_token_id=forced) == (Frame(source=("…", "</s>"), target=target), None)
    assert frame("pegasus", ("…", "a"), forced_bos_token_id=0) == (Frame(source=("…", "a")), None)
    behind = ("…", "</s>", "de_DE")
    found, start = frame("mbart", behind, decoder_start_token_id=3)
    assert (found.source, start) == (("…", "</s>", "{source}"), 3)
    assert found.pairs == (Direction("fr_XX", "de_DE"),)
    for number in (5, -1, 2, None):
        with pytest.raises(ConfigError, match="starts from the language that it writes, and its settings do"):
            frame("mbart", behind, decoder_start_token_id=number)
    found, start = frame("mbart", ("de_DE", "…", "</s>"))
    assert (found.source, found.target, start) == (("{source}", "…", "</s>"), ("{target}",), None)


def test_numbers_that_a_vocabulary_cannot_have_are_refused(tmp_path: Path) -> None:
    folder = BroughtFolder(tmp_path)
    for name in ("spiece.model", "sentencepiece.bpe.model"):
        (tmp_path / name).write_bytes(b"not read yet")
    with pytest.raises(ModelError, match="a number up to 10,000 as extra_ids, and says '10001'"):
        read_vocabularies(folder, "t5", said_by(tmp_path, model_type="t5", extra_ids=10_001))
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": "1"}')
    with pytest.raises(ModelError, match="vocab.json has a token without a number"):
        read_vocabularies(folder, "m2m_100", said_by(tmp_path, model_type="m2m_100"))
    (tmp_path / "vocab.json").write_text('{"a": 0}')
    (tmp_path / "tokenizer_config.json").write_text(
        '{"extra_special_tokens": [5], "language_codes": "other"}'
    )
    with pytest.raises(ModelError, match="the tokenizer names no languages"):
        read_vocabularies(folder, "m2m_100", said_by(tmp_path, model_type="m2m_100"))
