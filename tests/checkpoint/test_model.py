"""A model comes back as it was saved, and nothing that is not whole comes back at all."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.checkpoint.card import model_files
from jumok.checkpoint.folder import write_folder
from jumok.checkpoint.manifest import MANIFEST, content_fingerprint
from jumok.checkpoint.model import pack, read_model, save_model, unpack
from jumok.config import LuongConfig, ModelConfig, RnnConfig, RunConfig, TextConfig, TransformerConfig
from jumok.errors import ModelError, RunError, TokenizerFileError
from jumok.models.build import build_model
from jumok.text.tokenizer import Tokenizer, Tokenizers, train_tokenizer

MODELS: list[ModelConfig] = [
    RnnConfig(width=8),
    LuongConfig(width=8, cell="lstm", layers=2),
    TransformerConfig(width=8, heads=2, feedforward=16, encoder_layers=1, decoder_layers=1),
    TransformerConfig(width=8, heads=2, feedforward=16, encoder_layers=1, decoder_layers=1, copy=True),
    TransformerConfig(
        width=8, heads=2, feedforward=16, encoder_layers=1, decoder_layers=1, positions="learned", tied=False
    ),
]
SMALL = RunConfig(model=RnnConfig(width=4))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["a b c d"] * 5, TextConfig(vocabulary=300))


@pytest.fixture(scope="module")
def other() -> Tokenizer:
    return train_tokenizer(["the cat sat on the mat"] * 5, TextConfig(vocabulary=300))


def state_of(config: RunConfig, both: Tokenizers) -> dict[str, torch.Tensor]:
    torch.manual_seed(5)
    model = build_model(config.model, both.source.size, both.target.size, shared=both.shared)
    return model.state_dict()


@pytest.fixture
def folder(tmp_path: Path, tokenizer: Tokenizer) -> Path:
    both = Tokenizers(tokenizer, tokenizer)
    return save_model(tmp_path / "m", state_of(SMALL, both), SMALL, both, {"step": 1, "score": 2.5})


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.arch)
@pytest.mark.parametrize("shared", [True, False])
def test_a_model_comes_back_bit_for_bit(
    tmp_path: Path, tokenizer: Tokenizer, other: Tokenizer, model: ModelConfig, *, shared: bool
) -> None:
    both, config = Tokenizers(tokenizer, tokenizer if shared else other), RunConfig(model=model)
    state = state_of(config, both)
    folder = save_model(tmp_path / "m", state, config, both, {"metric": "bleu"})
    before = torch.get_rng_state()
    loaded = read_model(folder)
    assert torch.equal(torch.get_rng_state(), before)  # loading draws no random numbers
    assert loaded.config == config
    assert loaded.tokenizers.fingerprint == both.fingerprint
    assert not loaded.model.training
    assert loaded.model.state_dict().keys() == state.keys()
    assert all(torch.equal(tensor, state[name]) for name, tensor in loaded.model.state_dict().items())
    assert loaded.info["metric"] == "bleu"
    assert loaded.info["parameters"] == sum(p.numel() for p in loaded.model.parameters())
    assert loaded.info["fingerprint"] == content_fingerprint(folder)


def test_people_may_edit_the_card_and_add_files(folder: Path) -> None:
    (folder / "README.md").write_text("# my model")
    (folder / "notes.txt").write_text("mine")
    assert read_model(folder).info["step"] == 1


@pytest.mark.parametrize(
    "name", ["model.safetensors", "config.json", "generation_config.json", "tokenizer_config.json"]
)
def test_a_flipped_bit_is_named(folder: Path, name: str) -> None:
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 3] ^= 4
    (folder / name).write_bytes(data)
    with pytest.raises(ModelError, match=f"{name} was changed: SHA-256 ") as caught:
        read_model(folder)
    assert caught.value.code == "damaged"
    assert "copy the folder again from where it was whole" in caught.value.hint


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer_config.json"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelError, match=f"{name} is missing"):
        read_model(folder)


def test_the_tokenizer_of_another_model_is_refused(folder: Path, other: Tokenizer) -> None:
    (folder / "tokenizer.json").write_bytes(other.to_bytes())
    with pytest.raises(
        TokenizerFileError, match="the tokenizer is damaged or that of another model"
    ) as caught:
        read_model(folder)
    assert caught.value.code == "tokenizer_mismatch"
    assert caught.value.hint.startswith("put back the tokenizer that was saved with this model")


Rebuild = Callable[..., Path]


@pytest.fixture
def rebuild(tmp_path: Path, tokenizer: Tokenizer) -> Rebuild:
    """A folder whose manifest is right and whose content is not: what a forger would make."""

    def make(change: Callable[[dict[str, Any]], None] = lambda fields: None, **files: bytes) -> Path:
        both = Tokenizers(tokenizer, tokenizer)
        contents = model_files(SMALL, both, {})
        fields = json.loads(contents["config.json"])
        change(fields)
        contents["config.json"] = json.dumps(fields).encode()
        contents["model.safetensors"] = pack(state_of(SMALL, both), "x")
        contents |= {name.replace("__", "."): data for name, data in files.items()}
        write_folder(tmp_path / "forged", contents)
        return tmp_path / "forged"

    return make


def test_a_tokenizer_that_the_manifest_knows_but_the_model_does_not(
    rebuild: Rebuild, tokenizer: Tokenizer, other: Tokenizer
) -> None:
    with pytest.raises(TokenizerFileError) as caught:
        read_model(rebuild(tokenizer__json=other.to_bytes()))
    assert caught.value.message == (
        "the tokenizer is damaged or that of another model: "
        f"SHA-256 {other.fingerprint}, the model expects {tokenizer.fingerprint}"
    )


def test_a_tokenizer_file_that_is_none(rebuild: Rebuild) -> None:
    with pytest.raises(TokenizerFileError, match="not a tokenizer of jumok"):
        read_model(rebuild(tokenizer__json=b"{}"))


def test_another_vocabulary_size_is_refused(rebuild: Rebuild, tokenizer: Tokenizer) -> None:
    with pytest.raises(TokenizerFileError, match=f"{tokenizer.size} target tokens, the model expects 8000"):
        read_model(rebuild(lambda fields: fields.update(target_vocab_size=8000)))


def test_weights_of_another_model_are_named(rebuild: Rebuild, tokenizer: Tokenizer) -> None:
    state = state_of(SMALL, Tokenizers(tokenizer, tokenizer))
    names = sorted(state)
    shape, kind = tuple(state[names[0]].shape), tuple(state[names[2]].shape)
    state[names[0]] = torch.ones(7)
    del state[names[1]]
    state[names[2]] = state[names[2]].long()
    state["extra.weight"] = torch.ones(1)
    with pytest.raises(ModelError) as caught:
        read_model(rebuild(model__safetensors=pack(state, "x")))
    message = caught.value.message
    assert message.startswith(f"the weights do not fit the model's settings: {names[1]} is missing; ")
    assert "extra.weight is unexpected" in message
    assert f"{names[0]} is float32 (7,), not float32 {shape}" in message
    assert f"{names[2]} is int64 {kind}, not float32 {kind}" in message
    assert caught.value.code == "wrong_weights"


def test_hostile_weights_are_refused(rebuild: Rebuild) -> None:
    with pytest.raises(ModelError, match="model.safetensors holds no readable tensors"):
        read_model(rebuild(model__safetensors=b"\xff" * 64))


def forged(**changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda fields: fields.update(changes)


def forged_model(**changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda fields: fields["jumok"]["model"].update(changes)


def forged_search(**changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda fields: fields["jumok"]["decoding"].update(changes)


TOO_LARGE = "the weights do not fit the model's settings: config.json needs more than the 2,392 numbers"
HOSTILE = {
    "another program's": (forged(model_type="marian"), "this is a model of type 'marian', not of jumok"),
    "no type": (forged(model_type=None), "this is a model of type 'None', not of jumok"),
    "newer": (forged(format_version=9), "config.json has format 9; this jumok reads formats up to 1"),
    "no version": (forged(format_version=None), "config.json is damaged: it has no format_version"),
    "no settings": (forged(jumok=None), "config.json is damaged: it holds no settings"),
    "model is a number": (forged(jumok={"model": 7}), "config.json cannot be used: "),
    "model is a list": (forged(jumok={"model": [[1, 2], [3, 4]]}), "config.json cannot be used: "),
    "unknown key": (forged_model(code="import os"), "config.json cannot be used: "),
    "unknown architecture": (forged_model(arch="os.system"), "config.json cannot be used: "),
    "text for a number": (forged_model(width="wide"), "config.json cannot be used: "),
    "negative width": (forged_model(width=-4), "config.json cannot be used: "),
    "large width": (forged_model(width=65_536), TOO_LARGE),
    "many layers": (forged_model(layers=1_024), TOO_LARGE),
    "some layers": (forged_model(layers=100), TOO_LARGE),
    "huge width": (forged_model(width=10**7), "model.width=10000000 cannot work: choose 65,536 or less"),
    "endless width": (forged_model(width=10**4000), "model.width=… cannot work: choose 65,536 or less"),
    "endless layers": (forged_model(layers=10**9), "model.layers=1000000000 cannot work: choose 1,024"),
    "huge beam": (forged_search(beam=10**9), "decoding.beam=1000000000 cannot work: choose 4,096 or less"),
    "endless answers": (forged_search(max_len=10**12), "decoding.max_len=1000000000000 cannot work: choose"),
    "one batch": (forged_search(batch_tokens=10**15), "decoding.batch_tokens=1000000000000000 cannot work"),
}


@pytest.mark.parametrize(("change", "message"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_settings_are_refused_before_memory_is_asked_for(
    rebuild: Rebuild, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    folder = rebuild(change)
    with pytest.raises(ModelError) as caught:
        read_model(folder)
    assert message in caught.value.message
    assert caught.value.where in (str(folder / "config.json"), str(folder / "model.safetensors"))


def test_the_manifest_is_needed(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    with pytest.raises(ModelError, match="MANIFEST.json is missing"):
        read_model(folder)


DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
]
WHERE = Path("model.safetensors")


def random_tensor(shape: list[int], dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
    return torch.randint(0, 2, shape, generator=generator).to(dtype)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 4), max_size=4),
            st.sampled_from(DTYPES),
            st.integers(0, 2**30),
            st.booleans(),
        ),
        max_size=5,
    )
)
def test_round_trip_is_bit_for_bit(plan: list[tuple[list[int], torch.dtype, int, bool]]) -> None:
    tensors = {}
    for i, (shape, dtype, seed, turned) in enumerate(plan):
        tensor = random_tensor(shape, dtype, seed)
        tensors[f"layer.{i}"] = tensor.mT if turned and tensor.dim() >= 2 else tensor
    back = unpack(pack(tensors, "x"), WHERE)
    assert back.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert back[name].dtype == tensor.dtype
        assert back[name].shape == tensor.shape
        assert torch.equal(
            back[name].contiguous().view(-1).view(torch.uint8) if tensor.numel() else back[name],
            tensor.contiguous().view(-1).view(torch.uint8) if tensor.numel() else tensor,
        )


def test_the_same_tensors_give_the_same_bytes() -> None:
    tensors = {"b": torch.ones(3), "a": torch.zeros(2, 2)}
    assert pack(tensors, "x") == pack(dict(reversed(tensors.items())), "x")


def test_tied_weights_and_views_are_each_written() -> None:
    weight = torch.nn.Parameter(torch.randn(4, 3))
    tensors = {"a": weight, "b": weight, "part": weight[1:3], "turned": weight.T}
    back = unpack(pack(tensors, "x"), WHERE)
    assert all(torch.equal(back[name], tensor) for name, tensor in tensors.items())


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_no_file_holds_a_number_that_is_not_finite(bad: float, dtype: torch.dtype) -> None:
    with pytest.raises(RunError) as caught:
        pack({"good": torch.ones(2), "decoder.weight": torch.tensor([1.0, bad, bad]).to(dtype)}, "model")
    assert str(caught.value) == (
        "2 of 3 numbers are not finite\n  model: decoder.weight\n"
        "  nothing was saved; the checkpoint before this one is still good"
    )
    assert caught.value.code == "non_finite"


def with_header(header: object, data: bytes = b"", claimed: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if claimed is None else claimed) + text + data


def entry(dtype: object = "F32", shape: object = (1,), offsets: object = (0, 4)) -> dict[str, object]:
    return {"w": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


HOSTILE_FILES = {
    "nothing": b"",
    "half a length": b"\0" * 7,
    "empty header": b"\0" * 8,
    "huge header": struct.pack("<Q", 2**63) + b"{}",
    "header of 200 MB": struct.pack("<Q", 200 * 2**20) + b"{}",
    "header past the end": with_header({}, claimed=100),
    "no JSON": with_header(b"garbage!"),
    "no UTF-8": with_header(b"\xff\xfe{}"),
    "a list": with_header([1, 2]),
    "deep": with_header(b'{"a":' * 50_000),
    "offsets past the end": with_header(entry(offsets=(0, 400)), b"1234"),
    "offsets backwards": with_header(entry(offsets=(4, 0)), b"1234"),
    "negative offsets": with_header(entry(offsets=(-4, 0)), b"1234"),
    "huge offsets": with_header(entry(offsets=(0, 2**64 - 1)), b"1234"),
    "shape larger than data": with_header(entry(shape=(1000,)), b"1234"),
    "shape that overflows": with_header(entry(shape=(2**63, 2**63, 4)), b"1234"),
    "negative shape": with_header(entry(shape=(-1,)), b"1234"),
    "unknown dtype": with_header(entry(dtype="PICKLE"), b"1234"),
    "odd dtype": with_header(entry(dtype="C64", shape=(1,)), b"1234"),
    "tiny dtype": with_header(entry(dtype="F4", shape=(8,)), b"1234"),
    "dtype no string": with_header(entry(dtype=7), b"1234"),
    "missing keys": with_header({"w": {}}, b"1234"),
    "overlap": with_header(
        {
            "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
            "b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
        },
        b"1234",
    ),
    "hole": with_header(entry(offsets=(4, 8)), b"12345678"),
    "bytes left over": with_header(entry(), b"12345678"),
    "pickle": b"\x80\x04\x95" + b"cposix\nsystem\n" * 10,
    "zip": b"PK\x03\x04" + bytes(100),
}


@pytest.mark.parametrize("data", HOSTILE_FILES.values(), ids=HOSTILE_FILES.keys())
def test_hostile_files_are_refused(data: bytes) -> None:
    with pytest.raises(ModelError, match="model.safetensors holds no readable tensors: ") as caught:
        unpack(data, WHERE)
    assert caught.value.code == "damaged"
    assert "copy the folder again" in caught.value.hint


@settings(deadline=None)
@given(st.data())
def test_damaged_bytes_are_tensors_or_an_error(data: st.DataObject) -> None:
    good = bytearray(pack({"a": torch.ones(2, 3), "b": torch.arange(5)}, "x"))
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(good[: data.draw(st.integers(0, len(good)))])
    try:
        result: object = unpack(cut, WHERE)
    except ModelError as error:
        result = error.code
    assert isinstance(result, dict) or result == "damaged"
