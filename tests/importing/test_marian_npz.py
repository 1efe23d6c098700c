from pathlib import Path

import numpy as np
import pytest
from tests.importing.conftest import Make
from tests.importing.npz import marian_file

from jumok.checkpoint.model import read_model
from jumok.errors import ModelError
from jumok.importing.brought import BroughtFolder
from jumok.importing.certify import our_logits
from jumok.importing.marian_npz import numbers_of, read_marian, settings_of
from jumok.importing.model import import_model, opened
from jumok.text.specials import EOS


def test_logits_are_those_of_the_same_weights_in_transformers(copied: Make, tmp_path: Path) -> None:
    """transformers starts from the row of <pad>, Marian from zeros: here that row is zeros as well."""
    from safetensors.numpy import load_file, save_file

    folder = copied("marian")
    tensors = load_file(folder / "model.safetensors")
    tensors["model.shared.weight"][-1] = 0
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    result = import_model(marian_file(folder, tmp_path / "marian"), tmp_path / "ours")
    assert result["checked"] == "not compared: Marian has no library to compare with"
    loaded = read_model(tmp_path / "ours")
    with (
        opened(tmp_path / "marian" / "model.npz", None, ("", "")) as incoming,
        opened(folder, None, ("", "")) as twin,
    ):
        assert twin.open is not None
        original, rows = twin.open(), incoming.target_rows
        source = [*loaded.tokenizers.source.encode("a term of the glossary"), EOS]
        target = loaded.tokenizers.target.encode("the model")
        pad = int(twin.target_rows.max())
        theirs = original.logits(rows[source].tolist(), [pad, *rows[target].tolist()])
    ours = our_logits(loaded.model, source, target)
    known = np.flatnonzero(rows >= 0)
    # Its norms have another epsilon: 1e-6 in Marian, 1e-5 in transformers.
    assert theirs is not None
    assert np.abs(ours[:, known] - theirs[:, rows[known]]).max() < 2e-3


def test_files_that_are_missing_or_other_models_are_refused(brought: Make, tmp_path: Path) -> None:
    file = marian_file(brought("marian"), tmp_path / "marian")
    (file.parent / "target.spm").unlink()
    with pytest.raises(ModelError, match="the folder has no tokenizer: target.spm is missing"):
        read_marian(BroughtFolder(file.parent), file.name, None, ("", ""))
    (file.parent / "opus.vocab.yml").unlink()
    with pytest.raises(ModelError, match="the folder has no vocabulary: a file that ends in vocab.yml"):
        read_marian(BroughtFolder(file.parent), file.name, None, ("", ""))
    with pytest.raises(ModelError, match="a model of type 's2s' of Marian: only transformer"):
        settings_of("type: s2s\n", "here")
    with pytest.raises(ModelError, match="transformer-postprocess='da', and only 'dan' is computed here"):
        settings_of("type: transformer\ntransformer-postprocess: da\n", "here")


def test_vocabularies_in_yaml_and_json_are_read() -> None:
    wanted = {"</s>": 0, 'a"b': 1, "it's": 2, "▁c": 3, ":": 4}
    lines = "\n".join(["</s>: 0", '"a\\"b": 1', "'it''s': 2", "▁c: 3", '":": 4', ""])
    assert numbers_of(lines, "x.vocab.yml") == wanted
    assert numbers_of('{"</s>": 0}', "vocab.json") == {"</s>": 0}
