"""A site: whole, small, nothing absolute in it, and nothing of someone else's is overwritten."""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest

from jumok.checkpoint.bundled import EXAMPLES, RECORDS, bundled
from jumok.checkpoint.manifest import CALIBRATION, NOVELTY
from jumok.errors import ConfigError, ModelError
from jumok.site.folder import SITE, SiteModel, write_site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "site"
    models = {name: SiteModel(folder, EXAMPLES, name) for name, folder in bundled().items()}
    write_site(models, out, runs=RECORDS, only=tuple(bundled()))
    return out


def files_of(site: Path) -> dict[str, bytes]:
    paths = [path for path in site.rglob("*") if path.is_file()]
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in paths}


def test_the_site_of_the_trio_is_small(site: Path) -> None:
    """What a visitor receives: hosts send texts compressed, weights and engines as they are."""
    texts = (".js", ".css", ".json", ".html", ".txt")
    sent = [gzip.compress(data) if name.endswith(texts) else data for name, data in files_of(site).items()]
    assert sum(map(len, sent)) <= 2_600_000
    assert sum(map(len, files_of(site).values())) <= 3_000_000


def test_words_and_the_book_are_packed_and_a_screen_that_needs_a_server_is_not_there(site: Path) -> None:
    page = {name: data for name, data in files_of(site).items() if "/" not in name}
    packed = {re.split(r"[-.]", name)[0]: data for name, data in page.items() if name.endswith(".json.gz")}
    assert packed.keys() == {"words", "learn", "answers"}
    assert all(json.loads(gzip.decompress(data)) for data in packed.values())
    assert [name for name in page if name.endswith(".json")] == [SITE]
    assert not [name for name in page if name.startswith("documents-")]


def test_training_sentences_are_there_only_if_they_are_asked_for(tmp_path: Path) -> None:
    """The bundled Transformer has an index of states."""
    for asked in (False, True):
        model = SiteModel(bundled()["transformer"], neighbours=asked)
        files = write_site({"one": model}, tmp_path / str(asked))
        assert any(name.endswith("/neighbours.safetensors") for name in files) is asked


def test_everything_that_is_named_is_there(site: Path) -> None:
    files = files_of(site)
    about = json.loads(files[SITE])
    named = [*about["engines"], about["answers"]]
    named += [place for model in about["models"] for place in model["files"].values()]
    named += re.findall(r'(?:href|src|content)="\./([^"]+)"', files["index.html"].decode())
    assert set(named) <= files.keys()
    assert [model["name"] for model in about["models"]] == list(bundled())
    assert about["models"][0]["examples"] == list(EXAMPLES)


def test_what_is_usual_for_a_model_comes_along(site: Path) -> None:
    about = json.loads((site / SITE).read_text("utf-8"))
    for model in about["models"]:
        for name in (CALIBRATION, NOVELTY):
            own = bundled()[model["name"]] / name
            assert own.exists() == (name in model["files"])
            assert not own.exists() or (site / model["files"][name]).read_bytes() == own.read_bytes()


def test_equal_files_of_several_models_lie_in_one_place(site: Path) -> None:
    tokenizers = {
        model["files"]["tokenizer.json"] for model in json.loads((site / SITE).read_text())["models"]
    }
    assert len(tokenizers) == 1
    assert len([*site.rglob("tokenizer.json")]) == 1


def test_paths_are_relative_and_nothing_comes_from_elsewhere(site: Path) -> None:
    page = files_of(site)["index.html"].decode()
    assert not re.search(r'(?:href|src|content)="/', page)
    assert not re.search("https?:", page)
    assert "connect-src 'self'" in page


def test_the_service_worker_keeps_every_file(site: Path) -> None:
    files = files_of(site)
    script = files["sw.js"].decode()
    kept = json.loads(re.search(r"addAll\((\[.*?\])\)", script)[1])  # type: ignore[index]
    assert {name.removeprefix("./") for name in kept} == {"", *files} - {"sw.js"}
    assert "__" not in script


def test_runs_are_recorded(site: Path) -> None:
    files = files_of(site)
    answers = json.loads(gzip.decompress(files[json.loads(files[SITE])["answers"]]))
    assert [run["name"] for run in answers["/v1/runs"]["runs"]] == ["luong", "rnn", "transformer"]
    details = answers["/v1/runs/rnn"]
    assert details["status"] == "completed"
    assert answers["/v1/runs/rnn/series"]["series"].keys() == set(details["series"])
    [first, *_] = answers["/v1/evals"]["evals"]
    assert answers[f"/v1/evals/{first['id']}"]["metrics"]


def test_the_same_models_give_the_same_bytes(site: Path, tmp_path: Path) -> None:
    models = {name: SiteModel(folder, EXAMPLES, name) for name, folder in bundled().items()}
    write_site(models, tmp_path / "again", runs=RECORDS, only=tuple(bundled()))
    assert files_of(tmp_path / "again") == files_of(site)


def test_an_earlier_site_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    models = {"rnn": SiteModel(bundled()["rnn"])}
    out = tmp_path / "site"
    write_site({"other": SiteModel(bundled()["luong"])}, out)
    write_site(models, out)
    assert [path.name[:4] for path in (out / "models").iterdir()] == ["rnn-"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(ConfigError, match="is there already and is no site"):
        write_site(models, tmp_path / "mine")
    assert (tmp_path / "mine" / "letter.txt").read_text() == "dear"


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "rnn"
    shutil.copytree(bundled()["rnn"], folder)
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    with pytest.raises(ModelError, match=r"model\.safetensors was changed"):
        write_site({"rnn": SiteModel(folder)}, tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_what_a_page_cannot_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumok.site.folder.copies", lambda _: True)
    with pytest.raises(
        ConfigError, match="the model rnn copies from its source, which a page without a server"
    ):
        write_site({"rnn": SiteModel(bundled()["rnn"])}, tmp_path / "site")
