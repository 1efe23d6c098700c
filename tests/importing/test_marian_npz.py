from pathlib import Path

import numpy as np
import pytest
from tests.importing.conftest import Make
from tests.importing.npz import marian_file

from jumok.checkpoint.model import read_model
from jumok.errors import ModelError
from jumok.importing.brought import BroughtFolder
from jumok.importing.certify import our_logits
from jumok.importing.marian_npz import numbers_of, read_marian, read_marian_vocabulary, settings_of
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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vocab.json", "[]"),
        ("vocab.json", "{"),
        ("vocab.json", '{"a": "x"}'),
        ("vocab.json", '{"a": null}'),
        ("vocab.json", "[" * 100_000),
        ("x.vocab.yml", '"a: 1'),
        ("x.vocab.yml", '"\\x": 1'),
        ("x.vocab.yml", "a: " + "9" * 5000),
    ],
)
def test_vocabularies_that_are_none_are_refused(name: str, text: str) -> None:
    with pytest.raises(ModelError, match=f"{name} has something that is no token with a number: ."):
        numbers_of(text, name)


def test_a_vocabulary_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "opus.vocab.yml").write_bytes(b"caf\xe9: 0\n")
    with pytest.raises(ModelError, match="opus.vocab.yml is no text in UTF-8: .* in position 3"):
        read_marian_vocabulary(BroughtFolder(tmp_path))


def test_settings_are_numbers_and_words_on_lines_of_their_own() -> None:
    said = settings_of(
        '# a comment\nlayers:\n  - 3\ntype: transformer\ndim-emb: 512\nskip: "-1"\nempty:\nsquare: ²\n'
        f"rate: 0.5\nlong: {'9' * 19}\ntransformer-preprocess: d\nminus: --5\n",
        "here",
    )
    assert said.fields == {
        "type": "transformer",
        "dim-emb": 512,
        "skip": -1,
        "square": "²",
        "rate": "0.5",
        "long": "9" * 19,
        "transformer-preprocess": "d",
        "minus": "--5",
    }
    assert (said.where, said.name) == ("here", "special:model.yml")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("transformer-preprocess: n", "transformer-preprocess='n', and only '' or 'd' is computed here"),
        ("transformer-postprocess-emb: n", "transformer-postprocess-emb='n', and only 'd' or '' is computed"),
        ("transformer-decoder-autoreg: rnn", "autoreg='rnn', and only 'self-attention' is computed here"),
        (
            "transformer-train-position-embeddings: true",
            "embeddings='true', and only 'false' is computed here",
        ),
    ],
)
def test_layers_that_are_not_ours_are_refused(line: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        settings_of(f"type: transformer\n{line}\n", "here")
