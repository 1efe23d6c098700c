import os
import sys
from pathlib import Path

import pytest

from jumok.errors import ConfigError
from jumok.native import library as module
from jumok.native.library import (
    LEVEL,
    LEVELS,
    PATH,
    available,
    level_forced,
    library,
    library_path,
    thread_count,
    why_not,
)

built = pytest.mark.skipif(not library_path().is_file(), reason="the C library was not built")


@built
def test_the_library_says_what_it_has() -> None:
    assert available()
    assert why_not() == ""
    found = library()
    assert found.level in found.levels
    assert "portable" in found.levels
    assert found.version


@built
@pytest.mark.parametrize("level", LEVELS)
def test_the_environment_forces_a_level(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, levels = library().level, library().levels
    monkeypatch.setenv(LEVEL, level)
    assert level_forced()
    if level in levels:
        assert library().level == level
    else:
        with pytest.raises(ConfigError, match=f"{LEVEL}={level}: this CPU or this build does not have it"):
            library()
    monkeypatch.delenv(LEVEL)
    assert library().level == usual
    assert not level_forced()


@built
def test_an_unknown_level_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LEVEL, "sse9")
    for ask in (library, available):
        with pytest.raises(
            ConfigError, match="JUMOK_NATIVE_LEVEL=sse9 is unknown\n  choose one of portable,"
        ):
            ask()


def test_a_library_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(PATH, str(tmp_path / "no.so"))
    assert not available()
    assert why_not() == f"{PATH}={tmp_path / 'no.so'} is no file"
    with pytest.raises(ConfigError, match="the native engine is not there: .* is no file\n  choose --engine"):
        library()


def test_one_that_was_not_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(PATH, raising=False)
    monkeypatch.setattr("jumok.native.library.__file__", str(tmp_path / "library.py"))
    assert why_not() == (
        "its C library was not built; with a C compiler there, run python -m jumok.native.build"
    )


def test_a_file_that_is_no_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bad.so").write_text("no library")
    monkeypatch.setenv(PATH, str(tmp_path / "bad.so"))
    assert why_not().startswith("bad.so cannot be loaded: ")


@built
@pytest.mark.skipif(sys.platform != "linux", reason="the header of an ELF file is changed")
def test_a_library_for_another_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = bytearray(library_path().read_bytes())
    data[18:20] = (8).to_bytes(2, "little")  # e_machine: MIPS
    (tmp_path / "mips.so").write_bytes(data)
    monkeypatch.setenv(PATH, str(tmp_path / "mips.so"))
    hint = "it is built for another machine; install the wheel for this one"
    assert why_not() == f"mips.so cannot be loaded: {hint}"


@built
def test_a_library_of_other_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copied = tmp_path / "old.so"  # another path, which is opened anew
    copied.write_bytes(library_path().read_bytes())
    monkeypatch.setenv(PATH, str(copied))
    monkeypatch.setattr("jumok.native.library.source_mark", lambda: "0" * 16)
    reason = "it is of other source than this jumok; run python -m jumok.native.build"
    assert why_not() == f"old.so cannot be loaded: {reason}"


def test_threads_are_the_cores_or_as_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5, 7}, raising=False)
    for said, threads in (("3,2", 3), ("1", 1), (" 1 ,4", 1), ("200", 200)):
        monkeypatch.setenv("OMP_NUM_THREADS", said)
        assert thread_count() == threads
    for nothing in ("", "0", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", nothing)
        assert thread_count() == 4


def test_where_no_one_counts_the_cores_there_is_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    for cores, threads in ((None, 1), (6, 6)):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        assert thread_count() == threads


@pytest.mark.parametrize(
    ("system", "name"), [("linux", "libjumok.so"), ("darwin", "libjumok.dylib"), ("win32", "libjumok.dll")]
)
def test_each_system_has_its_own_ending(monkeypatch: pytest.MonkeyPatch, system: str, name: str) -> None:
    monkeypatch.delenv(PATH, raising=False)
    monkeypatch.setattr(sys, "platform", system)
    assert library_path() == Path(module.__file__).with_name(name)
    monkeypatch.setenv(PATH, "/elsewhere/own.so")
    assert library_path() == Path("/elsewhere/own.so")


OTHER_MACHINE = "it is built for another machine; install the wheel for this one"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("/a/lib.so: cannot open shared object file: No such file or directory", OTHER_MACHINE),
        ("/b/lib.so: cannot open shared object file", "/b/lib.so: cannot open shared object file"),
        ("/a/lib.so: wrong ELF class: ELFCLASS32", OTHER_MACHINE),
        ("dlopen(/a/lib.so): mach-o file, but is an incompatible architecture", OTHER_MACHINE),
        ("[WinError 193] %1 is not a valid Win32 application", OTHER_MACHINE),
        ("x" * 300, "x" * 200),
    ],
)
def test_what_the_system_says_of_a_library_is_told_in_our_words(said: str, reason: str) -> None:
    assert module._reason(Path("/a/lib.so"), said) == reason


def test_levels_are_the_bits_of_a_number() -> None:
    asked = list[int]()

    class Fake:
        def jm_levels(self) -> int:
            return 0b10011

        def jm_level(self) -> int:
            return 4

        def jm_set_level(self, level: int) -> bool:
            asked.append(level)
            return level == 3

    found = module.Library(Fake(), Path("x.so"))  # type: ignore[arg-type]
    assert (found.levels, found.level) == (("portable", "avx2", "neon"), "neon")
    found.use("avx2")
    with pytest.raises(ConfigError, match="\n  it has portable, avx2, neon$"):
        found.use("vnni")
    assert asked == [1, 3]
    with pytest.raises(ConfigError, match="\n  choose one of portable, avx2, avx512, vnni, neon$"):
        found.use("sse9")
