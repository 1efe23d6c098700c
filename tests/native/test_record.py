"""What the C library shows of a model, and changes in it, is what torch shows and changes."""

import ctypes
from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.native.making import CONFIGS, VOCABULARY, make

from jumok.architectures import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.backends.recording import RecordingBackend
from jumok.config import DecodingConfig
from jumok.decoding.batched import search as torch_search
from jumok.decoding.jobs import Job
from jumok.edits import AttentionEdit, Edits, PositionEdit
from jumok.explain.capture import Captured, capture
from jumok.models.interface import Seq2Seq
from jumok.native.library import BAD_ARGUMENT, CAnswers, CBatch, CEdits, COptions
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.record import Probe, Recorded, TreeArrays, attentions
from jumok.native.weights import Type, pack_weights

EOS = 2
SOURCES = [[260, 270, 265, 262], [271], [264, 264, 269, 261, 268, 266]]
TARGETS = [[262, 263], [261, 265, 266, 269, 270], []]
WRITTEN = [[*target, EOS] for target in TARGETS]
SEARCHED: dict[str, ModelConfig] = {
    **{name: CONFIGS[name] for name in ("transformer", "t5", "luong", "rnn")},
    "concat": LuongConfig(width=8, score="concat"),
}


def both(config: ModelConfig, type_: Type = "float32") -> tuple[Seq2Seq, NativeModel]:
    model, tensors = make(config)
    return model, NativeModel(config, pack_weights(config, tensors, shared=True, type=type_))


def recorded(native: NativeModel, edits: Edits | None = None) -> list[Recorded]:
    room = native.recording(SOURCES, list(map(len, WRITTEN)), stages=attentions(native.config))
    native.force(SOURCES, WRITTEN, looker=Probe(edits, room))
    return [room.read(i, len(target)) for i, target in enumerate(WRITTEN)]


def near(ours: Any, theirs: Any, what: object) -> None:
    """Within 1e-5, of the largest number where that is above 1: sums of many products round by that much."""
    largest = max(1.0, float(np.abs(theirs).max(initial=0)))
    np.testing.assert_allclose(ours, theirs, atol=1e-5 * largest, rtol=0, err_msg=str(what))


def check(ours: Recorded, theirs: Captured) -> None:
    """Every number of one sentence."""
    steps = theirs.steps
    near(ours.parts["log_prob"], [step.logprob for step in steps], "log_prob")
    near(ours.parts["entropy"] / log(2), [step.entropy for step in steps], "entropy")
    near(ours.parts["top_log_prob"], [[value for _, value in step.top] for step in steps], "top")
    for name, state in theirs.states.items():
        near(ours.parts[name], state, name)
    assert ours.attention.keys() == theirs.stages.keys()
    for where, stages in theirs.stages.items():
        for name, values in stages.items():
            near(ours.attention[where][name], values, (where, name))


def check_both(config: ModelConfig, edits: Edits | None = None) -> None:
    model, native = both(config)
    changed = model if edits is None else model.using(RecordingBackend(edits))
    theirs = capture(changed, SOURCES, TARGETS, stages=attentions(config))
    for one, other in zip(recorded(native, edits), theirs, strict=True):
        check(one, other)


@pytest.mark.parametrize("name", CONFIGS)
def test_every_stage_of_every_layer_is_that_of_torch(name: str) -> None:
    check_both(CONFIGS[name])


