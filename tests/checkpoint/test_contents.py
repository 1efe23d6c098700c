import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from jumok.checkpoint.card import model_files
from jumok.checkpoint.contents import (
    WEIGHTS,
    read_arrays,
    read_contents,
    read_parts,
    read_shortlist,
    settings_faults,
)
from jumok.checkpoint.folder import dump_json, write_folder
from jumok.checkpoint.manifest import verify_folder
from jumok.checkpoint.model import load_packed, read_model, save_model
from jumok.config import DataConfig, RunConfig, TextConfig, TransformerConfig
from jumok.errors import ConfigError, ModelError, TokenizerFileError
from jumok.models.build import build_model
from jumok.native.folder import CERTIFICATE, dump_parts
from jumok.native.folder import WEIGHTS as PACKED
from jumok.native.library import PATH, available
from jumok.native.shortlist import FILE as SHORTLIST
from jumok.native.shortlist import Shortlist, dump_shortlist
from jumok.native.weights import pack_weights
from jumok.text.tokenizer import Tokenizers, train_tokenizer

needs_library = pytest.mark.skipif(not available(), reason="the C library was not built")

MODEL = TransformerConfig(width=8, heads=2, feedforward=12, encoder_layers=1, decoder_layers=1)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with random weights; not to be changed."""
    text = TextConfig(vocabulary=300)
    tokenizer = train_tokenizer(["a man rides a horse.", "the dog sees a man"] * 3, text)
    torch.manual_seed(1)
    model = build_model(MODEL, tokenizer.size, tokenizer.size, shared=True)
    config = RunConfig(model=MODEL, text=text, data=DataConfig(max_length=20))
    place = tmp_path_factory.mktemp("plain") / "tiny"
    return save_model(place, model.state_dict(), config, Tokenizers(tokenizer, tokenizer), {"step": 1})


def test_everything_but_the_weights(plain: Path) -> None:
    contents = read_contents(plain)
    loaded = read_model(plain)
    assert contents.config == loaded.config
    assert contents.tokenizers.fingerprint == loaded.tokenizers.fingerprint
    assert {**contents.info, "parameters": loaded.info["parameters"]} == loaded.info
    assert not contents.quantised


@pytest.mark.parametrize(("marked", "read"), [(True, 4096), (False, 0)])
def test_a_folder_of_before_had_4096_tokens_where_nobody_chose(
    plain: Path, tmp_path: Path, *, marked: bool, read: int
) -> None:
    files = {path.name: path.read_bytes() for path in plain.iterdir() if path.name != "MANIFEST.json"}
    fields = json.loads(files["config.json"])
    fields["jumok"]["decoding"]["batch_tokens"] = 4096
    if not marked:
        del fields["settings_version"]
    write_folder(tmp_path / "other", {**files, "config.json": dump_json(fields)})
    assert read_contents(tmp_path / "other").config.decoding.batch_tokens == read


def test_arrays_are_the_weights(plain: Path) -> None:
    arrays, state = read_arrays(read_contents(plain)), read_model(plain).model.state_dict()
    assert arrays.keys() == state.keys()
    for name, tensor in state.items():
        np.testing.assert_array_equal(arrays[name], tensor.numpy())


def test_weights_that_were_changed_are_refused(plain: Path, tmp_path: Path) -> None:
    other = copied(plain, tmp_path)
    data = bytearray((other / WEIGHTS).read_bytes())
    data[-1] ^= 1
    (other / WEIGHTS).write_bytes(data)
    with pytest.raises(ModelError, match="model.safetensors was changed"):
        read_arrays(read_contents(other))
    (other / WEIGHTS).write_bytes(data[:-8])
    with pytest.raises(ModelError, match="model.safetensors was cut short"):
        read_arrays(read_contents(other))


def copied(folder: Path, place: Path) -> Path:
    """The files of a folder in another."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "MANIFEST.json"}
    write_folder(place / "copy", files)
    return place / "copy"


def quantised(plain: Path, place: Path, certificate: dict[str, Any] | None, **files: bytes) -> Path:
    """The int8 folder of a model with this certificate, or with none."""
    contents = read_contents(plain)
    parts = pack_weights(MODEL, read_arrays(contents), shared=True, type="int8")
    content = {
        **model_files(contents.config, contents.tokenizers, {"step": 1}),
        PACKED: dump_parts(parts, contents.info["fingerprint"]),
        **({} if certificate is None else {CERTIFICATE: dump_json(certificate)}),
        **{name.replace("__", "."): data for name, data in files.items()},
    }
    write_folder(place / "int8", content)
    return place / "int8"


