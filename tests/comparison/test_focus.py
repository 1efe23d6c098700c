"""Attention's entropy and sharpness, and influence by distance."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from jumok.checkpoint.bundled import bundled
from jumok.comparison import focus
from jumok.comparison.focus import (
    BINS,
    measure_attention,
    measure_influence,
    places,
    rows_of,
    shares_of,
    spread,
    summed_up,
)
from jumok.decoding.translator import Translator, load
from jumok.errors import LimitError
from jumok.explain.capture import Captured

PAIRS = [
    ("den 5 mars 2024 kl. 14:30", "2024-03-05T14:30"),
    ("5. März 2024", "2024-03-05"),
    ("1998년 3월 24일 화요일", "1998-03-24"),
]


@pytest.fixture(scope="module")
def luong() -> Translator:
    return load(bundled()["luong"], "cpu")


def captured(weights: dict[str, np.ndarray]) -> Captured:
    return Captured((), (), {kind: w.astype(np.float32) for kind, w in weights.items()}, tuple)  # type: ignore[misc]


def test_entropy_of_known_rows() -> None:
    even, sharp = np.full(4, 0.25), np.array([0.0, 1.0, 0.0, 0.0])
    rows = rows_of(captured({"cross": np.stack((even, sharp))[None, None]}))["cross"]  # [L, H, Q, 3]
    assert rows[0, 0].tolist() == [[2.0, 2.0, 0.25], [0.0, 2.0, 1.0]]
    assert summed_up(rows) == {
        "entropy_bits": 1.0,
        "max_entropy_bits": 2.0,
        "sharpness": 0.625,
        "by_layer": [[1.0]],
    }


def test_a_written_token_could_look_at_those_before_it() -> None:
    weights = np.tril(np.ones((3, 3)))
    weights /= weights.sum(axis=1, keepdims=True)
    rows = rows_of(captured({"dec_self": weights[None, None]}))["dec_self"]
    assert np.allclose(rows[0, 0, :, 0], [0, 1, math.log2(3)], atol=1e-6)
    assert np.allclose(rows[0, 0, :, 0], rows[0, 0, :, 1], atol=1e-6)


def test_attention_of_a_model(luong: Translator) -> None:
    told: list[tuple[str, int, int | None]] = []
    found = measure_attention(
        luong, [*PAIRS, ("", "")], lambda what, done, total: told.append((what, done, total))
    )
    assert found is not None
    assert {(what, total) for what, _, total in told} == {("attention", 3)}
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})
    assert told[-1] == ("attention", 3, 3)
    assert found["sentences"] == 3
    assert list(found["kinds"]) == ["cross"]
    cross = found["kinds"]["cross"]
    assert 0 < cross["entropy_bits"] < cross["max_entropy_bits"]
    assert 0.5 < cross["sharpness"] <= 1
    assert cross["by_layer"] == [[pytest.approx(cross["entropy_bits"])]]


def test_a_transformer_has_three_kinds_of_so_many_layers_and_heads() -> None:
    found = measure_attention(load(bundled()["transformer"], "cpu"), PAIRS)
    assert found is not None
    assert set(found["kinds"]) == {"enc_self", "dec_self", "cross"}
    for kind in found["kinds"].values():
        assert [len(layer) for layer in kind["by_layer"]] == [4, 4]


def test_a_model_without_attention_has_none_but_influence() -> None:
    rnn = load(bundled()["rnn"], "cpu")
    assert measure_attention(rnn, PAIRS) is None
    found = measure_influence(rnn, PAIRS)
    assert found is not None
    assert found["sentences"] == 3


def test_influence_is_shared_out(luong: Translator) -> None:
    found = measure_influence(luong, [*PAIRS, ("", "x"), ("x", "")])
    assert found is not None
    assert len(found["distance"]) == len(found["share"]) == len(found["even"]) == BINS
    assert sum(found["share"]) == pytest.approx(1)
    assert sum(found["even"]) == pytest.approx(1)
    assert 0 < found["mean_distance"] < 1
    assert found["sentences"] == 3


def test_shares_add_to_one_for_each_token(luong: Translator) -> None:
    shares, distance = shares_of(luong, *PAIRS[0])
    assert shares.shape == distance.shape
    assert len(shares) > 3
    assert np.allclose(shares.sum(axis=1), 1)
    assert (distance >= 0).all()
    assert (distance < 1).all()


def test_shares_by_distance_by_hand(luong: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tokens that look at two units, and one that looks at one; what has no token costs nothing."""
    two = np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([[0.05, 0.95], [0.65, 0.15]])
    one, none = (np.array([[1.0]]), np.array([[1.0]])), (np.zeros((0, 1)), np.zeros((0, 1)))
    asked = {"none": none, "two": two, "one": one}
    monkeypatch.setattr(focus, "shares_of", lambda translator, source, target: asked[source])
    told: list[tuple[str, int, int | None]] = []
    found = measure_influence(
        luong, [(name, "x") for name in asked], lambda what, done, total: told.append((what, done, total))
    )
    assert told == [("influence", done, 3) for done in (1, 2, 3)]
    assert found == {
        "distance": pytest.approx([0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]),
        "share": pytest.approx([0.75 / 3, 0.5 / 3, 0, 0, 0, 0, 0.5 / 3, 0, 0, 1.25 / 3]),
        "even": pytest.approx([0.5 / 3, 0.5 / 3, 0, 0, 0, 0, 0.5 / 3, 0, 0, 1.5 / 3]),
        "mean_distance": pytest.approx((0.0375 + 0.2375 + 0.325 + 0.075 + 1) / 3),
        "mean_units": pytest.approx((2 * 0.675 + 1) / 3),
        "sentences": 2,
    }