TRANSFORMERS = st.builds(
    TransformerConfig,
    width=st.sampled_from([8, 12]),
    heads=st.sampled_from([1, 2]),
    feedforward=st.just(9),
    encoder_layers=st.integers(1, 2),
    decoder_layers=st.integers(1, 2),
    norm=st.sampled_from(["pre", "post"]),
    residual=st.booleans(),
    scaled=st.booleans(),
    positions=st.sampled_from(["sinusoidal", "learned", "rotary", "none", "relative"]),
    max_positions=st.just(30),
    buckets=st.just(8),
    max_distance=st.just(20),
    head_width=st.sampled_from([0, 6]),
    rms_norm=st.booleans(),
    embedding_norm=st.booleans(),
    logits_bias=st.booleans(),
)
RECURRENT = st.one_of(
    st.builds(
        RnnConfig,
        width=st.just(8),
        layers=st.integers(1, 2),
        cell=st.sampled_from(["rnn", "gru", "lstm"]),
        bidirectional=st.booleans(),
    ),
    st.builds(
        LuongConfig,
        width=st.just(8),
        layers=st.integers(1, 2),
        cell=st.sampled_from(["rnn", "gru", "lstm"]),
        bidirectional=st.booleans(),
        score=st.sampled_from(["dot", "general", "concat"]),
        input_feeding=st.booleans(),
    ),
)
POSITIONS = st.one_of(
    st.none(),
    st.builds(PositionEdit, st.just("none")),
    st.builds(PositionEdit, st.just("shift"), by=st.integers(-3, 9)),
    st.builds(PositionEdit, st.just("shuffle"), seed=st.integers(0, 99)),
)


@st.composite
def attention_edits(draw: st.DrawFn) -> AttentionEdit:
    """Changes to one layer; the first key of a row is never cut, so that one is left."""
    cells = st.tuples(st.integers(0, 1), st.integers(0, 6), st.integers(1, 7))
    keys = st.dictionaries(st.integers(0, 7), st.sampled_from([0.25, 0.5, 2.0]), min_size=1, max_size=3)
    rows = draw(st.dictionaries(st.tuples(st.integers(0, 1), st.integers(0, 6)), keys, max_size=2))
    return AttentionEdit(
        scaled=draw(st.booleans()),
        factors=tuple(
            draw(st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0.0, 0.5, 3.0])), max_size=2))
        ),
        cut=tuple(sorted(draw(st.sets(cells, max_size=6)))),
        rows=tuple((head, q, tuple(weights.items())) for (head, q), weights in sorted(rows.items())),
        uniform=tuple(draw(st.sets(st.integers(0, 1), max_size=1))),
    )


@settings(max_examples=12, deadline=None)
@given(config=TRANSFORMERS, data=st.data())
def test_a_transformer_of_any_kind_with_any_edits(config: TransformerConfig, data: st.DataObject) -> None:
    layers = {where: data.draw(attention_edits()) for where in attentions(config) if data.draw(st.booleans())}
    edits = Edits(layers, data.draw(POSITIONS), data.draw(POSITIONS))
    check_both(config, edits)


@settings(max_examples=12, deadline=None)
@given(config=RECURRENT, data=st.data())
def test_a_recurrent_model_of_any_kind_with_any_edits(config: Any, data: st.DataObject) -> None:
    layers = {where: data.draw(attention_edits()) for where in attentions(config) if data.draw(st.booleans())}
    shape = (config.layers, 2 if config.cell == "lstm" else 1, config.width)
    start = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    check_both(config, Edits(layers, bridge=start if data.draw(st.booleans()) else None))


CHANGES = {
    "transformer": Edits(
        {
            ("enc_self", 0): AttentionEdit(uniform=(1,), cut=((1, 0, 1),)),
            ("dec_self", 0): AttentionEdit(scaled=False, factors=((0, 0.0),)),
            ("cross", 0): AttentionEdit(rows=((0, 1, ((0, 1.0),)),), cut=((1, 2, 0),)),
        },
        PositionEdit("shuffle", seed=3),
        PositionEdit("shift", by=2),
    ),
    "t5": Edits(
        source_positions=PositionEdit("shift", by=5), target_positions=PositionEdit("shuffle", seed=1)
    ),
    "luong": Edits({("cross", 0): AttentionEdit(cut=((0, 0, 0), (0, 2, 1)))}),
    "rnn": Edits(bridge=np.full((2, 1, 8), 0.3, np.float32)),
}


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("name", CHANGES)
def test_a_search_with_edits_finds_what_torch_finds(name: str, beam: int) -> None:
    model, native = both(CONFIGS[name])
    spellings = [bytes([i % 250 + 1]) for i in range(VOCABULARY)]
    config = DecodingConfig(beam=beam, max_len=9)
    jobs = [Job(tuple(source)) for source in SOURCES]
    theirs = torch_search(model.using(RecordingBackend(CHANGES[name])), jobs, config, spellings)
    options = SearchOptions.of(config)
    limits = [job.limit(config) for job in jobs]
    ours = native.search(SOURCES, limits, options, looker=Probe(CHANGES[name]))
    plain = native.search(SOURCES, limits, options)
    for [mine, *_], [other, *_] in zip(ours, theirs, strict=True):
        assert mine.ids == other.ids
        near(mine.log_probs, other.log_probs, name)
    assert [best.log_probs for best, *_ in ours] != [best.log_probs for best, *_ in plain]


