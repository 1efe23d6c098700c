"""Where a module can be changed, and into what: one small mistake at a time."""

import ast
import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

COMPARE: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: (r"<", "<="),
    ast.LtE: (r"<=", "<"),
    ast.Gt: (r">", ">="),
    ast.GtE: (r">=", ">"),
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.Is: (r"\bis\b", "is not"),
    ast.IsNot: (r"\bis\s+not\b", "is"),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"\bnot\s+in\b", "in"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: (r"-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: (r"/", "*"),
    ast.FloorDiv: (r"//", "*"),
    ast.Mod: (r"%", "//"),
}
Changes = Iterator[tuple[int, int, str, str]]  # start, end, new text, kind
ANNOTATIONS = ("annotation", "returns", "decorator_list", "type_params")


@dataclass(frozen=True)
class Mutant:
    """One change: bytes start to end of a file become `new`."""

    file: str
    line: int
    last: int
    start: int
    end: int
    new: str
    kind: str

    def apply(self, source: str) -> str:
        data = source.encode()
        return (data[: self.start] + self.new.encode() + data[self.end :]).decode()

    def key(self, source: str) -> str:
        """The lines before and after, without their layout: a name that outlives other edits."""
        old, changed = source.splitlines(), self.apply(source).splitlines()
        after = changed[self.line - 1 : len(changed) - (len(old) - self.last)]
        before = old[self.line - 1 : self.last]
        return f"{self.file}: {' '.join(' '.join(before).split())} → {' '.join(' '.join(after).split())}"

    def diff(self, source: str) -> str:
        lines = difflib.unified_diff(source.splitlines(), self.apply(source).splitlines(), lineterm="", n=2)
        return "\n".join(list(lines)[2:])


class Text:
    """A source and where its nodes stand in it, in bytes."""

    def __init__(self, source: str) -> None:
        self.data = source.encode()
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def line(self, place: int) -> int:
        return self.data.count(b"\n", 0, place) + 1

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first, last = self.starts[node.lineno - 1], self.starts[node.end_lineno - 1]
        return first + node.col_offset, last + node.end_col_offset

    def between(self, left: ast.expr, right: ast.expr, pattern: str) -> tuple[int, int]:
        """Where an operator stands; comments between its sides do not count."""
        first, last = self.span(left)[1], self.span(right)[0]
        bare = re.sub(rb"#[^\n]*", lambda found: b" " * len(found[0]), self.data[first:last])
        found = re.search(pattern.encode(), bare)
        assert found is not None
        return first + found.start(), first + found.end()

    def of(self, node: ast.expr) -> str:
        first, last = self.span(node)
        return self.data[first:last].decode()


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Every place of a file where something can be changed, in the order of the text; not all parse."""
    text, found = Text(source), {}
    for node in nodes(ast.parse(source)):
        for change in (operators, constants, statements, conditions):
            for first, last, new, kind in change(node, text):
                mutant = Mutant(file, text.line(first), text.line(last), first, last, new, kind)
                found[first, last, new] = mutant
    return list(found.values())


def parses(mutant: Mutant, source: str) -> bool:
    """Whether it is a program at all, and another one."""
    try:
        return ast.dump(ast.parse(mutant.apply(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """What may be changed: no annotations, decorators, texts, or imports for the type checker.

    Nor `strict` of zip, which says what holds anyway, as an assertion does.
    """
    for field, value in ast.iter_fields(tree):
        if field in ANNOTATIONS or (field == "keywords" and is_zip(tree)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(
                child, ast.JoinedStr | ast.Import | ast.ImportFrom
            ):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.Assign) and "__all__" in ast.unparse(child.targets[0]):
                continue
            yield child
            yield from nodes(child)


def operators(node: ast.AST, text: Text) -> Changes:
    """Limits one off, the opposite, and for or, a sum for a difference."""
    match node:
        case ast.Compare():
            sides = [node.left, *node.comparators]
            for left, right, op in zip(sides, sides[1:], node.ops, strict=False):
                pattern, new = COMPARE[type(op)]
                yield *text.between(left, right, pattern), new, "compare"
        case ast.BoolOp():
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield *text.between(left, right, rf"\b{old}\b"), new, "and/or"
        case ast.UnaryOp(op=ast.Not()):
            yield *text.span(node), text.of(node.operand), "not"
        case ast.BinOp() if type(node.op) in ARITHMETIC and not of_texts(node):
            pattern, new = ARITHMETIC[type(node.op)]
            yield *text.between(node.left, node.right, pattern), new, "arithmetic"
        case ast.Call(func=ast.Name(id="min" | "max" as name)):
            yield *text.span(node.func), {"min": "max", "max": "min"}[name], "min/max"


def constants(node: ast.AST, text: Text) -> Changes:
    """One more, one less, twice as much."""
    match node:
        case ast.Constant(value=bool() as value):
            yield *text.span(node), str(not value), "constant"
        case ast.Constant(value=int() as value):
            yield *text.span(node), str(value + 1), "constant"
            if value > 0:
                yield *text.span(node), str(value - 1 if value < 10 else value * 2), "constant"
        case ast.Constant(value=float() as value):
            yield *text.span(node), repr(value * 2 if value else 1.0), "constant"


def statements(node: ast.AST, text: Text) -> Changes:
    """Something is not done, nothing is returned, a loop goes on or ends."""
    match node:
        case ast.Raise() | ast.AugAssign() | ast.Expr(value=ast.Call() | ast.Await()):
            yield *text.span(node), "pass", "dropped"
        case ast.Assign(targets=[ast.Attribute()]):
            yield *text.span(node), "pass", "dropped"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield *text.span(value), "None", "return None"
        case ast.Continue():
            yield *text.span(node), "break", "continue/break"
        case ast.Break():
            yield *text.span(node), "continue", "continue/break"


def conditions(node: ast.AST, text: Text) -> Changes:
    """The opposite of a condition that has no operator of its own to change."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if not isinstance(test, ast.Compare | ast.BoolOp | ast.Constant) and not is_not(test):
                yield *text.span(test), f"(not ({text.of(test)}))", "condition"


def is_zip(tree: ast.AST) -> bool:
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "zip"


def is_not(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def of_texts(node: ast.BinOp) -> bool:
    """Texts and lists are joined by +, formatted by %, repeated by *: not sums."""
    kinds = ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp
    return any(
        isinstance(side, kinds) or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in (node.left, node.right)
    )


def names_at(source: str, line: int) -> list[str]:
    """What a line belongs to, the innermost first: functions, classes, the constant or field it defines."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]) if name.isupper():
                    found.append(name)
                case ast.AnnAssign(target=ast.Name(id=name)):
                    found.append(name)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    found.append(node.name)
    return found[::-1]
