"""Builds the C engine as WebAssembly into src/jumok/site/, for pages without a server, with SIMD and without.

    pip install ziglang && python scripts/make_wasm.py

Zig has the compiler and the C library. The same source and the same zig give the same bytes. Each file has
the mark of its source (`jm_version`), and tests/site/test_engine.py compares it with that of the source.
"""

import argparse
import gzip
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from jumok.native.build import SOURCES, source_mark
from jumok.site.engine import ENGINES, EXPORTS

LEFT_OUT = ("train.c", "product.c")  # what only training needs
FLAGS = [
    *("-target", "wasm32-wasi", "-mexec-model=reactor", "-std=c11", "-O3", "-ffp-contract=off"),
    *("-fno-math-errno", "-Wl,--strip-all", "-Wl,-z,stack-size=1048576"),
]
MISSING = (
    "int pthread_atfork(void (*a)(void), void (*b)(void), void (*c)(void)) { return a && b && c && 0; }\n"
)
"""What the C library of WebAssembly lacks: a page has no processes to split."""


def build(output: Path) -> None:
    """Both engines in a folder, packed."""
    sources = [str(path) for path in sorted(SOURCES.glob("*.c")) if path.name not in LEFT_OUT]
    exports = [f"-Wl,--export={name}" for name in EXPORTS]
    mark = f'-DJM_SOURCE="{source_mark()}"'
    with tempfile.TemporaryDirectory() as folder:
        stub = Path(folder) / "missing.c"
        stub.write_text(MISSING, "ascii")
        for name, instructions in ENGINES.items():
            made = Path(folder) / "engine.wasm"
            command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, *instructions, mark, *exports]
            subprocess.run([*command, *sources, str(stub), "-lm", "-o", str(made)], check=True)
            packed = gzip.compress(made.read_bytes(), 9, mtime=0)
            (output / name).write_bytes(packed)
            sys.stdout.write(
                f"{name}  {len(packed) / 1000:.1f} kB, {made.stat().st_size / 1000:.1f} kB unpacked\n"
            )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Builds the engine for pages without a server.")
    home = Path(__file__).parents[1] / "src/jumok/site"
    parser.add_argument("-o", "--output", type=Path, default=home, help="the folder the files go to")
    build(parser.parse_args(arguments).output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
