"""The layout defends itself: who may import whom, how long things may be, and what never appears."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SRC = TESTS.parent / "src" / "jumok"

EVERYWHERE = {"errors", "progress", "answers", "seals", "systems", "edits"}
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "progress": set(),
    "answers": set(),
    "seals": set(),
    "systems": set(),
    "edits": set(),
    "architectures": set(),
    "config": {"architectures"},
    "images": {"config"},
    "presets": {"config"},
    "settings": {"config"},
    "text": {"config", "images"},
    "formats": set(),
    "data": {"config", "images", "text", "formats"},
    "terms": {"text", "data"},
    "native": {"architectures", "config", "text"},
    "nn": set(),
    "backends": {"native", "nn"},
    "models": {"config", "nn", "backends"},
    "checkpoint": {"config", "settings", "text", "native", "nn", "backends", "models"},
    "decoding": {"config", "text", "terms", "native", "backends", "models", "checkpoint"},
    "explain": {"config", "text", "native", "nn", "backends", "models", "checkpoint", "decoding"},
    "documents": {"text", "formats", "decoding"},
    "model": {"decoding", "documents", "explain", "training"},
    "evaluation": {"text", "terms", "checkpoint", "decoding", "explain"},
    "training": {
        "config",
        "text",
        "data",
        "nn",
        "backends",
        "models",
        "checkpoint",
        "decoding",
        "explain",
        "evaluation",
    },
    "export": {
        "config",
        "settings",
        "text",
        "data",
        "native",
        "nn",
        "models",
        "checkpoint",
        "decoding",
        "evaluation",
    },
    "importing": {
        "architectures",
        "config",
        "text",
        "native",
        "models",
        "checkpoint",
        "decoding",
        "export",
    },
    "server": {
        "config",
        "text",
        "data",
        "terms",
        "formats",
        "decoding",
        "documents",
        "explain",
        "evaluation",
        "training",
    },
}
ALLOWED["site"] = {"config", "text", "checkpoint", "explain", "server"}  # pages without a server
ALLOWED["learn"] = set()  # pages and what turns them into notebooks
ALLOWED["run"] = set(ALLOWED)  # one run wired together
ALLOWED["comparison"] = set(ALLOWED)  # several runs compared
ALLOWED["cli"] = set(ALLOWED)
SERVER_ROOMS: dict[str, set[str]] = {
    "gates": set(),
    "runs": {"gates"},
    "translate": {"gates"},
    "traces": {"gates", "translate"},
    "documents": {"gates", "translate"},
    "trainer": {"gates"},
    "pages": {"gates", "runs", "traces", "translate"},
}
NO_TORCH = {
    "errors",
    "progress",
    "answers",
    "seals",
    "edits",
    "architectures",
    "config",
    "images",
    "presets",
    "settings",
    "text",
    "formats",
    "terms",
}
NO_TORCH |= {"systems", "native", "documents", "evaluation", "learn", "server"}
LIGHT = [
    "jumok.model",
    "jumok.run.check",
    "jumok.server.app",
    "jumok.server.serve",
    "jumok.checkpoint.averaging",
    "jumok.evaluation.calibrate",
    "jumok.cli.shared.conversation",
    "jumok.cli.views.trace",
    *(f"jumok.cli.{one}" for one in ("chat", "check", "evaluate", "inspect", "main", "serve", "translate")),
]
"""What a plain install imports; PyTorch is not in it."""

LINES_OF_A_FILE, LINES_OF_A_FUNCTION = 400, 60
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_ATTRIBUTES = {"torch.load", "torch.save", "yaml.load", "pandas.read_pickle"}
CONTAINERS = {
    "dict",
    "list",
    "set",
    "defaultdict",
    "WeakKeyDictionary",
    "WeakValueDictionary",
    "local",
    "deque",
}
DRAWERS = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py"}


def modules(src: Path) -> Iterator[Path]:
    return iter(sorted(src.rglob("*.py")))


def tree_of(path: Path) -> ast.Module:
    return parsed(path.read_text(encoding="utf-8"))


@cache
def parsed(text: str) -> ast.Module:
    """Every rule looks at the same files: each is parsed once. Nobody may change a tree."""
    return ast.parse(text)


def imports(tree: ast.Module) -> set[str]:
    """Every dotted name a file imports, at any depth."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def import_faults(src: Path) -> list[str]:
    """Imports that climb up a layer, and torch where the layer must load without it."""
    faults = []
    for path in modules(src):
        inside = path.relative_to(src)
        if inside.parts[0] in ("__init__.py", "__main__.py"):
            continue
        here = inside.parts[0].removesuffix(".py")
        if here not in ALLOWED:
            faults.append(f"{inside} is in no layer; give {here} a row in the table")
            continue
        names = imports(tree_of(path))
        theirs = {(name.split(".")[1]) for name in names if name.startswith("jumok.")}
        known = {there for there in theirs if there in ALLOWED}
        for there in sorted(known - ALLOWED[here] - EVERYWHERE - {here}):
            faults.append(f"{inside} imports {there}; {here} may import {sorted(ALLOWED[here] | EVERYWHERE)}")
        if here in NO_TORCH and any(name.split(".")[0] == "torch" for name in names):
            faults.append(f"{inside} imports torch; {here} must load without it")
    return faults


