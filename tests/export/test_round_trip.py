"""Import, export and import again: other programs' models go back to where they came from."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tests.importing.families import MAKERS, sentences

from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.model import LoadedModel
from jumok.decoding.batched import lay_sources, lay_targets
from jumok.errors import ConfigError
from jumok.export import argos, ctranslate2, huggingface, onnx
from jumok.export.directions import check_tags
from jumok.export.format import WriteOptions
from jumok.export.kept_rows import FILE, saved_rows
from jumok.export.parity import Sample, compare
from jumok.importing.model import import_model
from jumok.text.frame import Frame, closed
from jumok.text.normalize import tidy

TEXTS = sentences(12)
CPU = torch.device("cpu")


def brought(family: str, place: Path) -> LoadedModel:
    """A model of this family, imported."""
    folder = place / "theirs"
    folder.mkdir()
    MAKERS[family](folder)
    import_model(folder, place / "ours")
    return load_model(place / "ours")


def ids_of(loaded: LoadedModel) -> tuple[list[list[int]], list[list[int]]]:
    """Whole sources, and targets with their end."""
    sides = loaded.tokenizers
    sources = [closed(sides.framed(ids)) for ids in sides.source.encode_many(map(tidy, TEXTS))]
    written = sides.target.encode_many(map(tidy, reversed(TEXTS)))
    return sources, [[*sides.opening, *ids[:9]] for ids in written]


@torch.inference_mode()
def our_logs(loaded: LoadedModel) -> torch.Tensor:
    """Log-probabilities at every place of all targets, end to end (M, V)."""
    sources, targets = ids_of(loaded)
    target_in, _ = lay_targets([[*ids, 2] for ids in targets], CPU)
    return loaded.model(lay_sources(sources, CPU), target_in).logits().log_softmax(-1)


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
@pytest.mark.parametrize("family", ["marian", "bart", "t5", "t5 v1.1", "pegasus"])
def test_a_model_goes_back_with_its_numbers_and_its_tokens(family: str, tmp_path: Path) -> None:
    loaded = brought(family, tmp_path)
    again = tmp_path / "again"
    again.mkdir()
    assert huggingface.check(loaded.config) == []
    huggingface.write(loaded, again, WriteOptions())
    model, report = transformers.AutoModelForSeq2SeqLM.from_pretrained(again, output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    rows = saved_rows(again, model.config.vocab_size)
    first = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "theirs")
    assert model.config.vocab_size == first.config.vocab_size  # nothing of ours went along
    tokenizer = transformers.AutoTokenizer.from_pretrained(again)
    sources, targets = ids_of(loaded)
    plain = [text for text in map(tidy, TEXTS) if text.isascii()]
    framed = [closed(loaded.tokenizers.framed(ids)) for ids in loaded.tokenizers.source.encode_many(plain)]
    assert [tokenizer(text)["input_ids"] for text in plain] == [rows.away(ids) for ids in framed]
    theirs = [numbers(model, rows, *pair) for pair in zip(sources, targets, strict=True)]
    torch.testing.assert_close(torch.cat(theirs), our_logs(loaded)[:, list(rows.ids)], atol=1e-4, rtol=0)
    import_model(again, tmp_path / "third")
    third = load_model(tmp_path / "third")
    assert third.tokenizers.source.encode_many(plain) == loaded.tokenizers.source.encode_many(plain)
    assert third.config.model == loaded.config.model
    torch.testing.assert_close(our_logs(third), our_logs(loaded), atol=1e-4, rtol=0)


@torch.inference_mode()
def numbers(model: Any, rows: Any, source: list[int], target: list[int]) -> torch.Tensor:
    """Their log-probabilities of every next token (T, V)."""
    logits = model(
        input_ids=torch.tensor([rows.away(source)]),
        decoder_input_ids=torch.tensor([[rows.start, *rows.away(target)]]),
    ).logits
    return logits[0].log_softmax(-1)


@pytest.mark.parametrize("family", ["marian", "bart"])
def test_their_own_search_gives_our_texts(family: str, tmp_path: Path) -> None:
    loaded = brought(family, tmp_path)
    huggingface.write(loaded, tmp_path, WriteOptions())
    assert (tmp_path / FILE).exists()
    found = compare(loaded, huggingface.open(tmp_path), Sample("texts", "", TEXTS[5:9]))
    assert [pair.theirs.ids for pair in found.greedy] == [pair.ours for pair in found.greedy]
    assert found.largest_difference < 1e-4


@pytest.mark.parametrize(("family", "format"), [("t5", ctranslate2), ("marian", ctranslate2), ("t5", onnx)])
def test_other_programs_answer_as_we_do(family: str, format: Any, tmp_path: Path) -> None:
    loaded = brought(family, tmp_path)
    format.write(loaded, tmp_path, WriteOptions())
    found = compare(loaded, format.open(tmp_path), Sample("texts", "", TEXTS[5:9]))
    assert [pair.theirs.ids for pair in found.greedy] == [pair.ours for pair in found.greedy]
    assert found.largest_difference < 1e-4


def test_what_cannot_go_is_refused_with_a_way_out(tmp_path: Path) -> None:
    loaded = brought("marian", tmp_path)
    with pytest.raises(ConfigError, match="with SentencePiece itself, and the format needs a tokenizer.json"):
        onnx.write(loaded, tmp_path, WriteOptions())
    with pytest.raises(ConfigError, match="to argos: its tokenizer came from another program") as caught:
        argos.write(loaded, tmp_path, WriteOptions(languages=("en=English", "ko=Korean")))
    assert caught.value.hint == "export it to ctranslate2, which Argos Translate is made of"


def test_several_languages_stay_in_formats_that_know_them(tmp_path: Path) -> None:
    loaded = brought("mbart50", tmp_path)
    for name in ("huggingface", "ctranslate2"):
        with pytest.raises(ConfigError, match="would not know which tokens these are"):
            check_tags(name, loaded.tokenizers.frame)
    check_tags("huggingface", Frame(source=("<s>", "…", "</s>"), target=("<s>",)))
    with pytest.raises(ConfigError, match="cannot be exported to onnx: it reads a sentence as <s> … </s>"):
        check_tags("onnx", Frame(source=("<s>", "…", "</s>"), target=("<s>",)))
