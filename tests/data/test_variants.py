"""Variants of a store: the same rows and the same text, in other pieces, from the seed alone."""

from concurrent.futures import Future
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from jumok.config import TextConfig
from jumok.data import variants as module
from jumok.data.store import Store, build_store, open_store
from jumok.data.variants import PendingStores, build_variants, ids_of
from jumok.errors import RunError
from jumok.text.tokenizer import Tokenizer, Tokenizers, train_tokenizer

PAIRS = [(f"the lowest number {i}", f"die niedrigste Zahl {i} 🐎") for i in range(50)]
SIDES = [[pair[side] for pair in PAIRS] for side in (0, 1)]


def tokenizers(*, shared: bool = True) -> Tokenizers:
    if shared:
        both = train_tokenizer([*SIDES[0], *SIDES[1]], TextConfig(vocabulary=330))
        return Tokenizers(both, both)
    one, other = (train_tokenizer(side, TextConfig(vocabulary=320)) for side in SIDES)
    return Tokenizers(one, other)


def texts(store: Store, side: int, tokenizer: Tokenizer) -> list[str]:
    """What the store's rows say."""
    ids = ids_of(store, side, range(len(store)))
    return tokenizer.decode_many(
        ids.values[start:end].tolist() for start, end in zip(ids.begin[:-1], ids.begin[1:], strict=True)
    )


def variants_in(
    folder: Path, both: Tokenizers, *, share: float = 0.3, seed: int = 3, longest: int = 100
) -> tuple[Store, list[Store]]:
    store = build_store(iter(PAIRS), both, folder / "train", max_length=longest)
    folders = [folder / f"train-{number}" for number in (1, 2, 3)]
    build_variants(store, both, folders, share=share, seed=seed, max_length=longest)
    return store, [open_store(path) for path in folders]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("chunk", [7, 100])
def test_all_rows_are_there_with_their_text(
    shared: bool,  # noqa: FBT001  a parameter
    chunk: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    both = tokenizers(shared=shared)
    store, variants = variants_in(tmp_path, both)
    for variant in variants:
        assert len(variant) == len(store)
        assert (variant.tokenizers, variant.left_out) == (store.tokenizers, store.left_out)
        for side, tokenizer in enumerate((both.source, both.target)):
            assert texts(variant, side, tokenizer) == SIDES[side]
    assert len({one.fingerprint for one in (store, *variants)}) == 4
    assert all(len(one.source_ids) > len(store.source_ids) for one in variants)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    both = tokenizers()
    (tmp_path / "a").mkdir()
    _, first = variants_in(tmp_path / "a", both)
    _, again = variants_in(tmp_path / "b", both)
    _, other = variants_in(tmp_path / "c", both, seed=4)
    assert [one.fingerprint for one in first] == [one.fingerprint for one in again]
    assert not {one.fingerprint for one in first} & {one.fingerprint for one in other}


def test_no_row_is_longer_than_allowed(tmp_path: Path) -> None:
    both = tokenizers()
    plain = build_store(iter(PAIRS), both, tmp_path / "plain", max_length=100)
    longest = int(max(plain.source_lengths.max(), plain.target_lengths.max()))
    store, variants = variants_in(tmp_path, both, share=0.2, longest=longest)
    assert len(store) == len(PAIRS)
    for one in variants:
        assert max(one.source_lengths.max(), one.target_lengths.max()) <= longest
    assert any(np.any(one.source_lengths != store.source_lengths) for one in variants)


def test_stores_in_the_making_are_awaited_and_so_is_their_failure(tmp_path: Path) -> None:
    store = build_store(iter(PAIRS), tokenizers(), tmp_path / "train", max_length=100)
    made: Future[tuple[Store, ...]] = Future()
    awaited = PendingStores(made)
    made.set_result((store, store))
    assert (len(awaited), awaited[1], awaited[:1], [*awaited]) == (2, store, (store,), [store, store])
    failed: Future[tuple[Store, ...]] = Future()
    failed.set_exception(RunError("cannot write the prepared data: no space left"))
    with pytest.raises(RunError, match="no space left"):
        len(PendingStores(failed))


@pytest.mark.parametrize("kind", ["char", "word"])
def test_only_byte_pair_pieces_are_cut_anew(kind: Literal["char", "word"], tmp_path: Path) -> None:
    plain = train_tokenizer(SIDES[1], TextConfig(kind=kind, vocabulary=320))
    both = Tokenizers(train_tokenizer(SIDES[0], TextConfig(vocabulary=320)), plain)
    store, variants = variants_in(tmp_path, both)
    for one in variants:
        assert one.target_ids.tolist() == store.target_ids.tolist()
        assert len(one.source_ids) > len(store.source_ids)