def loaded_first(nodes: Sequence[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when the module is imported, not those of functions or for type checkers."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from loaded_first([*node.body, *node.orelse])
        elif isinstance(node, ast.Try | ast.With | ast.ClassDef):
            yield from loaded_first(node.body)


def torch_faults(src: Path, names: Sequence[str]) -> list[str]:
    """Modules whose import loads torch, each with the way there."""
    files = {f"jumok.{'.'.join(one.relative_to(src).with_suffix('').parts)}": one for one in modules(src)}
    faults = []
    for name in names:
        ways, seen = [[name]], {name}
        for way in ways:  # it grows
            here = ast.Module(list(loaded_first(tree_of(files[way[-1]]).body)), [])
            theirs = {there for one in imports(here) for there in (one, one.rpartition(".")[0])}
            if any(there.split(".")[0] == "torch" or there == "safetensors.torch" for there in theirs):
                faults.append(f"importing {name} loads torch: {' → '.join(way)}")
                break
            ways += [[*way, there] for there in sorted(theirs & (files.keys() - seen))]
            seen |= theirs
    return faults


def room_faults(src: Path) -> list[str]:
    """Imports between the rooms of the server that are not in its table."""
    faults = []
    for here, allowed in SERVER_ROOMS.items():
        for path in sorted((src / "server" / here).glob("*.py")):
            names = {
                name.split(".")[2] for name in imports(tree_of(path)) if name.startswith("jumok.server.")
            }
            for there in sorted((names & SERVER_ROOMS.keys()) - allowed - {here}):
                faults.append(f"{path.relative_to(src)} imports {there}; {here} may import {sorted(allowed)}")
    return faults


def size_faults(src: Path) -> list[str]:
    faults = []
    for path in modules(src):
        inside, tree = path.relative_to(src), tree_of(path)
        if (length := len(path.read_text(encoding="utf-8").splitlines())) > LINES_OF_A_FILE:
            faults.append(f"{inside} has {length} lines; split it by idea, {LINES_OF_A_FILE} is the ceiling")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > LINES_OF_A_FUNCTION:
                    faults.append(f"{inside}:{node.lineno} {node.name} has {lines} lines")
    return faults


def mirror_faults(src: Path, tests: Path) -> list[str]:
    """Modules without a test file of their own in the same place."""
    faults = []
    for path in modules(src):
        mirrored = path.relative_to(src).with_name(f"test_{path.name}")
        if not path.name.startswith("__") and not (tests / mirrored).exists():
            faults.append(f"{path.relative_to(src)} has no test; add tests/{mirrored.as_posix()}")
    return faults


def danger_faults(src: Path) -> list[str]:
    """Code from files: pickle and what hides it, eval and exec."""
    faults = []
    for path in modules(src):
        inside, tree = path.relative_to(src), tree_of(path)
        faults += [
            f"{inside} imports {name}" for name in imports(tree) if name.split(".")[0] in FORBIDDEN_MODULES
        ]
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in FORBIDDEN_CALLS:
                faults.append(f"{inside}:{node.lineno} uses {node.id}")
            if isinstance(node, ast.Attribute) and ast.unparse(node) in FORBIDDEN_ATTRIBUTES:
                faults.append(f"{inside}:{node.lineno} uses {ast.unparse(node)}")
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                faults.append(f"{inside}:{node.value.lineno} names allow_pickle")
    return faults


def style_faults(src: Path) -> list[str]:
    """Relative imports, drawers that everything falls into, files that do not say what they are for."""
    faults = []
    for path in modules(src):
        inside, tree = path.relative_to(src), tree_of(path)
        if any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree)):
            faults.append(f"{inside} has a relative import")
        if path.name in DRAWERS:
            faults.append(f"{inside} is a drawer; name the file after its idea")
        if not ast.get_docstring(tree):
            faults.append(f"{inside} does not say what it is for in its first line")
    return faults


