"""Each kernel against its numpy twin, on every instruction set this CPU has."""

import ctypes as c
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.native.build import LIBRARY

PATH = Path(os.environ.get("JUMOK_NATIVE_LIBRARY", LIBRARY))

if not PATH.exists():
    pytest.skip("the native engine is not built", allow_module_level=True)

lib = c.CDLL(str(PATH))
lib.jm_packed_f32.restype = lib.jm_packed_i8.restype = c.c_size_t
lib.jm_dot.restype = c.c_float
F32, I8 = 0, 1
LEVELS = {0: "portable", 1: "avx2", 2: "avx512", 3: "vnni", 4: "neon"}
Array = np.ndarray[Any, Any]
FEW = settings(max_examples=15, deadline=None)


@pytest.fixture(params=LEVELS, ids=list(LEVELS.values()), scope="module", autouse=True)
def level(request: pytest.FixtureRequest) -> Iterator[int]:
    before = lib.jm_level()
    if lib.jm_set_level(request.param):
        pytest.skip(f"this CPU has no {LEVELS[request.param]}")
    yield request.param
    lib.jm_set_level(before)


class Matrix(c.Structure):
    _fields_ = [(name, c.c_int32) for name in ("rows", "columns", "type")] + [
        (name, c.c_void_p) for name in ("data", "scale", "bias")
    ]


class Scratch(c.Structure):
    _fields_ = [("memory", c.c_void_p), ("size", c.c_size_t)]


