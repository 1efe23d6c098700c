"""Folders for `transformers`: its own classes load them, and its numbers and texts are ours."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tests.decoding.conftest import TINY, untrained
from tests.export.forced import SOURCES, TARGET, our_numbers, read_before, varied

import jumok
from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.model import LoadedModel
from jumok.config import DataConfig, LuongConfig, RnnConfig, RunConfig, TextConfig, TransformerConfig
from jumok.decoding.batched import search
from jumok.decoding.jobs import Job, token_spellings
from jumok.errors import ConfigError
from jumok.export import huggingface
from jumok.export.format import WriteOptions
from jumok.export.kept_rows import KeptRows
from jumok.export.layouts import table_rows
from jumok.export.spelling import suppressed
from jumok.models.build import build_model
from jumok.text.frame import closed
from jumok.text.normalize import tidy
from jumok.text.tokenizer import EOS, Tokenizers, train_tokenizer

TRAINED = Path(jumok.__file__).parent / "trained" / "transformer"
TEXTS = ["3 May 2021", "2021년 3월 4일", "  5. Mai\t1999", "</s> 12", "the first of april 1999"]


@pytest.fixture(scope="module")
def dates() -> LoadedModel:
    return load_model(TRAINED)


@pytest.fixture(scope="module")
def folder(dates: LoadedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of dates, written; read only."""
    place = tmp_path_factory.mktemp("dates")
    huggingface.write(dates, place, WriteOptions())
    return place


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(folder)


def greedy(loaded: LoadedModel, texts: list[str]) -> list[str]:
    config, target = replace(loaded.config.decoding, beam=1), loaded.tokenizers.target
    jobs = [Job(tuple(loaded.tokenizers.source.encode(tidy(text)))) for text in texts]
    return [
        target.decode(best.ids) for best, *_ in search(loaded.model, jobs, config, token_spellings(target))
    ]


def test_raw_text_in_and_text_out_as_ours(dates: LoadedModel, folder: Path, tokenizer: Any) -> None:
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    assert type(model).__name__ == "MarianMTModel"
    batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
    found = model.generate(**batch, num_beams=1)
    assert tokenizer.batch_decode(found, skip_special_tokens=True) == greedy(dates, TEXTS)


def test_answers_and_their_scores_are_ours(dates: LoadedModel, folder: Path) -> None:
    answerer = huggingface.open(folder)
    jobs = [Job(tuple(ids)) for ids in dates.tokenizers.source.encode_many(TEXTS)]
    config = replace(dates.config.decoding, beam=1)
    sources, limits = [job.source for job in jobs], [job.limit(config) for job in jobs]
    ours = [best for best, *_ in search(dates.model, jobs, config, token_spellings(dates.tokenizers.target))]
    theirs = answerer.answer(sources, limits, beam=1, length_penalty=1.0)
    assert [(one.ids, one.finished) for one in theirs] == [(one.ids, one.finished) for one in ours]
    assert [one.score for one in theirs] == pytest.approx([one.score for one in ours], abs=1e-4)
    [wide] = answerer.answer(sources[:1], limits[:1], beam=4, length_penalty=1.0)
    assert wide.ids == ours[0].ids
    [cut] = answerer.answer(sources[:1], [3], beam=1, length_penalty=1.0)
    assert (cut.ids, cut.finished) == (ours[0].ids[:3], False)


