import ctypes
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.decoding.conftest import COPYING, TINY, untrained

from jumok.checkpoint.model import save_model
from jumok.decoding import opening
from jumok.decoding.engines import NativeEngine
from jumok.decoding.opening import (
    ENGINES,
    NotNative,
    check_device,
    check_engine,
    gpu_seen,
    open_best,
    open_engine,
    open_torch,
)
from jumok.decoding.torch_engine import TorchEngine
from jumok.decoding.translator import Translator, load
from jumok.errors import ConfigError, ModelError
from jumok.native.library import LEVEL, PATH, available, library

needs_library = pytest.mark.skipif(not available(), reason="the C library was not built")


def test_names_are_checked() -> None:
    assert [check_engine(name) for name in ENGINES] == list(ENGINES)
    with pytest.raises(ConfigError, match="there is no engine 'nativ'\n  did you mean 'native'?"):
        check_engine("nativ")
    with pytest.raises(ConfigError, match="jumok does not run CTranslate2\n  choose native on a CPU"):
        check_engine("ctranslate2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model in a folder; not to be changed."""
    loaded = untrained(TINY["transformer"])
    place = tmp_path_factory.mktemp("opening") / "tiny"
    return save_model(place, loaded.model.state_dict(), loaded.config, loaded.tokenizers, {"step": 3})


@needs_library
def test_auto_on_a_cpu_is_native(folder: Path) -> None:
    notes: list[str] = []
    engine = open_engine(folder, "cpu", note=notes.append)
    assert isinstance(engine, NativeEngine)
    assert not engine.strict
    assert open_engine(folder, "cpu", "native").strict
    assert notes == []
    assert load(folder, "cpu").engine == {"name": "native", "type": "float32", "level": library().level}
    whole = load(folder, "cpu", engine="torch").info
    assert {**load(folder, "cpu").info, "engine": None} == {**whole, "engine": None}


def test_torch_if_it_is_asked_for(folder: Path) -> None:
    torch.backends.cuda.enable_cudnn_sdp(enabled=True)
    engine = open_engine(folder, "cpu", "torch")
    assert not torch.backends.cuda.cudnn_sdp_enabled()  # type: ignore[no-untyped-call]  # it plans anew for every step
    assert isinstance(engine, TorchEngine)
    assert engine.to_torch() is engine
    assert load(folder, "cpu", engine="torch").engine == {"name": "torch", "type": "float32", "level": "cpu"}


def test_without_a_library_torch_is_used_and_a_line_says_why(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PATH, "/no/such.so")
    notes: list[str] = []
    assert open_engine(folder, "cpu", note=notes.append).name == "torch"
    assert notes == [f"torch is used, not the native engine: {PATH}=/no/such.so is no file"]
    with pytest.raises(ConfigError, match="the native engine is not there: JUMOK_NATIVE_LIBRARY"):
        open_engine(folder, "cpu", "native")


@needs_library
def test_a_cpu_without_avx2_gets_a_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, usual = library(), library().level
    notes: list[str] = []
    try:
        found.use("portable")
        engine = open_engine(folder, "cpu", note=notes.append)
    finally:
        found.use(usual)
    assert isinstance(engine, NativeEngine)
    assert notes == ["this CPU has no AVX2: the native engine runs its portable code, which is slower"]
    monkeypatch.setenv(LEVEL, "portable")
    open_engine(folder, "cpu", note=notes.append)
    assert len(notes) == 1  # who forces a level knows it


@needs_library
def test_an_architecture_that_the_engine_does_not_have(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ModelError("the native engine cannot run this model: no such layer")

    monkeypatch.setattr("jumok.decoding.opening.NativeModel", refuse)
    notes: list[str] = []
    assert open_engine(folder, "cpu", note=notes.append).name == "torch"
    assert notes == ["torch is used: the native engine cannot run this model: no such layer"]
    with pytest.raises(ConfigError, match="cannot run this model: no such layer\n  choose --engine torch"):
        open_engine(folder, "cpu", "native")


@needs_library
def test_a_model_that_copies_is_torchs(tmp_path: Path) -> None:
    """Under auto without a word, for that is known from the start."""
    loaded, texts = untrained(COPYING), ["a man", "the dog sees two men!", "나는 영화를"]
    place = save_model(
        tmp_path / "copies", loaded.model.state_dict(), loaded.config, loaded.tokenizers, {"step": 3}
    )
    notes: list[str] = []
    assert open_engine(place, "cpu", note=notes.append).name == "torch"
    assert notes == []
    with pytest.raises(ConfigError) as caught:
        open_engine(place, "cpu", "native")
    assert str(caught.value) == (
        "the native engine has no model that copies (model.copy=true)\n  choose --engine auto or torch"
    )
    assert caught.value.code == "engine_lacks"
    again = load(place, "cpu")
    assert again.config.model == COPYING
    assert again.translate(texts, beam=3, n_best=2) == Translator(loaded).translate(texts, beam=3, n_best=2)


@needs_library
def test_weights_that_are_no_numbers_are_named(tmp_path: Path) -> None:
    loaded = untrained(TINY["rnn"])
    place = save_model(
        tmp_path / "bad", loaded.model.state_dict(), loaded.config, loaded.tokenizers, {"step": 3}
    )
    spoil(place, "decoder.weight_hh_l0")
    for engine in ("auto", "native"):
        with pytest.raises(ModelError, match="decoder.weight_hh_l0: 1 of 768 numbers are not finite"):
            open_engine(place, "cpu", engine)


def spoil(folder: Path, name: str) -> None:
    """Make one number of a tensor NaN, behind the back of `save_model`, which would refuse it."""
    from safetensors.numpy import load_file, save

    from jumok.checkpoint.folder import write_folder

    tensors = load_file(folder / "model.safetensors")
    tensors[name].flat[0] = np.nan
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "MANIFEST.json"}
    write_folder(folder, {**files, "model.safetensors": save(tensors)})


def test_devices_and_engines_that_do_not_go_together(folder: Path) -> None:
    if available():
        with pytest.raises(ConfigError, match="the native engine computes on a CPU, not on 'cuda'"):
            open_engine(folder, "cuda", "native")
    with pytest.raises(ConfigError, match="jumok does not run CTranslate2\n  choose native on a CPU"):
        open_engine(folder, "cpu", "ctranslate2")
    with pytest.raises(ConfigError, match="there is no engine 'tpu'"):
        open_engine(folder, engine="tpu")
    with pytest.raises(ConfigError, match="device 'abacus' is not available"):
        open_engine(folder, "abacus")


class Machine:
    """What there is on some machine, and what was opened on it."""

    def __init__(self, patch: pytest.MonkeyPatch, *, torch: bool, gpu: bool, library: bool = True) -> None:
        self.notes, self.refusal = list[str](), ""
        patch.setattr(opening, "has_torch", lambda: torch)
        patch.setattr(opening, "gpu_seen", lambda: gpu)
        patch.setattr(opening, "available", lambda: library)
        patch.setattr(opening, "why_not", lambda: "no compiler")
        patch.setattr(opening, "check_device", lambda name: name or ("cuda" if gpu else "cpu"))
        patch.setattr(opening, "open_torch", lambda path, device: f"torch on {device}")
        patch.setattr(opening, "open_native", self.open_native)

    def open_native(self, path: str, note: Callable[[str], None]) -> str:
        if not self.refusal:
            return "native"
        error = NotNative("the native engine has none")
        error.what = self.refusal.strip()
        raise error

    def open(self, device: str | None = None) -> object:
        return open_best("folder", device, self.notes.append)


@pytest.mark.parametrize(
    ("torch", "gpu", "device", "opened"),
    [
        (False, False, None, "native"),
        (True, False, None, "native"),
        (False, True, None, "native"),
        (True, True, None, "torch on None"),
        (True, True, "cpu", "native"),
        (True, True, "cpu:0", "native"),
        (True, True, "cuda:1", "torch on cuda:1"),
    ],
)
def test_the_best_engine_is_torch_where_torch_has_a_gpu(
    monkeypatch: pytest.MonkeyPatch, *, torch: bool, gpu: bool, device: str | None, opened: str
) -> None:
    machine = Machine(monkeypatch, torch=torch, gpu=gpu)
    assert (machine.open(device), machine.notes) == (opened, [])


def test_without_a_library_and_without_torch_nothing_can_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, torch=True, gpu=False, library=False)
    assert machine.open() == "torch on cpu"
    assert machine.notes == ["torch is used, not the native engine: no compiler"]
    with pytest.raises(ConfigError) as caught:
        Machine(monkeypatch, torch=False, gpu=False, library=False).open()
    assert str(caught.value) == (
        "no engine can run a model: native is not available here (no compiler), and torch is not there\n  "
        "install the wheel for this machine, or build with a C compiler, or pip install 'jumok[train]'"
    )
    assert caught.value.code == "no_engine"


