"""Patches: a picture goes in and the same picture comes out; files of readers are checked."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from jumok.errors import ConfigError, DataError, TokenizerFileError
from jumok.images.patches import PatchReader, parse_patches
from jumok.images.read import to_data_url

SIZES = st.tuples(st.integers(1, 4), st.integers(1, 5))  # patches in a row, pixels of a patch


def picture_of(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=np.uint8)


@given(SIZES, st.integers(0, 9))
def test_patches_tile_the_picture(sizes: tuple[int, int], seed: int) -> None:
    columns, patch = sizes
    reader = PatchReader(columns * patch, patch)
    picture = picture_of(columns * patch, seed)
    patches = reader.cut(picture)
    assert patches.shape == (reader.places, reader.numbers) == (columns**2, patch * patch * 3)
    assert (reader.join(patches) == picture).all()
    for place, numbers in enumerate(patches):
        top, left = place // columns * patch, place % columns * patch
        assert (numbers.reshape(patch, patch, 3) == picture[top : top + patch, left : left + patch]).all()


def test_many_pictures_are_cut_at_once() -> None:
    reader = PatchReader(6, 2)
    pictures = np.stack([picture_of(6, seed) for seed in range(3)])
    assert (reader.cut(pictures) == np.stack([reader.cut(one) for one in pictures])).all()


@given(st.integers(0, 99))
def test_ids_are_bytes_and_decode_to_the_same_picture(seed: int) -> None:
    reader = PatchReader(6, 3)
    ids = reader.encode(to_data_url(picture_of(6, seed)))
    assert len(ids) == reader.places == 4
    assert all(isinstance(one, bytes) and len(one) == reader.numbers for one in ids)
    assert hash(ids) == hash(tuple(ids))
    assert reader.encode(reader.decode(ids)) == ids
    assert reader.encode_many(reader.decode_many([ids, ids])) == [ids, ids]


def test_patches_that_are_missing_are_white() -> None:
    reader = PatchReader(4, 2)
    ids = reader.encode(to_data_url(np.zeros((4, 4, 3), dtype=np.uint8)))
    assert reader.encode(reader.decode(ids[:3])) == (*ids[:3], b"\xff" * 12)
    assert reader.decode(()) == ""
    assert reader.encode("  ") == ()


def test_pieces_are_rows_and_columns() -> None:
    assert PatchReader(4, 2).pieces([b""] * 4) == ["1,1", "1,2", "2,1", "2,2"]


def test_without_paths_no_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(picture_of(4)).save(path)
    reader = PatchReader(4, 2)
    closed = reader.without_paths()
    assert closed.fingerprint == reader.fingerprint
    url = reader.decode(reader.encode(str(path)))
    assert closed.encode(url) == reader.encode(str(path))
    for name in (str(path), "file://a.png", "http://x/a.png", "hello"):
        with pytest.raises(DataError, match="this model reads pictures, and the text is none") as caught:
            closed.encode(name)
        assert caught.value.code == "bad_image"


@given(SIZES)
def test_a_reader_survives_its_file(sizes: tuple[int, int]) -> None:
    reader = PatchReader(sizes[0] * sizes[1], sizes[1])
    again = parse_patches(reader.to_bytes(), "x")
    assert (again.side, again.patch, again.fingerprint) == (reader.side, reader.patch, reader.fingerprint)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        json.dumps({"format": "jumok-patches/2", "size": 4, "patch": 2}).encode(),
        json.dumps({"format": "jumok-patches/1", "size": 4, "patch": 3}).encode(),
        json.dumps({"format": "jumok-patches/1", "size": 4, "patch": True}).encode(),
        json.dumps({"format": "jumok-patches/1", "size": 10**6, "patch": 2}).encode(),
        json.dumps({"format": "jumok-patches/1", "size": 4, "patch": 2, "x": 1}).encode(),
    ],
)
def test_any_other_file_is_refused(data: bytes) -> None:
    with pytest.raises(TokenizerFileError, match="not a patch reader of jumok"):
        parse_patches(data, "source_images.json")


def test_sizes_that_do_not_tile_are_refused() -> None:
    with pytest.raises(ConfigError, match="image.patch=3 cannot work"):
        PatchReader(32, 3)
