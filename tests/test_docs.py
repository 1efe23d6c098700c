"""The documentation stays true: names exist, links lead somewhere, commands parse, examples run."""

import ast
import importlib.util
import re
import runpy
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import click
import pytest

from jumok.cli.main import cli
from jumok.settings import check_names, known_names, read_environment, read_words

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *ROOT.glob("docs/**/*.md"),
        *(ROOT / f"{name}.md" for name in ("README", "README.ko", "CONTRIBUTING", "CHANGELOG")),
    ]
)
HOUSE = sorted([ROOT / "docs" / "architecture.md", *ROOT.glob("docs/decisions/*.md")])
NOTES = ROOT / "docs" / "notes-to-code.md"
ROWS = [*range(1, 22)]
KOREAN = sorted(ROOT.glob("docs/**/*.ko.md"))

RUN = "<!-- run -->"
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
FUNCTION = re.compile(r"`(jumok(?:\.\w+)+)`")
ROOM = re.compile(r"`((?:\w+/)+(?:\w+\.py)?|\w+\.py)`")
TEST = re.compile(r"`?(tests/[\w/]+\.py)::(test_\w+)")
SETTING = re.compile(r"`((?:model|text|data|image|training|decoding)\.[a-z_]+)(?:=[^`]*)?`")
VARIABLE = re.compile(r"JUMOK_[A-Z]+__[A-Z_]+")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and whether the tests shall run it."""

    language: str
    text: str
    marked: bool


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(text: str) -> str:
    """A page without its fenced blocks."""
    return FENCE.sub("", text)


def blocks(text: str) -> list[Block]:
    return [
        Block(found[1], found[2], text[: found.start()].rstrip("\n").endswith(RUN))
        for found in FENCE.finditer(text)
    ]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


# Names


def resolve(name: str) -> Any:
    """The thing with a dotted name: the longest module, then attributes."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


@cache
def functions_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@every_page
def test_every_function_that_a_page_names_exists(page: Path) -> None:
    for name in FUNCTION.findall(read(page)):
        assert callable(resolve(name)), name


@every_page
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    for path, name in TEST.findall(read(page)):
        assert (ROOT / path).is_file(), path
        assert name in functions_in(path), f"{path}::{name}"


@every_page
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    text = read(page)
    check_names(dict.fromkeys(SETTING.findall(text)), name_of(page))
    for variable in VARIABLE.findall(text):
        assert read_environment({variable: "1"}), variable


@pytest.mark.parametrize("page", HOUSE, ids=name_of)
def test_every_room_and_file_that_a_page_about_the_house_names_exists(page: Path) -> None:
    for name in ROOM.findall(read(page)):
        assert any((root / name).exists() for root in (ROOT / "src" / "jumok", ROOT)), name


@pytest.mark.parametrize("page", [NOTES, NOTES.with_suffix(".ko.md")], ids=name_of)
def test_every_row_of_the_notes_has_an_equation_a_function_and_a_test(page: Path) -> None:
    sections = dict(re.findall(r"^### (\d+)\. [^\n]+\n(.*?)(?=^##|\Z)", read(page), re.MULTILINE | re.DOTALL))
    assert [int(number) for number in sections] == ROWS
    for number, text in sections.items():
        assert any(not block.language for block in blocks(text)), f"row {number} has no equation"
        assert FUNCTION.search(text), f"row {number} names no function"
        assert TEST.search(text), f"row {number} names no test"


@pytest.mark.parametrize("page", KOREAN, ids=name_of)
def test_both_languages_name_the_same_things(page: Path) -> None:
    ours, theirs = read(page), read(page.with_name(page.name.replace(".ko.md", ".md")))
    for pattern in (FUNCTION, TEST, SETTING):
        assert pattern.findall(ours) == pattern.findall(theirs)
    assert list(commands(ours)) == list(commands(theirs))
    assert len(HEADING.findall(prose(ours))) == len(HEADING.findall(prose(theirs)))
    assert [block.text for block in blocks(ours) if block.language == "python"] == [
        block.text for block in blocks(theirs) if block.language == "python"
    ]


# Links


def anchor(heading: str) -> str:
    """The address of a heading, as GitHub makes it."""
    plain = re.sub(r"[^\w\- ]", "", heading.lower())
    return plain.replace(" ", "-")


@every_page
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(prose(read(page))):
        path, _, place = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if place:
            assert place in map(anchor, HEADING.findall(prose(read(target)))), link


def test_the_index_lists_every_page() -> None:
    linked = LINK.findall(read(ROOT / "docs" / "README.md"))
    assert {page.name for page in ROOT.glob("docs/*.md")} - {"README.md"} <= set(linked)
    tasks = LINK.findall(read(ROOT / "docs" / "tasks.md"))
    assert {f"tasks/{page.name}" for page in ROOT.glob("docs/tasks/*.md")} <= set(tasks)


# Commands