def test_the_card_is_a_program_that_works(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    code = code.replace("path/to/this/folder", str(folder)).replace('"..."', '"3 May 2021"')
    exec(code, {})  # noqa: S102
    assert "['2021-05-03']" in capsys.readouterr().out


@given(text=st.text(st.characters(exclude_categories=("Cs", "Cn"))) | st.text("3May </s>\t\n\x1c\u3000é년"))
def test_text_becomes_our_ids(dates: LoadedModel, tokenizer: Any, text: str) -> None:
    found = tokenizer(text)
    assert found["input_ids"] == [*dates.tokenizers.source.encode(tidy(text)), EOS]
    assert set(found) == {"input_ids", "attention_mask"}


SMALL = TransformerConfig(width=16, heads=2, feedforward=24, encoder_layers=1, decoder_layers=2)
BART: dict[str, Any] = {"positions": "learned", "max_positions": 20, "embedding_norm": True}
RELATIVE: dict[str, Any] = {"positions": "relative", "norm": "pre", "rms_norm": True}


@pytest.mark.parametrize(
    ("layout", "settings"),
    [
        ("marian", {"projection": "split", "tied": False}),
        ("pegasus", {"norm": "pre", "scaled": False}),
        ("pegasus", {"norm": "pre", "tied": False}),
        ("blenderbot", {"norm": "pre", "positions": "learned", "max_positions": 20}),
        ("marian", {"activation": "silu", "embedding_scaled": False, "logits_bias": True, "head_width": 8}),
        ("pegasus", {"norm": "pre", "activation": "gelu_tanh", "logits_bias": True}),
        ("bart", BART | {"activation": "gelu", "embedding_scaled": False, "logits_bias": True}),
        ("mbart", BART | {"norm": "pre", "tied": False}),
    ],
    ids=[
        "marian-untied",
        "pegasus-unscaled",
        "pegasus-untied",
        "blenderbot",
        "marian",
        "pegasus",
        "bart",
        "mbart",
    ],
)
def test_every_layout_has_our_numbers_also_when_saved_again(
    layout: str, settings: dict, tmp_path: Path
) -> None:
    check_layout(layout, varied(replace(SMALL, **settings)), tmp_path)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tied": False, "gated": True, "activation": "gelu_tanh", "head_width": 5, "scaled": False},
        {"gated": True, "activation": "silu", "buckets": 4, "max_distance": 3, "norm_epsilon": 1e-2},
        {"tied": False, "embedding_scaled": False, "activation": "gelu"},
        {"embedding_scaled": False, "gated": True, "activation": "gelu_tanh"},
    ],
    ids=["v1.0", "v1.1", "near", "unscaled", "mt5 with one table"],
)
def test_t5_has_our_numbers_where_no_bias_is(settings: dict, tmp_path: Path) -> None:
    loaded = varied(replace(SMALL, positions="relative", norm="pre", rms_norm=True, **settings))
    with pytest.raises(
        ConfigError,
        match=r"T5 has no biases, and encoder.0.attention.project.linear.bias of .*\n.*--freeze biases",
    ):
        huggingface.write(loaded, tmp_path, WriteOptions())
    for name, parameter in loaded.model.named_parameters():
        if name.endswith(".bias"):
            parameter.data.zero_()
    check_layout("t5", loaded, tmp_path)
    answers = huggingface.open(tmp_path).answer([[270, 280]], [4], beam=2, length_penalty=1.0)
    assert len(answers[0].ids) <= 4


def check_layout(layout: str, loaded: LoadedModel, tmp_path: Path) -> None:
    """What `transformers` loads has our numbers, also when it has written them itself."""
    assert huggingface.check(loaded.config) == []
    huggingface.write(loaded, tmp_path, WriteOptions())
    source, mask = huggingface.padded(list(map(closed, SOURCES)))
    given = {"input_ids": source, "attention_mask": mask.long(), "decoder_input_ids": read_before(TARGET)}
    model, report = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path, output_loading_info=True)
    assert model.config.model_type == layout
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    model.save_pretrained(tmp_path / "again")
    again = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "again")
    for one in (model, again):
        with torch.inference_mode():
            theirs = one(**given).logits.log_softmax(dim=-1)
        torch.testing.assert_close(theirs, our_numbers(loaded), atol=2e-5, rtol=0)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (RunConfig(model=RnnConfig()), "model.arch=rnn: transformers has no recurrent encoder-decoder"),
        (RunConfig(model=LuongConfig()), "model.arch=luong: transformers has no recurrent encoder-decoder"),
        (
            RunConfig(data=DataConfig(images="pictures.zip")),
            "it reads pictures, and the layouts for translation read text",
        ),
        (
            RunConfig(text=TextConfig(jamo=True)),
            "text.jamo=true: a tokenizer file of transformers cannot spell syllables as letters",
        ),
        (
            RunConfig(text=TextConfig(shared=False)),
            "each side has a vocabulary of its own, and AutoTokenizer reads one for both",
        ),
        (
            RunConfig(model=TransformerConfig(residual=False)),
            "model.residual=false: every layout adds a sub-layer's result to its input",
        ),
        (RunConfig(model=TransformerConfig(copy=True)), "model.copy=true: no layout points at the source"),
        (
            RunConfig(model=TransformerConfig(norm="none")),
            "model.norm=none: every layout has layer norms",
        ),
        (
            RunConfig(model=TransformerConfig(positions="learned")),
            "model.positions=learned with model.norm=post: BART norms the embeddings once more, "
            "and Marian computes its positions",
        ),
        (
            RunConfig(model=TransformerConfig(positions="rotary")),
            "model.positions=rotary: no layout for translation turns queries and keys",
        ),
        (
            RunConfig(model=TransformerConfig(positions="none")),
            "model.positions=none: every layout adds positions",
        ),
        (
            RunConfig(model=TransformerConfig(positions="relative", norm="pre")),
            "model.positions=relative: only T5 has them, with model.norm=pre and model.rms_norm=true",
        ),
        (
            RunConfig(model=TransformerConfig(embedding_norm=True)),
            "model.embedding_norm=true: only BART and mBART norm their embeddings, and learn their positions",
        ),
        (
            RunConfig(model=TransformerConfig(rms_norm=True)),
            "model.rms_norm=true: only T5 has it, with model.positions=relative",
        ),
        (
            RunConfig(model=TransformerConfig(gated=True)),
            "model.gated=true: only T5 has a gate, with model.positions=relative",
        ),
        (
            RunConfig(model=TransformerConfig(norm_epsilon=1e-6)),
            "model.norm_epsilon=1e-06: norms of the marian layout add 1e-05",
        ),
        (
            RunConfig(model=TransformerConfig(head_width=32)),
            "model.head_width=32: the marian layout gives each of 8 heads its share of 512",
        ),
        (
            RunConfig(model=TransformerConfig(**RELATIVE, gated=True, activation="gelu")),
            "model.activation=gelu with model.gated=true: T5 gates GELU by tanh",
        ),
    ],
    ids=lambda value: "" if isinstance(value, RunConfig) else value.partition(":")[0].partition(",")[0],
)
def test_what_has_no_layout_is_refused_with_the_reason(config: RunConfig, reason: str) -> None:
    assert huggingface.check(config) == [reason]


