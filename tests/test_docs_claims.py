"""What pages say about behaviour, against the behaviour: sentences that no other test would miss."""

import inspect
import re
import tomllib
from pathlib import Path

import jumok
from jumok.cli.main import COMMANDS
from jumok.comparison.demo import DATA
from jumok.comparison.plan import TUNED
from jumok.data.builtin import BUILTIN
from jumok.run.corpora import open_corpora, read_corpora
from jumok.run.machine import look_at_machine
from jumok.run.plan import make_plan
from jumok.run.report import plan_lines
from jumok.settings import check_given

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


def first_page_plan(tmp_path: Path) -> list[str]:
    """What `jumok train` plans for the files that the first page makes."""

    numbers = [" ".join(str(number)) for number in range(100_000, 170_001, 7)]
    for name, lines in (("train.num", numbers), ("train.rev", [line[::-1] for line in numbers])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    given = {
        "data.source": str(tmp_path / "train.num"),
        "data.target": str(tmp_path / "train.rev"),
        "model.arch": "luong",
        "training.time_limit": 60.0,
    }
    found = read_corpora(open_corpora(check_given(given)), keep=False)
    return plan_lines(make_plan(given, found.train, look_at_machine("cpu")))


def test_the_first_page_shows_the_plan_as_it_is(tmp_path: Path) -> None:
    planned = {re.sub(" +", " ", line.strip()) for line in first_page_plan(tmp_path)}
    for page in ("first-five-minutes", "first-five-minutes.ko"):
        block = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").split("\nplan\n")[1]
        shown = [re.sub(" +", " ", line.strip()) for line in block.split("…")[0].strip().splitlines()]
        assert len(shown) == 3
        assert set(shown) <= planned


def test_the_time_of_the_demo_is_one_everywhere() -> None:
    told = {
        "docs/first-five-minutes.md": "With the installation it takes about five minutes on two",
        "docs/first-five-minutes.ko.md": "설치까지 합쳐 다른 일을 하지 않는 CPU 코어 두 개로 약 5분 걸립니다",
        "benchmarks/README.md": r"about five minutes on two idle cores, installing\s+included",
        "src/jumok/cli/demo.py": "about three minutes on two idle CPU cores",
        "web/src/messages/training.ts": "about three minutes.*약 3분",
        "web/src/messages/shell.ts": "about three minutes on two idle CPU cores",
    }
    for place, words in told.items():
        assert re.search(words, (ROOT / place).read_text(encoding="utf-8")), place


def test_the_terms_of_the_demo_are_those_that_are_told() -> None:
    """Pairs and updates, which the pages name in words, from what the demo is given."""
    pairs, updates = BUILTIN[DATA].train, TUNED[DATA].steps
    for page, words in {
        "first-five-minutes.md": rf"the same {pairs:,} pairs in the same tokens, with {updates:,} updates",
        "first-five-minutes.ko.md": rf"같은 {pairs:,}쌍을 같은 토큰으로 나누어 {updates:,}번씩 업데이트",
    }.items():
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert re.search(words, text), page
        assert str(BUILTIN[DATA].test) in text


def test_python_does_what_it_is_said_to_do() -> None:
    """Every command has its function, but for those that the page names."""
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    [sentence] = re.findall(r"What is not here is what needs a terminal or a network: (.*)\n", page)
    functions = {
        "train": "train",
        "translate": "load",
        "score": "load",
        "inspect": "load",
        "evaluate": "evaluate",
        "calibrate": "calibrate",
        "compare": "compare",
        "check": "check",
        "export": "export_model",
        "verify": "verify",
        "import": "import_model",
        "average": "average_models",
        "neighbours": "load",
    }
    assert set(re.findall("`(\\w+)`", sentence)) == set(COMMANDS) - set(functions)
    assert all(callable(getattr(jumok, name)) for name in functions.values())
    options = set(inspect.signature(jumok.train).parameters)
    assert {"source", "target", "valid_source", "valid_target", "time_limit", "preset", "quiet"} <= options


def test_what_a_page_installs_is_an_extra_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = {
        extra
        for page in PAGES
        for extra in re.findall(
            r"pip install (?:-e )?['\"]?(?:jumok|\.)\[([a-z0-9]+)\]", page.read_text(encoding="utf-8")
        )
    }
    assert "train" in named
    assert named <= set(extras)
    plain, trained = (
        {re.split("[><=\\[ ]", one)[0] for one in some} for some in (project["dependencies"], extras["train"])
    )
    assert {"fastapi", "uvicorn"} <= plain
    assert "torch" in trained - plain
