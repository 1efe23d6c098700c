"""Opening a model folder in the engine that will run it; torch is imported only if it is that engine.

`docs/engines.md` says which engine is chosen when.
"""

import ctypes
import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from jumok.checkpoint.contents import WEIGHTS, Contents, read_arrays, read_contents, read_parts
from jumok.checkpoint.manifest import first_whole
from jumok.config import copies
from jumok.decoding.engines import Engine, NativeEngine, cannot
from jumok.errors import ConfigError, ModelError, has_torch, nearest, needs_torch
from jumok.native.library import available, level_forced, library, why_not
from jumok.native.model import NativeModel
from jumok.native.weights import PackedWeights, pack_weights, parameter_count

if TYPE_CHECKING:
    from jumok.decoding.torch_engine import TorchEngine

EngineName = Literal["auto", "native", "torch"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)

Note = Callable[[str], None]
"""Takes one line that a user should see."""
log = logging.getLogger("jumok")


def check_engine(name: str) -> EngineName:
    """The name, if it is one."""
    for known in ENGINES:
        if name == known:
            return known
    if name == "ctranslate2":
        hint = "choose native on a CPU; jumok export ctranslate2 writes folders for CTranslate2 itself"
        raise ConfigError("jumok does not run CTranslate2", hint=hint)
    raise ConfigError(f"there is no engine {name!r}", hint=nearest(name, ENGINES))


def open_engine(
    path: str | Path, device: str | None = None, engine: str = "auto", note: Note = log.info
) -> Engine:
    """The model of a run, a checkpoint or a model folder in the engine of this name.

    auto: native on a CPU if the library is there and has the architecture, else torch; `note` hears why.
    """
    match check_engine(engine):
        case "torch":
            return open_torch(path, device)
        case "native":
            if device is not None and device.split(":")[0] != "cpu":
                raise ConfigError(
                    f"the native engine computes on a CPU, not on {device!r}", hint="choose --engine torch"
                )
            library()  # says what is missing
            return open_native(path, note, strict=True)
        case "auto":
            return open_best(path, device, note)


def open_best(path: str | Path, device: str | None, note: Note) -> Engine:
    """The fastest engine that has the model."""
    free = device is None and not (has_torch() and gpu_seen())
    kind = "cpu" if free else check_device(device).split(":")[0]
    if kind != "cpu":
        return open_torch(path, device)
    if not available():
        if not has_torch():
            raise no_engine()
        note(f"torch is used, not the native engine: {why_not()}")
        return open_torch(path, "cpu")
    try:
        return open_native(path, note)
    except NotNative as reason:
        if not has_torch():
            raise needs_torch(reason.what or str(path)) from None
        if not reason.what:
            note(f"torch is used: {reason.message}")
        return open_torch(path, "cpu")


def no_engine() -> ConfigError:
    """The error for an install that cannot compute: no C library, and no torch in its place."""
    return ConfigError(
        f"no engine can run a model: native is not available here ({why_not()}), and torch is not there",
        hint="install the wheel for this machine, or build with a C compiler, or pip install 'jumok[train]'",
        code="no_engine",
    )


def open_torch(path: str | Path, device: str | None) -> "TorchEngine":
    """The model on a device that this machine has."""
    if not has_torch():
        raise needs_torch("the torch engine")
    import torch

    from jumok.checkpoint.checkpoints import load_model
    from jumok.decoding.torch_engine import TorchEngine

    # cuDNN's attention makes a plan for each new shape, 0.4 s each, and every step has another.
    torch.backends.cuda.enable_cudnn_sdp(enabled=False)
    loaded = load_model(path, check_device(device))
    return TorchEngine(loaded.model, loaded)


class NotNative(ConfigError):  # noqa: N818  under auto it is no error
    """The native engine does not have this model; `what` it lacks, where that is known from the start."""

    what = ""


def open_native(path: str | Path, note: Note, *, strict: bool = False) -> NativeEngine:
    """The model in the C library; NotNative if it does not have its architecture."""
    contents, parts = first_whole(path, read_packed)
    if lack := lacking(contents):
        reason = cannot("native", lack)
        error = NotNative(reason.message, hint="choose --engine auto or torch", code=reason.code)
        error.what = f"a {lack}"
        raise error
    config, sizes = contents.config.model, (contents.tokenizers.source.size, contents.tokenizers.target.size)
    try:
        model = NativeModel(config, parts, str(contents.folder))
    except ModelError as error:
        raise NotNative(
            error.message, where=error.where, hint="choose --engine torch", code="engine_lacks"
        ) from None
    if model.level == "portable" and not level_forced():
        note("this CPU has no AVX2: the native engine runs its portable code, which is slower")
    count = parameter_count(config, *sizes, shared=contents.tokenizers.shared)
    contents = replace(contents, info={**contents.info, "parameters": count})
    return NativeEngine(model, contents, strict=strict)


def lacking(contents: Contents) -> str:
    """What the model has and the C library does not; "" if there is nothing."""
    if contents.tokenizers.pictures is not None:
        return "model that reads pictures"
    config = contents.config.model
    if copies(config):
        return "model that copies (model.copy=true)"
    return "" if config.is_native else f"model of the architecture {config.arch}"


def read_packed(folder: Path) -> tuple[Contents, Mapping[str, PackedWeights]]:
    """A folder with its weights packed: those of an int8 folder as they are, others in float32."""
    contents = read_contents(folder)
    if lacking(contents):
        return contents, {}
    if contents.quantised:
        return contents, read_parts(contents)
    shared, where = contents.tokenizers.shared, str(folder / WEIGHTS)
    sizes = (contents.tokenizers.source.size, contents.tokenizers.target.size)
    arrays = read_arrays(contents)
    return contents, pack_weights(contents.config.model, arrays, shared=shared, sizes=sizes, where=where)


def check_device(name: str | None) -> str:
    """The named device, if this machine has it."""
    if name is not None and name.split(":")[0] == "cpu":
        return name
    if not has_torch():
        raise needs_torch(f"device {name!r}")
    import torch

    cuda = torch.cuda.is_available()
    if name is None:
        return "cuda" if cuda else "cpu"
    if name.split(":")[0] == "cuda" and cuda:
        return name
    raise ConfigError(
        f"device {name!r} is not available", hint="choose cpu or cuda" if cuda else "this machine has: cpu"
    )


@lru_cache(maxsize=1)
def gpu_seen() -> bool:
    """Whether there may be a GPU that torch can use, found out without torch: its driver counts them."""
    if Path("/dev/kfd").exists():
        return True
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        count = ctypes.c_int(0)
        return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    except (OSError, AttributeError):
        return False
