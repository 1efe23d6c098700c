"""`jumok version`: versions of what computes, and the devices there are."""

import os
import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from typing import Any

import click

from jumok import __version__
from jumok.cli.shared.console import print_json
from jumok.cli.shared.options import command
from jumok.errors import has_torch

PACKAGES = ("torch", "numpy", "tokenizers", "safetensors", "sacrebleu", "pydantic", "click", "rich")

EXAMPLES = """
  jumok version
  jumok version --json
  jumok version -q
"""


@command(EXAMPLES, json="One JSON object on standard output.", quiet="Only jumok's own version.")
def version(*, as_json: bool, quiet: bool) -> None:
    """Versions and devices: what to copy into a bug report."""
    if quiet and not as_json:
        click.echo(__version__)
        return
    facts: dict[str, Any] = {
        "jumok": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: installed(name) for name in PACKAGES},
        "devices": devices(),
        "native": native(),
    }
    if as_json:
        print_json(facts)
        return
    own, engine = {"jumok": __version__, "python": f"{facts['python']}  {facts['platform']}"}, facts["native"]
    lines = own | facts["packages"] | {device["name"]: describe(device) for device in facts["devices"]}
    lines["native"] = f"not there: {engine.get('reason')}"
    if engine["available"]:  # `vnni of portable, avx2, avx512, vnni; threads 2`
        lines["native"] = f"{engine['level']} of {', '.join(engine['levels'])}; threads {engine['threads']}"
    width = max(map(len, lines))
    for name, text in lines.items():
        click.echo(f"{name:<{width}}  {text}")


def native() -> dict[str, Any]:
    """The native engine: the instructions it uses, of those it has, its threads; or why it is not there."""
    from jumok.native.library import available, library, thread_count, why_not

    if not available():
        return {"available": False, "reason": why_not()}
    native_library = library()
    levels = {"level": native_library.level, "levels": list(native_library.levels)}
    return {"available": True, "version": native_library.version, **levels, "threads": thread_count()}


def installed(name: str) -> str:
    try:
        return version_of(name)
    except PackageNotFoundError:
        return "not installed"


def devices() -> list[dict[str, Any]]:
    """The CPU, then every accelerator that torch can use, if it is installed."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cpu: dict[str, Any] = {"name": "cpu", "cores": cores}
    if not has_torch():
        return [cpu]
    import torch

    devices: list[dict[str, Any]] = [{**cpu, "threads": torch.get_num_threads()}]
    for i in range(torch.cuda.device_count()):
        about = torch.cuda.get_device_properties(i)
        devices.append({"name": f"cuda:{i}", "model": about.name, "memory": about.total_memory})
    if torch.backends.mps.is_available():
        devices.append({"name": "mps", "model": "Apple GPU"})
    return devices


def describe(device: dict[str, Any]) -> str:
    """One device in words: `cores 2, threads of torch 2`, `NVIDIA H200, 139.8 GiB`."""
    if "cores" in device:
        threads = f", threads of torch {device['threads']}" if "threads" in device else ""
        return f"cores {device['cores']}{threads}"
    memory = f", {device['memory'] / 2**30:.1f} GiB" if "memory" in device else ""
    return f"{device['model']}{memory}"
