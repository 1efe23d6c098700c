"""`make test`: every part runs whatever failed before it, and the summary names every failure."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "run_parts.py"
MAKEFILE = """
ready good:
\t@echo $@ is fine
broken:
\t@echo "FAILED tests/a.py::test_one[x y] - assert 1 == 2"
\t@echo "ERROR tests/b.py"
\t@echo "ERROR: not a line of pytest's" >&2
\t@exit 3
bare:
\t@exit 1
left right:
\t@touch $@.here; for i in $$(seq 6000); do test -e left.here -a -e right.here && break; sleep 0.01; done
\t@test -e left.here -a -e right.here
\t@echo $@ begins
\t@echo $@ ends
.PHONY: ready good broken bare left right
"""


def run(folder: Path, *parts: str) -> tuple[int, str, list[str]]:
    """The exit status, all that was printed, and the lines of the summary without their times."""
    (folder / "Makefile").write_text(MAKEFILE)
    command = [sys.executable, str(SCRIPT), *parts]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr == ""
    lines = done.stdout.partition("== summary\n")[2].splitlines()
    plain = [" ".join(word for word in line.split() if word[0].isalpha()) for line in lines]
    return done.returncode, done.stdout, [line.replace(" s ", " ") for line in plain]


def test_what_does_not_depend_on_a_failed_part_still_runs(tmp_path: Path) -> None:
    code, said, found = run(tmp_path, "ready", "broken", "good", "bare")
    assert code == 1
    assert "good is fine" in said
    assert found == [
        "passed ready",
        "FAILED broken",
        "tests/a.py::test_one[x y]",
        "tests/b.py",
        "passed good",
        "FAILED bare",
        "FAILED broken, bare",
    ]


def test_without_the_first_part_nothing_can_run(tmp_path: Path) -> None:
    code, said, found = run(tmp_path, "bare", "good")
    assert code == 1
    assert "good is fine" not in said
    assert found == ["FAILED bare", "not run good", "FAILED bare, good"]


def test_parts_side_by_side_wait_for_each_other_and_do_not_mix_their_words(tmp_path: Path) -> None:
    code, said, found = run(tmp_path, "ready", "left+right", "good")
    assert (code, found) == (0, ["passed ready", "passed left", "passed right", "passed good", "passed all"])
    for name in ("left", "right"):
        assert f"== {name}\n{name} begins\n{name} ends\n" in said
    assert said.index("right ends") < said.index("good is fine")


def test_what_runs_beside_the_first_part_runs_all_the_same(tmp_path: Path) -> None:
    code, said, found = run(tmp_path, "bare+good", "ready")
    assert code == 1
    assert "good is fine" in said
    assert "ready is fine" not in said
    assert found == ["FAILED bare", "passed good", "not run ready", "FAILED bare, ready"]


def test_all_is_well(tmp_path: Path) -> None:
    code, _, found = run(tmp_path, "ready", "good")
    assert (code, found) == (0, ["passed ready", "passed good", "passed all"])


def test_make_test_runs_every_part() -> None:
    makefile = (SCRIPT.parents[1] / "Makefile").read_text()
    [parts] = [line for line in makefile.splitlines() if "scripts/run_parts.py" in line]
    for name in (
        "setup",
        "native",
        "lint",
        "types",
        "web",
        "chromium",
        "machines",
        "unit",
        "browser",
        "sanitize",
    ):
        assert name in parts.replace("+", " ").split()
        assert f"\n{name}:" in makefile