def test_tokens_that_nothing_moves_are_left_out(luong: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array([[0.03, -0.01], [0.004, -0.006], [0.006, 0.006], [9.0, 9.0]])  # the last is the end
    asked: list[str] = []

    def told(translator: Translator, ids: object, target: str, *, unit: str) -> SimpleNamespace:
        asked.append(unit)
        return SimpleNamespace(values=values)

    monkeypatch.setattr(focus, "influence", told)
    shares, distance = shares_of(luong, "5. März", "x")
    assert np.allclose(shares, [[0.75, 0.25], [0.5, 0.5]])
    assert np.allclose(distance, [[1 / 4 - 1 / 6, 3 / 4 - 1 / 6], [5 / 6 - 1 / 4, 5 / 6 - 3 / 4]])
    tokens = len(luong.tokenizers.source.encode("5. März"))
    for most in (tokens, tokens - 1):
        monkeypatch.setattr(focus, "TOKENS", most)
        shares_of(luong, "5. März", "x")
    assert asked == ["tokens", "tokens", "words"]


def test_nothing_to_ask_about(luong: Translator) -> None:
    assert measure_influence(luong, [("", "x"), ("x", "")]) is None


def test_a_source_too_long_for_influence_has_none(luong: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*asked: object, **options: object) -> None:
        raise LimitError("too many words")

    monkeypatch.setattr(focus, "influence", refuse)
    shares, distance = shares_of(luong, *PAIRS[0])
    assert shares.shape == distance.shape == shares_of(luong, "", "x")[0].shape
    assert not len(shares)
    assert measure_influence(luong, PAIRS) is None


def test_numbers_spread_evenly() -> None:
    assert spread(3, 10) == spread(3, 3) == [0, 1, 2]
    assert spread(0, 3) == []
    assert spread(100, 4) == [0, 25, 50, 75]
    assert places(2).tolist() == [0.25, 0.75]


def test_influence_stops_asking_when_enough_has_gone_through_the_model(
    luong: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence of U units and T tokens costs U runs over both: U (U + T)."""
    T, U = shares_of(luong, *PAIRS[0])[0].shape
    for most, sentences in ((U * (U + T) - 1, 1), (U * (U + T), 2)):
        monkeypatch.setattr(focus, "MOST_TOKENS", most)
        found = measure_influence(luong, PAIRS)
        assert found is not None
        assert found["sentences"] == sentences
