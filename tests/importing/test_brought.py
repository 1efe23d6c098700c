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
