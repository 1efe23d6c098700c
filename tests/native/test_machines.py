"""The C library on other machines: built by zig, run by an emulator, and held to the numbers found here."""

import importlib.util
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.native.making import CONFIGS, VOCABULARY, make

from jumok.native.build import ALWAYS, STRICT, BuildError, compiled
from jumok.native.library import LEVELS, available, library
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.structs import c_config
from jumok.native.weights import PackedWeights, pack_weights

ROOT = Path(__file__).parents[2]
SOURCE = [260, 265, 271, 262]
BEAM, LIMIT = 3, 12  # as in c_smoke.c
EMULATORS = {"manylinux2014_aarch64": "qemu-aarch64", "win_amd64": "wine"}

wheels_file = importlib.util.spec_from_file_location("wheels", ROOT / "scripts" / "wheels.py")
assert wheels_file is not None
assert wheels_file.loader is not None
wheels = importlib.util.module_from_spec(wheels_file)
sys.modules["wheels"] = wheels
wheels_file.loader.exec_module(wheels)


def counted(data: bytes) -> bytes:
    return struct.pack("<i", len(data)) + data


def dumped(model: NativeModel, parts: dict[str, PackedWeights], config: bytes) -> bytes:
    """A model and a source as c_smoke.c reads them."""
    data = config + struct.pack("<i", len(parts))
    for name, part in parts.items():
        data += counted(name.encode()) + struct.pack("<iii", part.scale is not None, part.rows, part.columns)
        data += b"".join(
            b"\0\0\0\0" if one is None else counted(one.tobytes())
            for one in (part.data, part.scale, part.bias)
        )
    ids = [*SOURCE, 2]
    return data + struct.pack(f"<i{len(ids)}i", len(ids), *ids)


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which wine keeps to a folder of its own, opens no window and fetches nothing."""
    own = {"WINEPREFIX": str(tmp_path_factory.mktemp("wine")), "WINEDEBUG": "-all", "DISPLAY": ""}
    return {**os.environ, **own, "WINEDLLOVERRIDES": "mscoree,mshtml="}


def begins(emulator: str, surroundings: dict[str, str]) -> bool:
    """Whether wine can set itself up here; an emulator of a processor has nothing to set up."""
    if "wine" not in emulator:
        return True
    try:
        done = subprocess.run(
            ["wineboot", "-i"], env=surroundings, capture_output=True, check=False, timeout=300
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


@pytest.fixture(scope="module", params=EMULATORS)
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, surroundings: dict[str, str]
) -> list[str]:
    """The command that runs c_smoke.c on another machine."""
    emulator = shutil.which(EMULATORS[request.param])
    if emulator is None:
        pytest.skip(f"{EMULATORS[request.param]} is not installed")
    try:
        wheels.zig()
    except BuildError as error:
        pytest.skip(str(error))
    if not begins(emulator, surroundings):
        pytest.skip(f"{EMULATORS[request.param]} does not start here")
    [one] = [one for one in wheels.PLATFORMS if one.tag == request.param]
    if one.system == "linux":  # musl: one static program, for there is no system of that machine here
        [one] = [musl for musl in wheels.PLATFORMS if musl.tag == f"musllinux_1_2_{one.machine}"]
    target, folder = wheels.target_of(one), tmp_path_factory.mktemp("machine")
    flags = [*ALWAYS, *STRICT, '-DJM_SOURCE="test"', f"-I{ROOT / 'src/jumok/native/c'}"]
    objects = compiled(folder, target, flags)
    whole = folder / "smoke.exe"
    smoke = str(Path(__file__).with_name("c_smoke.c"))
    done = subprocess.run(
        [*target.command, *flags, smoke, *objects, "-o", str(whole), "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [emulator, str(whole)]


def lines_of(output: str) -> dict[int, list[tuple[int, list[int], list[float]]]]:
    """What each level found: whether it ended, tokens and log-probabilities of each answer."""
    found: dict[int, list[tuple[int, list[int], list[float]]]] = {}
    for line in output.splitlines():
        level, finished, *rest = line.split()
        pairs = [one.split(":") for one in rest]
        found.setdefault(int(level), []).append(
            (int(finished), [int(token) for token, _ in pairs], [float(number) for _, number in pairs])
        )
    return found


def expected(model: NativeModel) -> Sequence[tuple[int, list[int], list[float]]]:
    [answers] = model.search([SOURCE], [LIMIT], SearchOptions(beam=BEAM, n_best=BEAM, keep=BEAM))
    ends = {True: [2], False: []}
    return [(int(one.finished), [*one.ids, *ends[one.finished]], list(one.log_probs)) for one in answers]


@pytest.mark.slow
@pytest.mark.skipif(not available(), reason="the C library was not built")
@pytest.mark.parametrize("kind", ["float32", "int8"])
@pytest.mark.parametrize("name", ["transformer", "luong"])
def test_another_machine_finds_the_same(
    program: list[str], surroundings: dict[str, str], tmp_path: Path, name: str, kind: str
) -> None:
    config = CONFIGS[name]
    _, arrays = make(config)
    parts = pack_weights(config, arrays, shared=True, type=kind)  # type: ignore[arg-type]
    model = NativeModel(config, parts)
    before = library().level
    library().use("portable")
    try:
        wanted = expected(model)
    finally:
        library().use(before)
    shape = bytes(c_config(config, VOCABULARY, VOCABULARY))
    (tmp_path / "model").write_bytes(dumped(model, dict(parts), shape))
    command = [*program, str(tmp_path / "model")]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    found = lines_of(done.stdout)
    other = "neon" if "qemu" in program[0] else "portable"
    assert {LEVELS.index("portable"), LEVELS.index(other)} <= found.keys()
    for level, answers in found.items():
        assert len(answers) == 2 * len(wanted)  # with one thread, and with three
        for (ended, tokens, numbers), (end, ids, log_probs) in zip(answers, [*wanted, *wanted], strict=True):
            assert (ended, tokens) == (end, ids), LEVELS[level]
            assert numbers == pytest.approx(log_probs, abs=2e-4)
