"""Models in small, and the numbers of both sides for the same texts."""

from pathlib import Path

import pytest
import torch
from tests.decoding.conftest import untrained
from torch import Tensor

from jumok.checkpoint.model import LoadedModel
from jumok.config import ModelConfig
from jumok.decoding.batched import lay_sources
from jumok.export import onnx
from jumok.export.format import WriteOptions
from jumok.models.sentences import Sentences
from jumok.text.tokenizer import BOS, EOS

SOURCES = [[270, 280, 265], [290], [262, 275, 300, 310, 299, 281, 264]]
TARGET = torch.tensor(
    [[270, 271, 260, 305, EOS], [263, 300, 300, 281, EOS], [299, 265, 270, 4, EOS]]
)  # (B, T)


def varied(model: ModelConfig) -> LoadedModel:
    """A model with random weights, none of which is 0 or 1 as fresh biases and norms are."""
    loaded = untrained(model)
    with torch.no_grad():
        for parameter in loaded.model.parameters():
            parameter.mul_(0.5)  # as a fresh model has them: larger ones make rounding larger
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.3)
    return loaded


@torch.inference_mode()
def our_numbers(loaded: LoadedModel) -> Tensor:
    """Log-probabilities of every next piece, (B, T, V)."""
    cpu = torch.device("cpu")
    target_in = Sentences.lay(read_before(TARGET).tolist(), cpu)
    logits = loaded.model(lay_sources(SOURCES, cpu), target_in).logits()
    return target_in.grid(logits).log_softmax(dim=-1)


def read_before(target: Tensor) -> Tensor:
    """What is read before each token is written, (B, T)."""
    return torch.nn.functional.pad(target[:, :-1], (1, 0), value=BOS)


def onnx_numbers(loaded: LoadedModel, folder: Path) -> Tensor:
    """The same from the two graphs, step by step."""
    onnx.write(loaded, folder, WriteOptions())
    model = onnx.OnnxAnswerer(folder)
    state = model.start(model.encode(lay_sources(SOURCES, torch.device("cpu"))))
    steps = []
    for token in read_before(TARGET).unbind(dim=1):
        log_probs, state = model.step(token, state)
        steps.append(log_probs)
    return torch.stack(steps, dim=1)


def check_onnx(model: ModelConfig, folder: Path) -> None:
    """The graphs are valid ONNX, and their numbers are ours."""
    loaded = varied(model)
    theirs = onnx_numbers(loaded, folder)
    checker = pytest.importorskip("onnx").checker
    for name in ("encoder", "step"):
        checker.check_model(str(folder / f"{name}.onnx"), full_check=True)
    torch.testing.assert_close(theirs, our_numbers(loaded), atol=2e-5, rtol=0)
