"""Translators with random weights, small enough to ask many questions."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from jumok.checkpoint.model import LoadedModel
from jumok.config import (
    DataConfig,
    DecodingConfig,
    LuongConfig,
    ModelConfig,
    RnnConfig,
    RunConfig,
    TextConfig,
    TransformerConfig,
)
from jumok.decoding.translator import Translator
from jumok.model import Model
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.text.tokenizer import EOS, Tokenizer, Tokenizers, train_tokenizer

LINES = ["a man rides a horse.", "the dog sees a man!", "나는 어제 영화를 봤다.", "one two three four"] * 3
SMALL = TransformerConfig(width=16, heads=2, feedforward=32, encoder_layers=1, decoder_layers=2)
MODELS: dict[str, ModelConfig] = {
    "rnn": RnnConfig(width=16),
    "luong": LuongConfig(width=16, input_feeding=True),
    "transformer": SMALL,
}
COPYING = replace(SMALL, norm="pre", copy=True)


@dataclass(frozen=True)
class Workshop:
    """Makes translators; the same arguments give the same numbers."""

    small: TransformerConfig = SMALL

    def translator(
        self,
        model: ModelConfig | str,
        *,
        name: str = "tiny",
        kind: str = "bpe",
        network: Seq2Seq | None = None,
        max_length: int = 24,
        **settings: int,
    ) -> Translator:
        """A translator with weights large enough to have opinions, also about when to end."""
        config = MODELS[model] if isinstance(model, str) else model
        text = TextConfig(kind=kind, vocabulary=330)
        tokenizer = train_tokenizer(LINES, text)
        if network is None:
            torch.manual_seed(1)
            network = build_model(config, tokenizer.size, tokenizer.size, shared=True)
            with torch.no_grad():
                for parameter in network.parameters():
                    parameter.mul_(2)
                network.target_embedding.weight[EOS] *= 2
        data = DataConfig(max_length=max_length, source_language="en", target_language="ko")
        decoding = replace(DecodingConfig(max_len=16, beam=2), **settings)
        config_of_run = RunConfig(model=config, text=text, data=data, decoding=decoding)
        about = {"parameters": 7, "step": 3, "fingerprint": f"{name}-{config.arch}"}
        return Translator(
            LoadedModel(
                Tokenizers(tokenizer, tokenizer), config_of_run, Path(name), about, model=network.eval()
            )
        )

    def model(self, model: ModelConfig | str, *, name: str = "tiny", **settings: Any) -> Model:
        """The same as what `jumok.load` returns."""
        one = self.translator(model, name=name, **settings)
        about = {"parameters": 7, "step": 3, "fingerprint": f"{name}-{one.config.model.arch}"}
        return Model(LoadedModel(one.tokenizers, one.config, Path(name), about, model=one.model))


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often tokenizers read each text inside the block."""
    read, encode_many = Counter[str](), Tokenizer.encode_many

    def count(tokenizer: Tokenizer, texts: Iterable[str]) -> list[list[int]]:
        lines = list(texts)
        read.update(lines)
        return encode_many(tokenizer, lines)

    with monkeypatch.context() as patch:
        patch.setattr(Tokenizer, "encode_many", count)
        yield read


@pytest.fixture(scope="session")
def workshop() -> Workshop:
    return Workshop()


@pytest.fixture(scope="session", params=[*MODELS, COPYING], ids=[*MODELS, "copying"])
def translator(request: pytest.FixtureRequest, workshop: Workshop) -> Translator:
    """One small translator for each architecture, and one that copies."""
    return workshop.translator(request.param)


@pytest.fixture(scope="session")
def rnn(workshop: Workshop) -> Translator:
    return workshop.translator("rnn")


@pytest.fixture(scope="session")
def luong(workshop: Workshop) -> Translator:
    return workshop.translator("luong")


@pytest.fixture(scope="session")
def transformer(workshop: Workshop) -> Translator:
    return workshop.translator("transformer")


SCRIPT = 'const a = "</script><!-- </SCRIPT>"; const b = /<!--/u;\nrender(a, b);\n'
STYLE = '.a::before { content: "</style>" }\n'


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page that is small and means harm to the document around it, in place of the real one."""
    folder = tmp_path / "static"
    folder.mkdir()
    (folder / "file-2c3d.js").write_text(SCRIPT, encoding="utf-8")
    (folder / "file-0a1b.css").write_text(STYLE, encoding="utf-8")
    for locale, word in (("en", "Translate"), ("ko", "번역 </script>")):
        (folder / f"words-{locale}-0f.json").write_text(json.dumps({"shell": {"a": word}}), encoding="utf-8")
    monkeypatch.setattr("jumok.explain.page.STATIC", folder)
    return folder