def name_faults(src: Path) -> list[str]:
    """One name for two classes; a name handed on from where it may be imported to where it may not."""
    homes: dict[str, list[str]] = {}
    faults = []
    for path in modules(src):
        inside, tree = path.relative_to(src).as_posix(), tree_of(path)
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(inside)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                again = [alias.name for alias in node.names if alias.asname == alias.name]
                faults += [f"{inside} hands {name} on: import it where it is made" for name in again]
    return faults + [f"{name} is in {' and '.join(files)}" for name, files in homes.items() if len(files) > 1]


def state_faults(src: Path) -> list[str]:
    """Modules that remember: a container at the top that is no constant (those in capitals never change)."""
    faults = []
    for path in modules(src):
        for node in tree_of(path).body:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            made = node.value.func if isinstance(node.value, ast.Call) else node.value
            holds = isinstance(made, ast.List | ast.Dict | ast.Set) or ast.unparse(made) in CONTAINERS
            for name in (target.id for target in targets if isinstance(target, ast.Name)):
                if holds and not name.isupper() and not name.startswith("__"):
                    faults.append(f"{path.relative_to(src)}:{node.lineno} keeps state in {name}")
    return faults


def probe_faults(src: Path) -> list[str]:
    """Functions that are handed something to record with: looking inside is a back end."""
    return [
        f"{path.relative_to(src)}:{node.lineno} {node.name} takes a probe"
        for path in modules(src)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef)
        and any(one.arg == "probe" for one in (*node.args.args, *node.args.kwonlyargs))
    ]


def test_no_layer_imports_what_it_may_not() -> None:
    assert import_faults(SRC) == []


def test_the_table_allows_nothing_that_no_layer_uses() -> None:
    """A row that has become too wide would hide the next import that climbs."""
    for layer in set(ALLOWED) - {"run", "comparison", "cli"}:
        files = [SRC / f"{layer}.py"] if (SRC / f"{layer}.py").exists() else modules(SRC / layer)
        names = set().union(*(imports(tree_of(path)) for path in files))
        used = {name.split(".")[1] for name in names if name.startswith("jumok.")}
        assert ALLOWED[layer] <= used, f"{layer} does not import {sorted(ALLOWED[layer] - used)}"


def test_a_name_is_one_class_and_is_imported_from_where_it_is_made() -> None:
    assert name_faults(SRC) == []


def test_no_module_keeps_state() -> None:
    assert state_faults(SRC) == []


def test_no_function_takes_a_probe() -> None:
    assert probe_faults(SRC) == []


def test_rooms_of_the_server_import_what_they_may() -> None:
    assert {path.name for path in (SRC / "server").iterdir() if (path / "__init__.py").exists()} == set(
        SERVER_ROOMS
    )
    assert room_faults(SRC) == []


def test_files_and_functions_fit_in_the_head() -> None:
    assert size_faults(SRC) == []


def test_every_module_has_its_test_file() -> None:
    assert mirror_faults(SRC, TESTS) == []


def test_no_code_comes_from_files() -> None:
    assert danger_faults(SRC) == []


def test_every_file_says_what_it_is_for_and_imports_by_full_name() -> None:
    assert style_faults(SRC) == []


@pytest.mark.parametrize(
    "names",
    [
        "jumok.config, jumok.settings, jumok.presets, jumok.errors, jumok.progress",
        "jumok.text.normalize, jumok.text.tokenizer",
        "jumok.native.model, jumok.native.folder, jumok.decoding.translator, jumok.evaluation.evaluate",
    ],
)
def test_settings_text_and_translators_load_without_torch(names: str) -> None:
    code = f"import {names}, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_a_plain_install_imports_loads_no_torch() -> None:
    assert torch_faults(SRC, LIGHT) == []


