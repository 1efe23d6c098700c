"""The rows of Luong's attention; `test_shape_backend.py` computes each again from those that made it."""

from typing import Any

import pytest
import torch

from jumok.config import LuongConfig
from jumok.models.build import build_model
from jumok.models.sentences import Sentences
from jumok.models.shapes import trace_shapes
from jumok.text.tokenizer import BOS


@pytest.mark.parametrize(
    ("score", "formula", "steps"),
    [
        ("dot", "E_t = s_t Hᵀ", []),
        ("general", "E_t = (s_t W_a) Hᵀ", ["s_t W_a"]),
        ("concat", "E_t = v_a · tanh(W_a [s_t; H])", ["H W_a", "s_t W_a"]),
    ],
)
def test_each_score_has_its_own_steps(score: Any, formula: str, steps: list[str]) -> None:
    config = LuongConfig(width=8, score=score)
    model = build_model(config, 20, 20, shared=True).eval()
    source, target = (Sentences.lay([row], torch.device("cpu")) for row in ([5, 9, 2], [BOS, 6]))
    rows = [row for row in trace_shapes(model, config, source, target).rows if row.stage == "attention"]
    assert [row.operation for row in rows if row.how not in ("given",)] == [
        *steps,
        formula,
        "α_t = softmax(E_t)",
        "c_t = α_t H",
        "[c_t; s_t]",
        "[c_t; s_t] W_c",
        "s̃_t = tanh([c_t; s_t] W_c)",
    ]
    assert rows[-1].shape == (1, 2, 8)
