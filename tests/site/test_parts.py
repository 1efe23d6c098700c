"""The parts of a site by themselves: names, the page, what keeps it in the browser, and where it is put."""

import gzip
import re
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from jumok.checkpoint.bundled import RECORDS, bundled
from jumok.checkpoint.contents import Contents
from jumok.checkpoint.manifest import CALIBRATION, MANIFEST
from jumok.config import RnnConfig, TransformerConfig
from jumok.errors import ConfigError, RunError
from jumok.site import folder as module
from jumok.site.folder import (
    cannot_run,
    engine_files,
    hashed,
    index,
    model_files,
    page_files,
    put,
    recorded_answers,
    service_worker,
    to_json,
    total,
)

PAGE = """<html><head>
    <meta property="icon" content="/icon.svg" />
    <title>x</title><link href="/a.css" /></head><script src="/b.js"></script></html>"""
SITE = """<html><head>
    <meta property="icon" content="./icon.svg" />
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
connect-src 'self'; worker-src 'self'; \
base-uri 'none'; form-action 'none'" />
    <meta name="jumok-worker" content="./worker-1.js" />
    <script src="./opened.js"></script>
    <title>x</title><link href="./a.css" /></head><script src="./b.js"></script></html>"""


def test_the_page_says_where_its_worker_is_and_asks_nobody_else() -> None:
    assert index(PAGE, "worker-1.js", {}) == SITE.encode()
    runs = '    <meta name="jumok-runs" content="" />\n    <script src="./opened.js">'
    assert (
        index(PAGE, "worker-1.js", {"/v1/runs": {}})
        == SITE.replace('    <script src="./opened.js">', runs).encode()
    )


def test_a_name_changes_with_its_content() -> None:
    mark = sha256(b"one").hexdigest()[:10]
    assert hashed("engine.wasm.gz", b"one") == {f"engine-{mark}.wasm.gz": b"one"}
    assert hashed("engine.wasm.gz", b"two").keys() != hashed("engine.wasm.gz", b"one").keys()


def test_whatever_changes_in_a_site_is_another_version() -> None:
    files = {"b.js": b"1", "a.js": b"2"}
    script = service_worker(files).decode()
    assert '["./", "./a.js", "./b.js"]' in script
    assert "jumok site`: the list below has are all of them." in script.split("\n")[0]
    (version,) = re.findall(r'ours \+ "([0-9a-f]+)"', script)
    assert len(version) == 16
    assert service_worker(dict(reversed(files.items()))).decode() == script
    for other in ({"b.js": b"1", "a.js": b"3"}, {"b.js": b"2", "a.js": b"1"}):
        assert service_worker(other).decode() == script.replace(version, own_version(other))
        assert own_version(other) != version


def own_version(files: dict[str, bytes]) -> str:
    return sha256(b"".join(sha256(files[name]).digest() for name in sorted(files))).hexdigest()[:16]


def test_the_fast_engine_comes_first() -> None:
    names = [re.sub("-[0-9a-f]{10}", "", name) for name in engine_files()]
    assert names == ["engine-simd.wasm.gz", "engine.wasm.gz"]
    for name, content in engine_files().items():
        assert sha256(content).hexdigest()[:10] in name


def test_words_are_packed_alike_each_time_and_what_needs_a_server_stays_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", tmp_path)
    with pytest.raises(RunError, match="^the page has not been built\n  cd web && npm ci && npm run build$"):
        page_files()
    for name in ("index.html", "words.json", "file-1.js", "report-1.js", "documents-1.js", "profile-1.js"):
        (tmp_path / name).write_text(name)
    files = page_files()
    assert list(files) == ["index.html", "profile-1.js", "words.json.gz"]
    assert (files["profile-1.js"], gzip.decompress(files["words.json.gz"])) == (
        b"profile-1.js",
        b"words.json",
    )
    assert files["words.json.gz"][4:8] == bytes(4)  # no time


