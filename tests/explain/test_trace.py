"""Traces: one pure function, every tensor on request, and a file that answers the same."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save
from tests.explain.conftest import COPYING, Workshop, counting

from jumok.decoding.translator import Translator
from jumok.edits import Edits
from jumok.errors import ConfigError, DataError, LimitError, RunError
from jumok.explain import trace as tracing
from jumok.explain.capture import STAGES
from jumok.explain.ops import bridge, mask_head
from jumok.explain.tensors import names_of, pack
from jumok.explain.trace import Trace, make_trace, make_traces, open_trace
from jumok.nn.edit import AttentionEdit
from jumok.seals import SEAL

TEXT = "a man rides 영화를 봤다."
TEXTS = [TEXT, "나는", "the dog sees two men! one two three", TEXT]


@pytest.fixture(scope="module")
def transformer(workshop: Workshop) -> Translator:
    return workshop.translator("transformer")


@pytest.fixture(scope="module")
def trace(transformer: Translator) -> Trace:
    return make_trace(transformer, TEXT)


def test_equal_inputs_have_equal_ids(transformer: Translator, trace: Trace) -> None:
    again = make_trace(transformer, f"{TEXT} ", translation=transformer.translate(TEXT))
    assert again.id == trace.id
    assert again.manifest["decode"]["ms"] is None
    others = [
        make_trace(transformer, TEXT, options={"beam": 1}),
        make_trace(transformer, TEXT, target=trace.manifest["target"]["text"]),
        make_trace(transformer, TEXT, target="one"),
        make_trace(transformer, "a man", target="one"),
        make_trace(transformer, TEXT, ops=[mask_head("cross", 0, 0)]),
        make_trace(transformer, TEXT, ops=[mask_head("cross", 0, 1)]),
    ]
    assert len({trace.id, *(one.id for one in others)}) == 7


def test_a_number_is_the_same_however_it_is_written(transformer: Translator) -> None:
    whole, broken = ({"length_penalty": one, "temperature": one, "top_p": one} for one in (1, 1.0))
    assert make_trace(transformer, TEXT, options=whole).id == make_trace(transformer, TEXT, options=broken).id
    whole, broken = whole | {"sample": True}, broken | {"sample": True}
    assert make_trace(transformer, TEXT, options=whole).id == make_trace(transformer, TEXT, options=broken).id


def test_interventions_are_in_the_numbers(transformer: Translator) -> None:
    cut = make_trace(transformer, TEXT, target="one two", ops=[mask_head("cross", 1, 1)])
    assert cut.manifest["interventions"] == [{"op": "mask_head", "kind": "cross", "layer": 1, "head": 1}]
    assert not cut.tensor("cross.context", 1, 1).any()
    assert cut.tensor("cross.context", 1, 0).any()


def test_a_model_that_copies_sees_the_source_also_without_cross_attention(workshop: Workshop) -> None:
    translator, cut = workshop.translator(COPYING), [mask_head("cross", "*", "*")]
    answer = translator.translate(TEXT, beam=1)
    whole = make_trace(translator, TEXT, translation=answer)
    steps = [step["logprob"] for step in whole.manifest["steps"]]
    np.testing.assert_allclose(steps, [token.logprob for token in answer.tokens], atol=1e-4)
    np.testing.assert_allclose(whole.tensor("cross.weights").sum(axis=-1), 1, atol=1e-5)
    here, there = (make_trace(translator, text, target="one two", ops=cut) for text in (TEXT, "a dog"))
    assert not here.tensor("cross.context").any()
    plain = make_trace(translator, TEXT, target="one two")
    probabilities = [[step["logprob"] for step in one.manifest["steps"]] for one in (here, there, plain)]
    for one, other in ((0, 1), (0, 2)):  # the text still matters, and so did the heads
        assert np.abs(np.subtract(probabilities[one], probabilities[other])).max() > 1e-2


def test_a_model_that_copies_shows_where_it_points(workshop: Workshop, tmp_path: Path) -> None:
    trace = make_trace(workshop.translator(COPYING), TEXT, target="one twos")
    copy = trace.attention.copy
    assert copy is not None
    assert copy.copied == tuple(step["copied"] for step in trace.manifest["steps"])
    np.testing.assert_allclose(copy.weights.sum(axis=-1), 1, atol=1e-5)
    stages = copy.stages()
    np.testing.assert_allclose(stages.scores / 4, stages.scaled, atol=1e-5)  # it is 16 wide
    np.testing.assert_allclose(stages.out[:, 0], copy.copied, atol=1e-6)
    words = copy.words()
    assert len(words.copied) == len(words.target) < len(copy.copied)
    assert trace.attention.to_dict()["copy"]["copied"] == list(copy.copied)

    again = open_trace(trace.save(tmp_path / "copy.trace"))
    assert again.attention.to_dict() == trace.attention.to_dict()
    assert np.array_equal(again.tensor("copy.out"), trace.tensor("copy.out"))
    for steps, message in (([], "the steps do not fit"), ([{}] * len(copy.target), "copied")):
        with pytest.raises(DataError, match=message):
            open_trace(forged(trace, tmp_path / "x", steps=steps))


def test_many_traces_are_each_their_own(translator: Translator) -> None:
    exact = copy.copy(translator)  # in float64, so that the size of a batch changes no digit that counts
    exact.model = copy.deepcopy(translator.model).double()
    for text, one in zip(TEXTS, make_traces(exact, TEXTS), strict=True):
        alone = make_trace(exact, text)
        assert one.id == alone.id
        for name in names_of(alone.manifest):
            np.testing.assert_allclose(one.tensor(name), alone.tensor(name), atol=1e-4)


def test_a_row_of_padding_needs_no_key(transformer: Translator) -> None:
    texts, targets = ["a man rides", "a"], ["one two three four", ""]
    few = len(transformer.tokenizers.source.encode("a")) + 1
    cut = AttentionEdit(cut=tuple((0, 2, k) for k in range(few)))  # token 2 of the second has no key left
    edited = transformer.edited(Edits({("cross", 0): cut}))
    first, second = make_traces(edited, texts, targets=targets)
    assert not first.tensor("cross.mask", 0, 0)[2, :few].any()
    assert second.tensor("cross.mask").all()


def test_every_tensor_has_the_shape_of_the_book(trace: Trace) -> None:
    S, T = len(trace.source_ids) + 1, len(trace.target_ids)
    sides = {"enc_self": (1, S, S), "dec_self": (2, T, T), "cross": (2, T, S)}
    for kind, (L, Q, K) in sides.items():
        shapes = {"q": (Q, 8), "k": (K, 8), "v": (K, 8), "context": (Q, 8), "out": (Q, 16)}
        for part in STAGES:
            one = shapes.get(part, (Q, K))
            assert trace.tensor(f"{kind}.{part}", 0, 1).shape == one
            assert trace.tensor(f"{kind}.{part}").shape == ((L, *one) if part == "out" else (L, 2, *one))
        assert trace.tensor(f"{kind}.atlas").dtype == np.uint8
        assert trace.tensor(f"{kind}.atlas").shape == (L, 2, Q, K)
        assert trace.tensor(f"{kind}.mask", -1).dtype == np.uint8


def test_stages_are_kept_once_they_are_asked_for(transformer: Translator) -> None:
    trace = make_trace(transformer, TEXT)
    before = trace.nbytes
    first = trace.tensor("cross.q", 0, 0)
    assert trace.nbytes > before
    assert np.shares_memory(first, trace.tensor("cross.q", 0, 0))


def test_luong_and_recurrent_states_have_their_own_names(workshop: Workshop) -> None:
    trace = make_trace(workshop.translator("luong"), TEXT)
    np.testing.assert_array_equal(trace.tensor("luong.scores"), trace.tensor("cross.scaled", 0, 0))
    np.testing.assert_array_equal(trace.tensor("luong.attentional"), trace.tensor("cross.out", 0))
    np.testing.assert_array_equal(trace.tensor("rnn.encoder"), trace.tensor("cross.k", 0, 0))
    met = trace.tensor("cross.q", 0, 0) @ trace.tensor("rnn.encoder").T  # the decoder's states, times W_a
    np.testing.assert_allclose(trace.tensor("luong.scores"), met, atol=1e-5)
    assert trace.tensor("rnn.decoder").shape == trace.tensor("cross.q", 0, 0).shape
    assert trace.tensor("rnn.bridge").shape == (1, 1, 16)


def test_needs_travel_as_safetensors_under_their_own_names(trace: Trace) -> None:
    needs = ["cross.atlas", "cross.weights:1.0", "enc_self.q:0", "cross.out:1.1", "dec_self.mask:0.1"]
    found = load(pack({need: trace.tensor(need) for need in needs}))
    assert set(found) == set(needs)
    np.testing.assert_array_equal(found["cross.weights:1.0"], trace.attention.cross[1, 0])  # type: ignore[index]
    np.testing.assert_array_equal(
        found["dec_self.mask:0.1"], np.tril(np.ones_like(found["dec_self.mask:0.1"]))
    )
    with pytest.raises(ConfigError, match="cross has 2 layers"):
        trace.tensor("cross.q:2.0")


def test_attention_has_labels_stages_and_words(trace: Trace) -> None:
    cross = trace.attention.cross
    assert cross is not None
    assert cross.source[-1] == "</s>"
    assert len(cross.target) == len(trace.target_ids)
    stages = cross.stages(1, 0)
    np.testing.assert_array_equal(stages.weights, cross[1, 0])
    np.testing.assert_allclose(stages.q @ stages.k.T, stages.scores, atol=1e-4)
    with pytest.raises(ConfigError, match="cross has 2 heads, and head 2"):
        cross.stages(0, 2)
    assert cross.mean().words().source == ("a", "man", "rides", "영화를", "봤다", ".", "</s>")
    assert trace.attention.dec_self is not None
    assert trace.attention.dec_self.source[0] == "<s>"


def test_a_model_without_attention_has_a_trace(workshop: Workshop, tmp_path: Path) -> None:
    trace = make_trace(workshop.translator("rnn"), TEXT)
    assert trace.attention.to_dict() == {"cross": None, "enc_self": None, "dec_self": None}
    assert open_trace(trace.save(tmp_path / "x")).tensor("rnn.bridge").shape == (1, 1, 16)
    with pytest.raises(ConfigError, match=r"no tensor cross\.atlas"):
        trace.tensor("cross.atlas")


def test_a_saved_trace_answers_everything(translator: Translator, tmp_path: Path) -> None:
    trace = make_trace(translator, TEXT)
    opened = open_trace(trace.save(tmp_path / "x.trace"))
    assert opened.manifest == trace.manifest
    assert (opened.id, repr(opened)) == (trace.id, repr(trace))
    for name in names_of(trace.manifest):
        np.testing.assert_array_equal(opened.tensor(name), trace.tensor(name))
    assert opened.attention.to_dict() == trace.attention.to_dict()
    again = open_trace(opened.save(tmp_path / "y.trace"))
    assert (tmp_path / "x.trace").read_bytes() == (tmp_path / "y.trace").read_bytes()
    assert again.nbytes > 0


def test_a_file_may_hold_less_and_says_so(trace: Trace, tmp_path: Path) -> None:
    opened = open_trace(trace.save(tmp_path / "x", kinds=["cross"], heads=[(1, 0)]))
    assert opened.attention.enc_self is None
    assert opened.attention.cross is not None
    np.testing.assert_array_equal(opened.attention.cross.weights, trace.attention.cross.weights)  # type: ignore[union-attr]
    np.testing.assert_array_equal(opened.attention.cross.stages(1, 0).q, trace.tensor("cross.q", 1, 0))
    np.testing.assert_array_equal(opened.tensor("cross.out", 1), trace.tensor("cross.out", 1))
    with pytest.raises(ConfigError, match=r"saved without cross\.q:0\.0"):
        opened.attention.cross.stages(0, 0)
    with pytest.raises(ConfigError, match=r"saved without enc_self\.q"):
        opened.tensor("enc_self.q", 0, 0)


def test_what_no_reader_would_take_is_not_written(transformer: Translator, tmp_path: Path) -> None:
    trace = make_trace(transformer, "나는")
    trace.manifest["decode"]["score"] = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        trace.save(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_numbers_cannot_be_overwritten(trace: Trace, tmp_path: Path) -> None:
    opened = open_trace(trace.save(tmp_path / "x"))
    for one in (trace, opened):
        for name in ("cross.weights", "cross.q", "cross.out"):
            assert not one.tensor(name).flags.writeable
            assert not one.tensor(name, 1).flags.writeable


def forged(trace: Trace, path: Path, **changes: Any) -> Path:
    """The trace's file with another manifest."""
    trace.save(path)
    manifest = json.dumps({**trace.manifest, **changes})
    arrays = {name: array.copy() for name, array in load(path.read_bytes()).items() if name != SEAL}
    path.write_bytes(save(arrays, {"manifest": manifest}))
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": "trace/9"}, "the schema is 'trace/9', not 'trace/1'"),
        ({"attention": {"cross": {"q": "source", "k": "source", "shape": [2, 2, 1, 1]}}}, "do not fit"),
        ({"attention": {"evil": {"q": "target", "k": "source", "shape": [1, 1, 1, 1]}}}, "evil"),
        ({"attention": []}, "AttributeError"),
        ({"source": None}, "TypeError"),
        ({"rnn": {"encoder": [1, 2]}}, r"KeyError: 'rnn\.encoder'"),
        ({"decode": float("nan")}, "NaN is no JSON"),
    ],
)
def test_a_forged_manifest_is_refused(
    trace: Trace, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        open_trace(forged(trace, tmp_path / "x", **changes))
    assert caught.value.code == "bad_trace"


def test_states_of_another_shape_are_refused(workshop: Workshop, tmp_path: Path) -> None:
    trace = make_trace(workshop.translator("rnn"), TEXT, target="one")
    states = {**trace.manifest["rnn"], "decoder": [9, 16]}
    with pytest.raises(DataError, match=r"the states rnn\.decoder have another shape"):
        open_trace(forged(trace, tmp_path / "x", rnn=states))


def same_trace(one: Trace, other: Trace) -> bool:
    return one.manifest == other.manifest and one.attention.to_dict() == other.attention.to_dict()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_damaged_file_is_refused_or_means_the_same(
    trace: Trace, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = trace.save(tmp_path_factory.mktemp("trace") / "x", heads=[])
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))] or content)
    try:
        opened = open_trace(path)
        outcome = "as it was" if same_trace(opened, trace) else "other content"
    except DataError as error:
        outcome = error.message
    assert outcome.startswith(("as it was", "not a trace of jumok"))


