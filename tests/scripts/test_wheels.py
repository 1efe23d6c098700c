"""The wheels for other machines: what goes in, what is refused, and the same bytes twice."""

import base64
import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.native.test_machines import wheels

from jumok.native.build import BuildError
from jumok.native.library import FUNCTIONS, available, library_path

Binary = wheels.Binary
BY_TAG: dict[str, Any] = {one.tag: one for one in wheels.PLATFORMS}
GOOD = {
    "manylinux2014_x86_64": Binary("ELF", "x86_64", frozenset(FUNCTIONS), frozenset({"libc.so.6"}), "2.17"),
    "musllinux_1_2_aarch64": Binary("ELF", "aarch64", frozenset(FUNCTIONS), frozenset({"libc.so"})),
    "macosx_11_0_arm64": Binary(
        "Mach-O", "arm64", frozenset(FUNCTIONS), frozenset({"/usr/lib/libSystem.B.dylib"}), "11.0"
    ),
    "win_amd64": Binary("PE", "amd64", frozenset(FUNCTIONS), frozenset({"kernel32.dll"})),
}


@pytest.fixture
def pure(tmp_path: Path) -> Path:
    """A wheel of one file."""
    path = tmp_path / "jumok-1.0-py3-none-any.whl"
    about = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {"jumok/__init__.py": b"x = 1\n", "jumok-1.0.dist-info/WHEEL": about.encode()}
    lines = [wheels.recorded(name, data) for name, data in files.items()]
    files["jumok-1.0.dist-info/RECORD"] = "\n".join([*lines, "jumok-1.0.dist-info/RECORD,,", ""]).encode()
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in files.items():
            wheel.writestr(zipfile.ZipInfo(name), data)
    return path


def test_a_wheel_gets_its_library_its_tag_and_a_true_record(pure: Path, tmp_path: Path) -> None:
    library = tmp_path / "libjumok.dll"
    library.write_bytes(b"MZ code")
    made = [
        wheels.with_library(pure, library, "win_amd64", to)
        for to in (tmp_path / "a", tmp_path / "b")
        if not to.mkdir()
    ]
    assert made[0].name == "jumok-1.0-py3-none-win_amd64.whl"
    assert made[0].read_bytes() == made[1].read_bytes()
    with zipfile.ZipFile(made[0]) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist()}
    assert files["jumok/native/libjumok.dll"] == b"MZ code"
    about = files["jumok-1.0.dist-info/WHEEL"].decode()
    assert "Root-Is-Purelib: false\nTag: py3-none-win_amd64\n" in about
    record = dict(line.split(",", 1) for line in files["jumok-1.0.dist-info/RECORD"].decode().splitlines())
    assert record.keys() == files.keys()
    for name, data in files.items():
        if not name.endswith("RECORD"):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert record[name] == f"sha256={digest},{len(data)}"


@pytest.mark.parametrize("tag", GOOD)
def test_a_good_library_passes(tag: str) -> None:
    assert wheels.faults_of(GOOD[tag], BY_TAG[tag]) == []


def test_a_library_of_another_machine_or_without_a_function_is_refused() -> None:
    one, good = BY_TAG["manylinux2014_x86_64"], GOOD["manylinux2014_x86_64"]
    assert wheels.faults_of(replace(good, machine="aarch64"), one) == ["it is ELF for aarch64"]
    lacking = replace(good, functions=good.functions - {"jm_search"})
    assert wheels.faults_of(lacking, one) == ["it lacks jm_search"]
    assert wheels.faults_of(replace(good, oldest="2.34"), one) == [
        "it needs version 2.34, and the tag says 2.17"
    ]
    [strange] = wheels.faults_of(replace(good, needs=frozenset({"libgomp.so.1"})), one)
    assert strange == "it needs libgomp.so.1, which not every such system has"
    [other] = wheels.faults_of(
        replace(GOOD["win_amd64"], needs=frozenset({"libwinpthread-1.dll"})), BY_TAG["win_amd64"]
    )
    assert "libwinpthread-1.dll" in other


@pytest.mark.skipif(not available(), reason="the C library was not built")
def test_the_library_of_this_machine_is_read() -> None:
    found = wheels.read_binary(library_path())
    assert found.functions >= FUNCTIONS.keys()
    assert found.needs


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    for data, said in [(b"text", "is no shared library"), (b"\x7fELF", "is damaged"), (b"MZ", "is damaged")]:
        (tmp_path / "x").write_bytes(data)
        with pytest.raises(ValueError, match=said):
            wheels.read_binary(tmp_path / "x")


def test_platforms_by_a_part_of_their_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(wheels.chosen([], every=True)) == 7
    assert [one.tag for one in wheels.chosen(["musllinux"], every=False)] == [
        "musllinux_1_2_x86_64",
        "musllinux_1_2_aarch64",
    ]
    with pytest.raises(BuildError, match="no platform is called sparc: there are manylinux2014_x86_64,"):
        wheels.chosen(["sparc"], every=False)


def test_without_zig_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    monkeypatch.delenv("JUMOK_ZIG", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(wheels.importlib.util, "find_spec", lambda name: None)
    assert wheels.main(["--all", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("error: there is no zig: pip install --group wheels")
    assert list(tmp_path.iterdir()) == []
