"""Where the aligning head looks, in C: c/look.c and what the search keeps of it, against torch."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.native.making import CONFIGS, VOCABULARY, make

from jumok.answers import Answer
from jumok.architectures import AlignHead, LuongConfig, ModelConfig, TransformerConfig
from jumok.config import DecodingConfig
from jumok.decoding.batched import lay_sources, lay_targets
from jumok.models.interface import Seq2Seq
from jumok.native.library import available, library, why_not
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.weights import Type, pack_weights
from jumok.text.tokenizer import EOS

pytestmark = pytest.mark.skipif(not available(), reason=why_not())

SMALL = {"width": 32, "heads": 4, "feedforward": 24, "encoder_layers": 1, "decoder_layers": 2}
SHAPES: dict[str, ModelConfig] = {
    f"{norm}-{positions}": TransformerConfig(**SMALL, norm=norm, positions=positions, max_positions=40)
    for norm in ("post", "pre", "none")
    for positions in ("sinusoidal", "learned", "rotary", "none")
} | {
    "t5": CONFIGS["t5"],
    "bart": CONFIGS["bart"],
    "unscaled": TransformerConfig(**{**SMALL, "heads": 1}, scaled=False),
    "dot": LuongConfig(width=12, score="dot"),
    "general": CONFIGS["luong"],
    "concat": CONFIGS["concat"],
}
SOURCES = [[260, 261, 262, 263, 264, 270], [265], [266, 260, 271], [261] * 17]
LIMITS = [12, 9, 15, 20]


@lru_cache(maxsize=8)
def made(name: str, kind: Type) -> NativeModel:
    _, state = make(SHAPES[name])
    return NativeModel(SHAPES[name], pack_weights(SHAPES[name], state, shared=True, type=kind))


def heads_of(config: ModelConfig) -> list[AlignHead]:
    layers, heads = config.attention["cross"]
    return [AlignHead(layers - 1), AlignHead(0, heads - 1), AlignHead(layers - 1, 0, after=True)]


def by_torch(
    model: Seq2Seq, source: Sequence[int], answer: Answer, head: AlignHead
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """The weights (T, S) of a teacher-forced pass, without the end of the source.

    Row t is the step that writes token t, or `after` that the next one, if there is one.
    """
    ids = [*answer.ids, EOS] if answer.finished else list(answer.ids)
    with torch.inference_mode():
        target_in, _ = lay_targets([ids], torch.device("cpu"))
        maps = model.explain(target_in, model.encode(lay_sources([source], torch.device("cpu"))))
    weights = maps[head.layer][0]  # (H, T, S)
    chosen = weights.mean(0) if head.head is None else weights[head.head]
    steps = [min(t + head.after, len(ids) - 1) for t in range(len(answer.ids))]
    found: np.ndarray[tuple[int, int], np.dtype[np.float32]] = chosen[steps, : len(source)].numpy()
    return found


def check_looks(
    model: Seq2Seq, source: Sequence[int], answer: Answer, head: AlignHead, within: float
) -> None:
    """Each place is one where the weight is largest, and the weight is that one."""
    assert len(answer.alignment) == len(answer.looks) == len(answer.ids)
    if not answer.ids:
        return
    weights = by_torch(model, source, answer, head)
    rows = np.arange(len(answer.ids))
    assert np.array(answer.looks) == pytest.approx(weights[rows, list(answer.alignment)], abs=within)
    assert np.array(answer.looks) == pytest.approx(weights.max(axis=1), abs=within)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("beam", [1, 4])
def test_it_is_the_attention_of_torch(name: str, beam: int) -> None:
    config = SHAPES[name]
    model, state = make(config)
    native = NativeModel(config, pack_weights(config, state, shared=True))
    for head in heads_of(config):
        options = SearchOptions(beam=beam, n_best=beam, align=head)
        found = native.search(SOURCES, LIMITS, options)
        plain = native.search(SOURCES, LIMITS, SearchOptions(beam=beam, n_best=beam))
        for source, answers, others in zip(SOURCES, found, plain, strict=True):
            same = [(one.ids, one.log_probs, one.finished) for one in answers]
            assert same == [(one.ids, one.log_probs, one.finished) for one in others]
            assert all(one.alignment == () for one in others)
            for answer in answers:
                check_looks(model, source, answer, head, 2e-5)


@pytest.mark.parametrize("name", ["post-sinusoidal", "pre-rotary", "general"])
def test_on_every_cpu_and_in_eight_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = SHAPES[name]
    model, state = make(config)
    head = heads_of(config)[1]
    types: tuple[tuple[Type, float], ...] = (("float32", 2e-5), ("int8", 0.12))
    for level in library().levels:
        monkeypatch.setenv("JUMOK_NATIVE_LEVEL", level)
        for kind, within in types:  # of the weights in eight bits, against those in float32
            native = NativeModel(config, pack_weights(config, state, shared=True, type=kind))
            found = native.search(SOURCES, LIMITS, SearchOptions(beam=3, align=head))
            for source, answers in zip(SOURCES, found, strict=True):
                check_looks(model, source, answers[0], head, within)
    monkeypatch.undo()
    library()


@settings(max_examples=12)
@given(
    st.sampled_from(["post-sinusoidal", "pre-learned", "dot", "concat"]),
    st.lists(st.lists(st.integers(260, VOCABULARY - 1), min_size=1, max_size=9), min_size=1, max_size=7),
    st.sampled_from([1, 3]),
    st.sampled_from(["float32", "int8"]),
    st.integers(1, 3),
)
def test_neighbours_and_threads_change_nothing(
    name: str, sources: list[list[int]], beam: int, kind: Type, threads: int
) -> None:
    config = SHAPES[name]
    native, options = made(name, kind), SearchOptions(beam=beam, align=heads_of(config)[0])
    together = native.search(sources, [14] * len(sources), options, threads=threads)
    alone = [native.search([source], [14], options, threads=1)[0] for source in sources]
    assert together == alone


def test_prefixes_are_aligned_too() -> None:
    config = SHAPES["post-sinusoidal"]
    model, state = make(config)
    native = NativeModel(config, pack_weights(config, state, shared=True))
    head = heads_of(config)[1]
    [[best, *_]] = native.search(
        [SOURCES[0]], [12], SearchOptions(beam=2, align=head), prefixes=[[262, 263, 264]]
    )
    assert best.ids[:3] == (262, 263, 264)
    check_looks(model, SOURCES[0], best, head, 2e-5)


def test_a_source_of_its_end_alone_aligns_with_nothing() -> None:
    config = SHAPES["post-sinusoidal"]
    _, state = make(config)
    native = NativeModel(config, pack_weights(config, state, shared=True))
    [[best, *_]] = native.search([[]], [5], SearchOptions(beam=2, align=AlignHead(0, 0)))
    assert best.alignment == ()


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("post-none", AlignHead(2, 0)),
        ("post-none", AlignHead(0, 4)),
        ("dot", AlignHead(1)),
        ("rnn", AlignHead(0)),
    ],
)
def test_a_head_that_is_not_there_is_refused(name: str, head: AlignHead) -> None:
    config = (SHAPES | CONFIGS)[name]
    _, state = make(config)
    native = NativeModel(config, pack_weights(config, state, shared=True))
    with pytest.raises(ValueError, match="cannot search sentence -1: an id or a length is wrong"):
        native.search(SOURCES, LIMITS, SearchOptions(align=head))


def test_tags_are_nobodys_words_and_there_are_none_unless_they_are_named() -> None:
    """What is a tag is never looked at; of the rest it is the place with the most weight."""
    config = SHAPES["post-sinusoidal"]
    model, state = make(config)
    native = NativeModel(config, pack_weights(config, state, shared=True))
    head = heads_of(config)[1]
    decoding = DecodingConfig(beam=2)
    [[only]] = native.search([[265]], [9], SearchOptions.of(decoding, head))
    assert set(only.alignment) == {0}  # the first word and the last
    [[plain]] = native.search([SOURCES[0]], [12], SearchOptions.of(decoding, head))
    check_looks(model, SOURCES[0], plain, head, 2e-5)
    weights = by_torch(model, SOURCES[0], plain, head)
    count = len(SOURCES[0])
    for first, last in ((0, 1), (1, 0), (2, 3), (0, 5), (5, 0)):
        [[tagged]] = native.search([SOURCES[0]], [12], SearchOptions.of(decoding, head, (first, last)))
        words = weights[:, first : count - last]
        assert tagged.ids == plain.ids
        assert all(first <= place < count - last for place in tagged.alignment)
        assert np.array(tagged.looks) == pytest.approx(words.max(axis=1), abs=2e-5)
