from hashlib import sha256
from pathlib import Path

import pytest

from jumok.errors import ModelError
from jumok.importing.brought import BroughtFolder


def test_a_snapshot_of_the_hubs_cache_may_link_to_its_blobs(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "models--a--b" / "blobs", tmp_path / "models--a--b" / "snapshots" / "1234"
    blobs.mkdir(parents=True), snapshot.mkdir(parents=True)
    (blobs / "ab12").write_text("{}")
    (snapshot / "config.json").symlink_to("../../blobs/ab12")
    assert BroughtFolder(snapshot).object("config.json") == {}


def test_other_links_are_refused_and_links_inside_are_not(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret.json").write_text("{}")
    (folder / "out.json").symlink_to(tmp_path / "secret.json")
    (folder / "real.json").write_text("[]")
    (folder / "in.json").symlink_to("real.json")
    found = BroughtFolder(folder)
    with pytest.raises(ModelError, match="out.json is a link out of the folder, to .*secret.json"):
        found.json("out.json")
    assert found.json("in.json") == []
    with pytest.raises(ModelError, match="in.json is no JSON object"):
        found.object("in.json")
    assert found.used["in.json"] == sha256(b"[]").hexdigest() == found.digest("real.json")


def test_what_is_missing_too_large_or_no_json_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    folder = BroughtFolder(tmp_path)
    with pytest.raises(ModelError, match="b.json is missing"):
        folder.json("b.json")
    with pytest.raises(ModelError, match="a.json is no JSON: Expecting property name"):
        folder.json("a.json")
    with pytest.raises(ModelError, match="a.json has 1 bytes, and 0 may be"):
        folder.bytes("a.json", 0)
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(ModelError, match="folder.json is not a plain file"):
        folder.file("folder.json")
    assert folder.first("c", "a.json") == "a.json"
    assert folder.first("c") is None


def test_everything_that_was_read_is_on_the_card(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"123")
    (tmp_path / "b").write_bytes(b"456")
    folder = BroughtFolder(tmp_path)
    assert folder.has("a")
    assert folder.used == {}  # looking is not reading
    assert folder.bytes("a", 3) == b"123"
    assert folder.digest("b") == sha256(b"456").hexdigest()
    (tmp_path / "b").write_bytes(b"later")
    assert folder.digest("b") == sha256(b"456").hexdigest()  # that of what was read
    assert folder.used == {"a": sha256(b"123").hexdigest(), "b": sha256(b"456").hexdigest()}
    with pytest.raises(ModelError, match="a has 3 bytes, and 2 may be"):
        folder.bytes("a", 2)


def test_a_link_that_leads_nowhere_is_there_and_no_plain_file(tmp_path: Path) -> None:
    (tmp_path / "gone.json").symlink_to("nothing")
    folder = BroughtFolder(tmp_path)
    assert folder.has("gone.json")
    with pytest.raises(ModelError, match="gone.json is not a plain file") as refused:
        folder.file("gone.json")
    assert (refused.value.code, refused.value.hint) == (
        "missing_file",
        "copy the folder again from where it was whole",
    )
    snapshot = tmp_path / "other" / "1234"  # a folder whose parent has another name may not link out
    snapshot.mkdir(parents=True)
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "x").write_text("{}")
    (snapshot / "config.json").symlink_to("../../blobs/x")
    with pytest.raises(ModelError, match="config.json is a link out of the folder"):
        BroughtFolder(snapshot).json("config.json")


def test_json_that_is_nested_too_deeply_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(ModelError, match="deep.json is no JSON: maximum recursion depth"):
        BroughtFolder(tmp_path).json("deep.json")
    (tmp_path / "latin.json").write_bytes(b'"\xe9"')
    with pytest.raises(ModelError, match="latin.json is no JSON: 'utf-8' codec"):
        BroughtFolder(tmp_path).json("latin.json")