def test_the_layout_test_finds_the_way_to_torch(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from jumok.b import C\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("try:\n    import torch.nn\nexcept ImportError: ...\n", encoding="utf-8")
    (tmp_path / "c.py").write_text("def f():\n    from jumok.b import C\n", encoding="utf-8")
    found = torch_faults(tmp_path, ["jumok.a", "jumok.c"])
    assert found == ["importing jumok.a loads torch: jumok.a → jumok.b"]


def test_the_table_has_no_circle() -> None:
    """Each layer stands on layers that do not stand on it."""

    def below(layer: str) -> set[str]:
        return {layer}.union(*(below(one) for one in ALLOWED[layer] - {layer}))

    for layer, allowed in ALLOWED.items():
        for one in allowed - {layer}:
            assert layer not in below(one), f"{layer} and {one}"


FAULTS = {
    "nn/maths.py": ("from jumok.models.rnn import RnnSeq2Seq\n", import_faults, "nn/maths.py imports models"),
    "checkpoint/b.py": ("import jumok.decoding.beam\n", import_faults, "checkpoint/b.py imports decoding"),
    "decoding/a.py": ("def f():\n    from jumok.cli import main\n", import_faults, "imports cli"),
    "server/runs/a.py": ("import jumok.server.traces.build\n", room_faults, "imports traces; runs may"),
    "text/fast.py": ("import torch.nn\n", import_faults, "text/fast.py imports torch"),
    "new/thing.py": ("", import_faults, "new/thing.py is in no layer"),
    "data/long.py": ("x = 1\n" * 401, size_faults, "data/long.py has 401 lines"),
    "data/deep.py": ("def f():\n" + "    x = 1\n" * 60, size_faults, "data/deep.py:1 f has 61 lines"),
    "data/twice.py": ("class A: pass\nclass A: pass\n", name_faults, "A is in data/twice.py and"),
    "data/hands.py": ("from jumok.nn.layers import A as A\n", name_faults, "data/hands.py hands A on"),
    "data/keeps.py": ("_seen: dict[str, int] = {}\n", state_faults, "data/keeps.py:1 keeps state in _seen"),
    "nn/probed.py": ("def f(x, probe=None): ...\n", probe_faults, "nn/probed.py:1 f takes a probe"),
    "data/load.py": ("import pickle\n", danger_faults, "data/load.py imports pickle"),
    "data/run.py": ("eval('1')\n", danger_faults, "data/run.py:1 uses eval"),
    "data/weights.py": (
        "import torch\ntorch.load('x')\n",
        danger_faults,
        "data/weights.py:2 uses torch.load",
    ),
    "data/array.py": ("import numpy\nnumpy.load('x', allow_pickle=True)\n", danger_faults, "allow_pickle"),
    "data/near.py": ('"""Near."""\nfrom . import far\n', style_faults, "data/near.py has a relative import"),
    "data/utils.py": ('"""All."""\n', style_faults, "data/utils.py is a drawer"),
    "data/bare.py": ("x = 1\n", style_faults, "data/bare.py does not say what it is for"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_layout_test_finds_a_fault(tmp_path: Path, name: str) -> None:
    content, find, message = FAULTS[name]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(content, encoding="utf-8")
    (fault,) = find(tmp_path)
    assert message in fault


def test_the_layout_test_accepts_what_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "new.py").write_text(
        '"""New."""\nfrom jumok import __version__\nfrom jumok.errors import Error\n'
        "from jumok.nn.layers import residual\n"
        "def f(model):\n    return model.eval()\n",
        encoding="utf-8",
    )
    for find in (import_faults, size_faults, danger_faults, style_faults):
        assert find(tmp_path) == []


def test_the_layout_test_misses_no_test_file(tmp_path: Path) -> None:
    src, tests = tmp_path / "src", tmp_path / "tests"
    for folder in (src / "data", tests / "data"):
        folder.mkdir(parents=True)
    for name in ("__init__.py", "one.py", "two.py"):
        (src / "data" / name).touch()
    (tests / "data" / "test_one.py").touch()
    assert mirror_faults(src, tests) == ["data/two.py has no test; add tests/data/test_two.py"]
