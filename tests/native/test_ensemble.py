"""Ensembles in C against their twin in torch: architectures, beams, phrases, levels, int8."""

from typing import Any

import numpy as np
import pytest
from tests.native.making import CONFIGS, VOCABULARY, make

from jumok.answers import NotFiniteError
from jumok.config import DecodingConfig
from jumok.decoding.batched import score_targets, search
from jumok.decoding.jobs import Job, Phrase, Spelling
from jumok.models.ensemble import EnsembleSeq2Seq
from jumok.native.ensemble import NativeEnsemble
from jumok.native.library import available, library
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.phrases import NativePhrase, NativeSpelling, PhraseOptions, Pieces
from jumok.native.weights import pack_weights

pytestmark = pytest.mark.skipif(not available(), reason="the C library was not built")

PIECES = [b""] * 4 + [bytes([byte]) for byte in range(256)] + [b"x"] * (VOCABULARY - 260)
SOURCES = [(260, 261, 262), (264,), tuple(range(260, 272)), (263, 263)]
TARGETS = [(260, 270), (), (261,) * 9, (4, 5, 6)]
GROUPS = [
    ("transformer", "split"),
    ("t5", "bart", "luong"),
    ("rnn", "luong", "pre"),
    ("lstm", "concat", "transformer", "rnn"),
]


def both(names: tuple[str, ...], mean: Any, weights: list[float]) -> tuple[EnsembleSeq2Seq, NativeEnsemble]:
    """The same ensemble in torch and in C."""
    made = [(CONFIGS[name], *make(CONFIGS[name], seed=n)) for n, name in enumerate(names)]
    native = [NativeModel(config, pack_weights(config, arrays, shared=True)) for config, _, arrays in made]
    models = [model for _, model, _ in made]
    return EnsembleSeq2Seq(models, weights, mean).eval(), NativeEnsemble(native, weights, mean)


def check_equal(model: EnsembleSeq2Seq, native: NativeEnsemble, beam: int, threads: int = 1) -> None:
    config = DecodingConfig(beam=beam, n_best=min(beam, 2), max_len=14, min_len=2)
    jobs = [Job(source, (265, 266) if n == 2 else ()) for n, source in enumerate(SOURCES)]
    options = SearchOptions(beam=beam, n_best=config.n_best, min_len=2)
    limits, prefixes = [job.limit(config) for job in jobs], [job.prefix for job in jobs]
    found = native.search(SOURCES, limits, options, prefixes=prefixes, threads=threads)
    for ours, theirs in zip(found, search(model, jobs, config, PIECES), strict=True):
        assert [one.ids for one in ours] == [one.ids for one in theirs]
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one.log_probs, other.log_probs, atol=1e-5)
    wanted = score_targets(model, SOURCES, TARGETS)
    for mine, its in zip(native.score(SOURCES, TARGETS, threads=threads), wanted, strict=True):
        np.testing.assert_allclose(mine, its, atol=1e-5)


@pytest.mark.parametrize("names", GROUPS, ids="+".join)
@pytest.mark.parametrize("mean", ["probabilities", "logs"])
@pytest.mark.parametrize("beam", [1, 4])
def test_answers_are_those_of_torch(names: tuple[str, ...], mean: str, beam: int) -> None:
    check_equal(*both(names, mean, [float(n + 1) for n in range(len(names))]), beam)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(threads: int) -> None:
    model, native = both(GROUPS[2], "probabilities", [1.0, 1.0, 1.0])
    check_equal(model, native, 4, threads)
    options, limits = SearchOptions(beam=3), [9, 5, 12, 1]
    together = native.search(SOURCES, limits, options, threads=threads)
    for source, limit, answers in zip(SOURCES, limits, together, strict=True):
        assert native.search([source], [limit], options, threads=1) == [answers]


@pytest.mark.parametrize("level", library().levels if available() else ())
def test_every_level_of_kernels_has_the_same_mean(level: str) -> None:
    usual = library().level
    try:
        library().use(level)
        check_equal(*both(GROUPS[2], "probabilities", [2.0, 1.0, 1.0]), 4)
    finally:
        library().use(usual)