@pytest.mark.parametrize(
    ("refusal", "notes", "needs"),
    [
        (" ", ["torch is used: the native engine has none"], "folder needs PyTorch"),
        ("a model that copies", [], "a model that copies needs PyTorch"),
    ],
)
def test_what_the_native_engine_has_not_is_torchs(
    monkeypatch: pytest.MonkeyPatch, refusal: str, notes: list[str], needs: str
) -> None:
    machine = Machine(monkeypatch, torch=True, gpu=False)
    machine.refusal = refusal
    assert (machine.open(), machine.notes) == ("torch on cpu", notes)
    machine = Machine(monkeypatch, torch=False, gpu=False)
    machine.refusal = refusal
    with pytest.raises(ConfigError, match=f"^{needs}\n"):
        machine.open()


def test_devices_need_torch_but_for_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list[tuple[str | None, str]]()
    for cuda, names in ((False, (None, "cpu:0")), (True, (None, "cuda:1", "cpu"))):
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        found += [(name, check_device(name)) for name in names]
        with pytest.raises(ConfigError, match="device 'abacus' is not available") as caught:
            check_device("abacus")
        assert caught.value.hint == ("choose cpu or cuda" if cuda else "this machine has: cpu")
    assert found == [(None, "cpu"), ("cpu:0", "cpu:0"), (None, "cuda"), ("cuda:1", "cuda:1"), ("cpu", "cpu")]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="device 'cuda' is not available"):
        check_device("cuda")
    monkeypatch.setattr(opening, "has_torch", lambda: False)
    assert check_device("cpu") == "cpu"
    with pytest.raises(ConfigError, match="device 'cuda' needs PyTorch"):
        check_device("cuda")
    with pytest.raises(ConfigError, match="the torch engine needs PyTorch"):
        open_torch("folder", "cpu")