def commands(text: str) -> Iterator[list[str]]:
    """The words of every `jumok …` command in the fenced blocks, pipes and redirections taken apart."""
    for block in blocks(text):
        if block.language not in ("", "sh", "bash", "console"):
            continue
        for line in block.text.replace("\\\n", " ").splitlines():
            line = line.strip().removeprefix("$ ")
            if re.match(r"(jumok|echo|printf|cat|zcat|[A-Z_]+=\S+ +jumok)\b", line):
                yield from simple_commands(line)


def simple_commands(line: str) -> Iterator[list[str]]:
    words = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    words.whitespace_split, words.commenters = True, "#"
    command: list[str] = []
    for word in [*words, ";"]:
        if not set(word) <= set("|&;"):
            command.append(word)
            continue
        while command and re.fullmatch(r"[A-Z_]+=.*", command[0]):
            command.pop(0)
        if command and command[0] == "jumok":
            cut = next((i for i, one in enumerate(command) if set(one) <= set("<>")), len(command))
            yield command[1:cut]
        command = []


def parse(words: list[str]) -> None:
    """Read a command line as click does, and run nothing."""
    name, *args = words
    if name in ("-h", "--help"):
        return
    with click.Context(cli) as group:
        command = cli.get_command(group, name)
        assert command is not None, name
        try:
            with command.make_context(name, args, parent=group) as context:
                chosen = context.params.get("words", ())
        except click.exceptions.Exit:  # --help and its like
            return
    if isinstance(chosen, tuple):  # `--words` of inspect is a flag
        read_words(chosen)


@every_page
def test_every_command_parses(page: Path) -> None:
    for words in commands(read(page)):
        try:
            parse(words)
        except click.ClickException as error:
            pytest.fail(f"jumok {shlex.join(words)}: {error.format_message()}")


def test_commands_are_found_and_taken_apart() -> None:
    page = '```sh\necho "a | b" | jumok translate -m x > y   # here\nJUMOK_SEED=1 jumok demo; jumok -h\n```\n'
    assert list(commands(page)) == [["translate", "-m", "x"], ["demo"], ["-h"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("translate --model", "requires an argument"),
        ("translate hello", "Missing parameter: model"),
        ("train --sauce x", "No such option"),
        ("check --json a b c", "unexpected extra argument"),
    ],
)
def test_a_wrong_command_is_noticed(line: str, message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        parse(line.split())


# Generated pages


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "make_configuration", ROOT / "scripts/make_configuration.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_what_the_script_makes(maker: ModuleType) -> None:
    again = "run .venv/bin/python scripts/make_configuration.py"
    assert read(ROOT / "docs" / "configuration.md") == maker.page(), again


def test_the_reference_has_every_setting(maker: ModuleType) -> None:
    listed = set(re.findall(r"^\| `([\w.]+)` \|", maker.page(), re.MULTILINE))
    assert known_names() - listed == {"model.arch"}  # it stands in the headings


def test_a_string_under_a_field_becomes_its_description(maker: ModuleType) -> None:
    row = '| `training.optimizer` | `sgd`, `adam`, `adamw`, `muon` | `"adamw"` |'
    assert row in maker.page()
    assert "| `decoding.beam` | whole number | `5` | Hypotheses kept per sentence; 1 is greedy search. |" in (
        maker.page()
    )


# Examples


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that examples run in: two small files, a test set, and a model that has learned little."""
    import jumok

    folder = tmp_path_factory.mktemp("playground")
    draw = Random(3)
    for name, lines in (("train", 200), ("test", 5)):
        numbers = [" ".join(str(draw.randrange(10**5))) for _ in range(lines)]
        (folder / f"{name}.en").write_text("".join(f"{one}\n" for one in numbers), encoding="utf-8")
        (folder / f"{name}.de").write_text("".join(f"{one[::-1]}\n" for one in numbers), encoding="utf-8")
    tiny = {"model.width": 8, "text.vocabulary": 300, "data.hold_out": 10, "training.batch_tokens": 200}
    steps = {"training.max_steps": 5, "training.warmup": 1, "training.valid_sentences": 2}
    run = folder / "runs" / "en-de"
    jumok.train(
        source=folder / "train.en",
        target=folder / "train.de",
        arch="luong",
        out=run,
        overrides=tiny | steps | {"decoding.max_len": 8},
        device="cpu",
    )
    (folder / "runs" / "reverse").symlink_to(run)
    return folder


EXAMPLES = {
    f"{name_of(page)}-{number}": block.text
    for page in PAGES
    for number, block in enumerate(blocks(read(page)), start=1)
    if block.marked
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_runs(name: str, playground: Path, tmp_path: Path, monkeypatch: Any) -> None:
    example = tmp_path / "example.py"
    example.write_text(EXAMPLES[name], encoding="utf-8")
    for file in playground.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example))


def test_examples_are_python() -> None:
    assert EXAMPLES
    marked = [block for page in PAGES for block in blocks(read(page)) if block.marked]
    assert {block.language for block in marked} == {"python"}
