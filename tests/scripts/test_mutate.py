"""Mutants: what is changed and what is not, which tests they meet, and that those nobody sees are found."""

import ast
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import mutate  # noqa: E402
from mutants.places import Mutant, mutants_of, names_at, parses  # noqa: E402

EQUIVALENT = mutate.equivalents()


def changed(source: str) -> set[str]:
    """Every mutant of one line, without the line itself."""
    found = [mutant for mutant in mutants_of("a.py", source) if parses(mutant, source)]
    return {mutant.apply(source).strip() for mutant in found}


@pytest.mark.parametrize(
    ("source", "mutants"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a >= b > c", {"x = a > b > c", "x = a >= b >= c"}),
        ("x = a is not None", {"x = a is None"}),
        ("x = a not in b", {"x = a in b"}),
        ("x = (a) and b or (c)", {"x = (a) or b or (c)", "x = (a) and b and (c)"}),
        ("x = not a", {"x = a"}),
        ("x = a + b * c", {"x = a - b * c", "x = a + b / c"}),
        ("x = 'é' in a == b", {"x = 'é' not in a == b", "x = 'é' in a != b"}),
        ("x = a + 'text' + f'{1 + 2}'", set()),
        ("x = 0", {"x = 1"}),
        ("x = 7", {"x = 8", "x = 6"}),
        ("LIMIT = 100", {"LIMIT = 101", "LIMIT = 200"}),
        ("x = 0.1", {"x = 0.2"}),
        ("x = True", {"x = False"}),
        ("x = min(a, b)", {"x = max(a, b)"}),
        ("self.x = a", {"pass"}),
        ("x += a", {"pass"}),
        ("work(a)", {"pass"}),
        ("raise Error(a)", {"pass"}),
        ("x: Annotated[int, Field(ge=1)] = a", set()),
        ("'What a file is for: 1 < 2.'", set()),
        ("import a", set()),
        ("__all__ = a + b", set()),
        ("x = b if a else c", {"x = b if (not (a)) else c"}),
    ],
)
def test_every_small_mistake_is_made_once(source: str, mutants: set[str]) -> None:
    assert changed(source) == mutants


def test_loops_and_returns() -> None:
    source = "def f(a):\n    for x in a:\n        if x:\n            continue\n        break\n    return a"
    assert changed(source) == {
        source.replace("continue", "break"),
        source.replace("        break", "        continue"),
        source.replace("return a", "return None"),
        source.replace("if x", "if (not (x))"),
    }


def test_a_mutant_has_a_name_that_outlives_other_edits() -> None:
    source = "def f(a):\n    return (\n        a\n        < 3\n    )\n"
    [mutant] = [one for one in mutants_of("a.py", source) if one.kind == "compare"]
    assert mutant.key(source) == "a.py: < 3 → <= 3"
    moved = "# more\n\n" + source.replace("    ", "  ")
    [again] = [one for one in mutants_of("a.py", moved) if one.kind == "compare"]
    assert again.key(moved) == mutant.key(source)
    assert "-        < 3\n+        <= 3" in mutant.diff(source)


def test_the_sample_is_the_same_every_time_and_grows() -> None:
    file, source = "src/jumok/nn/loss.py", mutate.package()["src/jumok/nn/loss.py"]
    few, more = (mutate.sample(file, source, seed=1, share=0, least=n) for n in (3, 9))
    assert (len(few), len(more)) == (3, 9)
    assert more[:3] == few == mutate.sample(file, source, seed=1, share=0, least=3)
    assert mutate.sample(file, source, seed=2, share=0, least=3) != few
    assert len(mutate.sample(file, source, seed=1, share=0.5, least=0)) == round(
        0.5 * len(mutants_of(file, source))
    )


def test_a_draw_takes_every_mutant_as_likely_as_any_other() -> None:
    """A file with ten times the mutants has about ten times as many of them in a draw."""
    sources = {"a.py": "x = a < b\n" * 20, "b.py": "x = a < b\n" * 200}
    more = mutate.draw(sources, sources, seed=1, number=110)
    assert more[:30] == mutate.draw(sources, sources, seed=1, number=30)
    assert len(set(more)) == 110
    assert 2 <= sum(mutant.file == "a.py" for mutant in more) <= 20
    assert len(mutate.draw(sources, sources, seed=2, number=1000)) == 220