def test_a_place_that_cannot_be_written_to(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for place, reason in (("folder", "Is a directory"), ("none/x", "No such file")):
        with pytest.raises(RunError, match=f"cannot write the trace: {reason}"):
            trace.save(tmp_path / place, heads=[])
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_a_file_may_be_as_large_as_the_largest(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = trace.save(tmp_path / "x", heads=[])
    size = path.stat().st_size
    monkeypatch.setattr(tracing, "LARGEST", size)
    assert open_trace(path).id == trace.id
    monkeypatch.setattr(tracing, "LARGEST", size - 1)
    with pytest.raises(DataError, match=f"the file has {size:,} bytes, more than {size - 1:,}"):
        open_trace(path)


def test_files_that_are_no_traces(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read the trace: No such file"):
        open_trace(tmp_path / "none")
    (tmp_path / "x").write_bytes(save({"a": np.zeros(1)}))
    with pytest.raises(DataError, match="not a trace of jumok: KeyError: 'manifest'"):
        open_trace(tmp_path / "x")


def test_bad_questions_are_refused(transformer: Translator) -> None:
    with pytest.raises(ConfigError, match="the text is empty"):
        make_trace(transformer, " ")
    with pytest.raises(TypeError, match="unknown option 'baem'; did you mean 'beam'"):
        make_trace(transformer, TEXT, options={"baem": 1})
    with pytest.raises(LimitError, match="the target has"):
        make_trace(transformer, TEXT, target="ü" * 999)


def test_a_long_text_is_cut_with_a_warning(transformer: Translator) -> None:
    text = "one two three four the dog sees a man! " * 5
    trace = make_trace(transformer, text)
    assert len(trace.source_ids) == 24
    assert trace.manifest["warnings"][0]["code"] == "source_truncated"
    assert text.startswith(trace.manifest["source"]["text"])


def test_answers_are_asked_once_and_kept_in_the_file(transformer: Translator, tmp_path: Path) -> None:
    trace = make_trace(transformer, TEXT)
    found = trace.influence()
    assert trace.influence().values is found.values
    assert found.values.shape == (len(trace.target_ids), len(found.units))
    rows = trace.positions()
    assert rows is not None
    assert rows.shape == (64, 16)  # of as many positions as links ask for
    assert trace.beam() is not None
    again = open_trace(trace.save(tmp_path / "a.trace"))
    assert again.influence().units == found.units
    np.testing.assert_array_equal(again.influence().values, found.values)
    np.testing.assert_array_equal(again.positions(), trace.positions())
    assert again.beam() == trace.beam()
    with pytest.raises(ConfigError, match="comes from a file that was saved without influence") as error:
        again.influence(replace="drop")
    assert error.value.hint == "make the trace again from its model"
    with pytest.raises(ConfigError, match="unit='word' is unknown"):
        trace.influence(unit="word")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("influence.words.unk", "influence.words.unk does not fit the tokens"),
        ("beam", "the beam's schema is 'beam/9', not 'beam/1'"),
    ],
)
def test_answers_that_do_not_fit_are_no_trace(
    name: str, reason: str, transformer: Translator, tmp_path: Path
) -> None:
    trace = make_trace(transformer, TEXT)
    path = trace.save(tmp_path / "a.trace")
    arrays = {name: array for name, array in load(path.read_bytes()).items() if name != SEAL}
    metadata = {"manifest": json.dumps(trace.manifest)}
    if name == "beam":
        metadata["beam"] = json.dumps({"schema": "beam/9"})
    else:
        arrays[name] = np.zeros((1, 1), dtype=np.float32)
    path.write_bytes(save(arrays, metadata))
    with pytest.raises(DataError, match="not a trace of jumok") as error:
        open_trace(path)
    assert reason in str(error.value)


@pytest.mark.parametrize("arch", ["rnn", "luong", "transformer"])
def test_a_text_is_tokenised_once_on_its_way_into_a_trace(
    workshop: Workshop, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = workshop.model(arch)
    op = bridge("zero") if arch == "rnn" else mask_head("cross", 0, 0)
    ways: dict[str, Callable[[str], Any]] = {
        "trace": lambda text: model.trace(text).manifest,
        "given": lambda text: model.trace(text, target="one two").manifest,
        "attention": lambda text: model.translate(text, attention=True).trace.manifest,
        "beam": lambda text: model.translate(text, record_beam=True).beam,
        "edited": lambda text: model.edit(op).trace(text).manifest,
        "what-if": lambda text: model.what_if(text, [op]).edited_trace.manifest,
    }
    for n, (name, way) in enumerate(ways.items()):
        with counting(monkeypatch) as read:
            way(f"a man  sees {n} dogs")
        assert read[f"a man sees {n} dogs"] == 1, name
