"""`jumok serve`: names, addresses, keys, and one real server from start to Ctrl-C."""

import gc
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import urlopen

import pytest
from tests.decoding.conftest import TINY, untrained
from tests.server.conftest import wait_until

from jumok.checkpoint.bundled import EXAMPLES, translators
from jumok.checkpoint.model import save_model
from jumok.cli import serve as module
from jumok.cli.serve import (
    bundled_models,
    bundled_runs,
    examples_for,
    greet,
    import_for_good,
    listen_near,
    name_models,
    record_of,
    samples_of,
)
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError
from jumok.server.gates.limits import Limits
from jumok.server.settings import ServerSettings
from jumok.training.log import JsonLines

Call = Callable[..., int]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """runs/rnn and runs/luong, as models that can be loaded."""
    root = tmp_path_factory.mktemp("served") / "runs"
    for name in ("rnn", "luong"):
        loaded = untrained(TINY[name])
        save_model(root / name, loaded.model.state_dict(), loaded.config, loaded.tokenizers, {"step": 1})
    return root


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """`serve` without the waiting: everything is made, `started` is called, and what was made is kept."""
    kept: dict[str, Any] = {}

    def run(app: Any, settings: Any, sock: socket.socket, ready: Callable[[], None], _: Any) -> int:
        kept.update(app=app, settings=settings)
        ready()
        for one in threading.enumerate():
            if one.name == "browser":
                one.join(10)
        sock.close()
        return 0

    monkeypatch.setattr("jumok.server.serve.serve", run)
    monkeypatch.setattr("webbrowser.open", lambda address: kept.update(opened=address) or True)
    return kept


def test_what_it_says(call: Call, folders: Path, started: dict[str, Any], capsys: Captured) -> None:
    assert (
        call("serve", folders / "rnn", f"second={folders / 'luong'}", "--runs", folders, "--port", "0") == 0
    )
    out, err = capsys.readouterr()
    assert out.startswith("explorer   http://127.0.0.1:")
    lines = err.splitlines()
    assert lines[0] == "translate  POST /translate (LibreTranslate form) · POST /v1/translate · docs /docs"
    assert lines[1].startswith("engine     ")
    assert lines[2].startswith("models     rnn · second     ready in ")
    assert lines[2].endswith(" s      Ctrl-C to stop")
    services = started["app"].state.services
    assert list(services.models) == ["rnn", "second"]
    assert services.settings.runs == folders
    assert "opened" not in started


