"""Small untrained models that read pictures, and pictures for them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from tests.explain.conftest import MODELS

from jumok.checkpoint.checkpoints import Loaded
from jumok.config import DataConfig, DecodingConfig, ImageConfig, RunConfig, TextConfig
from jumok.images.patches import PatchReader
from jumok.images.read import to_data_url
from jumok.model import Model
from jumok.models.build import Patches, build_model
from jumok.text.tokenizer import EOS, Tokenizers, train_tokenizer

CAPTIONS = ["a red square", "a blue circle on a field", "two green leaves", "the moon at night"] * 3


def seeing(arch: str = "transformer", *, size: int = 32, patch: int = 8, name: str = "seer") -> Model:
    """A model that describes pictures, in nonsense that is always the same."""
    reader, text = PatchReader(size, patch), TextConfig(vocabulary=300, shared=False)
    tokenizer = train_tokenizer(CAPTIONS, text)
    torch.manual_seed(3)
    patches = Patches(reader.numbers, reader.places)
    network = build_model(MODELS[arch], 0, tokenizer.size, shared=False, patches=patches)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(2)
        network.target_embedding.weight[EOS] *= 2
    config = RunConfig(
        model=MODELS[arch],
        text=text,
        image=ImageConfig(size=size, patch=patch),
        data=DataConfig(max_length=24, source_language="", target_language="en", images="pictures"),
        decoding=replace(DecodingConfig(), max_len=8, beam=2),
    )
    about = {"parameters": 7, "step": 3, "fingerprint": f"{name}-{arch}"}
    return Model(Loaded(network.eval(), Tokenizers(reader, tokenizer), config, Path(name), about))


def picture(seed: int = 0, size: int = 32) -> str:
    """A picture as a data URL: coloured squares on white."""
    numbers = np.random.default_rng(seed)
    found = np.full((size, size, 3), 255, dtype=np.uint8)
    for _ in range(5):
        x, y = numbers.integers(0, size * 3 // 4, 2)
        found[y : y + size // 3, x : x + size // 3] = numbers.integers(0, 256, 3)
    return to_data_url(found)
