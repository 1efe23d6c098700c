"""Pictures on disk: what is read back is what was written; movement follows from seed, step and row."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.data.pictures import write_pictures

from jumok.config import TextConfig
from jumok.data.batch import Room, lay_rows
from jumok.data.corpus import open_corpus
from jumok.data.picture_store import (
    PictureShift,
    PictureStore,
    build_picture_store,
    open_any_store,
    open_picture_store,
)
from jumok.data.pictures import with_pictures
from jumok.errors import DataError
from jumok.images.patches import PatchReader
from jumok.text.tokenizer import FIRST, Tokenizer, Tokenizers, train_tokenizer
from jumok.text.tokenizer_form import TokenizerForm

READER = PatchReader(8, 4)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    images, captions = write_pictures(tmp_path_factory.mktemp("pictures"), 12)
    pairs = list(with_pictures(open_corpus(captions), images).pairs())
    return [*pairs, (pairs[0][0], "another caption"), (pairs[1][0], "")]


@pytest.fixture(scope="module")
def tokenizers(pairs: list[tuple[str, str]]) -> Tokenizers:
    return Tokenizers(READER, train_tokenizer([b for _, b in pairs], TextConfig(vocabulary=300)))


@pytest.fixture(scope="module")
def store(
    pairs: list[tuple[str, str]], tokenizers: Tokenizers, tmp_path_factory: pytest.TempPathFactory
) -> PictureStore:
    folder = tmp_path_factory.mktemp("stores") / "train"
    return build_picture_store(pairs, tokenizers, folder, max_length=64)


def test_a_store_gives_back_what_went_in(
    store: PictureStore, pairs: list[tuple[str, str]], tokenizers: Tokenizers
) -> None:
    assert len(store) == 13  # the blank one is left out
    assert store.left_out == {"blank": 1, "too_long": 0}
    assert len(store.source_ids) == 12  # each picture once
    for row, (name, caption) in enumerate(pairs[:13]):
        assert tuple(patch.tobytes() for patch in store.source(row)) == READER.encode(name)
        assert tokenizers.target.decode(store.target(row).tolist()) == caption
    again = open_any_store(store.folder)
    assert isinstance(again, PictureStore)
    assert again.fingerprint == store.fingerprint
    assert (store.source_lengths == READER.places).all()


def test_progress_ends_with_the_last_picture(
    pairs: list[tuple[str, str]], tokenizers: Tokenizers, tmp_path: Path
) -> None:
    seen: list[tuple[str, int, int | None]] = []
    build_picture_store(
        pairs, tokenizers, tmp_path / "s", max_length=64, progress=lambda *report: seen.append(report)
    )
    assert seen == [("reading pictures", done, 12) for done in range(1, 13)]


def test_captions_that_are_too_long_are_left_out(
    pairs: list[tuple[str, str]], tokenizers: Tokenizers, tmp_path: Path
) -> None:
    many = [*pairs[:2], (pairs[2][0], "a red " * 50)]
    store = build_picture_store(many, tokenizers, tmp_path / "s", max_length=20)
    assert len(store) == len(store.source_ids) == 2
    assert store.left_out == {"blank": 0, "too_long": 1}
    with pytest.raises(DataError, match="no pair is left of 1"):
        build_picture_store(many[2:], tokenizers, tmp_path / "t", max_length=20)


@pytest.mark.parametrize("size", [1 << 16, (1 << 16) + 1])
def test_every_token_of_a_large_vocabulary_has_room(
    size: int, pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    """Ids take two bytes as long as they fit."""
    words = tuple(f" w{n}" for n in range(size - FIRST))
    target = Tokenizer(TokenizerForm(words, (), "word"))
    last = words[-1].strip()
    store = build_picture_store(
        [(pairs[0][0], last)], Tokenizers(READER, target), tmp_path / "s", max_length=9
    )
    assert (target.size, store.target(0).tolist()) == (size, [size - 1])
    assert store.target(0).dtype.itemsize == (2 if size == 1 << 16 else 4)


def test_a_damaged_store_is_refused(
    pairs: list[tuple[str, str]], tokenizers: Tokenizers, tmp_path: Path
) -> None:
    store = build_picture_store(pairs, tokenizers, tmp_path / "s", max_length=64)
    with (store.folder / "pictures.u8").open("ab") as file:
        file.write(b"x")
    with pytest.raises(DataError, match="the prepared data cannot be read: pictures.u8 has"):
        open_picture_store(store.folder)


def test_a_batch_of_pictures_has_no_ends(store: PictureStore) -> None:
    batch = lay_rows(store, np.array([0, 3, 7]))
    assert batch.source.shape == (12, 48)
    assert batch.source.dtype == torch.uint8
    assert np.array_equal(batch.source[4:8], store.source(3))
    assert batch.source_lengths.tolist() == [4, 4, 4]
    assert (batch.source_tokens, batch.sentences) == (12, 3)


def test_a_fixed_room_for_pictures_is_filled_up_with_blank_patches(store: PictureStore) -> None:
    room = Room(64, 64)
    batch, empty = lay_rows(store, np.array([0, 3]), room), lay_rows(store, np.array([], dtype=int), room)
    assert batch.source.shape == empty.source.shape == (64, 48)
    assert batch.source.dtype == empty.source.dtype == torch.uint8
    assert not batch.source[8:].any()
    assert not empty.source.any()
    assert (empty.sentences, empty.tokens) == (0, 0)


@given(st.integers(1, 4), st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))
def test_a_picture_moves_by_a_few_pixels(by: int, seed: int, step: int, row: int) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    moved = PictureShift(by, seed, step).move(picture, row)
    assert (moved == PictureShift(by, seed, step).move(picture, row)).all()
    wide = np.pad(picture, ((by, by), (by, by), (0, 0)), mode="edge")
    places = [(y, x) for y in range(2 * by + 1) for x in range(2 * by + 1)]
    assert any((wide[y : y + 8, x : x + 8] == moved).all() for y, x in places)


def test_movement_differs_from_step_to_step_and_from_row_to_row(store: PictureStore) -> None:
    def seen(step: int) -> bytes:
        return b"".join(store.moved(2, 1, step).source(row).tobytes() for row in range(len(store)))

    assert len({seen(step) for step in range(5)}) == 5
    assert seen(3) == seen(3)
    assert store.moved(0, 1, 3) is store
    picture = np.arange(64, dtype=np.uint8)[:, None].repeat(3, 1).reshape(8, 8, 3)
    assert len({PictureShift(2, 1, 1).move(picture, row).tobytes() for row in range(30)}) > 10