def test_torch_waits_for_who_reads_the_page(
    call: Call, folders: Path, started: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain translations need none of it: a server that nobody looks at has its memory for itself."""
    imported = list[str]()
    monkeypatch.setattr("jumok.cli.serve.import_for_good", imported.append)
    assert call("serve", folders / "rnn", "--port", "0", "-q") == 0
    assert imported == []
    opened = started["app"].state.services.settings.opened
    opened()
    opened()
    wait_until(lambda: imported == ["torch"])


def test_what_is_imported_for_good_is_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    before = gc.get_freeze_count()
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    try:
        import_for_good("colorsys")
        assert "colorsys" in sys.modules
        assert gc.isenabled()
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()


def test_only_the_address_and_json(
    call: Call, folders: Path, started: dict[str, Any], capsys: Captured
) -> None:
    assert call("serve", folders / "rnn", "--port", "0", "-q") == 0
    out, err = capsys.readouterr()
    assert (out.startswith("http://127.0.0.1:"), err) == (True, "")
    assert call("serve", folders / "rnn", "--port", "0", "--json") == 0
    out, err = capsys.readouterr()
    said = json.loads(out)
    assert said["models"] == ["rnn"]
    assert said["engines"]["rnn"].split()[0] in ("native", "torch")
    assert said["ready_s"] >= 0
    assert err == ""


@pytest.mark.parametrize(
    ("words", "path", "names"),
    [
        (["rnn", "--open"], "/", ["rnn"]),
        (["rnn", "--open", "/quality"], "/quality", ["rnn"]),
        (["--open", "rnn"], "/", ["rnn"]),  # a model, not a screen
    ],
)
def test_the_browser_is_opened(
    call: Call,
    folders: Path,
    started: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    path: str,
    names: list[str],
) -> None:
    monkeypatch.chdir(folders)
    assert call("serve", "--port", "0", *words) == 0
    assert started["opened"].endswith(path)
    assert list(started["app"].state.services.models) == names


def test_a_machine_without_a_browser(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    module.open_browser("http://127.0.0.1/")
    assert capsys.readouterr().err == "no browser was found: open the address above\n"


def test_names_of_models(folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert name_models([str(folders / "rnn"), f"b={folders / 'rnn'}"]) == {
        "rnn": folders / "rnn",
        "b": folders / "rnn",
    }
    (tmp_path / "a=b").mkdir()
    monkeypatch.chdir(tmp_path)
    assert name_models(["a=b", "c=a=b"]) == {"a=b": Path("a=b"), "c": Path("a=b")}
    assert name_models(["."]) == {tmp_path.name: Path(".")}
    assert name_models([]) == {}
    assert name_models(["demo/rnn+demo/luong", "both=demo/rnn+demo/luong"]) == {
        "rnn+luong": Path("demo/rnn+demo/luong"),
        "both": Path("demo/rnn+demo/luong"),
    }


def test_an_ensemble_is_one_of_the_models(call: Call, started: dict[str, Any], capsys: Captured) -> None:
    words = ("demo/rnn", "both=demo/rnn+demo/luong", "--mean", "logs")
    assert call("serve", *words, "--port", "0", "--json") == 0
    assert json.loads(capsys.readouterr().out)["models"] == ["rnn", "both"]
    both = started["app"].state.services.models["both"].translator
    assert [one["name"] for one in both.info["members"]] == ["rnn", "luong"]
    assert both.info["mean"] == "logs"


def test_two_models_of_one_name(call: Call, folders: Path, capsys: Captured) -> None:
    assert call("serve", folders / "rnn", folders / "rnn") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: two models are called 'rnn': ")
    assert "give one of them another name: other-rnn=" in error


@pytest.mark.parametrize("word", ["=x", "a/b=x", "a\tb=x", f"{'n' * 129}=x"])
def test_names_that_cannot_be(word: str) -> None:
    with pytest.raises(ConfigError, match="cannot be a model's name"):
        name_models([word])


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["none"], 3, "none"),
        (["rnn", "--host", "0.0.0.0"], 2, "host '0.0.0.0' can be reached from other machines"),
        (["rnn", "--api-key-file", "none"], 3, "cannot read the API keys"),
        (["rnn", "--runs", "none"], 2, "--runs none: there is no such folder"),
        (["rnn", "--keep", "rnn/config.json"], 2, "--keep rnn/config.json: File exists"),
        (["rnn", "--allow-origin", "*"], 2, "'*' is not a web origin"),
        (["rnn", "--port", "70000"], 2, "70000 is not in the range"),
        (["rnn", "--allowed-host", "a.org:80"], 2, "'a.org:80' is not the name of a host"),
        (["rnn", "--trusted-proxy", "nginx"], 2, "'nginx' is not a network"),
        (["rnn", "--limit", "queue"], 2, "--limit takes NAME=VALUE, not 'queue'"),
        (
            ["rnn", "--limit", "quue=3"],
            2,
            "--limit quue=3: there is no limit 'quue'\n  did you mean 'queue'?",
        ),
        (["rnn", "--device", "abacus"], 2, "device 'abacus' is not available"),
    ],
)
def test_what_goes_wrong_says_so(
    call: Call,
    folders: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
    words: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(folders)
    assert call("serve", *(words if "--port" in words else [*words, "--port", "0"])) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_a_port_that_is_taken(call: Call, folders: Path, capsys: Captured) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert call("serve", folders / "rnn", "--port", port) == 2
    assert f"error: port {port} is taken" in capsys.readouterr().err


def test_the_next_free_port_is_taken_where_any_will_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with listen_near(ServerSettings(port=port), 20) as sock:
            assert port < sock.getsockname()[1] < port + 20
        with pytest.raises(ConfigError, match=f"port {port} is taken"):
            listen_near(ServerSettings(port=port), 1)
    with pytest.raises(ConfigError, match="there is no host 'no.such.host.invalid'"):
        listen_near(ServerSettings(host="no.such.host.invalid", insecure=True), 20)


def test_there_is_no_port_behind_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[int]()

    def taken(settings: ServerSettings) -> socket.socket:
        tried.append(settings.port)
        raise ConfigError(f"port {settings.port} is taken", code="port_taken")

    monkeypatch.setattr("jumok.server.serve.listen", taken)
    with pytest.raises(ConfigError, match="port 65535 is taken"):
        listen_near(ServerSettings(port=65534), 20)
    assert tried == [65534, 65535]


def test_without_models_the_bundled_ones_are_served() -> None:
    dates = ["transformer", "luong", "rnn"]
    assert list(bundled_models()) == [*dates, *translators()]  # the first is the clients' default
    assert all((folder / "MANIFEST.json").is_file() for folder in bundled_models().values())


def test_the_bundled_models_come_with_their_training(call: Call, started: dict[str, Any]) -> None:
    assert call("serve", "--port", "0", "-q") == 0
    settings = started["app"].state.services.settings
    assert settings.runs == bundled_runs()
    assert {name: one.run for name, one in settings.about.items()} == {
        name: name for name in bundled_models()
    }


def test_the_record_of_a_model_is_its_folder_unless_it_is_bundled(tmp_path: Path) -> None:
    assert record_of(tmp_path) == tmp_path
    assert record_of(Path("demo/rnn")) == record_of(bundled_models()["rnn"]) != bundled_models()["rnn"]


def test_examples_come_from_the_data_a_model_learned_from(tmp_path: Path) -> None:
    from dataclasses import replace

    loaded = untrained(TINY["rnn"])
    assert examples_for(Translator(loaded), tmp_path) == ()
    data = replace(loaded.config.data, name="dates")
    dates = examples_for(Translator(replace(loaded, config=replace(loaded.config, data=data))), tmp_path)
    assert dates[:4] == EXAMPLES
    assert len(dates) == 6


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"samples": [{"src": "eins", "ref": "one"}, {"src": "zwei"}]}\n{"torn', ("eins", "zwei")),
        ('{"samples": [{"ref": "one"}]}', ()),
        ('{"samples": 3}', ()),
        ("[]", ()),
        ('{"samp', ()),
        ("", ()),
    ],
)
def test_a_run_on_your_own_text_offers_its_validation_sentences(
    tmp_path: Path, line: str, expected: tuple[str, ...]
) -> None:
    (tmp_path / "samples.jsonl").write_text(line, encoding="utf-8")
    assert examples_for(Translator(untrained(TINY["rnn"])), tmp_path) == expected


@pytest.mark.parametrize("words", [["--help"], ["version", "-q"], ["serve", "--help"]])
def test_other_commands_never_import_the_web_stack(words: list[str]) -> None:
    code = (
        "import sys\nfrom jumok.cli.main import main\n"
        f"try: main({words!r})\n"
        "except SystemExit: pass\n"
        "sys.exit(any(name in sys.modules for name in ('fastapi', 'starlette', 'uvicorn', 'h11')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("options", "logged"), [([], r""), (["-v"], r"[\d-]+ [\d:,]+ GET /v1/models 200 [\d.]+ ms \w+\n")]
)
def test_a_real_server_from_start_to_ctrl_c(folders: Path, options: list[str], logged: str) -> None:
    command = [sys.executable, "-m", "jumok", "serve", str(folders / "luong"), "--port", "0", "--json"]
    command += options
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert child.stdout is not None
        address = json.loads(child.stdout.readline())["address"]
        with urlopen(f"{address}v1/models") as answer:
            assert json.load(answer)["models"][0]["name"] == "luong"
        child.send_signal(signal.SIGINT)
        assert child.wait(120) == 130
        assert child.stderr is not None
        assert re.fullmatch(logged, child.stderr.read())
    finally:
        if child.poll() is None:
            child.kill()
        child.communicate()


def test_limits_are_set_by_options_and_by_the_environment(
    call: Call,
    folders: Path,
    started: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JUMOK_LIMIT_QUEUE", "7")
    monkeypatch.setenv("JUMOK_LIMIT_BEAM", "8")
    assert call("serve", folders / "rnn", "--port", "0", "-q", "--limit", "beam=4") == 0
    limits = started["app"].state.services.limits
    assert limits == Limits(queue=7, beam=4)


def test_all_limits_are_listed(call: Call, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setenv("JUMOK_LIMIT_QUEUE", "7")
    assert call("serve", "--limits", "--limit", "document_bytes=1MiB") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [one.name for one in fields(Limits)]
    assert "queue                       7  Requests that wait for one model; beyond it 429." in lines
    assert "document_bytes      1,048,576  One document; beyond it 413, before it is read." in lines
    assert call("serve", "--limits", "--json") == 0
    assert json.loads(capsys.readouterr().out) == asdict(Limits(queue=7))


def copy_of(model: Path, place: Path) -> None:
    """Put this model where another one is."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(model, place)


def test_a_real_server_loads_its_models_again_at_a_signal(folders: Path, tmp_path: Path) -> None:
    place = tmp_path / "model"
    copy_of(folders / "luong", place)
    command = [sys.executable, "-m", "jumok", "serve", f"m={place}", "--port", "0", "--json"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert child.stdout is not None
        assert child.stderr is not None
        address = json.loads(child.stdout.readline())["address"]

        def arch() -> str:
            with urlopen(f"{address}v1/models") as answer:
                return str(json.load(answer)["models"][0]["arch"])

        copy_of(folders / "rnn", place)
        assert arch() == "luong"
        child.send_signal(signal.SIGHUP)
        assert re.fullmatch(r"reload     m: now [0-9a-f]{16}, in [\d.]+ s\n", child.stderr.readline())
        assert arch() == "rnn"
        weights = next(place.glob("*.safetensors"))
        weights.write_bytes(weights.read_bytes()[:-1])
        child.send_signal(signal.SIGHUP)
        assert child.stderr.readline().startswith("reload     m: ")
        said = iter(child.stderr.readline, "  the model from before goes on answering\n")
        assert weights.name in "".join(said)
        assert arch() == "rnn"
        child.send_signal(signal.SIGTERM)
        assert child.wait(120) == 0
        assert child.stderr.read() == ""
    finally:
        if child.poll() is None:
            child.kill()
        child.communicate()


def test_a_small_test_set_is_offered_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    loaded = untrained(TINY["rnn"])
    data = replace(loaded.config.data, name="words")
    model = Translator(replace(loaded, config=replace(loaded.config, data=data)))
    monkeypatch.setattr("jumok.data.builtin.BUILTIN", ("words",))
    for count, places in ((0, []), (3, [0, 1, 2]), (12, [0, 2, 4, 6, 8, 10]), (40, [0, 6, 12, 18, 24, 30])):
        corpus = SimpleNamespace(pairs=partial(zip, map(str, range(count)), range(count)))
        monkeypatch.setattr("jumok.data.builtin.builtin_corpus", lambda *_, corpus=corpus: corpus)
        assert examples_for(model, tmp_path) == tuple(map(str, places))


def test_the_greeting_in_its_three_forms(capsys: Captured) -> None:
    address, engines = "http://127.0.0.1:7/", {"a": "native int8", "b": "torch", "c": "native int8"}
    greet(address, engines, 1.25449, as_json=False, quiet=False)
    said = capsys.readouterr()
    assert said.out == f"explorer   {address}\n"
    assert said.err.splitlines() == [
        "translate  POST /translate (LibreTranslate form) · POST /v1/translate · docs /docs",
        "engine     native int8 · torch",
        "models     a · b · c     ready in 1.3 s      Ctrl-C to stop",
    ]
    greet(address, engines, 1.25449, as_json=False, quiet=True)
    assert tuple(capsys.readouterr()) == (f"{address}\n", "")
    greet(address, engines, 1.25449, as_json=True, quiet=True)
    said = capsys.readouterr()
    told = {"address": address, "models": ["a", "b", "c"], "engines": engines, "ready_s": 1.254}
    assert (json.loads(said.out), said.err) == (told, "")


def test_the_first_samples_of_a_run_are_examples(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "samples.jsonl")
    for first in (0, 100):
        lines({"type": "samples", "samples": [{"src": f"text {n}"} for n in range(first, first + 50)]})
    lines.close()
    found = samples_of(tmp_path)
    assert len(found) == module.EXAMPLE_TEXTS < 50
    assert found[:2] == ("text 0", "text 1")
