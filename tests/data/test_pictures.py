"""A corpus of pictures: names become full names, and what is missing is told with its lines."""

import json
import shutil
from pathlib import Path

import pytest
from tests.data.pictures import write_pictures

from jumok.data.corpus import open_corpus
from jumok.data.pictures import with_pictures
from jumok.data.reader import examine
from jumok.errors import ConfigError, DataError
from jumok.images.read import read_picture


@pytest.mark.parametrize("zipped", [False, True])
def test_pairs_are_full_names_and_captions(tmp_path: Path, zipped: bool) -> None:  # noqa: FBT001
    images, captions = write_pictures(tmp_path, 8, zipped=zipped)
    corpus = with_pictures(open_corpus(captions), images)
    pairs = list(corpus.pairs())
    assert pairs[0] == (f"{images}/0.png", "a red square 0")
    assert len(pairs) == 8
    assert all(read_picture(name, 4).shape == (4, 4, 3) for name, _ in pairs)
    assert list(corpus.pairs()) == pairs


def test_jsonl_names_pictures_too(tmp_path: Path) -> None:
    images, _ = write_pictures(tmp_path, 2)
    captions = tmp_path / "captions.jsonl"
    captions.write_text(json.dumps({"src": "1.png", "tgt": "a green one"}) + "\n", encoding="utf-8")
    corpus = with_pictures(open_corpus(str(captions)), images)
    assert list(corpus.pairs()) == [(f"{images}/1.png", "a green one")]


def test_a_picture_may_have_several_captions(tmp_path: Path) -> None:
    images, captions = write_pictures(tmp_path, 2)
    Path(captions).write_text("0.png\ta\tb\t \n1.png\tc\t\td\n", encoding="utf-8")
    corpus = with_pictures(open_corpus(captions, columns="1,2+"), images)
    assert [caption for _, caption in corpus.pairs()] == ["a", "b", "c", "d"]
    assert len(list(corpus.texts())) == 2


def test_captions_without_pictures_are_listed(tmp_path: Path) -> None:
    images, captions = write_pictures(tmp_path, 8)
    for number in (1, 2, 4, 6):
        (Path(images) / f"{number}.png").unlink()
    with pytest.raises(DataError, match="4 lines name a picture that .* does not have") as caught:
        list(with_pictures(open_corpus(captions), images).pairs())
    error = caught.value
    assert error.code == "missing_images"
    assert [f"captions.tsv:{line}" in error.where for line in (2, 3, 5, 7)] == [True, True, True, False]
    assert "and 1 more" in error.where
    assert ".png" in error.hint


def test_a_name_that_leads_outside_is_refused(tmp_path: Path) -> None:
    images, captions = write_pictures(tmp_path, 2)
    Path(captions).write_text("../captions.tsv\tx\n", encoding="utf-8")
    with pytest.raises(DataError, match="leads outside") as caught:
        list(with_pictures(open_corpus(captions), images).pairs())
    assert caught.value.where == f"{captions}:1"
    report = examine(with_pictures(open_corpus(captions), images))
    assert "outside" in [finding.kind for finding in report.findings]


def test_a_name_that_no_line_can_hold_is_missing(tmp_path: Path) -> None:
    images, _ = write_pictures(tmp_path, 1)
    (Path(images) / "0.png").rename(Path(images) / "a\tb.png")
    captions = tmp_path / "captions.jsonl"
    captions.write_text(json.dumps({"src": "a\tb.png", "tgt": "x"}) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="1 line names a picture"):
        list(with_pictures(open_corpus(str(captions)), images).pairs())


def test_the_fingerprint_knows_every_picture(tmp_path: Path) -> None:
    images, captions = write_pictures(tmp_path, 4)
    corpus = with_pictures(open_corpus(captions), images)
    before = corpus.fingerprint()
    shutil.copytree(images, tmp_path / "copy")
    assert with_pictures(open_corpus(captions), str(tmp_path / "copy")).fingerprint() == before
    shutil.copy(Path(images) / "0.png", Path(images) / "1.png")
    assert corpus.fingerprint() != before


def test_what_cannot_hold_pictures_is_refused(tmp_path: Path) -> None:
    images, captions = write_pictures(tmp_path, 2, zipped=True)
    corpus = open_corpus(captions)
    with pytest.raises(DataError, match="no such folder or zip file of pictures"):
        with_pictures(corpus, str(tmp_path / "none"))
    with pytest.raises(DataError, match="not a sound zip file"):
        with_pictures(corpus, captions)
    shutil.copy(images, tmp_path / "images.jar")
    with pytest.raises(ConfigError, match="is not called .zip"):
        with_pictures(corpus, str(tmp_path / "images.jar"))
    odd = tmp_path / "a\tb"
    odd.mkdir()
    with pytest.raises(ConfigError, match="a tab or a line break"):
        with_pictures(corpus, str(odd))


def test_a_check_finds_pictures_that_are_missing_or_damaged(tmp_path: Path) -> None:
    images, captions = write_pictures(tmp_path, 120)
    corpus = with_pictures(open_corpus(captions), images)
    assert not examine(corpus).has_errors
    (Path(images) / "3.png").unlink()
    (Path(images) / "5.png").write_bytes(b"no picture")
    found = {finding.kind: finding.lines for finding in examine(corpus).findings}
    assert found["no_image"] == (4,)
    assert found["bad_image"] == (6,)
    assert "odd_length" not in found
