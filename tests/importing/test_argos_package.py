import json
import zipfile
from pathlib import Path

import pytest

import jumok
from jumok.errors import ModelError
from jumok.importing.argos_package import is_package, read_package
from jumok.importing.model import import_model


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of ours as a package of Argos Translate."""
    out = tmp_path_factory.mktemp("argos") / "en_de.argosmodel"
    jumok.export_model("demo/transformer", "argos", out, sentences=3, languages=("en", "de"))
    return out


def test_a_package_out_and_in_again_gives_the_same_answers(
    package: Path, lines: Path, tmp_path: Path
) -> None:
    result = import_model(package, tmp_path / "ours", source=lines)
    assert result["passed"]
    assert result["origin"]["program"] == "Argos Translate"
    assert list(result["origin"]["files"]) == ["en_de.argosmodel"]
    ours, before = jumok.load(tmp_path / "ours"), jumok.load("demo/transformer")
    assert (ours.config.data.source_language, ours.config.data.target_language) == ("en", "de")
    texts = ["4. November 1942", "on May 2, 2001"]
    again = ours.translate(texts, sentences="as-is")
    assert [one.text for one in again] == [one.text for one in before.translate(texts, sentences="as-is")]


def rewritten(package: Path, out: Path, **changed: bytes | None) -> Path:
    """The package with some of its files changed, or left out."""
    with zipfile.ZipFile(package) as given, zipfile.ZipFile(out, "w") as made:
        for name in given.namelist():
            short = name.split("/")[-1].replace(".", "_")
            if changed.get(short, b"") is not None:
                made.writestr(name, changed.get(short) or given.read(name))
    return out


def test_what_is_no_package_is_refused(package: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    bare = rewritten(package, tmp_path / "a.argosmodel", model_bin=None)
    with pytest.raises(ModelError, match="the package has no model/model.bin"):
        read_package(bare, work)
    nameless = rewritten(package, tmp_path / "b.argosmodel", metadata_json=json.dumps({}).encode())
    (tmp_path / "work2").mkdir()
    with pytest.raises(ModelError, match="metadata.json of the package names no languages"):
        read_package(nameless, tmp_path / "work2")
    (tmp_path / "c.argosmodel").write_bytes(b"PK no zip")
    with pytest.raises(ModelError, match="c.argosmodel is no package of Argos Translate"):
        read_package(tmp_path / "c.argosmodel", work)


def test_a_file_outside_of_the_package_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("../../evil", "")
        made.writestr("a/metadata.json", "{}")
    assert is_package(tmp_path / "a.zip")
    (tmp_path / "work").mkdir()
    with pytest.raises(ModelError, match=r"has a file '../../evil', which lies outside of its folder"):
        read_package(tmp_path / "a.zip", tmp_path / "work")
