from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import ModelError
from jumok.importing.stored import TYPES, Parts, Stored, ready, stack, zeros


def test_what_is_made_of_tensors_is_what_numpy_makes() -> None:
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    made = ready(table)
    assert np.array_equal(made.rows(np.array([2, -1, 0])).make(), [table[2], [0, 0, 0], table[0]])
    assert np.array_equal(made.columns(np.array([2, 0, 1])).make(), table[:, [2, 0, 1]])
    assert np.array_equal(made.turned().make(), table.T)
    assert np.array_equal(made.times(0.5).make(), table / 2)
    assert np.array_equal(made.times(2).make(), table * 2)
    assert made.times(1) is made
    assert np.array_equal(stack([made, zeros(2, 3)]).make(), [*table, [0, 0, 0], [0, 0, 0]])
    assert np.array_equal(made.part(1, 3).make(), table[1:3])
    for one in (
        made.columns(np.array([2, 0])),
        made.rows(np.array([1, -1])),
        made.turned(),
        made.part(1, 3),
        made.flat(),
        stack([made, made]),
    ):
        assert one.make().shape == one.shape


@given(st.lists(st.floats(width=16, allow_nan=False), min_size=1, max_size=20))
def test_bfloat16_is_the_upper_half_of_float32(numbers: list[float]) -> None:
    wide = np.array(numbers, dtype=np.float32).view(np.uint32) >> 16
    with NamedTemporaryFile() as file:
        file.write(wide.astype("<u2").tobytes())
        file.flush()
        found = Stored(Path(file.name), 0, "BF16", (len(numbers),)).read()
    assert np.array_equal(found.view(np.uint32), wide << 16)


def test_each_tensor_must_be_there_in_its_shape_and_none_left_over(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(np.ones(6, dtype="<f4").tobytes())
    parts = Parts({"a": Stored(path, 0, "F32", (2, 3)), "b": Stored(path, 0, "F32", (6,))}, "here")
    with pytest.raises(
        ModelError, match=r"a has the shape \(2, 3\), and by config.json it should be \(3, 2\)"
    ):
        parts.take("a", 3, 2)
    with pytest.raises(ModelError, match="config.json needs a tensor c, and the weights have none"):
        parts.take("c", 1)
    assert parts.take("a", 2, 3).make().sum() == 6
    with pytest.raises(ModelError, match="the weights have b, and config.json has no place for them"):
        parts.finish()
    parts.leave("b")
    parts.finish()
    with pytest.raises(ModelError, match="numbers was cut short"):
        Stored(path, 8, "F32", (6,)).read()


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_numbers_lie_little_end_first_behind_others(kind: str, tmp_path: Path) -> None:
    """One, nought and one, behind an odd number of bytes that are another tensor's."""
    one = {"F64": "000000000000f03f", "F32": "0000803f", "F16": "003c", "BF16": "803f"}.get(kind)
    size = {"I64": 8, "I32": 4, "I16": 2}.get(kind, 1)
    word = bytes.fromhex(one) if one else b"\1" + bytes(size - 1)
    (tmp_path / "w").write_bytes(b"odd" + word + bytes(len(word)) + word)
    stored = Stored(tmp_path / "w", 3, kind, (3, 1))
    assert stored.bytes == 3 * len(word)
    found = stored.read()
    assert found.dtype == np.float32
    assert found.tolist() == [[1], [0], [1]]


def test_a_whole_number_without_axes_is_one_number(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(np.float32(2.5).tobytes())
    stored = Stored(tmp_path / "w", 0, "F32", ())
    assert (stored.bytes, stored.read().shape, float(stored.read())) == (4, (), 2.5)


def test_of_tensors_that_are_left_over_three_are_named(tmp_path: Path) -> None:
    parts = Parts({name: Stored(tmp_path, 0, "F32", (1,)) for name in "edcba"}, "here", "model.bin")
    assert "a" in parts
    assert "z" not in parts
    for leave, said in (
        ("", "the weights have a, b, c and 2 more, and model.bin has no place for them"),
        ("b", "the weights have a, c, d and 1 more, and"),
        ("c", "the weights have a, d, e, and"),
    ):
        parts.leave(*leave)
        with pytest.raises(ModelError, match=said):
            parts.finish()
