"""Every kind of recurrent model as ONNX gives the numbers that PyTorch gives."""

from pathlib import Path

import pytest
from tests.export.forced import check_onnx

from jumok.config import LuongConfig, RnnConfig


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize(("bidirectional", "layers"), [(False, 1), (True, 2)])
def test_cells_read_every_row_to_its_own_length(
    cell: str, layers: int, tmp_path: Path, *, bidirectional: bool
) -> None:
    check_onnx(RnnConfig(cell=cell, width=12, layers=layers, bidirectional=bidirectional), tmp_path)


@pytest.mark.parametrize("score", ["dot", "general", "concat"])
@pytest.mark.parametrize(("input_feeding", "cell"), [(True, "lstm"), (False, "gru")])
def test_attention_looks_at_real_tokens(
    score: str, cell: str, tmp_path: Path, *, input_feeding: bool
) -> None:
    config = LuongConfig(cell=cell, width=12, score=score, input_feeding=input_feeding, tied=input_feeding)
    check_onnx(config, tmp_path)
