import json
from pathlib import Path

import pytest
from tests.importing.conftest import Make
from tests.importing.families import MAKERS

import jumok
from jumok.checkpoint.manifest import verify_folder
from jumok.errors import ConfigError, ModelError, ThresholdError
from jumok.importing import model
from jumok.importing.model import import_model


@pytest.mark.parametrize("family", MAKERS)
def test_logits_tokens_and_answers_are_those_of_transformers(
    family: str, brought: Make, lines: Path, tmp_path: Path
) -> None:
    """The twin test of each family: its own library computes the same."""
    told: list[str] = []
    result = import_model(brought(family), tmp_path / "ours", source=lines, told=told.append)
    assert result["passed"]
    assert result["sentences"] == 12
    assert result["same_tokens"] == result["equal"] == 12
    assert result["largest_logit_difference"] < 1e-4
    assert result["compared_with"].startswith("transformers ")
    assert told[-1] == "compared on 12 sentences"
    assert verify_folder(tmp_path / "ours") == []
    assert json.loads((tmp_path / "ours" / "certificate.json").read_text())["equal"] == 12


def test_the_card_says_where_the_model_came_from(brought: Make, tmp_path: Path) -> None:
    folder = brought("marian")
    import_model(folder, tmp_path / "ours")
    card = (tmp_path / "ours" / "README.md").read_text(encoding="utf-8")
    assert f"Imported from {folder.name}, marian of transformers." in card
    for name in ("model.safetensors", "source.spm", "target.spm", "vocab.json"):
        assert f"| {name} | `" in card
    assert jumok.load(tmp_path / "ours").info["origin"]["files"].keys() >= {"config.json", "vocab.json"}


def test_without_sentences_nothing_is_compared_and_that_is_said(brought: Make, tmp_path: Path) -> None:
    result = import_model(brought("bart"), tmp_path / "ours")
    assert result["checked"] == "not compared: no sentences were given (-s FILE)"
    assert result["passed"]
    assert "equal" not in result


def test_without_its_library_nothing_is_compared_and_that_is_said(
    brought: Make, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "is_installed", lambda name: False)
    result = import_model(brought("bart"), tmp_path / "ours", source=lines)
    assert result["checked"] == "not compared: transformers is not installed (pip install transformers)"


def test_what_does_not_agree_is_kept_beside_its_place(brought: Make, lines: Path, tmp_path: Path) -> None:
    with pytest.raises(ThresholdError, match="logits differ by up to .*, 1e-30 may be") as caught:
        import_model(brought("t5"), tmp_path / "ours", source=lines, thresholds={"logits": 1e-30})
    assert caught.value.exit_code == 4
    assert not (tmp_path / "ours").exists()
    assert not json.loads((tmp_path / "ours.failed" / "certificate.json").read_text())["passed"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours.failed"]


def test_a_place_that_is_taken_is_refused(brought: Make, tmp_path: Path) -> None:
    import_model(brought("bart"), tmp_path / "ours")
    with pytest.raises(ConfigError, match="ours exists\n  add --overwrite"):
        import_model(brought("bart"), tmp_path / "ours")
    import_model(brought("bart"), tmp_path / "ours", overwrite=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").touch()
    with pytest.raises(ConfigError, match="mine exists and is not a model folder"):
        import_model(brought("bart"), tmp_path / "mine", overwrite=True)
    with pytest.raises(ConfigError, match="there is no folder"):
        import_model(brought("bart"), tmp_path / "no" / "place")


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no file or folder"):
        import_model(tmp_path / "nothing", tmp_path / "ours")
    with pytest.raises(ModelError, match="is no model that is known\n  give a folder of transformers"):
        import_model(tmp_path, tmp_path / "ours")


def test_numbers_that_are_not_finite_are_refused_and_nothing_is_left(copied: Make, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = copied("bart")
    tensors = load_file(folder / "model.safetensors")
    tensors["model.encoder.layers.0.fc1.bias"][3] = float("nan")
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(
        ModelError, match="1 of 48 numbers of encoder.0.feedforward.inner.bias are not finite"
    ):
        import_model(folder, tmp_path / "ours")
    assert [path.name for path in tmp_path.iterdir()] == ["brought"]
