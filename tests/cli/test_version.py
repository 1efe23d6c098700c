"""jumok version: short for people, whole for programs."""

import json
import platform
from importlib.metadata import version as version_of
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from jumok import __version__
from jumok.cli.version import describe, devices, installed, version


def test_text_names_versions_and_devices() -> None:
    result = CliRunner().invoke(version, [])
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert result.exit_code == 0
    assert lines["jumok"] == __version__
    assert lines["python"].startswith(platform.python_version())
    assert lines["torch"] == version_of("torch")
    assert "cores" in lines["cpu"]


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        (
            {"available": True, "level": "avx2", "levels": ["portable", "avx2"], "threads": 2},
            "avx2 of portable, avx2; threads 2",
        ),
        ({"available": False, "reason": "no compiler"}, "not there: no compiler"),
    ],
)
def test_text_tells_of_the_native_engine_or_why_it_is_not_there(
    engine: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumok.cli.version.native", lambda: engine)
    assert CliRunner().invoke(version, []).stdout.endswith(f"\nnative       {told}\n")


def test_json_is_one_object() -> None:
    facts = json.loads(CliRunner().invoke(version, ["--json"]).stdout)
    assert facts["packages"]["numpy"] == version_of("numpy")
    assert facts["devices"][0]["name"] == "cpu"
    assert facts["devices"][0]["cores"] >= 1


def test_quiet_is_only_the_number() -> None:
    assert CliRunner().invoke(version, ["-q"]).stdout == f"{__version__}\n"


def test_accelerators_and_missing_packages_in_words() -> None:
    assert (
        describe({"name": "cuda:0", "model": "NVIDIA H200", "memory": 150 * 2**30})
        == "NVIDIA H200, 150.0 GiB"
    )
    assert describe({"name": "mps", "model": "Apple GPU"}) == "Apple GPU"
    assert installed("no-such-package-here") == "not installed"


def test_every_device_has_a_line_and_all_columns_stand_below_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [
        {"name": "cpu", "cores": 2, "threads": 1},
        {"name": "cuda:0", "model": "A card", "memory": 2**30},
    ]
    monkeypatch.setattr("jumok.cli.version.devices", lambda: found)
    monkeypatch.setattr("jumok.cli.version.installed", lambda name: f"{name} 1.0")
    monkeypatch.setattr("jumok.cli.version.native", lambda: {"available": False, "reason": "no compiler"})
    lines = CliRunner().invoke(version, []).stdout.splitlines()
    assert [line[:13] for line in lines] == [
        *(
            "jumok        ",
            "python       ",
            "torch        ",
            "numpy        ",
            "tokenizers   ",
            "safetensors  ",
        ),
        *("sacrebleu    ", "pydantic     ", "click        ", "rich         ", "cpu          "),
        *("cuda:0       ", "native       "),
    ]
    assert lines[2][13:] == "torch 1.0"
    assert [line[13:] for line in lines[-3:]] == [
        "cores 2, threads of torch 1",
        "A card, 1.0 GiB",
        "not there: no compiler",
    ]
    assert json.loads(CliRunner().invoke(version, ["-q", "--json"]).stdout)["devices"] == found


def test_without_torch_there_is_a_cpu_and_with_it_every_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    card = SimpleNamespace(name="A card", total_memory=5)
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda _: card)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: True)
    cpu, *others = devices()
    assert others == [
        {"name": "cuda:0", "model": "A card", "memory": 5},
        {"name": "cuda:1", "model": "A card", "memory": 5},
        {"name": "mps", "model": "Apple GPU"},
    ]
    assert cpu.pop("threads") >= 1
    monkeypatch.setattr("jumok.cli.version.has_torch", lambda: False)
    assert devices() == [cpu]
    assert describe(cpu) == f"cores {cpu['cores']}"
    assert describe({"model": "A card"}) == "A card"
