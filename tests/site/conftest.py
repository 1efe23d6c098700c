"""Asks the code of a page without a server: bundled once, run by node."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from jumok.site.engine import HERE

WEB = Path(__file__).parents[2] / "web"
BUNDLER = WEB / "node_modules" / ".bin" / "esbuild"
Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """`ask(engine, models=…, calls=…, tokenizers=…)`: what the page would answer."""
    node = shutil.which("node")
    if node is None or not BUNDLER.exists():
        if os.environ.get("CI") == "true":
            pytest.fail("no node, or web/node_modules is not there: cd web && npm ci")
        pytest.skip("there is no node, or web/node_modules is not there")
    script = tmp_path_factory.mktemp("ask") / "ask.mjs"
    source = Path(__file__).with_name("ask.ts")
    options = [
        "--bundle",
        "--format=esm",
        "--platform=node",
        "--define:__FILE__=false",
        "--log-level=warning",
    ]
    subprocess.run([BUNDLER, source, *options, f"--outfile={script}"], check=True, cwd=WEB)

    def run(
        engine: str = "engine-simd.wasm.gz",
        *,
        models: Mapping[str, Path] | None = None,
        calls: Sequence[tuple[str, str, Any]] = (),
        tokenizers: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        folders = {name: str(folder) for name, folder in (models or {}).items()}
        question = {"engine": str(HERE / engine), "models": folders, "calls": calls, "tokenizers": tokenizers}
        done = subprocess.run(
            [node, str(script)], input=json.dumps(question), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return run
