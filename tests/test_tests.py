"""Tests that could never fail: without a check, of any error at all, of what is so by definition."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
WAITS = (
    "wait_for_function",
    "wait_for_selector",
    "wait_for_url",
    "wait_for_response",
    "wait_for",
)  # a page's
RUNS = ("validate_response", "run_path")  # schemathesis' checks; an example of the docs
CHECKS = {"raises", "warns", "fail", "expect", "gradcheck", *WAITS, *RUNS}
Function = ast.FunctionDef | ast.AsyncFunctionDef
Trees = dict[Path, ast.Module]
Found = Iterator[tuple[int, str]]


@cache
def nodes(tree: ast.AST) -> list[ast.AST]:
    return list(ast.walk(tree))


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in nodes(tree) if isinstance(node, Function))


@cache
def called(node: ast.AST) -> set[str]:
    """The last names of everything that is called in it."""
    calls = (one.func for one in nodes(node) if isinstance(one, ast.Call))
    return {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in calls}


@cache
def checks_itself(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Assert) for one in nodes(node)) or any(
        name in CHECKS or name.startswith("assert_") for name in called(node)
    )


def near(path: Path, tests: Path, trees: Trees) -> list[ast.Module]:
    """A file, what it imports of the tests, and every conftest.py above it: where its helpers are."""
    names = {
        tests.parent / Path(*node.module.split(".")).with_suffix(".py")
        for node in nodes(trees[path])
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tests.")
    }
    names |= {folder / "conftest.py" for folder in path.parents}
    return [trees[path], *(trees[name] for name in names if name in trees)]


def checking(near_by: list[ast.Module]) -> set[str]:
    """Helpers that check something, by themselves or through others."""
    helpers = [node for tree in near_by for node in functions(tree) if not node.name.startswith("test_")]
    found = {node.name for node in helpers if checks_itself(node)}
    while more := {node.name for node in helpers if called(node) & found} - found:
        found |= more
    return found


def without_checks(tree: ast.Module, known: set[str]) -> Found:
    for node in functions(tree):
        if node.name.startswith("test_") and not checks_itself(node) and not called(node) & known:
            yield node.lineno, f"{node.name} checks nothing"


def any_error(tree: ast.Module) -> Found:
    """`raises(Exception)`; one of ours of which nothing is looked at; one of several texts."""
    for node in nodes(tree):
        items = node.items if isinstance(node, ast.With | ast.AsyncWith) else []
        for item in items:
            call = item.context_expr
            if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.raises"):
                continue
            kind = ast.unparse(call.args[0])
            text = {word.arg: ast.unparse(word.value) for word in call.keywords}.get("match")
            if kind in ("Exception", "BaseException"):
                yield call.lineno, "any mistake at all raises Exception: name the error"
            elif text is None and item.optional_vars is None and kind.endswith("Error") and kind in OURS:
                yield call.lineno, f"{kind} without its text"
            elif text is not None and "|" in text.replace("\\|", ""):
                yield call.lineno, f"one of several texts: {text}"


OURS = {
    "ConfigError",
    "DataError",
    "LimitError",
    "ModelError",
    "RunError",
    "ThresholdError",
    "TokenizerFileError",
}


def by_definition(tree: ast.Module) -> Found:
    """Constants, and a value compared with itself; what is called twice may well differ."""
    for node in nodes(tree):
        if isinstance(node, ast.Assert):
            test = node.test
            if isinstance(test, ast.Constant | ast.Tuple):
                yield node.lineno, f"{ast.unparse(test)} is true by definition"
            if isinstance(test, ast.Compare) and not called(test):
                sides = [ast.unparse(side) for side in (test.left, *test.comparators)]
                if len(set(sides)) < len(sides):
                    yield node.lineno, f"{ast.unparse(test)} compares a value with itself"


def all_faults(tests: Path) -> list[str]:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(tests.rglob("*.py"))}
    return [
        f"{path.relative_to(tests)}:{line} {fault}"
        for path, tree in trees.items()
        for found in (
            without_checks(tree, checking(near(path, tests, trees))),
            any_error(tree),
            by_definition(tree),
        )
        for line, fault in found
    ]


def test_every_test_can_fail() -> None:
    assert all_faults(TESTS) == []


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("work()", "test_x checks nothing"),
        ("with pytest.raises(Exception, match='no'): work()", "any mistake at all"),
        ("with pytest.raises(ConfigError): work()", "ConfigError without its text"),
        ("with pytest.raises(ValueError, match='a|b'): work()", "one of several texts: 'a|b'"),
        ("assert True", "True is true by definition"),
        ("assert (a == b, 'text')", "is true by definition"),
        ("assert a == a", "a == a compares a value with itself"),
    ],
)
def test_such_a_test_is_found(tmp_path: Path, code: str, fault: str) -> None:
    (tmp_path / "test_it.py").write_text(f"def test_x():\n    {code}\n", encoding="utf-8")
    (found,) = all_faults(tmp_path)
    assert found.startswith("test_it.py:")
    assert fault in found


def test_checks_of_helpers_count(tmp_path: Path) -> None:
    code = "def same(a, b):\n    assert a == b\ndef both(a):\n    same(a, 1)\ndef test_x():\n    both(1)\n"
    code += "def test_y():\n    with pytest.raises(ConfigError) as caught:\n        work()\n"
    (tmp_path / "test_it.py").write_text(code, encoding="utf-8")
    assert all_faults(tmp_path) == []
