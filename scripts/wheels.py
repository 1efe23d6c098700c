"""Builds the wheels that need no compiler, all on one machine: zig compiles the C library for every other.

    pip install --group wheels                # ziglang, by pip 25.1 or newer, in an environment of your own
    python scripts/wheels.py --out dist       # for this machine
    python scripts/wheels.py --all --out dist # for all of them

Each is the same pure wheel with one library put in. The library is read again before that: its machine, its
functions, and that it needs nothing but what every such system has. Equal inputs give equal bytes.
"""

import argparse
import base64
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "src")]

from binaries import Binary, read_binary  # noqa: E402

from jumok.native.build import ENDINGS, BuildError, BuildTarget, build  # noqa: E402
from jumok.native.library import FUNCTIONS  # noqa: E402

PURE = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
MOMENT = (2020, 2, 2, 0, 0, 0)  # of every entry that we write, as hatchling's
ARMS, ARM = ("aarch64", "arm64"), {"neon": ["-mcpu=generic+v8_2a+dotprod"]}  # as zig spells it
GLIBC = frozenset({"libc.so.6", "libm.so.6", "libpthread.so.0"})
WINDOWS = re.compile(r"(api-ms-win-crt-[a-z0-9-]+|kernel32|ntdll|ucrtbase|msvcrt)\.dll")


@dataclass(frozen=True)
class Platform:
    """A machine that wheels are for."""

    tag: str
    zig: str
    """What zig calls it."""
    machine: str
    system: str
    oldest: str = ""
    """The oldest system that the tag promises to run on."""


PLATFORMS = [
    Platform("manylinux2014_x86_64", "x86_64-linux-gnu.2.17", "x86_64", "linux", "2.17"),
    Platform("manylinux2014_aarch64", "aarch64-linux-gnu.2.17", "aarch64", "linux", "2.17"),
    Platform("musllinux_1_2_x86_64", "x86_64-linux-musl", "x86_64", "linux"),
    Platform("musllinux_1_2_aarch64", "aarch64-linux-musl", "aarch64", "linux"),
    Platform("macosx_11_0_arm64", "aarch64-macos.11.0", "arm64", "darwin", "11.0"),
    Platform("macosx_11_0_x86_64", "x86_64-macos.11.0", "x86_64", "darwin", "11.0"),
    Platform("win_amd64", "x86_64-windows-gnu", "amd64", "win32"),
]


def zig() -> list[str]:
    """zig as a command: the program, or that of the package ziglang; a BuildError if there is none."""
    if found := os.environ.get("JUMOK_ZIG") or shutil.which("zig"):
        return found.split()
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang"]
    raise BuildError("there is no zig: pip install --group wheels, in an environment of your own")


def target_of(one: Platform) -> BuildTarget:
    """How the library is built for a machine."""
    linking = ["-s"]
    if one.system == "darwin":  # without a path of this machine in it
        linking.append("-Wl,-install_name,@rpath/libjumok.dylib")
    command = [*zig(), "cc", "-target", one.zig]
    return BuildTarget(command, one.machine, one.system, linking, ARM if one.machine in ARMS else None)


def faults_of(found: Binary, one: Platform) -> list[str]:
    """Why a library does not belong into the wheel of a machine."""
    formats = {"linux": "ELF", "darwin": "Mach-O", "win32": "PE"}
    faults = []
    if (found.format, found.machine) != (formats[one.system], one.machine):
        faults.append(f"it is {found.format} for {found.machine}")
    if missing := sorted(FUNCTIONS.keys() - found.functions):
        faults.append(f"it lacks {', '.join(missing)}")
    if strange := sorted(name for name in found.needs if not is_usual(name, one)):
        faults.append(f"it needs {', '.join(strange)}, which not every such system has")
    if one.oldest and found.oldest and version(found.oldest) > version(one.oldest):
        faults.append(f"it needs version {found.oldest}, and the tag says {one.oldest}")
    return faults


def is_usual(name: str, one: Platform) -> bool:
    """Whether every system of this kind has the library."""
    if one.system == "win32":
        return WINDOWS.fullmatch(name) is not None
    if one.system == "darwin":
        return name == "/usr/lib/libSystem.B.dylib"
    return name in GLIBC if "manylinux" in one.tag else name.startswith("libc.")


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def checked_library(one: Platform, folder: Path) -> Path:
    """The library for a machine, built and read again; a BuildError says what is wrong with it."""
    path = build(folder / f"libjumok.{ENDINGS.get(one.system, 'so')}", target=target_of(one))
    for fault in faults_of(read_binary(path), one):
        raise BuildError(f"the library for {one.tag} is wrong: {fault}")
    return path


def pure_wheel(folder: Path) -> Path:
    """The wheel without a library."""
    environment = os.environ | {"JUMOK_NO_NATIVE": "1"}
    subprocess.run([sys.executable, "-c", PURE, str(folder)], cwd=ROOT, env=environment, check=True)
    [found] = folder.glob("*-py3-none-any.whl")
    return found


def with_library(pure: Path, library: Path, tag: str, out: Path) -> Path:
    """The same wheel with a library in it, for the machines of a tag."""
    target = out / pure.name.replace("-any.whl", f"-{tag}.whl")
    with zipfile.ZipFile(pure) as old:
        entries = {info: old.read(info) for info in old.infolist()}
    record = next(info for info in entries if info.filename.endswith(".dist-info/RECORD"))
    wheel = next(info for info in entries if info.filename.endswith(".dist-info/WHEEL"))
    lines = entries.pop(record).decode().splitlines()
    tags = "".join(f"Tag: py3-none-{one}\n" for one in tag.split("."))
    about = entries[wheel].decode().replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
    entries[wheel] = re.sub(r"Tag: .*\n", tags, about, count=1).encode()
    added = zipfile.ZipInfo(f"jumok/native/{library.name}", MOMENT)
    added.external_attr, added.compress_type = 0o755 << 16, zipfile.ZIP_DEFLATED
    entries[added] = library.read_bytes()
    kept = [line for line in lines if not line.startswith((wheel.filename, record.filename))]
    kept[-1:-1] = [recorded(added.filename, entries[added]), recorded(wheel.filename, entries[wheel])]
    entries[record] = "\n".join([*kept, f"{record.filename},,", ""]).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for info, data in entries.items():
            new.writestr(info, data)
    return target


def recorded(name: str, data: bytes) -> str:
    """A line of RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def chosen(words: Sequence[str], *, every: bool) -> list[Platform]:
    """The machines that are asked for: all, those whose tag has a word in it, or this one."""
    if every:
        return PLATFORMS
    wanted = words or [f"{'manylinux' if sys.platform == 'linux' else ''}.*{platform.machine().lower()}"]
    found = [one for one in PLATFORMS if any(re.search(word, one.tag) for word in wanted)]
    if not found:
        known = ", ".join(one.tag for one in PLATFORMS)
        raise BuildError(f"no platform is called {' or '.join(wanted)}: there are {known}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("platforms", nargs="*", help="parts of tags, such as musllinux or macosx.*arm64")
    parser.add_argument("--all", action="store_true", help="for every platform")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="a folder for the wheels")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            wanted = chosen(options.platforms, every=options.all)
            zig()
            pure = pure_wheel(Path(folder))
            for one in wanted:
                made = with_library(pure, checked_library(one, Path(folder)), one.tag, options.out)
                print(f"{hashlib.sha256(made.read_bytes()).hexdigest()}  {made.name}")
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
