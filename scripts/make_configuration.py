"""Make docs/configuration.md, the reference of every setting, from the dataclasses in src/jumok/config.py.

    python scripts/make_configuration.py

Types, defaults and choices come from the fields, the words from the string under each field. The page is a
pure function of the source, and a test compares the two, so the reference cannot fall behind.
"""

import ast
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from jumok import config, presets

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"

MODELS = (config.TransformerConfig, config.LuongConfig, config.RnnConfig)
SECTIONS = {
    "text": config.TextConfig,
    "data": config.DataConfig,
    "image": config.ImageConfig,
    "start": config.StartConfig,
    "training": config.TrainingConfig,
    "decoding": config.DecodingConfig,
}
TYPES: dict[Any, str] = {
    int: "whole number",
    float: "number",
    str: "text",
    tuple[str, ...]: "list of texts",
}

HEAD = """\
# Configuration

<!-- Made by scripts/make_configuration.py from src/jumok/config.py; change it there. -->

You need none of this to begin: `jumok train --source a.en --target a.de` chooses what suits the data and the
machine, and says why. This page lists everything that can be set.

The same setting can be given in five places. A later one wins over an earlier one:

| place | example |
|---|---|
| `--preset` | `--preset small` |
| `--config`, a TOML file; may be repeated | `[training]` and, on the next line, `lr = 5e-4` |
| environment | `JUMOK_TRAINING__LR=5e-4` (two underscores between section and name) |
| the option of its own that a few settings have | `--arch luong`, `--max-steps 2000` |
| `--set`; may be repeated | `--set training.lr=5e-4` |

What you leave open, the plan chooses; what the plan does not choose has the default below.
`jumok train --print-config` shows every setting with its value and where that comes from. A name that does
not exist is an error that offers the nearest one. The complete result is kept in the run folder as
`config.toml`, which `--config` reads back.

The `decoding` settings are the defaults of the trained model. `jumok translate` and `jumok evaluate` can
override them for one call (`--beam 1`), and so can `translate(..., beam=1)` in Python.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD, *(section("model", model) for model in MODELS), preset_section()]
    parts += [section(name, kind) for name, kind in SECTIONS.items()]
    return "\n".join([*parts, run_section()])


def section(name: str, kind: Any) -> str:
    """One dataclass: a heading, what it is, and a table of its settings."""
    arch = getattr(kind(), "arch", "")
    heading = f"{name}, when model.arch is {arch}" if arch else name
    title = " ".join((inspect.getdoc(kind) or "").split())
    rows = [row(f"{name}.{one.name}", one, words(kind)) for one in fields(kind) if one.name != "arch"]
    return table(heading, title, rows)


def run_section() -> str:
    """The settings of the run that belong to no section."""
    own = [one for one in fields(config.RunConfig) if one.type in TYPES]
    rows = [row(one.name, one, words(config.RunConfig)) for one in own]
    return table("the run", "Settings outside every section; in TOML they stand at the top.", rows)


def preset_section() -> str:
    """The named sizes, as the settings that they stand for."""
    sizes = {"transformer": presets.TRANSFORMERS, "luong and rnn": presets.RECURRENT}
    lines = ["## presets", "", "Named sizes for `--preset`; each is short for the settings beside it.", ""]
    lines += ["| preset | architecture | settings |", "|---|---|---|"]
    for name in presets.PRESETS:
        lines += [f"| `{name}` | {archs} | {listed(each[name])} |" for archs, each in sizes.items()]
    return "\n".join([*lines, ""])


def listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"`{key}={value}`" for key, value in settings.items())


def table(heading: str, title: str, rows: list[str]) -> str:
    head = [f"## {heading}", "", title, "", "| setting | type or choices | default | |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def row(name: str, one: Field[Any], texts: Mapping[str, str]) -> str:
    default = json.dumps(one.default, ensure_ascii=False)
    return f"| `{name}` | {type_of(one.type)} | `{default}` | {texts.get(one.name, '')} |"


def type_of(kind: Any) -> str:
    """A type in words; of a Literal its choices."""
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    return "`true`, `false`" if kind is bool else TYPES[kind]


def words(kind: Any) -> dict[str, str]:
    """The string under each field of a class, on one line."""
    return dict(_strings_under_fields(ast.parse(inspect.getsource(kind)).body[0]))


def _strings_under_fields(tree: ast.AST) -> Iterator[tuple[str, str]]:
    assert isinstance(tree, ast.ClassDef)
    for statement, below in zip(tree.body, tree.body[1:], strict=False):
        match statement, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split()).replace("|", "\\|")


def main(target: Path) -> None:
    text = page()
    target.write_text(text, encoding="utf-8")
    print(f"{target.name}: {text.count(chr(10)):,} lines")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE)
