"""Seen in training: an index of real models, what it finds, and indexes that are refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.explain.conftest import Workshop

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.manifest import NEIGHBOURS
from jumok.checkpoint.neighbours import read_neighbours, write_neighbours
from jumok.config import ARCHS
from jumok.data.builtin import builtin_corpus
from jumok.errors import ConfigError, DataError, ModelError
from jumok.explain.capture import capture
from jumok.explain.neighbours import LONGEST, PER_PAIR, captures, index_of, make_index, neighbours, shown
from jumok.explain.states import SIDES, coded, looked_at, nearest, states_of
from jumok.explain.subject import subjects_of
from jumok.model import Model, load
from jumok.text.tokenizer import EOS

PAIRS = list(builtin_corpus("dates", "train").pairs())[:60]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    found = {}
    for arch, folder in bundled().items():
        place = Path(shutil.copytree(folder, tmp_path_factory.mktemp("models") / arch))
        found[arch] = load(place, "cpu")
        make_index(found[arch], PAIRS, count=40)
    return found


@pytest.mark.parametrize("arch", ARCHS)
def test_a_training_sentence_finds_itself_first(models: dict[str, Model], arch: str) -> None:
    model = models[arch]
    index = index_of(model)
    for n in (0, 17, 39):
        source, target = index.texts[n]
        found = neighbours(model, source, target, count=1)
        for side in SIDES:
            tokens = getattr(found, side).tokens
            kept = index.places[side][index.pairs[side] == n]
            assert 0 < len(kept) <= PER_PAIR
            for place in kept.tolist():
                [near] = tokens[place].near
                assert near.similarity == pytest.approx(1.0, abs=2e-6)
                codes = index.codes[side]
                own = np.flatnonzero((index.pairs[side] == n) & (index.places[side] == place))[0]
                best = np.flatnonzero((index.pairs[side] == near.pair) & (index.places[side] == near.place))[
                    0
                ]
                assert own == best or nearest(codes, codes[[own]], 1)[0][0][0] == best


@pytest.mark.parametrize("arch", ARCHS)
def test_what_it_finds_is_what_a_search_through_all_finds(models: dict[str, Model], arch: str) -> None:
    model = models[arch]
    index, found = index_of(model), model.neighbours("5. März 2024", count=7)
    [subject] = subjects_of(model, ["5. März 2024"])
    [captured] = captures(model, [subject])
    states = states_of(captured, model.config.model)
    assert found.target == model.translate("5. März 2024").text
    pairs = {one.n: one for one in found.pairs}
    for side in SIDES:
        rows, likeness = nearest(index.codes[side], coded(states[side]), 7)
        tokens = getattr(found, side).tokens
        assert [token.id for token in tokens] == list(
            getattr(captured, "source" if side == "encoder" else "target")
        )
        for q, token in enumerate(tokens):
            assert [near.pair for near in token.near] == index.pairs[side][rows[q]].tolist()
            assert [near.similarity for near in token.near] == pytest.approx(likeness[q].tolist(), abs=1e-6)
            for near in token.near:  # every one can be shown
                assert getattr(pairs[near.pair], side)[near.place]
    assert found.decoder.tokens[-1].id == EOS


def test_torch_has_the_same_states(models: dict[str, Model]) -> None:
    for model in models.values():
        [subject] = subjects_of(model, ["June 11, 1998"], targets=["1998-06-11"])
        [ours] = captures(model, [subject])
        config = model.config.model
        [theirs] = capture(
            model.model.eval(), [subject.source_ids], [subject.target_ids], stages=looked_at(config)
        )
        for side in SIDES:
            one, other = states_of(ours, config)[side], states_of(theirs, config)[side]
            assert one == pytest.approx(other, abs=1e-3)


def test_the_map_has_every_state_and_the_texts_own(models: dict[str, Model]) -> None:
    model = models["transformer"]
    found, index = model.neighbours("5. März 2024", points=True), index_of(model)
    assert found.states == sum(len(codes) for codes in index.codes.values())
    assert [one.n for one in found.pairs] == list(range(40))
    for side in SIDES:
        shown = getattr(found, side)
        assert len(shown.points) == len(index.codes[side])
        assert np.bincount(index.pairs[side]).tolist() == [4] * 40  # four states of each pair
        assert 0 < shown.shares[1] <= shown.shares[0] < 1
        assert np.mean([point.x for point in shown.points]) == pytest.approx(0, abs=1e-4)
    assert model.neighbours("5. März 2024").encoder.points == ()
    json.loads(found.to_json())


def test_the_same_seed_draws_the_same_index(models: dict[str, Model]) -> None:
    model = models["luong"]
    before = (model.folder / NEIGHBOURS).read_bytes()
    make_index(model, PAIRS, count=40)
    assert (model.folder / NEIGHBOURS).read_bytes() == before
    make_index(model, PAIRS, count=40, seed=1)
    other = index_of(model)
    assert (model.folder / NEIGHBOURS).read_bytes() != before
    make_index(model, PAIRS, count=40)
    assert index_of(model) is not other  # what was made anew is read again


def test_an_index_is_of_pairs_that_are_short_enough(models: dict[str, Model], tmp_path: Path) -> None:
    """A pair of 127 tokens may come in, one of 128 may not; every batch of pairs is told of."""
    model = load(Path(shutil.copytree(models["rnn"].folder, tmp_path / "rnn")), "cpu")
    told: list[tuple[str, int, int | None]] = []

    def note(what: str, done: int, total: int | None) -> None:
        told.append((what, done, total))

    make_index(model, PAIRS, count=40, progress=note)
    assert told == [("neighbours", 32, 40), ("neighbours", 40, 40)]
    assert len(index_of(model).texts) == 40
    digits = {n: "1 " * (n // 2) for n in (126, 128, 130)}
    sizes = {n: len(model.tokenizers.source.encode(text.strip())) for n, text in digits.items()}
    with pytest.raises(DataError, match="give pairs of fewer than 128 tokens"):
        make_index(model, [(text, "2") for n, text in digits.items() if sizes[n] >= LONGEST])
    make_index(model, [(text, "2") for text in digits.values()])
    assert len(index_of(model).texts) == sum(size < LONGEST for size in sizes.values()) > 0


def test_fifty_neighbours_are_the_most(models: dict[str, Model]) -> None:
    found = neighbours(models["rnn"], "5. März 2024", count=50)
    assert {len(token.near) for token in found.encoder.tokens} == {50}
    with pytest.raises(ConfigError, match="choose a number from 1 to 50"):
        neighbours(models["rnn"], "5. März 2024", count=51)


def test_a_model_without_an_index_says_how_to_make_one() -> None:
    model = load("demo/rnn", "cpu")
    with pytest.raises(
        ConfigError,
        match=r"(?s)no index of training states.* demo/transformer has one;.*rnn first.* COPY",
    ) as caught:
        model.neighbours("5. März 2024")
    assert caught.value.code == "no_neighbours"


def test_tokens_are_shown_with_the_space_that_they_begin_with(workshop: Workshop) -> None:
    words, letters = (workshop.translator("rnn", kind=kind) for kind in ("bpe", "char"))
    read = words.tokenizers.source.encode("a man")
    assert shown(words, "encoder", [*read, EOS]) == (" a", " man", "</s>")
    assert shown(letters, "decoder", letters.tokenizers.target.encode("a m")) == ("a", "␣", "m")


def test_an_ensemble_has_none() -> None:
    model = load("demo/rnn+demo/luong", "cpu")
    with pytest.raises(ConfigError, match="of an ensemble every member has its own states"):
        model.neighbours("5. März 2024")
    with pytest.raises(ConfigError, match="of an ensemble every member has its own states"):
        make_index(model, PAIRS, count=1)


def test_nothing_to_draw_from(models: dict[str, Model]) -> None:
    for pairs in ([], [(" ", "x")], [("1 " * LONGEST, "2")]):
        with pytest.raises(DataError, match="no pair can be put into an index"):
            make_index(models["rnn"], pairs)


@pytest.mark.parametrize("count", [0, 51])
def test_too_many_or_none(models: dict[str, Model], count: int) -> None:
    with pytest.raises(ConfigError, match=f"count={count} cannot work"):
        models["rnn"].neighbours("5. März 2024", count=count)


CHANGES = {
    "a pair that is not there": ("encoder.pairs", lambda numbers: numbers + 100),
    "a place behind the end": ("decoder.places", lambda numbers: numbers + LONGEST),
    "before the beginning": ("decoder.places", lambda numbers: numbers - LONGEST),
    "fewer places": ("encoder.places", lambda numbers: numbers[1:]),
    "no codes": ("encoder.codes", lambda numbers: numbers[:0]),
    "codes of codes": ("encoder.codes", lambda numbers: numbers[:, None]),
    "another type of place": ("encoder.places", lambda numbers: numbers.astype(np.float32)),
    "another type": ("encoder.codes", lambda numbers: numbers.astype(np.float32)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_index_that_does_not_fit_is_refused(models: dict[str, Model], tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(models["rnn"].folder, tmp_path / "rnn"))
    index, (part, change) = index_of(models["rnn"]), CHANGES[name]
    tensors = {
        f"{side}.{one}": getattr(index, one)[side] for side in SIDES for one in ("codes", "pairs", "places")
    }
    tensors[part] = np.ascontiguousarray(change(tensors[part]))
    write_neighbours(folder, tensors, read_neighbours(folder)[1])
    with pytest.raises(ModelError, match=r"neighbours\.safetensors cannot be used: its states do not fit"):
        load(folder, "cpu").neighbours("5. März 2024")
