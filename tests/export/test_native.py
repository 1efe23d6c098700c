"""Folders for our own engine: their certificate, and that everything else takes them for models."""

from pathlib import Path

import pytest

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.checkpoints import load_model
from jumok.config import RunConfig, TransformerConfig
from jumok.errors import ConfigError
from jumok.export import native
from jumok.export.make import ExportOrder, check_order, export_model
from jumok.export.parity import USUAL, Thresholds
from jumok.export.sample import find_sample
from jumok.native.library import why_not

needs_library = pytest.mark.skipif(bool(why_not()), reason=why_not())


@needs_library
@pytest.mark.parametrize("kind", native.TYPES)
@pytest.mark.parametrize("arch", ["rnn", "luong", "transformer"])
def test_the_bundled_models_pass(arch: str, kind: str, tmp_path: Path) -> None:
    loaded = load_model(bundled()[arch])
    limits = USUAL[kind] if kind == "float32" else Thresholds(agreement=0.9)  # the RNN errs a lot on its own
    order, told = ExportOrder("native", tmp_path / "out", kind, limits), list[tuple[str, int, int]]()
    sample = find_sample(loaded.config.data, most=30)
    result = export_model(loaded, order, sample, progress=lambda *step: told.append(step))
    assert result["passed"]
    assert [step[1:] for step in told if step[0] == "writing for the native engine"] == [(0, 1), (1, 1)]
    assert result["model_fingerprint"] == loaded.info["fingerprint"]
    assert result["largest_score_difference"] < (1e-5 if kind == "float32" else 0.05)
    assert load_model(tmp_path / "out").config == loaded.config
    [weights] = (tmp_path / "out").glob("*.safetensors")
    assert weights.name == ("model.safetensors" if kind == "float32" else "native.safetensors")
    share = weights.stat().st_size / (4 * sum(one.numel() for one in loaded.model.parameters()))
    assert share == pytest.approx(1 if kind == "float32" else 0.3, abs=0.1)


def test_a_model_that_copies_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "why_not", lambda: "")
    copying = RunConfig(model=TransformerConfig(copy=True))
    assert native.check(RunConfig()) == []
    assert native.check(copying) == ["the native engine has no pointing at the source (model.copy=true)"]
    with pytest.raises(
        ConfigError, match="cannot be exported to native: the native engine has no pointing at the source"
    ):
        check_order(ExportOrder("native", tmp_path / "out", "int8"), copying)


def test_without_the_library_it_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "why_not", lambda: "no compiler")
    with pytest.raises(ConfigError, match="cannot be exported to native: no compiler"):
        check_order(ExportOrder("native", tmp_path / "out", "int8"), RunConfig())
