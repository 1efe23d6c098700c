"""A plain install, without PyTorch: what works does, and what does not says what to install."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import jumok
from jumok.errors import ConfigError
from jumok.native.library import available

pytestmark = pytest.mark.skipif(not available(), reason="the C library was not built")

LINE = "pip install 'jumok[train]'"
TEXT, ANSWER = "5. März 2024", "2024-03-05"


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process in which `import torch` fails, as it does where there is none."""
    folder = tmp_path_factory.mktemp("light")
    (folder / "sitecustomize.py").write_text('import sys\nsys.modules["torch"] = None\n', encoding="utf-8")
    paths = [str(folder), str(Path(jumok.__file__).parents[1])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", "COLUMNS": "80"}


def python(light: dict[str, str], code: str, *args: object) -> Any:
    """What a process without torch prints as JSON in its last line."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)], env=light, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


PYTHON = """
import json, sys, pathlib, jumok
folder = pathlib.Path(sys.argv[1])
said = {}
def refused(name, work):
    try:
        work()
    except jumok.ConfigError as error:
        said[name] = str(error)
model = jumok.load("demo/transformer")
answer = model.translate("5. März 2024", align=True)
*parts, final = model.stream("5. März 2024")
drawn = [model.translate("5. März 2024", temperature=0.1, **way) for way in ({"sample": True}, {"mbr": 4})]
drawn += [list(model.stream("5. März 2024", mbr=3, temperature=0.1))[-1].translation]
both = jumok.load("demo/transformer+demo/transformer")
(folder / "a.txt").write_text("5. März 2024\\n", encoding="utf-8")
found = jumok.evaluate(model, ["5. März 2024"], ["2024-03-05"], metrics=["exact"])
refused("no_repeat_ngram", lambda: model.translate("5. März 2024", no_repeat_ngram=2))
refused("train", lambda: jumok.train)
refused("gradients", lambda: model.gradients("5. März 2024"))
refused("training_step", lambda: model.training_step("5. März 2024"))
refused("engine", lambda: jumok.load("demo/rnn", engine="torch"))
refused("cuda", lambda: jumok.load("demo/rnn", "cuda"))
print(json.dumps({
    "text": answer.text, "drawn": [one.text for one in drawn], "links": len(answer.links),
    "stream": [parts[-1].text, final.translation.text],
    "engine": model.engine["name"], "ensemble": both.translate("5. März 2024").text,
    "score": model.score("5. März 2024", "2024-03-05").score > -1,
    "document": str(model.translate_document(folder / "a.txt", folder / "b.txt").target),
    "written": (folder / "b.txt").read_text(encoding="utf-8"),
    "verified": len(jumok.verify("demo/transformer")), "exact": found.metrics["exact"].value,
    "said": said, "torch": sys.modules["torch"] is None,
}))
"""


def test_the_python_interface(light: dict[str, str], tmp_path: Path) -> None:
    found = python(light, PYTHON, tmp_path)
    assert found["text"] == found["ensemble"] == ANSWER
    assert found["links"] == len(ANSWER)
    assert found["drawn"] == [ANSWER] * 3
    assert found["stream"] == [ANSWER, ANSWER]
    assert (found["engine"], found["score"], found["verified"], found["exact"]) == ("native", True, 1, 100.0)
    assert found["written"] == f"{ANSWER}\n"
    assert found["torch"]
    assert found["said"] == {
        "no_repeat_ngram": f"no_repeat_ngram needs PyTorch\n  {LINE}",
        "train": f"jumok.train needs PyTorch\n  {LINE}",
        "gradients": f"gradients needs PyTorch\n  {LINE}",
        "training_step": f"training_step needs PyTorch\n  {LINE}",
        "engine": f"the torch engine needs PyTorch\n  {LINE}",
        "cuda": f"device 'cuda' needs PyTorch\n  {LINE}",
    }


COMMANDS = """
import contextlib, io, json, sys
from jumok.cli.main import main
found = []
for words in json.loads(sys.argv[1]):
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as stop:
            code = stop.code
        out.flush(), err.flush()
    found.append([code, *(one.buffer.getvalue().decode() for one in (out, err))])
print(json.dumps(found))
"""


def run_all(light: dict[str, str], lines: list[list[str]]) -> list[tuple[int, str, str]]:
    """Exit code, output and errors of each command line, one after the other in one process."""
    found = python(light, COMMANDS, json.dumps(lines))
    return [(code, out, err) for code, out, err in found]


def test_the_commands(light: dict[str, str], tmp_path: Path) -> None:
    for name, line in {"src": TEXT, "ref": ANSWER}.items():
        (tmp_path / name).write_text(f"{line}\n", encoding="utf-8")
    source, target = str(tmp_path / "src"), str(tmp_path / "ref")
    model, pair = ["-m", "demo/transformer"], ["-s", source, "-t", target]
    wanted = [
        (["translate", *model, "--align", TEXT], f"{ANSWER} ||| "),
        (["translate", *model, "--stream", TEXT], ANSWER),
        (["translate", *model, "--sample", "--temperature", "0.1", TEXT], ANSWER),
        (["evaluate", *model, *pair, "--mbr", "4"], "100.0"),
        (["translate", *model, "-i", source, "-o", str(tmp_path / "out")], ""),
        (["score", *model, *pair], ""),
        (["evaluate", *model, *pair], "100.0"),
        (["evaluate", "--hypotheses", target, *pair], "100.0"),
        (["check", "--data", "dates"], "nothing wrong"),
        (["inspect", *model], "fingerprint"),
        (["verify", "demo/transformer"], "whole"),
        (["version"], "native"),
        (["learn", "-o", str(tmp_path / "books")], f"compute with PyTorch, which is not here: {LINE}"),
        (["completion", "bash"], "complete"),
    ]
    for (words, text), (code, out, err) in zip(
        wanted, run_all(light, [words for words, _ in wanted]), strict=True
    ):
        assert code == 0, (words, err)
        assert text in out + err, words
    assert (tmp_path / "out").read_text(encoding="utf-8") == f"{ANSWER}\n"


IMPORTED = """
import json, sys
from jumok.cli.main import main
try:
    main(["translate", "-m", "demo/transformer", "5. März 2024"])
except SystemExit as stop:
    assert not stop.code
print(json.dumps(sorted({name.partition(".")[0] for name, one in sys.modules.items() if one is not None})))
"""


def test_a_translation_imports_nothing_that_it_can_do_without(light: dict[str, str]) -> None:
    """A start may take half a second; what serves, trains or evaluates has no part in it."""
    found = set(python(light, IMPORTED))
    assert {"numpy", "tokenizers"} <= found
    heavy = {"torch", "pydantic", "fastapi", "starlette", "uvicorn", "asyncio", "sacrebleu", "lxml", "rich"}
    assert not found & (heavy | {"huggingface_hub", "yaml", "safetensors", "prometheus_client"})


SERVED = """
import json, os, signal, sys
import jumok.cli.serve as serve
from jumok.cli.main import main
def greet(*_, **__):
    found = {name.partition(".")[0] for name, one in sys.modules.items() if one is not None}
    print(json.dumps(sorted(found)), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
serve.greet = greet
try:
    main(["serve", "--port", "0"])
except SystemExit as stop:
    assert not stop.code
"""


def test_a_server_that_is_ready_has_imported_nothing_that_it_may_never_need(light: dict[str, str]) -> None:
    """It is to be ready within a second; what counts, compares and reads files comes when someone asks."""
    found = set(python(light, SERVED))
    assert {"numpy", "tokenizers", "fastapi", "uvicorn"} <= found
    heavy = {"torch", "sacrebleu", "tabulate", "wcwidth", "lxml", "rich", "huggingface_hub", "yaml", "PIL"}
    assert not found & heavy


def test_inspect_traces_a_text_in_the_native_engine(light: dict[str, str], tmp_path: Path) -> None:
    """Every view that docs/install.md promises, and every file; those of models in int8, too."""
    model, edit = ["inspect", "-m", "demo/transformer", "--text", TEXT], "mask_head kind=cross layer=1 head=1"
    files = [tmp_path / f"trace{suffix}" for suffix in (".html", ".json", ".trace", ".csv")]
    wanted = [
        (model, f"{ANSWER}\n\ncross · layer 2"),
        ([*model, "--view", "steps", "--q", "1", "--k", "2"], "Σ of 16 products"),
        ([*model, "--beam", "3", "--words"], "words"),
        ([*model, "--target", "2024-03-06"], "2024-03-06"),
        ([*model, "--what-if", edit], f"edited    {ANSWER}"),
        (["inspect", "-m", "demo/de-en", "--text", "Die Tür."], "cross · layer"),
        *(([*model, "-o", str(path)], path.name) for path in files),
        (["inspect", "--trace", str(files[2])], ANSWER),
    ]
    found = run_all(light, [words for words, _ in wanted])
    for (words, text), (code, out, err) in zip(wanted, found, strict=True):
        assert code == 0, (words, err)
        assert text in out + err, words
    assert json.loads(files[1].read_text(encoding="utf-8"))["target"]["text"] == ANSWER


CHAT = """
import io, sys
from jumok.cli.main import main
sys.stdin = io.TextIOWrapper(io.BytesIO("5. März 2024\\n".encode()), encoding="utf-8")
try:
    main(["chat", "-m", "demo/transformer", "--json", *sys.argv[1:]])
except SystemExit as stop:
    assert not stop.code
"""


@pytest.mark.parametrize("way", [["--greedy"], ["--temperature", "0.1"]])
def test_chat_answers(light: dict[str, str], way: list[str]) -> None:
    assert python(light, CHAT, *way)["text"] == ANSWER


def test_a_command_that_needs_torch_says_the_line(light: dict[str, str], tmp_path: Path) -> None:
    new = ["-o", str(tmp_path / "new")]
    lines = [
        ["train", "--data", "dates", "--out", str(tmp_path / "new")],
        ["compare", "--data", "dates", "--out", str(tmp_path / "new")],
        ["demo", "--out", str(tmp_path / "new")],
        ["export", "native", "-m", "demo/rnn", *new],
        ["import", str(tmp_path), *new],
        ["inspect", "-m", "demo/rnn", "--cost"],
    ]
    for words, (code, _, err) in zip(lines, run_all(light, lines), strict=True):
        assert (code, err) == (2, f"error: jumok {words[0]} needs PyTorch\n  {LINE}\n")
    assert not (tmp_path / "new").exists()


def test_the_server(light: dict[str, str]) -> None:
    words = [sys.executable, "-m", "jumok", "serve", "--port", "0", "--json"]
    with subprocess.Popen(words, env=light, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            ready = json.loads(server.stdout.readline())
            address = ready["address"].rstrip("/")
            assert ready["models"][:3] == ["transformer", "luong", "rnn"]
            assert "de-en-transformer" in ready["models"]
            assert 0 < ready["ready_s"] < 600

            def ask(path: str, **body: Any) -> str:
                data = json.dumps(body).encode() if body else None
                request = urllib.request.Request(
                    address + path, data, {"Content-Type": "application/json", "Accept": "*/*"}
                )
                with urllib.request.urlopen(request, timeout=100) as answer:
                    return str(answer.read().decode())

            assert "<title>" in ask("/")
            assert json.loads(ask("/v1/translate", texts=[TEXT]))["results"][0]["text"] == ANSWER
            assert json.loads(ask("/v1/translate", model="demo/rnn", texts=[TEXT]))["model"] == "rnn"
            for way in ({"sample": True, "temperature": 0.1}, {"mbr": 4, "temperature": 0.1}):
                assert json.loads(ask("/v1/translate", texts=[TEXT], **way))["results"][0]["text"] == ANSWER
            found = [
                json.loads(ask("/v1/translate", model=name, texts=["Tür"]))
                for name in ("de-en", "demo/de-en")
            ]
            assert [one["model"] for one in found] == ["de-en-transformer"] * 2
            assert f'"text":"{ANSWER}"' in ask("/v1/translate/stream", text=TEXT).replace('": "', '":"')
            assert json.loads(ask("/v1/models"))["models"][0]["name"] == "transformer"
            assert len(json.loads(ask("/openapi.json"))["paths"]) > 20
            with pytest.raises(urllib.error.HTTPError) as refused:
                ask("/v1/gradients", text=TEXT)
            problem = json.loads(refused.value.read())
            assert (refused.value.code, problem["code"]) == (422, "extra_missing")
            assert "gradients needs PyTorch" in json.dumps(problem)
        finally:
            server.terminate()


def test_without_any_engine_it_says_all_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr("jumok.decoding.opening.available", lambda: False)
    monkeypatch.setattr("jumok.decoding.opening.why_not", lambda: "it was not built")
    with pytest.raises(ConfigError) as refused:
        jumok.load("demo/rnn")
    assert str(refused.value) == (
        "no engine can run a model: native is not available here (it was not built), and torch is not there\n"
        "  install the wheel for this machine, or build with a C compiler, or pip install 'jumok[train]'"
    )