def proof(plain: Path, **changes: Any) -> dict[str, Any]:
    fingerprint = read_contents(plain).info["fingerprint"]
    about = {"schema": "jumok-certificate/1", "format": "native", "type": "int8", "passed": True}
    return {**about, "model_fingerprint": fingerprint, **changes}


@needs_library
def test_an_int8_folder_is_read_as_codes_and_as_a_model(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = quantised(plain, tmp_path, proof(plain))
    contents = read_contents(folder)
    assert contents.quantised
    assert verify_folder(folder) == []
    parts = read_parts(contents)
    assert parts["output"].type == "int8"
    monkeypatch.setenv(PATH, "/no/such.so")  # torch has to have them without the library, too
    loaded = read_model(folder)
    wanted = read_model(plain).model.state_dict()
    for name, tensor in loaded.model.state_dict().items():
        assert (tensor - wanted[name]).abs().max() <= wanted[name].abs().max() / 127
    assert loaded.info["parameters"] == read_model(plain).info["parameters"]
    again = load_packed(contents, parts).model.state_dict()
    assert all(torch.equal(tensor, again[name]) for name, tensor in loaded.model.state_dict().items())


@needs_library
def test_an_int8_folder_without_a_certificate(plain: Path, tmp_path: Path) -> None:
    folder = quantised(plain, tmp_path, None)
    with pytest.raises(ModelError, match="the int8 model has no certificate: nothing says how well"):
        read_model(folder)


@needs_library
def test_an_int8_folder_whose_certificate_was_taken_away(plain: Path, tmp_path: Path) -> None:
    folder = quantised(plain, tmp_path, {"schema": "jumok-certificate/1"})
    (folder / CERTIFICATE).unlink()
    with pytest.raises(ModelError, match="the int8 model has no certificate: nothing says how well"):
        read_model(folder)


@needs_library
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"model_fingerprint": "0" * 64},
            "the certificate is not this model's: it was made for the model 000000",
        ),
        ({"type": "int4"}, "the certificate is not this model's: it is for native in int4"),
        ({"passed": False}, "the certificate is not this model's: the model did not pass its comparison"),
    ],
)
def test_a_certificate_of_another_model(
    plain: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        read_model(quantised(plain, tmp_path, proof(plain, **change)))


@needs_library
def test_a_packed_file_that_was_changed(plain: Path, tmp_path: Path) -> None:
    folder = quantised(plain, tmp_path, proof(plain))
    data = bytearray((folder / PACKED).read_bytes())
    data[-5] ^= 8
    (folder / PACKED).write_bytes(data)
    with pytest.raises(ModelError, match="native.safetensors was changed: SHA-256"):
        read_model(folder)
    assert verify_folder(folder)[0].startswith("native.safetensors was changed")
    (folder / PACKED).write_bytes(data[:-64])
    with pytest.raises(ModelError, match="native.safetensors was cut short"):
        read_model(folder)


@needs_library
def test_a_vocabulary_of_another_size(plain: Path, tmp_path: Path) -> None:
    contents = read_contents(plain)
    wider = np.zeros((350, 8), np.float32)
    arrays = {**read_arrays(contents), "target_embedding.weight": wider, "source_embedding.weight": wider}
    parts = pack_weights(MODEL, arrays, shared=True, type="int8")
    packed = dump_parts(parts, contents.info["fingerprint"])
    folder = quantised(plain, tmp_path, proof(plain), native__safetensors=packed)
    with pytest.raises(ModelError, match="the weights have 350 source tokens, and the tokenizer has"):
        read_model(folder)


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        ({}, "only models that jumok trained can be loaded"),
        (
            {CERTIFICATE: b"{}"},
            "it was exported for another program: use that, or the model it was made from",
        ),
    ],
)
def test_a_folder_for_another_program(files: dict[str, bytes], hint: str, tmp_path: Path) -> None:
    write_folder(tmp_path / "other", {"config.json": b'{"model_type": "marian"}', **files})
    with pytest.raises(ModelError, match="this is a model of type 'marian', not of jumok") as caught:
        read_contents(tmp_path / "other")
    assert caught.value.hint == hint


