"""The HTTP examples of the documentation run: every one of them, in order, against a real server."""

import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from jumok.cli.serve import bundled_models
from jumok.decoding.translator import load
from jumok.evaluation.evaluate import score_texts
from jumok.run.train import train
from jumok.server.metrics import Metrics
from jumok.server.settings import ServerSettings
from tests.run.conftest import quick_settings, write_corpus
from tests.server.conftest import Running, serving
from tests.test_docs import ROOT, Block, blocks, read

HTTP, TRACES = ROOT / "docs" / "http.md", ROOT / "docs" / "traces.md"
ADDRESS = "http://127.0.0.1:7717"
MORE = "…"
ID = re.compile(r"[0-9a-f]{16}")
PROBLEM = '"type":"urn:jumok:problem:'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The bundled models of plain `jumok serve`, with a run called en-de that was evaluated on `test`."""
    runs, corpus = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("corpus")
    train(out=runs / "en-de", overrides=quick_settings(write_corpus(corpus, 60)), device="cpu")
    report = score_texts(["1 2"], ["1 2"], ["2 1"], name="en-de", data="test", bootstrap=10)
    (runs / "en-de" / "eval").mkdir(exist_ok=True)
    (runs / "en-de" / "eval" / "test.json").write_text(report.to_json(), encoding="utf-8")
    models = {name: load(folder) for name, folder in bundled_models().items()}
    remember, train_in = runs.with_name("kept.tsv"), runs.with_name("trained")
    settings = ServerSettings(port=0, runs=runs, remember=remember, train_in=train_in)
    with serving(models, settings) as found:
        yield found


def shell(text: str, server: Running, folder: Path, id: str) -> str:
    """What a block prints, with the id of a trace in $ID; a command that fails, fails the test."""
    script = text.replace(ADDRESS, server.url).replace("curl -s", "curl --show-error -s")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"KEY=none ID={id}\n{script}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def fits(shown: Any, actual: Any) -> bool:
    """Whether an answer is the one shown: "…" stands for anything, fractions are rounded, times vary."""
    match shown, actual:
        case dict(), dict():
            known = {key: MORE if key == "ms" else value for key, value in shown.items() if key != MORE}
            whole = MORE in shown or known.keys() == actual.keys()
            return whole and all(key in actual and fits(value, actual[key]) for key, value in known.items())
        case list(), list():
            cut = shown[-1:] == [MORE]
            first = shown[:-1] if cut else shown
            whole = len(first) <= len(actual) if cut else len(first) == len(actual)
            return whole and all(fits(one, other) for one, other in zip(first, actual, strict=False))
        case float(), float():
            return shown == pytest.approx(actual, rel=0.05, abs=5e-3)
        case str(), str() if ID.fullmatch(shown) and ID.fullmatch(actual):
            return True  # it changes with the bundled models
        case _:
            return shown == MORE or (shown == actual and type(shown) is type(actual))


def events(text: str) -> list[str]:
    """The names of the events in a stream, without repetitions."""
    return list(dict.fromkeys(re.findall(r"^event: (\w+)$", text, re.MULTILINE)))


def pairs() -> list[tuple[Block, Block | None]]:
    """Every block with curl, and the answer that is shown right after it."""
    page = blocks(read(HTTP))
    return [
        (block, after if after.language in ("json", "text") else None)
        for block, after in pairwise([*page, Block("", "", marked=False)])
        if block.language == "sh" and "curl " in block.text
    ]


@pytest.mark.skipif(shutil.which("curl") is None, reason="this machine has no curl")
def test_every_curl_example_answers_as_the_page_shows(server: Running, tmp_path: Path) -> None:
    id = ""
    for block, after in pairs():
        printed = shell(block.text, server, tmp_path, id)
        if "/v1/trace " in block.text:
            id = json.loads(printed)["id"]
        failed = PROBLEM in printed.replace(" ", "")
        assert failed == bool(after and PROBLEM in after.text.replace(" ", "")), (
            f"{block.text}\n{printed[:2000]}"
        )
        if after is None:
            assert printed or "-o " in block.text, block.text
        elif after.language == "json":
            assert fits(json.loads(after.text), json.loads(printed)), f"{block.text}\n{printed[:2000]}"
        else:
            assert events(printed) == events(after.text), block.text
    assert (tmp_path / "head.safetensors").stat().st_size > 1000
    assert (tmp_path / "trace.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")


def test_every_python_example_of_the_page_runs(
    server: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for block in blocks(read(HTTP)):
        if block.language == "python":
            script = tmp_path / "example.py"
            script.write_text(block.text.replace(ADDRESS, server.url), encoding="utf-8")
            runpy.run_path(str(script))
            printed.append(capsys.readouterr().out)
    assert [text.split()[0] for text in printed] == ["2024-03-05T14:30", "None"]
    assert printed[1].split()[-1] == "1999-04-01"


@pytest.mark.skipif(shutil.which("node") is None, reason="this machine has no Node")
def test_the_javascript_reader_reads(server: Running) -> None:
    [script] = [block.text for block in blocks(read(TRACES)) if block.language == "js"]
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script.replace(ADDRESS, server.url)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "'cross.weights:1.1': {\n    shape: [ 17, 17 ]" in done.stdout
    assert "shape: [ 2, 4, 17, 17 ]" in done.stdout


def test_the_page_names_every_endpoint() -> None:
    document = json.loads(read(ROOT / "docs" / "openapi.json"))
    calls = [f"`{method.upper()} {path}`" for path, each in document["paths"].items() for method in each]
    page = read(HTTP)
    assert [call for call in calls if call not in page] == []
    run = "\n".join(block.text for block, _ in pairs())
    for call in calls:
        path = re.sub(r"\{\w+\}", "[^/ \"'?]+", call.strip("`").split()[1])
        assert re.search(rf"{re.escape(ADDRESS)}{path}[\"'? \n]", run), f"{call} has no example"


def test_the_page_has_every_metric() -> None:
    names = re.findall(r"^# TYPE (\w+)", Metrics().render(), re.MULTILINE)
    assert [name for name in names if f"`{name}`" not in read(HTTP)] == []


@pytest.mark.parametrize(
    ("shown", "actual"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "…": "…"}, {"b": 2}),
        ([1], [1, 2]),
        ([1, 2, "…"], [1]),
        (1.5, 1),
        (1.5, 1.3),
        (1, True),
        ("x", "y"),
    ],
)
def test_an_answer_that_differs_is_noticed(shown: Any, actual: Any) -> None:
    assert not fits(shown, actual)