@pytest.mark.parametrize(
    ("init", "asked", "count", "seen"),
    [(0, 0, 1, True), (0, 0, 0, False), (0, 0, None, False), (0, 3, 1, False), (100, 0, 1, False)],
)
@pytest.mark.parametrize(("platform", "library"), [("linux", "libcuda.so.1"), ("win32", "nvcuda.dll")])
def test_the_driver_counts_the_gpus(
    monkeypatch: pytest.MonkeyPatch,
    *,
    init: int,
    asked: int,
    count: int | None,
    seen: bool,
    platform: str,
    library: str,
) -> None:
    class Driver:
        def __init__(self, name: str) -> None:
            assert name == library

        def cuInit(self, flags: int) -> int:  # noqa: N802  as the driver calls it
            return init or flags

        def cuDeviceGetCount(self, found: object) -> int:  # noqa: N802
            if count is not None:
                found._obj.value = count  # type: ignore[attr-defined]
            return asked

    monkeypatch.setattr(ctypes, "CDLL", Driver)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "exists", lambda path: False)
    assert gpu_seen.__wrapped__() is seen


def test_a_machine_without_a_driver_has_no_gpu_unless_it_is_amds(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    for there in (False, True):
        monkeypatch.setattr(Path, "exists", lambda path, there=there: there and path == Path("/dev/kfd"))
        assert gpu_seen.__wrapped__() is there


def test_a_gpu_is_seen_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    class Driver:
        def __init__(self, _: str) -> None:
            self.cuInit = lambda flags: 0
            self.cuDeviceGetCount = lambda count: setattr(count._obj, "value", 2) or 0

    gpu_seen.cache_clear()
    assert gpu_seen() or not torch.cuda.is_available()
    gpu_seen.cache_clear()
    with monkeypatch.context() as changed:
        changed.setattr(ctypes, "CDLL", Driver)
        assert gpu_seen()
    gpu_seen.cache_clear()