@dataclass
class Packed:
    """A matrix and the memory it points to."""

    matrix: Matrix
    data: Array
    scale: Array
    bias: Array

    @property
    def codes(self) -> Array:
        """(N, K) signed codes out of the packed bytes."""
        n, k = self.matrix.rows, self.matrix.columns
        blocks = self.data.reshape(-(-n // 16), -1, 16, 4).astype(np.int32) - 128
        return blocks.transpose(0, 2, 1, 3).reshape(-(-n // 16) * 16, -1)[:n, :k]


def at(array: Array, offset: int = 0) -> c.c_void_p:
    return c.c_void_p(array.ctypes.data + offset * array.itemsize)


def guarded(shape: tuple[int, ...], dtype: Any = np.float32) -> tuple[Array, Array]:
    """Memory with a marked rim of 64 numbers on both sides, and the part between."""
    size = int(np.prod(shape))
    whole = np.full(size + 128, 77, dtype)
    return whole, whole[64 : 64 + size].reshape(shape)


def unharmed(whole: Array) -> bool:
    return bool((whole[:64] == 77).all() and (whole[-64:] == 77).all())


def pack(w: Array, bias: Array | None, kind: int) -> Packed:
    n, k = w.shape
    padded = -(-n // 16) * 16
    scale, b = np.zeros(padded, np.float32), np.zeros(padded, np.float32)
    if kind == F32:
        data = np.empty(lib.jm_packed_f32(n, k) // 4, np.float32)
        assert lib.jm_pack_f32(at(w), n, k, at(data)) == 0
    else:
        data = np.empty(lib.jm_packed_i8(n, k), np.uint8)
        assert lib.jm_pack_i8(at(w), n, k, at(data), at(scale)) == 0
    if bias is not None:
        b[:n] = bias
    matrix = Matrix(
        n, k, kind, at(data), at(scale) if kind == I8 else None, at(b) if bias is not None else None
    )
    return Packed(matrix, data, scale, b)


def linear(packed: Packed, x: Array, *, relu: bool = False, ldy: int = 0) -> Array:
    n, rows = packed.matrix.rows, len(x)
    ldy = ldy or n
    whole, y = guarded((rows, ldy))
    scratch = Scratch()
    done = lib.jm_linear(
        c.byref(packed.matrix),
        at(x),
        c.c_int64(x.strides[0] // 4),
        rows,
        at(y),
        c.c_int64(ldy),
        int(relu),
        c.byref(scratch),
    )
    lib.jm_scratch_free(c.byref(scratch))
    assert done == 0
    assert unharmed(whole)
    assert (y[:, n:] == 77).all()
    return y[:, :n].copy()


def quantised(x: Array) -> tuple[Array, Array, Array]:
    rows, k = x.shape
    k4 = -(-k // 4) * 4
    (edge, codes), scale, sums = (
        guarded((rows, k4), np.int8),
        np.zeros(rows, np.float32),
        np.zeros(rows, np.int32),
    )
    lib.jm_quantise(at(x), c.c_int64(k), rows, k, at(codes), at(scale), at(sums))
    assert unharmed(edge)
    return codes, scale, sums


def normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


SEED = st.integers(0, 2**32 - 1)
SHAPE = st.tuples(st.integers(1, 30), st.integers(1, 90), st.integers(1, 150))


@FEW
@given(seed=SEED, shape=SHAPE, relu=st.booleans(), bias=st.booleans())
def test_f32_matrix(seed: int, shape: tuple[int, int, int], *, relu: bool, bias: bool) -> None:
    rows, k, n = shape
    rng = np.random.default_rng(seed)
    x, w, b = normal(rng, rows, k + 3)[:, :k], normal(rng, n, k), normal(rng, n) if bias else None
    ours = linear(pack(w, b, F32), x, relu=relu, ldy=n + 5)
    theirs = x.astype(np.float64) @ w.T.astype(np.float64) + (b if b is not None else 0)
    np.testing.assert_allclose(ours, np.maximum(theirs, 0) if relu else theirs, atol=2e-5, rtol=1e-5)


@FEW
@given(seed=SEED, shape=SHAPE, relu=st.booleans())
def test_int8_matrix_is_the_exact_sum(seed: int, shape: tuple[int, int, int], *, relu: bool) -> None:
    rows, k, n = shape
    rng = np.random.default_rng(seed)
    x, w, b = normal(rng, rows, k), normal(rng, n, k), normal(rng, n)
    w[0] = 127.0 * np.sign(w[0])  # the largest codes of both signs
    x[0] = np.sign(x[0])
    packed = pack(w, b, I8)
    codes, scale, _ = quantised(x)
    whole = codes[:, :k].astype(np.int64) @ packed.codes.T.astype(np.int64)
    theirs = whole.astype(np.float32) * packed.scale[:n] * scale[:, None] + b
    ours = linear(packed, x, relu=relu)
    np.testing.assert_allclose(ours, np.maximum(theirs, 0) if relu else theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", [F32, I8])
@FEW
@given(seed=SEED, shape=SHAPE)
def test_a_row_does_not_know_the_others(kind: int, seed: int, shape: tuple[int, int, int]) -> None:
    rows, k, n = shape
    rng = np.random.default_rng(seed)
    x, packed = normal(rng, rows, k), pack(normal(rng, n, k), None, kind)
    alone = np.concatenate([linear(packed, x[r : r + 1]) for r in range(rows)])
    assert np.array_equal(alone, linear(packed, x))


@pytest.mark.parametrize("kind", [F32, I8])
@FEW
@given(seed=SEED, shape=SHAPE, cut=st.integers(0, 10))
def test_blocks_are_the_parts_of_the_whole(
    kind: int, seed: int, shape: tuple[int, int, int], cut: int
) -> None:
    rows, k, n = shape
    rng = np.random.default_rng(seed)
    x, packed = normal(rng, rows, k), pack(normal(rng, n, k), normal(rng, n), kind)
    blocks = -(-n // 16)
    cut = min(cut, blocks)
    whole, y = guarded((rows, n))
    for begin, end in ((cut, blocks), (0, cut)):
        if kind == F32:
            lib.jm_linear_blocks(
                c.byref(packed.matrix), at(x), c.c_int64(k), rows, at(y), c.c_int64(n), 0, begin, end
            )
        else:
            codes, scale, sums = quantised(x)
            lib.jm_linear_quantised(
                c.byref(packed.matrix),
                at(codes),
                at(scale),
                at(sums),
                rows,
                at(y),
                c.c_int64(n),
                0,
                begin,
                end,
            )
    assert unharmed(whole)
    assert np.array_equal(y, linear(packed, x))


@FEW
@given(seed=SEED, rows=st.integers(1, 5), k=st.integers(1, 100), size=st.sampled_from([1e-20, 1.0, 1e20]))
def test_quantise(seed: int, rows: int, k: int, size: float) -> None:
    x = normal(np.random.default_rng(seed), rows, k) * np.float32(size)
    codes, scale, sums = quantised(x)
    most = np.abs(x).max(axis=1)
    assert np.array_equal(scale, most / np.float32(127))
    assert np.array_equal(codes[:, :k], np.rint(x * (np.float32(127) / most)[:, None]).astype(np.int8))
    assert (codes[:, k:] == 0).all()
    assert np.array_equal(sums, codes.sum(axis=1, dtype=np.int32))


def test_quantise_zeros_and_what_is_not_finite() -> None:
    x = np.array([[0, 0, 0], [1, np.nan, 2], [1, -np.inf, 2], [1e-38, 0, 0]], np.float32)
    codes, scale, sums = quantised(x)
    assert not codes.any()
    assert not sums.any()
    assert np.array_equal(scale, np.array([0, np.nan, np.nan, 0], np.float32), equal_nan=True)


@FEW
@given(seed=SEED, n=st.integers(1, 40), k=st.integers(1, 40))
def test_packing_and_back(seed: int, n: int, k: int) -> None:
    w = normal(np.random.default_rng(seed), n, k)
    w[-1] = 0
    packed = pack(w, None, I8)
    back = np.empty_like(w)
    lib.jm_unpack_i8(at(packed.data), at(packed.scale), n, k, at(back))
    assert np.array_equal(back, packed.codes.astype(np.float32) * packed.scale[:n, None])
    assert (np.abs(back - w) <= packed.scale[:n, None] * 0.5001).all()
    assert np.abs(packed.codes).max(initial=0) <= 127


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_packing_refuses_what_is_not_finite(bad: float) -> None:
    w = np.ones((3, 5), np.float32)
    w[2, 4] = bad
    out, scale = np.empty(16 * 8, np.float32), np.empty(16, np.float32)
    assert lib.jm_pack_f32(at(w), 3, 5, at(out)) == -1
    assert lib.jm_pack_i8(at(w), 3, 5, at(out), at(scale)) == -1


@pytest.mark.parametrize("kind", [F32, I8])
@FEW
@given(seed=SEED, n=st.integers(1, 60), k=st.integers(1, 40))
def test_looked_up_and_selected_rows(kind: int, seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    w, ids = normal(rng, n, k), rng.integers(0, n, 19, np.int32)
    packed = pack(w, normal(rng, n), kind)
    rows = w if kind == F32 else packed.codes.astype(np.float32) * packed.scale[:n, None]
    y = np.empty((19, k), np.float32)
    lib.jm_embed(c.byref(packed.matrix), at(ids), 19, c.c_float(2), at(y))
    assert np.array_equal(y, rows[ids] * 2)
    data = np.empty(lib.jm_packed_f32(19, k) if kind == F32 else lib.jm_packed_i8(19, k), np.uint8)
    scale, bias, chosen = np.empty(32, np.float32), np.empty(32, np.float32), Matrix()
    lib.jm_select_rows(c.byref(packed.matrix), at(ids), 19, at(data), at(scale), at(bias), c.byref(chosen))
    x = normal(rng, 2, k)
    assert np.array_equal(linear(Packed(chosen, data, scale, bias), x), linear(packed, x)[:, ids])


@FEW
@given(
    seed=SEED,
    rows=st.integers(1, 4),
    d=st.integers(1, 100),
    add=st.booleans(),
    shift=st.sampled_from([0, 100]),
    rms=st.booleans(),
    epsilon=st.sampled_from([1e-5, 1e-6, 0.1]),
)
def test_norm(seed: int, rows: int, d: int, *, add: bool, shift: int, rms: bool, epsilon: float) -> None:
    """Of the root mean square alone where there is no bias."""
    rng = np.random.default_rng(seed)
    x, more, weight, bias = (
        normal(rng, rows, d) + np.float32(shift),
        normal(rng, rows, d),
        normal(rng, d),
        normal(rng, d),
    )
    whole, y = guarded((rows, d))
    given = (at(more) if add else None, at(weight), None if rms else at(bias), c.c_float(epsilon), rows, d)
    lib.jm_norm(at(y), at(x), *given)
    v = (x + more if add else x).astype(np.float64)
    v = v if rms else v - v.mean(1, keepdims=True)
    theirs = v / np.sqrt((v * v).mean(1, keepdims=True) + epsilon) * weight + (0 if rms else bias)
    np.testing.assert_allclose(y, theirs, atol=2e-4 if shift else 1e-5, rtol=1e-4 if shift else 1e-5)
    assert unharmed(whole)
    lib.jm_norm(at(x), at(x), *given)
    assert np.array_equal(x, y)


def mapped(name: str, x: Array) -> Array:
    whole, y = guarded(x.shape)
    getattr(lib, name)(at(y), at(x), c.c_int64(x.size))
    assert unharmed(whole)
    return y


def ulps(ours: Array, exact: Array) -> Array:
    return np.abs(ours.astype(np.float64) - exact) / np.spacing(np.abs(exact).astype(np.float32))


def test_exp_within_two_ulp() -> None:
    x = np.concatenate([np.linspace(-87.2, 20, 200_003), [0.0, -0.0, -1e-8]]).astype(np.float32)
    assert ulps(mapped("jm_exp", x), np.exp(x.astype(np.float64))).max() <= 2
    ends = np.array([-np.inf, -1000, 0, np.nan], np.float32)
    assert np.array_equal(mapped("jm_exp", ends), np.array([0, 0, 1, np.nan], np.float32), equal_nan=True)


@pytest.mark.parametrize("name", ["jm_tanh", "jm_sigmoid"])
def test_tanh_and_sigmoid(name: str) -> None:
    x = np.concatenate([np.linspace(-20, 20, 100_003), [0.0, 1e-6, -200, 200]]).astype(np.float32)
    wide = x.astype(np.float64)
    exact = np.tanh(wide) if name == "jm_tanh" else 1 / (1 + np.exp(-wide))
    ours = mapped(name, x)
    assert ulps(ours, exact)[np.abs(x) < 50].max() <= 4
    np.testing.assert_allclose(ours, exact, atol=1e-7)
    assert np.isnan(mapped(name, np.array([np.nan], np.float32))).all()


def distribution(x: Array) -> Array:
    """The normal distribution function; erfc keeps its digits where the tail is thin."""
    return np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in x.tolist()])


def sigmoid(x: Array) -> Array:
    return np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-np.abs(x)))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * distribution(x),
    "gelu_tanh": lambda x: x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
    "silu": lambda x: x * sigmoid(x),
}


def activated(name: str, x: Array, gate: Array | None = None) -> Array:
    rows, n = x.shape
    whole, y = guarded((rows, n + 3))
    y[:, :n] = x
    kind, wide, held = list(ACTIVATIONS).index(name), c.c_int64(n + 3), None if gate is None else at(gate)
    lib.jm_activate(kind, at(y), wide, held, c.c_int64(n), rows, n)
    assert unharmed(whole)
    assert (y[:, n:] == 77).all()
    return y[:, :n].copy()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_keep_six_digits(name: str) -> None:
    x = np.concatenate([np.linspace(-14, 14, 40_003), [0.0, -0.0, 1e-6, -1e-6, 1e-30, -1e-38]])
    x = x.astype(np.float32)
    ours, exact = activated(name, x[None])[0], ACTIVATIONS[name](x.astype(np.float64))
    within = np.where(np.abs(x) <= 3, 1e-6 * np.abs(exact) + 1e-38, np.maximum(5e-6 * np.abs(exact), 1e-12))
    assert (np.abs(ours - exact) <= within).all()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_of_what_is_extreme(name: str) -> None:
    """Far left they are nothing, far right the number itself; what is not a number stays none."""
    x = np.array([[-3e38, -1e20, -1e5, -200, 200, 1e5, 1e20, 3e38]], np.float32)
    assert np.array_equal(activated(name, x), np.maximum(x, 0))
    assert np.isnan(activated(name, np.array([[np.nan]], np.float32))).all()
    assert not np.isfinite(activated(name, np.array([[np.inf]], np.float32))).any()


@pytest.mark.parametrize("name", ACTIVATIONS)
@FEW
@given(seed=SEED, rows=st.integers(1, 4), n=st.integers(1, 70))
def test_a_gate_multiplies(name: str, seed: int, rows: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x, gate = normal(rng, rows, n), normal(rng, rows, n)
    assert np.array_equal(activated(name, x, gate), activated(name, x) * gate)
    alone = np.concatenate([activated(name, x[r : r + 1], gate[r : r + 1]) for r in range(rows)])
    assert np.array_equal(activated(name, x, gate), alone)


@FEW
@given(seed=SEED, n=st.integers(1, 100), d=st.integers(1, 100))
def test_small_sums(seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, rows = normal(rng, n), normal(rng, n), normal(rng, n, d)
    np.testing.assert_allclose(lib.jm_dot(at(a), at(b), c.c_int64(n)), a.astype(np.float64) @ b, atol=1e-4)
    y = np.empty(d, np.float32)
    lib.jm_weighted_sum(at(y), at(a), at(rows), c.c_int64(d), n, d)
    np.testing.assert_allclose(y, a.astype(np.float64) @ rows, atol=1e-4)
    p, total = a.copy(), a + b
    lib.jm_softmax(at(p), n)
    e = np.exp(a.astype(np.float64) - a.max())
    np.testing.assert_allclose(p, e / e.sum(), rtol=1e-5)
    lib.jm_add(at(a), at(b), c.c_int64(n))
    assert np.array_equal(a, total)


class Memory(c.Structure):
    _fields_ = [
        *((name, c.c_void_p) for name in ("keys", "values")),
        *((name, c.c_int64) for name in ("head", "stride")),
        ("index", c.c_void_p),
        *((name, c.c_int32) for name in ("n", "half")),
        ("near", c.c_void_p),
        ("near_head", c.c_int64),
        ("weights", c.c_void_p),
        *((name, c.c_int64) for name in ("weights_head", "weights_query")),
    ]


def halved(x: Array) -> Array:
    """Rows as bfloat16, in the order of this level."""
    rows, size = x.shape
    long = -(-size // 32) * 32
    whole, y = guarded((rows, long), np.uint16)
    lib.jm_halve(at(x), c.c_int64(size), rows, size, at(y), c.c_int64(long))
    assert unharmed(whole)
    return y


def rounded(x: Array) -> Array:
    """What numpy makes of bfloat16: the upper half of each float, rounded to even."""
    bits = x.view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return np.where(np.isnan(x), x, bits.astype(np.uint32).view(np.float32))


def attended(q: Array, k: Array, v: Array, heads: int, scale: float, index: Array | None) -> Array:
    """Attention over floats."""
    n, width = len(k) if index is None else len(index), q.shape[1]
    there = None if index is None else at(index)
    return asked(q, heads, scale, Memory(at(k), at(v), width // heads, width, there, n, 0))


def asked(q: Array, heads: int, scale: float, memory: Memory) -> Array:
    rows, width = q.shape
    whole, out = guarded((rows, width))
    scratch, wide = Scratch(), c.c_int64(width)
    done = lib.jm_attend(
        at(q), wide, rows, heads, width // heads, c.c_float(scale), c.byref(memory), at(out), wide,
        c.byref(scratch),
    )  # fmt: skip
    lib.jm_scratch_free(c.byref(scratch))
    assert done == 0
    assert unharmed(whole)
    return out


@FEW
@given(seed=SEED, rows=st.integers(1, 20), n=st.integers(1, 50), heads=st.integers(1, 3))
def test_attention_writes_its_weights_where_they_are_wanted(seed: int, rows: int, n: int, heads: int) -> None:
    rng, size = np.random.default_rng(seed), 24
    q, keys, values = (normal(rng, count, heads * size) for count in (rows, n, n))
    whole, written = guarded((heads, rows, n + 2))
    memory = Memory(at(keys), at(values), size, heads * size, None, n, 0)
    memory.weights, memory.weights_head, memory.weights_query = at(written), rows * (n + 2), n + 2
    plain = attended(q, keys, values, heads, 0.3, None)
    np.testing.assert_array_equal(asked(q, heads, 0.3, memory), plain)
    assert unharmed(whole)
    scores = 0.3 * np.einsum("qhk,thk->hqt", q.reshape(rows, heads, size), keys.reshape(n, heads, size))
    expected = np.exp(scores - scores.max(-1, keepdims=True))
    expected /= expected.sum(-1, keepdims=True)
    np.testing.assert_allclose(written[:, :, :n], expected, atol=1e-6)


SIZE = st.sampled_from([1, 7, 16, 24, 32, 40, 48, 64, 100, 128])


@FEW
@given(
    seed=SEED,
    rows=st.integers(1, 20),
    n=st.integers(0, 50),
    heads=st.integers(1, 3),
    size=SIZE,
    indexed=st.booleans(),
)
def test_attention(seed: int, rows: int, n: int, heads: int, size: int, *, indexed: bool) -> None:
    rng = np.random.default_rng(seed)
    width = heads * size
    q, keys, values = normal(rng, rows, width), normal(rng, n + 3, width), normal(rng, n + 3, width)
    index = rng.integers(0, n + 3, n, np.int32) if indexed else None
    if index is None:
        keys, values = keys[:n], values[:n]
    ours = attended(q, keys, values, heads, 0.3, index)
    chosen = np.arange(n) if index is None else index
    k, v = (m[chosen].reshape(n, heads, size).astype(np.float64) for m in (keys, values))
    scores = 0.3 * np.einsum("qhd,thd->qht", q.reshape(rows, heads, size), k)
    weights = np.exp(scores - scores.max(2, keepdims=True, initial=-np.inf))
    weights /= weights.sum(2, keepdims=True) if n else 1
    theirs = np.einsum("qht,thd->qhd", weights, v).reshape(rows, width)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    alone = [attended(q[r : r + 1], keys, values, heads, 0.3, index) for r in range(rows)]
    assert np.array_equal(ours, np.concatenate(alone))


@FEW
@given(
    seed=SEED,
    rows=st.integers(1, 9),
    n=st.integers(0, 40),
    heads=st.integers(1, 3),
    size=SIZE,
    indexed=st.booleans(),
)
def test_attention_over_bfloat16(
    seed: int, rows: int, n: int, heads: int, size: int, *, indexed: bool
) -> None:
    rng = np.random.default_rng(seed)
    q = normal(rng, rows, heads * size)
    keys, values = normal(rng, heads, n + 3, size), normal(rng, heads, n + 3, size)
    index = rng.integers(0, n + 3, n, np.int32) if indexed else None
    plain = [rounded(m).transpose(1, 0, 2).reshape(n + 3, -1).copy() for m in (keys, values)]
    if index is None:
        plain = [m[:n] for m in plain]
    theirs = attended(q, *plain, heads, 0.3, index)
    small = [halved(m.reshape(-1, size)) for m in (keys, values)]
    long = small[0].shape[1]
    place = None if index is None else at(index)
    memory = Memory(at(small[0]), at(small[1]), (n + 3) * long, long, place, n, 1)
    ours = asked(q, heads, 0.3, memory)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    alone = [asked(q[r : r + 1], heads, 0.3, memory) for r in range(rows)]
    assert np.array_equal(ours, np.concatenate(alone))


@pytest.mark.parametrize("half", [False, True])
@FEW
@given(seed=SEED, rows=st.integers(1, 40), n=st.integers(1, 40), heads=st.integers(1, 3), size=SIZE)
def test_attention_knows_how_far_a_key_is(
    *, half: bool, seed: int, rows: int, n: int, heads: int, size: int
) -> None:
    """A number for each distance and head is added to the scores."""
    rng = np.random.default_rng(seed)
    q, keys, values = (normal(rng, k, heads * size) for k in (rows, n, n))
    keys, values = rounded(keys), rounded(values)
    line = rows + n - 1 + 15  # distances from 1 - rows to n - 1, and what is read behind them
    near = np.full((heads, line), np.nan, np.float32)
    near[:, : rows + n - 1] = normal(rng, heads, rows + n - 1) * 3
    memory = Memory(at(keys), at(values), size, heads * size, None, n, 0)
    if half:
        small = [
            halved(m.reshape(n, heads, size).transpose(1, 0, 2).reshape(-1, size)) for m in (keys, values)
        ]
        long = small[0].shape[1]
        memory = Memory(at(small[0]), at(small[1]), n * long, long, None, n, 1)
    memory.near, memory.near_head = at(near, rows - 1), line
    ours = asked(q, heads, 0.3, memory)
    split = [m.reshape(-1, heads, size).transpose(1, 0, 2).astype(np.float64) for m in (q, keys, values)]
    scores = 0.3 * split[0] @ split[1].transpose(0, 2, 1)  # (heads, rows, n)
    scores += near[:, rows - 1 + np.arange(n)[None, :] - np.arange(rows)[:, None]]
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    theirs = (weights / weights.sum(axis=2, keepdims=True)) @ split[2]
    np.testing.assert_allclose(ours, theirs.transpose(1, 0, 2).reshape(rows, -1), atol=2e-5)
    last = Memory(*(getattr(memory, name) for name, _ in Memory._fields_))
    last.near = at(near)  # the last query alone
    assert np.array_equal(asked(q[-1:], heads, 0.3, last), ours[-1:])


@FEW
@given(seed=SEED, rows=st.integers(1, 4), size=SIZE)
def test_bfloat16_is_rounded_to_even(seed: int, rows: int, size: int) -> None:
    bits = np.random.default_rng(seed).integers(0, 2**32, (rows, size), np.uint32)
    bits[:, ::3] = bits[:, ::3] & 0xFFFF0000 | 0x8000  # in the middle between two
    x = bits.view(np.float32)
    kept = np.sort((halved(x).astype(np.uint32) << 16).view(np.float32), axis=1)  # each in its own order
    zeros = np.zeros((rows, kept.shape[1] - size), np.float32)
    assert np.array_equal(kept, np.sort(np.hstack([rounded(x), zeros]), axis=1), equal_nan=True)


EXTREME = np.array(
    [0, -0.0, 1, -1, 1e-45, -1e-38, 3e38, -3.4028235e38, -8.7e6, -1e7, 1e30, np.inf, -np.inf, np.nan, -2**31],
    np.float32,
)  # fmt: skip


@FEW
@given(seed=SEED, size=st.integers(1, 70), finite=st.booleans())
def test_extreme_numbers_are_the_same_on_every_level(seed: int, size: int, *, finite: bool) -> None:
    """Nothing overflows (the sanitizers look), and what comes out is what the portable kernels give."""
    rng, here = np.random.default_rng(seed), lib.jm_level()
    x = rng.choice(EXTREME[np.isfinite(EXTREME)] if finite else EXTREME, (3, size))
    w = pack(normal(rng, 5, size), normal(rng, 5), I8)
    found: list[dict[str, Array]] = []
    for level in (0, here):
        assert lib.jm_set_level(level) == 0
        codes, scale, sums = quantised(x)
        exps = {name: mapped(name, x) for name in ("jm_exp", "jm_tanh", "jm_sigmoid")}
        exps |= {name: activated(name, x) for name in ACTIVATIONS}
        bits = np.sort(halved(x), axis=1)
        product, listed = linear(w, x), [np.append(best(row, 3, None)[1], -1) for row in x]
        same = {"codes": codes, "scale": scale, "sums": sums, "bits": bits, "best": np.concatenate(listed)}
        found.append(same | exps | {"product": product})
    for name, one in found[1].items():
        tolerance = 0 if name in ("codes", "scale", "sums", "bits", "best") else 1e-6
        np.testing.assert_allclose(one, found[0][name], rtol=tolerance, err_msg=name)
    codes, scale = found[1]["codes"], found[1]["scale"]
    whole = np.isfinite(x).all(axis=1)
    assert np.array_equal(np.isnan(scale), ~whole)
    assert not codes[~whole].any()
    assert np.isnan(found[1]["product"][~whole]).all()
    assert np.isfinite(scale[whole]).all()
    assert np.abs(codes.astype(np.int32)).max() <= 127
    top = np.abs(x).max(axis=1, initial=0, where=np.isfinite(x))
    kept = codes[:, :size] * scale[:, None].astype(np.float64)
    off = np.abs(kept - x)[whole]
    assert (off <= (top.astype(np.float64) * 0.5001 / 127 + 1e-30)[whole, None]).all()


def best(logits: Array, k: int, allowed: Array | None) -> tuple[Array, Array, float]:
    values, ids, total = np.zeros(k, np.float32), np.zeros(k, np.int32), c.c_float()
    found = lib.jm_log_softmax_top(
        at(logits),
        logits.size,
        k,
        None if allowed is None else at(allowed),
        at(values),
        at(ids),
        c.byref(total),
    )
    return values[:found], ids[:found], total.value


@FEW
@given(seed=SEED, size=st.integers(1, 400), k=st.integers(1, 12), ties=st.booleans(), masked=st.booleans())
def test_the_best_pieces(seed: int, size: int, k: int, *, ties: bool, masked: bool) -> None:
    rng = np.random.default_rng(seed)
    logits = normal(rng, size) * 3
    if ties:
        logits = np.rint(logits)
    allowed = rng.integers(0, 2, size, np.uint8) if masked else None
    values, ids, total = best(logits, k, allowed)
    open_ids = np.arange(size) if allowed is None else np.flatnonzero(allowed)
    order = open_ids[np.argsort(-logits[open_ids], kind="stable")][:k]
    assert ids.tolist() == order.tolist()
    wide = logits.astype(np.float64)
    exact = wide.max() + np.log(np.exp(wide - wide.max()).sum())
    assert total == pytest.approx(exact, abs=2e-6)
    np.testing.assert_allclose(values, wide[order] - exact, atol=4e-6)


@pytest.mark.parametrize("size", [1, 16, 100])
def test_the_best_pieces_of_what_is_not_finite(size: int) -> None:
    logits = np.full(size, -np.inf, np.float32)
    assert best(logits, 3, None)[1].size == 0
    logits[size // 2] = np.nan
    assert np.isnan(best(logits, 3, None)[2])
    logits[size // 2] = 5
    values, ids, total = best(logits, 3, None)
    assert (values.tolist(), ids.tolist(), total) == ([0.0], [size // 2], 5.0)


@FEW
@given(seed=SEED, size=st.integers(2, 300), cut=st.integers(0, 300), k=st.integers(1, 9))
def test_pieces_in_stripes(seed: int, size: int, cut: int, k: int) -> None:
    logits = np.rint(normal(np.random.default_rng(seed), size) * 4)
    cut = min(cut, size)
    values, ids = np.zeros(k, np.float32), np.zeros(k, np.int32)
    found = lib.jm_top(at(logits), cut, 0, None, k, at(values), at(ids), 0)
    found = lib.jm_top(at(logits, cut), size - cut, cut, None, k, at(values), at(ids), found)
    order = np.argsort(-logits, kind="stable")[:k]
    assert (found, ids[:found].tolist()) == (len(order), order.tolist())
    assert np.array_equal(values[:found], logits[order])


def test_levels() -> None:
    assert lib.jm_levels() & 1
    assert lib.jm_set_level(-1) == -1
    assert lib.jm_set_level(5) == -1
