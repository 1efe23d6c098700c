"""jumok version: short for people, whole for programs."""

import json
import platform
from importlib.metadata import version as version_of

from click.testing import CliRunner

from jumok import __version__
from jumok.cli.version import describe, installed, version


def test_text_names_versions_and_devices() -> None:
    result = CliRunner().invoke(version, [])
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert result.exit_code == 0
    assert lines["jumok"] == __version__
    assert lines["python"].startswith(platform.python_version())
    assert lines["torch"] == version_of("torch")
    assert "cores" in lines["cpu"]


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