def changed(plain: Path, place: Path, **more: Any) -> Path:
    """The folder with other fields of its config.json; None takes one out."""
    files = {path.name: path.read_bytes() for path in plain.iterdir() if path.name != "MANIFEST.json"}
    fields = {**json.loads(files["config.json"]), **more}
    fields = {name: value for name, value in fields.items() if value is not None}
    write_folder(place, {**files, "config.json": dump_json(fields)})
    return place


def test_settings_that_cannot_be_used_are_faults_of_a_whole_folder(plain: Path, tmp_path: Path) -> None:
    assert settings_faults(plain) == []
    wide = {"model": {"arch": "rnn", "width": 0}}
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"jumok": None}, "config.json is damaged: it holds no settings"),
        ({"jumok": wide}, "config.json cannot be used: model.width=0 cannot work: "),
        ({"jumok": {"model": {"arch": "x"}}}, "config.json cannot be used: "),
        ({"format_version": 2}, "config.json has format 2; this jumok reads formats up to 1"),
        ({"format_version": None}, "config.json is damaged: it has no format_version"),
    )
    for number, (more, fault) in enumerate(cases):
        folder = changed(plain, tmp_path / f"{number}", **more)
        assert verify_folder(folder) == []
        [said] = settings_faults(folder)
        assert said.startswith(fault)
        with pytest.raises(ModelError, match=re.escape(said)):
            read_contents(folder)
    foreign = changed(plain, tmp_path / "foreign", model_type="marian", jumok=None)
    assert settings_faults(foreign) == []  # nothing of ours


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"tokenizer_sha256": "ab" * 40}, "SHA-256 {}, the model expects " + "ab" * 32),
        ({"source_vocab_size": 5}, "300 source tokens, the model expects 5"),
        ({"target_vocab_size": "9" * 30}, "300 target tokens, the model expects " + "9" * 20),
        ({"shared_vocabulary": False}, "source_tokenizer.json is missing"),
        ({"shared_vocabulary": False, "source": "image"}, "source_images.json is missing"),
        ({"frame": "frame.json"}, "frame.json is missing"),
    ],
)
def test_tokenizers_of_another_model_are_refused(
    plain: Path, tmp_path: Path, more: dict[str, Any], reason: str
) -> None:
    size, mark = read_contents(plain).tokenizers.source.size, read_contents(plain).tokenizers.fingerprint
    with pytest.raises(TokenizerFileError) as caught:
        read_contents(changed(plain, tmp_path / "other", **more))
    reason = reason.replace("300 ", f"{size:,} ").format(mark)
    assert caught.value.message == f"the tokenizer is damaged or that of another model: {reason}"
    assert caught.value.code == "tokenizer_mismatch"
    assert caught.value.hint == (
        "put back the tokenizer that was saved with this model: with another one every word is wrong"
    )


def test_a_shortlist_is_read_if_it_is_there_and_its_certificate_says_so(plain: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_shortlist(read_contents(plain))
    assert str(caught.value) == (
        "tiny has no shortlist\n  make a folder with one: jumok export native -m MODEL -o FOLDER --shortlist"
    )
    contents = read_contents(plain)
    size = contents.tokenizers.target.size
    begin = np.zeros(contents.tokenizers.source.size + 1, np.int32)
    made = Shortlist(begin, np.zeros(0, np.int32), np.arange(260, dtype=np.int32), size)
    files = {path.name: path.read_bytes() for path in plain.iterdir() if path.name != "MANIFEST.json"}
    files[SHORTLIST] = dump_shortlist(made, contents.tokenizers)
    for name, proof in (("none", {}), ("failed", {CERTIFICATE: dump_json({"shortlist": {"passed": False}})})):
        write_folder(tmp_path / name, {**files, **proof})
        with pytest.raises(ModelError, match="no certificate says how well the model agrees with itself"):
            read_shortlist(read_contents(tmp_path / name))
    write_folder(tmp_path / "good", {**files, CERTIFICATE: dump_json({"shortlist": {"passed": True}})})
    found = read_shortlist(read_contents(tmp_path / "good"))
    assert found.always.tolist() == list(range(260))
    assert found.size == size
