import json
import zipfile
from pathlib import Path

import pytest

import jumok
from jumok.errors import ModelError
from jumok.importing.argos_package import is_package, read_package, unpack
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


@pytest.mark.parametrize(
    ("compression", "said"),
    [
        (zipfile.ZIP_DEFLATED, "a.argosmodel is no package of Argos Translate: Error -3"),
        (zipfile.ZIP_BZIP2, "a.argosmodel cannot be unpacked: Invalid data stream"),
        (zipfile.ZIP_LZMA, "a.argosmodel is no package of Argos Translate: "),
    ],
)
def test_damage_inside_a_package_is_said(compression: int, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.argosmodel"
    with zipfile.ZipFile(path, "w", compression) as made:
        made.writestr("a/metadata.json", bytes(range(256)) * 40)
    data = bytearray(path.read_bytes())
    begin = data.index(b"metadata.json") + len("metadata.json")
    data[begin : begin + 60] = b"\xff" * 60
    path.write_bytes(data)
    with pytest.raises(ModelError, match=said):
        read_package(path, tmp_path / "work")


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.argosmodel"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("a/metadata.json", "{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            made.writestr("a/metadata.json", "{}")
    with pytest.raises(ModelError, match="a.argosmodel cannot be unpacked: File exists"):
        read_package(path, tmp_path / "work")


def test_only_what_is_needed_is_unpacked_and_only_so_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {
        "a/model/model.bin": "m",
        "a/metadata.json": "{}",
        "a/sentencepiece.model": "s",
        "a/bpe.model": "b",
    }
    path = tmp_path / "a.argosmodel"
    with zipfile.ZipFile(path, "w") as made:
        for name, text in {**wanted, "a/stanza/big.pt": "1234567", "loose.txt": "8"}.items():
            made.writestr(name, text)
    monkeypatch.setattr("jumok.importing.argos_package.MOST", 13)  # all of them together
    root = unpack(path, tmp_path / "work")
    assert root == tmp_path / "work" / "a"
    found = {
        str(one.relative_to(tmp_path / "work")): one.read_text() for one in root.rglob("*") if one.is_file()
    }
    assert found == wanted
    monkeypatch.setattr("jumok.importing.argos_package.MOST", 12)
    with pytest.raises(ModelError, match="the package has 13 bytes inside"):
        unpack(path, tmp_path / "work2")


@pytest.mark.parametrize("name", ["/a/metadata.json", "a/../b/metadata.json", "a\\metadata.json"])
def test_names_that_lead_elsewhere_are_refused(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr(name, "{}")
    with pytest.raises(ModelError, match="which lies outside of its folder"):
        unpack(tmp_path / "a.zip", tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_packages_are_told_by_their_metadata(tmp_path: Path) -> None:
    for name, inside, wanted in (
        ("a.argosmodel", "x", True),
        ("b.npz", "a/metadata.json", False),
        ("c.zip", "a/metadata.json", True),
        ("d.zip", "metadata.json", False),
    ):
        with zipfile.ZipFile(tmp_path / name, "w") as made:
            made.writestr(inside, "")
        assert is_package(tmp_path / name) == wanted, name
    (tmp_path / "e.zip").write_text("no zip")
    assert not is_package(tmp_path / "e.zip")
