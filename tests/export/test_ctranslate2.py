"""CTranslate2 opens what we write, and answers as we do, whatever the settings."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.decoding.conftest import LINES, TINY, untrained

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.model import LoadedModel, build_for
from jumok.config import RunConfig, TextConfig, TransformerConfig
from jumok.decoding.batched import CONTROL
from jumok.decoding.filters import NEVER
from jumok.errors import ModelError
from jumok.export import ctranslate2
from jumok.export.format import WriteOptions
from jumok.export.layouts import table_rows
from jumok.export.parity import Sample, compare
from jumok.export.sample import find_sample
from jumok.text.tokenizer import EOS, Tokenizers, train_tokenizer

BASE = TINY["transformer"]
assert isinstance(BASE, TransformerConfig)

SETTINGS: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm": {"norm": "pre"},
    "learned": {"positions": "learned", "max_positions": 40},
    "rotary": {"positions": "rotary"},
    "no positions": {"positions": "none"},
    "split": {"projection": "split"},
    "untied": {"tied": False},
    "unscaled": {"scaled": False},
    "gelu": {"activation": "gelu"},
    "gelu by tanh, gated": {"activation": "gelu_tanh", "gated": True},
    "silu": {"activation": "silu", "norm_epsilon": 1e-3},
    "rms norm": {"rms_norm": True, "norm": "pre", "norm_epsilon": 1e-6},
    "rms norm after": {"rms_norm": True},
    "normed embeddings": {"embedding_norm": True, "positions": "learned", "max_positions": 40},
    "embeddings as they are": {"embedding_scaled": False},
    "bias of the logits": {"logits_bias": True},
    "relative": {"positions": "relative", "buckets": 8, "max_distance": 9},
    "wide heads": {"head_width": 10},
    "t5": {"positions": "relative", "norm": "pre", "rms_norm": True, "scaled": False, "gated": True},
    "many at once": {"norm": "pre", "positions": "rotary", "projection": "split", "tied": False},
}
SAMPLE = Sample("lines", "", [*LINES[:4], "a", "the horse sees one man!", "영화", "one two three a horse"])


def without_bytes(loaded: LoadedModel) -> LoadedModel:
    """The model with single bytes made improbable: CTranslate2 does not know which may follow which."""
    model: Any = loaded.model
    norm = (
        model.decoder[-1].add_feedforward.norm if loaded.config.model.norm == "post" else model.decoder_norm
    )
    torch.manual_seed(2)
    away = torch.nn.functional.normalize(torch.randn(loaded.config.model.width), dim=0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += torch.randn_like(parameter) * 0.2
        if getattr(norm, "bias", None) is None:  # RMSNorm adds nothing: the last network says it instead
            norm = model.decoder[-1].feedforward.outer
            away = 5 * away
        norm.bias += 6 * away
        model.head[4:260] -= 4 * away
    return loaded


def separate(model: TransformerConfig) -> LoadedModel:
    """A model with a vocabulary for each side."""
    pair = Tokenizers(
        train_tokenizer(LINES[:2], TextConfig(vocabulary=300)),
        train_tokenizer(LINES, TextConfig(vocabulary=330)),
    )
    torch.manual_seed(3)
    like = untrained(model)
    network = build_for(model, pair).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter *= 2
    return LoadedModel(pair, like.config, Path("two"), {}, model=network)


def written(loaded: LoadedModel, folder: Path, kind: str = "float32") -> ctranslate2.CTranslate2Answerer:
    ctranslate2.write(loaded, folder, WriteOptions(kind))
    return ctranslate2.open(folder)


@pytest.mark.parametrize("change", SETTINGS.values(), ids=SETTINGS)
def test_every_setting_gives_the_same_answers(change: dict[str, Any], tmp_path: Path) -> None:
    loaded = without_bytes(untrained(replace(BASE, **change)))
    found = compare(loaded, written(loaded, tmp_path), SAMPLE)
    assert [pair.theirs.ids for pair in found.greedy] == [pair.ours for pair in found.greedy]
    assert len({pair.score for pair in found.greedy}) == len(SAMPLE.sources)  # it does look at the source
    assert found.largest_difference < 3e-5


def test_both_sides_may_have_their_own_vocabulary(tmp_path: Path) -> None:
    loaded = without_bytes(separate(replace(BASE, norm="pre")))
    found = compare(loaded, written(loaded, tmp_path), SAMPLE)
    assert [pair.theirs.ids for pair in found.greedy] == [pair.ours for pair in found.greedy]
    assert found.largest_difference < 3e-5
    sizes = [
        len(json.loads((tmp_path / f"{side}_vocabulary.json").read_text())) for side in ("source", "target")
    ]
    assert sizes == [loaded.tokenizers.source.size, loaded.tokenizers.target.size]


@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_a_trained_model_gives_the_same_text_also_with_a_beam(kind: str, tmp_path: Path) -> None:
    loaded = load_model(bundled()["transformer"])
    sample = find_sample(loaded.config.data, most=40)
    found = compare(loaded, written(loaded, tmp_path, kind), sample)
    for pairs in (found.greedy, found.beam):
        assert [pair.theirs.ids for pair in pairs] == [pair.ours for pair in pairs]
    assert found.largest_difference < (3e-5 if kind == "float32" else 1e-2)
    if kind == "int8":
        assert found.largest_difference > 1e-6  # it really is another type


def test_the_folder_has_what_ctranslate2_needs_and_our_tokenizer(tmp_path: Path) -> None:
    loaded = untrained(BASE)
    ctranslate2.write(loaded, tmp_path, WriteOptions())
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"config.json", "model.bin", "shared_vocabulary.json", "tokenizer.json"}
    theirs = json.loads((tmp_path / "config.json").read_text())
    assert theirs["decoder_start_token"] == theirs["bos_token"] == "<s>"
    assert theirs["add_source_eos"] is True
    assert theirs["add_source_bos"] is False
    tokenizer = loaded.tokenizers.target
    source, target = ctranslate2.vocabularies(tmp_path)
    assert source == target == tokenizer.pieces(range(tokenizer.size))


def test_an_answer_ends_at_its_own_limit(tmp_path: Path) -> None:
    loaded = without_bytes(untrained(BASE))
    answerer = written(loaded, tmp_path)
    sources = [loaded.tokenizers.source.encode(text) for text in LINES[:3]]
    free = answerer.answer(sources, [30] * 3, beam=1, length_penalty=1.0)
    short = answerer.answer(sources, [1, 2, 30], beam=1, length_penalty=1.0)
    assert [(*one.ids, EOS)[: len(one.ids) + one.finished] for one in short] == [
        (*one.ids, EOS)[:limit][: len(one.ids) + one.finished]
        for one, limit in zip(free, [1, 2, 30], strict=True)
    ]
    assert [len(one.ids) + one.finished <= limit for one, limit in zip(short, [1, 2, 30], strict=True)] == [
        True
    ] * 3


def test_bytes_that_make_no_character_are_never_answered(tmp_path: Path) -> None:
    loaded = untrained(BASE)
    with torch.no_grad():
        loaded.model.target_embedding.weight[4 + 0x80 : 4 + 0x100] *= 3  # it would love to
    answers = written(loaded, tmp_path).answer(
        [loaded.tokenizers.source.encode(line) for line in LINES[:4]], [12] * 4, beam=3, length_penalty=1.0
    )
    texts = loaded.tokenizers.target.decode_many([one.ids for one in answers])
    assert not any("\ufffd" in text for text in texts)
    never = {*NEVER, *CONTROL}
    assert not any(i in never for one in answers for i in one.ids)


def test_what_cannot_be_is_said_with_its_setting() -> None:
    def reasons(**change: Any) -> list[str]:
        return ctranslate2.check(RunConfig(model=replace(BASE, **change)))

    assert reasons() == reasons(positions="rotary", scaled=False) == []
    assert reasons(residual=False) == ["its layers always add to their input (model.residual=false)"]
    assert reasons(norm="none") == ["its layers always have a norm (model.norm=none)"]
    assert reasons(copy=True) == ["CTranslate2 has no pointing at the source (model.copy=true)"]
    assert len(reasons(norm="none", residual=False)) == 2
    assert ctranslate2.check(RunConfig(model=TINY["luong"])) == [
        "it has no luong models (model.arch=luong), only Transformers"
    ]


def test_a_damaged_folder_is_an_error_of_ours(tmp_path: Path) -> None:
    ctranslate2.write(untrained(BASE), tmp_path, WriteOptions())
    data = (tmp_path / "model.bin").read_bytes()
    (tmp_path / "model.bin").write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelError, match="ctranslate2 cannot open the model"):
        ctranslate2.open(tmp_path)


def test_answers_have_their_end_apart() -> None:
    whole = ctranslate2.as_answer((260, 261, EOS), (-1.0, -2.0, -3.0))
    assert (whole.ids, whole.log_probs, whole.finished) == ((260, 261), (-1.0, -2.0, -3.0), True)
    cut = ctranslate2.as_answer((260, 261), (-1.0, -2.0, -3.0))
    assert (cut.ids, cut.log_probs, cut.finished) == ((260, 261), (-1.0, -2.0), False)


def test_bytes_that_make_no_character_are_broken() -> None:
    assert not ctranslate2.is_broken([4 + byte for byte in "나a".encode()])
    assert ctranslate2.is_broken([4 + 0xEB, 300])
    assert not ctranslate2.is_broken([300, EOS])


def test_a_computed_table_is_long_enough() -> None:
    config = RunConfig()
    assert table_rows(config, ctranslate2.POSITIONS) == 1024
    longer = replace(config, data=replace(config.data, max_length=3000))
    assert table_rows(longer, ctranslate2.POSITIONS) == 3001
