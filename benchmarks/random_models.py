"""Models of a usual size with random weights and a real vocabulary, for measurements of time."""

from pathlib import Path

import torch

from jumok.checkpoint.model import save_model
from jumok.config import (
    Arch,
    DecodingConfig,
    LuongConfig,
    RnnConfig,
    RunConfig,
    TextConfig,
    TransformerConfig,
)
from jumok.data.builtin import builtin_corpus
from jumok.models.build import build_model
from jumok.presets import SIZES
from jumok.text.tokenizer import Tokenizers, train_tokenizer

CONFIGS = {"rnn": RnnConfig, "luong": LuongConfig, "transformer": TransformerConfig}


def make_model(folder: Path, preset: str, arch: Arch = "transformer") -> list[str]:
    """A model of this size with a vocabulary of 8,000; sentences to send to it."""
    pairs = list(builtin_corpus("homeassistant-ko-en", "train").pairs())
    text = TextConfig(vocabulary=8000)
    tokenizer = train_tokenizer((line for pair in pairs for line in pair), text)
    config = RunConfig(
        model=CONFIGS[arch](**SIZES[arch][preset]), text=text, decoding=DecodingConfig(max_len=512)
    )
    torch.manual_seed(0)
    model = build_model(config.model, tokenizer.size, tokenizer.size, shared=True)
    weights = {name: weight.detach() for name, weight in model.named_parameters()}
    save_model(folder, weights, config, Tokenizers(tokenizer, tokenizer), {})
    return [source for source, _ in pairs if 10 <= len(source) <= 60]
