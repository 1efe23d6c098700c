"""Building the library: which compiler, which flags, what is said when it cannot be, and the wheel."""

import ctypes
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from jumok.native import build

ROOT = Path(__file__).parents[2]
needs_compiler = pytest.mark.skipif(
    sys.platform == "win32", reason="the native engine is not built on Windows"
)


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two files instead of the real ones."""
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "seven.c").write_text("int seven(void) { return 7; }\n")
    (folder / "eight.c").write_text("int seven(void);\nint eight(void) { return seven() + 1; }\n")
    monkeypatch.setattr(build, "SOURCES", folder)
    return folder


@needs_compiler
def test_all_files_become_one_library(sources: Path, tmp_path: Path) -> None:
    built = build.build(tmp_path / "lib.so", strict=True)
    assert ctypes.CDLL(str(built)).eight() == 8
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "lib.so"]


@needs_compiler
def test_a_fault_is_one_line_and_the_old_library_stays(sources: Path, tmp_path: Path) -> None:
    output = tmp_path / "lib.so"
    output.write_text("old")
    (sources / "nine.c").write_text("int nine(void) { return nine_; }\n")
    with pytest.raises(build.BuildError, match=r"nine\.c:1:.*nine_") as fault:
        build.build(output)
    assert "\n" not in str(fault.value)
    assert output.read_text() == "old"


@needs_compiler
def test_a_warning_is_an_error_only_when_asked(sources: Path, tmp_path: Path) -> None:
    (sources / "ten.c").write_text("int ten(int a) { return 10; }\n")
    build.build(tmp_path / "lib.so")
    with pytest.raises(build.BuildError, match="unused parameter"):
        build.build(tmp_path / "lib.so", strict=True)


@needs_compiler
@pytest.mark.parametrize("source", sorted(build.SOURCES.glob("*.c")), ids=lambda path: path.name)
def test_our_files_have_no_warnings(source: Path) -> None:
    flags = [*build.ALWAYS, *build.STRICT, *build.flags_of(source, os.uname().machine), "-fsyntax-only"]
    done = subprocess.run(
        [*build.compiler(), *flags, str(source)], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(build.BuildError, match=r"there is no C compiler \(cc, gcc or clang\)"):
        build.compiler()


def test_the_compiler_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", f"{sys.executable} -x")
    assert build.compiler() == [sys.executable, "-x"]
    monkeypatch.setenv("CC", "no-such-compiler -O1")
    with pytest.raises(build.BuildError, match=r"the C compiler of \$CC is not there: no-such-compiler"):
        build.compiler()


def test_windows_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(build.BuildError, match="not built on Windows"):
        build.build(tmp_path / "jumok.dll")


def test_flags_of_an_instruction_set() -> None:
    assert build.flags_of(Path("kernels_avx2.c"), "x86_64") == ["-mavx2", "-mfma"]
    assert "-mavx512vnni" in build.flags_of(Path("kernels_vnni.c"), "AMD64")
    assert "-mavx512vnni" not in build.flags_of(Path("kernels_avx512.c"), "x86_64")
    assert build.flags_of(Path("kernels_avx2.c"), "arm64") == []
    assert build.flags_of(Path("kernels_neon.c"), "aarch64") == ["-march=armv8.2-a+dotprod"]
    assert build.flags_of(Path("kernels.c"), "x86_64") == []


def test_the_command_says_why_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert build.main(["-o", str(tmp_path / "lib.so")]) == 1
    assert capsys.readouterr().err == (
        "The native engine was not built: the C compiler of $CC is not there: no-such-compiler\n"
    )


@needs_compiler
def test_the_command(sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "lib.so"
    assert build.main(["-o", str(output), "--strict"]) == 0
    assert capsys.readouterr().out == f"{output}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small package with our build.py and our hook."""
    native = tmp_path / "src" / "jumok" / "native"
    (native / "c").mkdir(parents=True)
    (native / "c" / "seven.c").write_text("int seven(void) { return 7; }\n")
    (native / "build.py").write_bytes(Path(build.__file__).read_bytes())
    (tmp_path / "hatch_build.py").write_bytes((ROOT / "hatch_build.py").read_bytes())
    (tmp_path / ".gitignore").write_text("libjumok.*\n")
    ours = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    hook = ours[
        ours.index("[tool.hatch.build.targets.wheel]") : ours.index("[tool.hatch.build.targets.sdist]")
    ]
    (tmp_path / "pyproject.toml").write_text(
        f'[project]\nname = "jumok"\nversion = "0.0.1"\nrequires-python = ">=3.11"\n{hook}'
    )
    return tmp_path


def wheel_of(project: Path, **variables: str) -> tuple[str, list[str], str]:
    """(file name, its members, what was said)"""
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    done = subprocess.run(
        command, cwd=project, env=os.environ | variables, capture_output=True, text=True, check=True
    )
    (wheel,) = (project / "dist").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        return wheel.name, archive.namelist(), done.stderr


@needs_compiler
def test_a_wheel_with_the_library(project: Path) -> None:
    name, members, _ = wheel_of(project)
    assert f"jumok/native/{build.LIBRARY.name}" in members
    assert name.startswith("jumok-0.0.1-py3-none-")
    assert not name.endswith("-any.whl")


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"JUMOK_NO_NATIVE": "1"}, "JUMOK_NO_NATIVE=1"),
        ({"CC": "no-such-compiler"}, "the C compiler of $CC is not there: no-such-compiler"),
    ],
)
def test_a_wheel_without_it(project: Path, variables: dict[str, str], why: str) -> None:
    name, members, said = wheel_of(project, **variables)
    assert name == "jumok-0.0.1-py3-none-any.whl"
    assert not [member for member in members if "libjumok" in member]
    assert f"jumok: no native engine, PyTorch does its work: {why}\n" in said