def test_all_reasons_are_told_at_once() -> None:
    config = RunConfig(
        model=TransformerConfig(positions="none", residual=False), text=TextConfig(jamo=True, shared=False)
    )
    assert len(huggingface.check(config)) == 4


def test_two_vocabularies_are_refused_even_if_the_settings_do_not_say_so(tmp_path: Path) -> None:
    base, other = untrained(TINY["transformer"]), train_tokenizer(["other text"], TextConfig(vocabulary=300))
    both = Tokenizers(other, base.tokenizers.target)
    model = build_model(base.config.model, other.size, both.target.size, shared=False)
    with pytest.raises(ConfigError, match="a vocabulary of its own, and AutoTokenizer reads one for both"):
        huggingface.write(replace(base, model=model, tokenizers=both), tmp_path, WriteOptions())


def test_tables_of_waves_are_long_enough(dates: LoadedModel) -> None:
    assert table_rows(dates.config, huggingface.ROWS) == 512
    long = replace(dates.config, data=replace(dates.config.data, max_length=900))
    assert table_rows(long, huggingface.ROWS) == 901


@pytest.mark.parametrize(("places", "most"), [(20, 20), (40, 30), (None, 30)])
def test_answers_end_where_the_largest_limit_or_the_table_of_positions_does(
    places: int | None, most: int
) -> None:
    asked = []

    def generate(**options: Any) -> torch.Tensor:
        asked.append(options["max_new_tokens"])
        return torch.tensor([[0, 300, 301, 302], [0, 303, 304, 305]])

    answerer: Any = object.__new__(huggingface.TransformersAnswerer)
    config = SimpleNamespace() if places is None else SimpleNamespace(max_position_embeddings=places)
    answerer.model = SimpleNamespace(generate=generate, config=config)
    answerer.rows = KeptRows(tuple(range(400)), 0)
    answerer.given = lambda source, row: row
    assert answerer.answer([[5], [6]], [2, 30], beam=1, length_penalty=1.0) == [[300, 301], [303, 304, 305]]
    assert asked == [most]


def test_every_setting_of_a_folder(tmp_path: Path) -> None:
    """What is left out, the package fills in with numbers of its own."""
    base = untrained(TINY["transformer"])
    decoding = replace(base.config.decoding, beam=3, length_penalty=0.5, min_len=2, no_repeat_ngram=4)
    loaded = replace(base, config=replace(base.config, decoding=decoding), info={"license": "CC-BY-4.0"})
    huggingface.write(loaded, tmp_path, WriteOptions())
    config, generation, tokenizer = (
        json.loads((tmp_path / f"{name}config.json").read_bytes())
        for name in ("", "generation_", "tokenizer_")
    )
    ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 0}
    sides = {
        f"{side}_{name}": value
        for side, layers in (("encoder", 1), ("decoder", 2))
        for name, value in (("layers", layers), ("attention_heads", 2), ("ffn_dim", 32))
    }
    size = loaded.tokenizers.target.size
    assert config == ids | sides | {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "is_encoder_decoder": True,
        "dtype": "float32",
        "vocab_size": size,
        "decoder_vocab_size": size,
        "tie_word_embeddings": True,
        "d_model": 16,
        "max_position_embeddings": 512,
        "activation_function": "relu",
        "scale_embedding": True,
        "static_position_embeddings": True,
        "dropout": 0.1,
        "forced_eos_token_id": None,
    }
    assert generation == ids | {
        "num_beams": 3,
        "length_penalty": 0.5,
        "max_new_tokens": 16,
        "min_new_tokens": 2,
        "no_repeat_ngram_size": 4,
        "suppress_tokens": suppressed(),
    }
    assert tokenizer == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "model_max_length": 13,  # 12, and the end
        "model_input_names": ["input_ids", "attention_mask"],
        "padding_side": "right",
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,
    }
    assert (
        (tmp_path / "README.md")
        .read_text(encoding="utf-8")
        .startswith(
            '---\nlibrary_name: "transformers"\npipeline_tag: "translation"\nlicense: "CC-BY-4.0"\n'
            'language: ["en", "ko"]\n---\n# en to ko, for transformers\n\n'
            "A Transformer that jumok trained, in the marian layout (`MarianMTModel`).\n"
        )
    )