def test_survivors_are_found_again_after_their_file_has_grown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "def f(a):\n    return a < 3\n"
    [mutant] = [one for one in mutants_of("src/jumok/a.py", source) if one.kind == "compare"]
    row = {"key": mutant.key(source), "file": mutant.file, "result": "survived"}
    (tmp_path / "results.jsonl").write_text(json.dumps(row))
    grown = {mutant.file: "def g(a):\n    return a + 1\n\n\n" + source}
    monkeypatch.setattr(mutate, "package", lambda: grown)
    monkeypatch.setattr(sys, "argv", ["mutate.py", "--folder", str(tmp_path), "run", "--survivors"])
    [again] = mutate.planned(mutate.parse(), grown)
    assert again.key(grown[mutant.file]) == row["key"]


def test_a_line_belongs_to_what_is_around_it() -> None:
    source = "LIMIT = 3\nclass A:\n    size: int = 4\n    def f(self):\n        x = 5\n"
    assert [names_at(source, line) for line in (1, 3, 5)] == [["LIMIT"], ["size", "A"], ["f", "A"]]


def test_near_tests_come_first_and_then_fast_ones() -> None:
    file = "src/jumok/nn/loss.py"
    times = {
        "tests/run/test_a.py::test_fast": 0.1,
        "tests/nn/test_layers.py::test_b": 0.2,
        "tests/nn/test_loss.py::test_slow": 9.0,
        "tests/nn/test_loss.py::test_c[1]": 0.3,
        "tests/nn/test_loss.py::test_c[2]": 0.4,
    }
    order = [name.split("::")[1] for name in mutate.order(file, times)]
    assert order == ["test_c[1]", "test_slow", "test_c[2]", "test_b", "test_fast"]


def test_without_a_map_the_modules_own_file_and_those_that_import_it_are_met(tmp_path: Path) -> None:
    file, sources = "src/jumok/nn/loss.py", mutate.package()
    mutant = mutants_of(file, sources[file])[0]
    own, *others = mutate.tests_of(mutant, mutate.Map(tmp_path), sources, 2)
    assert own == "tests/nn/test_loss.py"
    assert all("jumok.nn.loss import" in (ROOT / name).read_text(encoding="utf-8") for name in others)


@pytest.mark.parametrize("key", EQUIVALENT)
def test_every_equivalent_mutant_exists_and_has_a_reason(key: str) -> None:
    """When a line changes, what was said of it must be thought through again."""
    file = key.split(": ")[0]
    source = (ROOT / file).read_text(encoding="utf-8")
    assert key in {mutant.key(source) for mutant in mutants_of(file, source)}
    assert len(EQUIVALENT[key]) > 20


@pytest.mark.slow
def test_a_mutant_that_no_test_notices_survives_and_another_is_killed(tmp_path: Path) -> None:
    """In a copy: this tree stays as it is."""
    before, file = mutate.package(), "src/jumok/errors.py"
    source, tests = (
        before[file],
        {"tests": ["tests/test_errors.py"], "first": ["nearest"], "slow": False, "cpu": 60},
    )
    job = mutate.Job(tmp_path, 0, ["torch", "hypothesis"])
    found = {}
    for old, new in (("A hint that offers", "A hint which offers"), ("cutoff=0.6", "cutoff=0.0")):
        start = len(source[: source.index(old)].encode())
        mutant = Mutant(file, 1, 1, start, start + len(old), new, "by hand")
        found[new] = job.try_out(mutant, source, tests)
        assert (job.copy / file).read_text(encoding="utf-8") == source
    job.close()
    assert [one["result"] for one in found.values()] == ["survived", "killed"]
    assert found["cutoff=0.0"]["by"].startswith("tests/test_errors.py::test_nearest")
    assert mutate.package() == before


def test_mutants_are_programs() -> None:
    source = mutate.package()["src/jumok/errors.py"]
    for mutant in mutants_of("src/jumok/errors.py", source):
        assert isinstance(mutant, Mutant)
        if parses(mutant, source):
            assert ast.dump(ast.parse(mutant.apply(source))) != ast.dump(ast.parse(source))