@pytest.mark.parametrize("edits", [None, Edits({("dec_self", 0): AttentionEdit(factors=((0, 0.5),))})])
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("type_", ["float32", "int8"])
@pytest.mark.parametrize("name", SEARCHED)
def test_a_search_records_what_a_forced_pass_does(
    name: str, type_: Type, beam: int, edits: Edits | None
) -> None:
    _, native = both(SEARCHED[name], type_)
    limits, options = [7, 5, 9], SearchOptions(beam=beam)
    room = native.recording(SOURCES, limits)
    plain = native.search(SOURCES, limits, options, looker=Probe(edits))
    answers = native.search(SOURCES, limits, options, looker=Probe(edits, room))
    assert answers == plain  # to the last bit
    for i, [answer, *_] in enumerate(answers):
        written = (*answer.ids, EOS) if answer.finished else answer.ids
        again = native.recording([SOURCES[i]], [len(written)])
        native.force([SOURCES[i]], [written], looker=Probe(edits, again))
        ours, theirs = room.read(i, len(written)), again.read(0, len(written))
        assert tuple(ours.parts["log_prob"].tolist()) == answer.log_probs
        for name_, values in theirs.parts.items():
            near(ours.parts[name_], values, name_)
        for where, stages in theirs.attention.items():
            near(ours.attention[where]["weights"], stages["weights"], where)