@pytest.mark.parametrize(
    ("name", "place"), [("rnn", "rnn"), ("../a b/ü_c-", "a-b-_c"), ("한국어", "model"), ("", "model")]
)
def test_a_model_lies_in_a_folder_of_plain_letters(name: str, place: str) -> None:
    folder, files = model_files(name, bundled()["rnn"], ())
    assert re.fullmatch(rf"models/{place}-[0-9a-f]{{10}}", folder)
    assert {"config.json", MANIFEST, "tokenizer.json"} <= files.keys()
    assert not {"README.md", "optimizer.safetensors", "shortlist.safetensors"} & files.keys()
    more, with_more = model_files(name, bundled()["rnn"], (CALIBRATION, "nothing.json"))
    assert with_more.keys() - files.keys() == {CALIBRATION}
    assert more != folder  # what was added is in its mark


CASES: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("reads pictures", {"pictures": True}),
    ("translates in several directions", {"files": ("frame.json", "tokenizer.json")}),
    ("copies from its source", {"config": TransformerConfig(copy=True)}),
    ("cuts texts as another program does", {"data": b'{"jumok": "foreign"}'}),
    ("", {"data": b'{"jumok": "foreign"}', "files": ("other.json",)}),
]


@pytest.mark.parametrize(("reason", "change"), CASES)
def test_what_a_page_cannot_do_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str, change: dict[str, Any]
) -> None:
    files = change.get("files", ("source_tokenizer.json", "target_tokenizer.json"))
    for name in files:
        (tmp_path / name).write_bytes(b"{}")
    (tmp_path / files[-1]).write_bytes(change.get("data", b"{}"))
    monkeypatch.setattr(module, "read_manifest", lambda _: dict.fromkeys(files, ""))
    monkeypatch.setattr(module, "is_foreign", lambda data: b"foreign" in data)
    contents = SimpleNamespace(
        folder=tmp_path,
        tokenizers=SimpleNamespace(pictures=change.get("pictures")),
        config=SimpleNamespace(model=change.get("config", RnnConfig())),
    )
    assert cannot_run(cast(Contents, contents)) == reason


def test_runs_are_recorded_by_name(tmp_path: Path) -> None:
    assert recorded_answers(tmp_path) == {}
    assert recorded_answers(RECORDS, ("no such run",)) == {}
    one = recorded_answers(RECORDS, ("rnn",))
    assert [run["name"] for run in one["/v1/runs"]["runs"]] == ["rnn"]
    assert {entry["run"] for entry in one["/v1/evals"]["evals"]} == {"rnn"}
    assert not [path for path in one if re.search("luong|transformer", path)]


def test_a_site_is_put_where_nothing_else_is(tmp_path: Path) -> None:
    files = {"site.json": b"{}", "models/a/x.bin": b"123"}
    out = tmp_path / "site"
    out.mkdir()
    (tmp_path / ".site.part").mkdir()
    (tmp_path / ".site.part" / "left.txt").write_text("of a run that was stopped")
    for _ in range(2):  # into an empty folder, then over an earlier site
        put(files, out)
        assert {path.name for path in tmp_path.iterdir()} == {"site"}
        assert {path.name for path in out.rglob("*") if path.is_file()} == {"site.json", "x.bin"}
    assert total(list(files), out) == 5
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(ConfigError) as caught:
        put(files, file)
    said = f"{file} is there already and is no site\n  name a new folder, or an empty one"
    assert (str(caught.value), caught.value.code) == (said, "not_empty")
    with pytest.raises(RunError, match=f"^cannot write the site: Not a directory\n  {file}/deeper$"):
        put(files, file / "deeper")


def test_json_is_short_and_has_no_number_that_browsers_do_not_know() -> None:
    assert to_json({"ü": [1, None]}) == '{"ü":[1,null]}'.encode()
    with pytest.raises(ValueError, match="Out of range float values"):
        to_json(float("nan"))
