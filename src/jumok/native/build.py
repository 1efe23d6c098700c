"""Compiles the C files of this folder into one shared library: `python -m jumok.native.build`.

Every file c/*.c becomes an object and all of them one library beside this module. The kernels of one
instruction set are one file (kernels_avx2.c ...) and get that set's flags; which of them runs is chosen on
the machine that loads the library. The installer runs this file by its path: it imports nothing of ours.
"""

import argparse
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "c"
ENDINGS = {"win32": "dll", "darwin": "dylib"}
LIBRARY = HERE / f"libjumok.{ENDINGS.get(sys.platform, 'so')}"

# -ffp-contract=off: the compiler may not fuse here and not there; code that wants a fused product says so.
ALWAYS = ["-std=c11", "-O3", "-fPIC", "-pthread", "-ffp-contract=off", "-fno-math-errno"]
STRICT = ["-Wall", "-Wextra", "-Werror"]
# Not optimised: gcc needs minutes for the kernels otherwise.
SANITIZE = {
    "address": ["-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "thread": ["-O1", "-g1", "-fsanitize=thread"],
}
WIDE = ["-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq"]
X86 = {"avx2": ["-mavx2", "-mfma"], "avx512": WIDE, "vnni": [*WIDE, "-mavx512vnni"]}
ARM = {"neon": ["-march=armv8.2-a+dotprod"]}
FLAGS = {"x86_64": X86, "amd64": X86, "aarch64": ARM, "arm64": ARM}


@dataclass(frozen=True)
class BuildTarget:
    """For which machine, and with which compiler; scripts/wheels.py has those of other machines."""

    command: Sequence[str]
    machine: str
    """As `platform.machine()` says there."""
    system: str
    """As `sys.platform` says there."""
    linking: Sequence[str] = ()
    """More for the linker."""
    sets: Mapping[str, Sequence[str]] | None = None
    """Flags of each instruction set, where the compiler has other names for them."""


def sources() -> list[Path]:
    """The C files of the library; every build, whatever it is for, has these and no others."""
    return sorted(SOURCES.glob("*.c"))


def source_mark() -> str:
    """Which source a library was made of: it carries this, so that one of other source is not used."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.glob("*.[ch]")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


class BuildError(Exception):
    """Why there is no library, in one line."""


def compiler() -> list[str]:
    """The C compiler as a command: $CC, else the first of cc, gcc, clang on the path."""
    chosen = shlex.split(os.environ.get("CC", ""))
    if chosen:
        if shutil.which(chosen[0]) is None:
            raise BuildError(f"the C compiler of $CC is not there: {chosen[0]}")
        return chosen
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    raise BuildError("there is no C compiler (cc, gcc or clang)")


def flags_of(source: Path, machine: str, sets: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    """The flags of the instruction set in a file's name (kernels_avx2.c); none for others and elsewhere."""
    return list((sets or FLAGS.get(machine.lower(), {})).get(source.stem.rpartition("_")[2], []))


def run(command: Sequence[str]) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"LC_ALL": "C"}
    )
    if done.returncode:
        lines = done.stderr.splitlines()
        telling = [line for line in lines if " error: " in line or "undefined reference" in line]
        raise BuildError((telling or lines or [f"{command[0]} ended with {done.returncode}"])[0])


def here() -> BuildTarget:
    """This machine, with its own compiler."""
    if sys.platform == "win32":
        raise BuildError("the native engine is not built on Windows; its wheel has it")
    return BuildTarget(compiler(), platform.machine(), sys.platform)


def compiled(folder: Path, target: BuildTarget, flags: Sequence[str]) -> list[str]:
    """Every source as an object in a folder."""
    objects = [str(folder / f"{source.stem}.o") for source in sources()]
    commands = [
        [*target.command, *flags, *flags_of(one, target.machine, target.sets), "-c", str(one), "-o", to]
        for one, to in zip(sources(), objects, strict=True)
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, commands))
    return objects


def build(
    output: Path = LIBRARY, *, strict: bool = False, sanitize: str = "", target: BuildTarget | None = None
) -> Path:
    """The library at `output`, put there whole or not at all. BuildError says why it cannot be."""
    target = target or here()
    flags = [*ALWAYS, f'-DJM_SOURCE="{source_mark()}"', *(STRICT if strict else [])]
    flags += SANITIZE.get(sanitize, [])
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".build-") as folder:
        objects = compiled(Path(folder), target, flags)
        whole = Path(folder) / output.name
        shared = "-dynamiclib" if target.system == "darwin" else "-shared"
        run([*target.command, *flags, shared, *objects, "-o", str(whole), "-lm", *target.linking])
        whole.replace(output)
    return output


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m jumok.native.build", description="Builds the native engine."
    )
    parser.add_argument("-o", "--output", type=Path, default=LIBRARY, help="where the library goes")
    parser.add_argument("--strict", action="store_true", help="a warning is an error")
    parser.add_argument("--sanitize", choices=SANITIZE, default="", help="with checks while it runs")
    chosen = parser.parse_args(arguments)
    try:
        built = build(chosen.output, strict=chosen.strict, sanitize=chosen.sanitize)
    except BuildError as error:
        sys.stderr.write(f"The native engine was not built: {error}\n")
        return 1
    sys.stdout.write(f"{built}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