@pytest.mark.parametrize("mean", ["probabilities", "logs"])
def test_a_model_with_itself_is_that_model(mean: Any) -> None:
    config = CONFIGS["transformer"]
    one = NativeModel(config, pack_weights(config, make(config)[1], shared=True))
    for group, weights in (([one], [1.0]), ([one, one, one], [1.0, 1.0, 5.0])):
        joint = NativeEnsemble(group, weights, mean)
        pairs = zip(joint.score(SOURCES, TARGETS), one.score(SOURCES, TARGETS), strict=True)
        for found, wanted in pairs:
            np.testing.assert_allclose(found, wanted, atol=2e-6)
        answers, usual = (each.search(SOURCES, [12] * 4, SearchOptions(beam=3)) for each in (joint, one))
        assert [best.ids for best, *_ in answers] == [best.ids for best, *_ in usual]


def test_int8_and_float32_go_together() -> None:
    config = CONFIGS["transformer"]
    parts = [
        pack_weights(config, make(config, seed=n)[1], shared=True, type=kind)
        for n, kind in enumerate(("float32", "int8"))
    ]
    members = [NativeModel(config, part) for part in parts]
    joint = NativeEnsemble(members)
    assert joint.types == "float32 + int8"
    own = [np.concatenate(member.score(SOURCES, TARGETS)) for member in members]
    wanted = np.log(np.mean(np.exp(np.array(own, dtype=np.float64)), axis=0))
    np.testing.assert_allclose(np.concatenate(joint.score(SOURCES, TARGETS)), wanted, atol=1e-5)


def test_phrases_are_kept_as_torch_keeps_them() -> None:
    model, native = both(GROUPS[2], "probabilities", [1.0, 1.0, 1.0])
    config = DecodingConfig(beam=3, max_len=16)
    phrase = Phrase((Spelling("AB", (4 + 65, 4 + 66)),))
    jobs = [Job(source, (), (phrase,)) for source in SOURCES]
    spelled = NativePhrase(0, (NativeSpelling(b"AB", (4 + 65, 4 + 66)),))
    widths = [job.width(config) for job in jobs]
    phrases = PhraseOptions([[spelled]] * 4, widths, [], 3, 4.0, Pieces(PIECES))
    options = SearchOptions(beam=max(widths), n_best=1)
    found = native.search(SOURCES, [job.limit(config) for job in jobs], options, phrases=phrases)
    wanted = search(model, jobs, config, PIECES)
    for ours, theirs in zip(found, wanted, strict=True):
        assert (4 + 65, 4 + 66) in zip(ours[0].ids, ours[0].ids[1:], strict=False)
        assert ours[0].ids == theirs[0].ids
        np.testing.assert_allclose(ours[0].log_probs, theirs[0].log_probs, atol=1e-5)


def test_its_members_bound_its_positions() -> None:
    _, native = both(("transformer", "pre"), "probabilities", [1.0, 1.0])
    assert native.table_rows == 30
    with pytest.raises(LookupError, match="30"):
        native.search([tuple([260] * 40)], [9], SearchOptions(beam=1))


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("mean", ["probabilities", "logs"])
def test_one_member_that_overflows_spoils_the_answer_and_is_noticed(mean: Any, order: int) -> None:
    config = CONFIGS["transformer"]
    good, bad = (make(config, seed=n)[1] for n in (0, 1))
    bad["decoder.0.feedforward.outer.weight"][:] = 3e38
    members = [NativeModel(config, pack_weights(config, arrays, shared=True)) for arrays in (good, bad)]
    with pytest.raises(NotFiniteError) as caught:
        NativeEnsemble(members[::order], mean=mean).search(SOURCES, [9] * 4, SearchOptions(beam=2))
    assert caught.value.sentence in range(4)


def test_models_that_do_not_fit_together_are_refused() -> None:
    config = CONFIGS["rnn"]
    one = NativeModel(config, pack_weights(config, make(config)[1], shared=True))
    other = NativeModel(config, pack_weights(config, make(config, shared=False)[1], shared=False))
    for group in ([one, other], [one, NativeEnsemble([one])]):
        with pytest.raises(ValueError, match="these 2 models cannot be an ensemble of the native engine"):
            NativeEnsemble(group)
    with pytest.raises(ValueError, match="an id or a length is wrong"):
        NativeEnsemble([one, one]).search(SOURCES[:1], [5], SearchOptions(), shortlists=[[2, 260]])