def test_only_what_is_asked_for_takes_memory() -> None:
    _, native = both(CONFIGS["transformer"])
    S, T, H, D, L = 5, 4, 2, 12, (2, 1)
    weights = H * (L[0] * S * S + L[1] * (T * T + T * S))
    assert native.recording([[260] * 4], [T], steps=False).data.size == weights
    assert native.recording([[260] * 4], [T]).data.size == weights + 12 * T
    one = native.recording([[260] * 4], [T], stages=[("cross", 0)])
    more = H * T * S * 3 + D * (2 * T + 2 * S) + T * D
    assert one.data.size == weights + 12 * T + more
    assert "q" not in one.read(0, T).attention["dec_self", 0]
    assert one.read(0, T).attention["cross", 0]["k"].shape == (H, S, D // H)


def test_nothing_is_written_outside_of_a_recording() -> None:
    for name in ("transformer", "t5", "luong"):
        _, native = both(CONFIGS[name])
        room = native.recording(SOURCES, [3, 6, 1], stages=attentions(native.config))
        margin = np.full(room.data.size + 64, 7.0, np.float32)
        room.data = margin[32:-32]
        room.c.data = room.data.ctypes.data
        native.force(SOURCES, WRITTEN, looker=Probe(recording=room))
        assert (margin[:32] == 7).all()
        assert (margin[-32:] == 7).all()


def test_a_beam_writes_the_steps_of_its_answer_and_no_others() -> None:
    for name in ("transformer", "luong", "rnn"):
        _, native = both(CONFIGS[name])
        room = native.recording(SOURCES, [9, 9, 9])
        margin = np.full(room.data.size + 64, 7.0, np.float32)
        room.data = margin[32:-32]
        room.c.data = room.data.ctypes.data
        options = SearchOptions(beam=4, rows=8)  # two sentences at a time
        answers = native.search(SOURCES, [9, 9, 9], options, looker=Probe(recording=room))
        assert (margin[:32] == 7).all()
        assert (margin[-32:] == 7).all()
        lengths = [len(best.log_probs) for best, *_ in answers]
        for i, written in enumerate(lengths):
            assert (room.read(i, 9).parts["entropy"][written:] == 7).all()
            assert np.isfinite(room.read(i, written).parts["entropy"]).all()


def test_a_query_without_a_key_is_named() -> None:
    for name, where in (("transformer", ("enc_self", 0)), ("luong", ("cross", 0))):
        _, native = both(CONFIGS[name])
        gone = Edits({where: AttentionEdit(cut=tuple((0, 1, k) for k in range(9)))})
        with pytest.raises(ValueError, match="every key of head 0, query 1 is cut"):
            native.force(SOURCES, WRITTEN, looker=Probe(gone))
    _, native = both(CONFIGS["transformer"])
    own = Edits({("dec_self", 0): AttentionEdit(cut=tuple((1, 2, k) for k in range(3)))})
    with pytest.raises(ValueError, match="every key of head 1, query 2 is cut"):
        native.search(SOURCES, [8] * 3, SearchOptions(beam=2, min_len=5), looker=Probe(own))


@pytest.mark.parametrize("side", ["source_positions", "target_positions"])
def test_a_position_past_a_learned_table_is_named(side: str) -> None:
    _, native = both(CONFIGS["pre"])
    far = replace(Edits(), **{side: PositionEdit("shift", by=29)})
    with pytest.raises(LookupError, match="30"):
        native.force(SOURCES, WRITTEN, looker=Probe(far))
    nowhere = replace(Edits(), **{side: PositionEdit("none")})
    assert (
        len(
            native.force(
                [[260] * 40], [[EOS]], looker=Probe(Edits(PositionEdit("none") and {}, PositionEdit("none")))
            )
        )
        == 1
    )
    assert len(native.force(SOURCES, WRITTEN, looker=Probe(nowhere))) == 3


def test_a_tree_that_has_no_room_counts_all_the_same() -> None:
    _, native = both(CONFIGS["transformer"])
    small, whole = TreeArrays(3), TreeArrays(500)
    for tree in (small, whole):
        native.search(SOURCES[:1], [6], SearchOptions(beam=2), looker=Probe(tree=tree))
    assert small.full
    assert not whole.full
    assert small.c.count == whole.c.count
    steps = whole.steps()
    assert [one.row for one in steps[0]] == [0] * 6
    assert sorted(one.place for one in steps[0] if one.place >= 0) == [0, 1]


def refused(native: NativeModel, **given: Any) -> bool:
    """Whether the library refuses a search of one sentence with this in its batch."""
    ids, offsets, limits = np.array([260, EOS], np.int32), np.array([0, 2], np.int64), np.array([4], np.int32)
    batch = CBatch(count=1, ids=ids.ctypes.data, offsets=offsets.ctypes.data, limits=limits.ctypes.data)
    beam = given.pop("beam", 1)
    for name, one in given.items():
        setattr(batch, name, ctypes.addressof(one))
    options = COptions(beam=beam, n_best=1, keep=1, threads=1, length_penalty=1.0)
    room = [np.zeros(8, kind) for kind in (np.int32, np.float32, np.int32, np.int32)]
    answers, bad = CAnswers(*(one.ctypes.data for one in room)), ctypes.c_int32(-1)
    call = native.library.c.jm_search
    code = call(native._handle, *map(ctypes.byref, (batch, options, answers, bad)))
    return bool(code == BAD_ARGUMENT)


def test_edits_and_recordings_that_cannot_be_are_refused() -> None:
    _, native = both(CONFIGS["transformer"])
    room = native.recording([[260]], [4])
    assert not refused(native, recording=room.c)
    assert not refused(native, recording=room.c, beam=2)
    stages = native.recording([[260]], [4], stages=[("cross", 0)])
    assert not refused(native, recording=stages.c)
    assert refused(native, recording=stages.c, beam=2)
    assert refused(native, recording=room.c, tree=TreeArrays(9).c)
    places = np.array([3, -1], np.int32)
    for name in ("source_positions", "target_positions"):
        assert refused(native, edits=CEdits(**{name: places.ctypes.data, "target_count": 2}))
    assert refused(native, edits=CEdits(count=1))
    short = np.zeros(3, np.int32)
    assert refused(native, edits=CEdits(target_positions=short.ctypes.data, target_count=3))
