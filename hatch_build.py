"""The native engine in the wheel, also an editable one. Without a C compiler the wheel is pure Python."""

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def compiling(root: Path) -> ModuleType:
    """jumok.native.build by its path: the package itself is not installed yet."""
    spec = importlib.util.spec_from_file_location("jumok_native_build", root / "src/jumok/native/build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class NativeEngine(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if os.environ.get("JUMOK_NO_NATIVE") == "1":
            self.say("JUMOK_NO_NATIVE=1")
            return
        root = Path(self.root)
        build = compiling(root)
        try:
            library: Path = build.build()
        except (build.BuildError, OSError) as error:
            self.say(str(error))
            return
        build_data["artifacts"].append("/" + library.relative_to(root).as_posix())
        build_data["pure_python"] = False
        machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{machine}"

    def say(self, why: str) -> None:
        sys.stderr.write(f"jumok: no native engine, PyTorch does its work: {why}\n")
