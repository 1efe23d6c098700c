from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.native.making import CONFIGS, VOCABULARY, make

from jumok.answers import Answer, NotFiniteError
from jumok.architectures import AlignHead
from jumok.config import DecodingConfig
from jumok.decoding.aligned import align_answers
from jumok.decoding.batched import score_targets, search
from jumok.decoding.jobs import Job
from jumok.edits import AttentionEdit, Edits
from jumok.errors import ConfigError, ModelError, RunError
from jumok.native.library import BAD_ARGUMENT, NO_KEY, NO_MEMORY, PAST_TABLE, STOPPED, available, library
from jumok.native.model import NativeModel, SearchArrays, SearchOptions, c_options, check_sizes, unpacked
from jumok.native.record import NOTHING, Probe
from jumok.native.weights import PackedWeights, pack_weights

pytestmark = pytest.mark.skipif(not available(), reason="the C library was not built")

PIECES = [b""] * 4 + [bytes([byte]) for byte in range(256)] + [b"x"] * (VOCABULARY - 260)
SOURCES = [(260, 261, 262), (264,), tuple(range(260, 272)), (263, 263)]


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("beam", [1, 4])
def test_answers_are_those_of_torch(name: str, beam: int) -> None:
    model, arrays = make(CONFIGS[name])
    native = NativeModel(CONFIGS[name], pack_weights(CONFIGS[name], arrays, shared=True))
    config = DecodingConfig(beam=beam, n_best=min(beam, 2), max_len=14, min_len=2)
    jobs = [Job(source, (265, 266) if n == 2 else ()) for n, source in enumerate(SOURCES)]
    options = SearchOptions(beam=beam, n_best=config.n_best, min_len=2)
    limits, prefixes = [job.limit(config) for job in jobs], [job.prefix for job in jobs]
    found = native.search(SOURCES, limits, options, prefixes=prefixes, threads=1)
    for ours, theirs in zip(found, search(model, jobs, config, PIECES), strict=True):
        assert [one.ids for one in ours] == [one.ids for one in theirs]
        assert [one.finished for one in ours] == [one.finished for one in theirs]
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one.log_probs, other.log_probs, atol=1e-5)
    targets = [(260, 270), (), (261,) * 9, (4, 5, 6)]
    wanted = score_targets(model, SOURCES, targets)
    for mine, its in zip(native.score(SOURCES, targets, threads=1), wanted, strict=True):
        np.testing.assert_allclose(mine, its, atol=1e-5)


def test_a_sentence_does_not_depend_on_others_nor_on_threads() -> None:
    _, arrays = make(CONFIGS["transformer"])
    for kind in ("float32", "int8"):
        native = NativeModel(
            CONFIGS["transformer"], pack_weights(CONFIGS["transformer"], arrays, shared=True, type=kind)
        )
        assert native.type == kind
        assert native.level == library().level in library().levels
        options, limits = SearchOptions(beam=3), [9, 5, 12, 1]
        together = native.search(SOURCES, limits, options, threads=2)
        for source, limit, answers in zip(SOURCES, limits, together, strict=True):
            assert native.search([source], [limit], options, threads=1) == [answers]
            assert all(len(one.log_probs) <= limit for one in answers)


def test_int8_is_near_float32() -> None:
    _, arrays = make(CONFIGS["transformer"])
    wide, narrow = (
        NativeModel(
            CONFIGS["transformer"], pack_weights(CONFIGS["transformer"], arrays, shared=True, type=kind)
        )
        for kind in ("float32", "int8")
    )
    a, b = (np.concatenate(one.score(SOURCES, SOURCES)) for one in (wide, narrow))
    assert 0 < np.abs(a - b).max() < 0.5


def test_keep_says_how_many_answers() -> None:
    _, arrays = make(CONFIGS["rnn"])
    native = NativeModel(CONFIGS["rnn"], pack_weights(CONFIGS["rnn"], arrays, shared=True))
    many = native.search(SOURCES[:1], [8], SearchOptions(beam=4, n_best=4))[0]
    [best] = native.search(SOURCES[:1], [8], SearchOptions(beam=4, n_best=4, keep=1))[0]
    assert len(many) == 4
    assert best == many[0]


def test_no_sentences_have_no_answers() -> None:
    _, arrays = make(CONFIGS["rnn"])
    native = NativeModel(CONFIGS["rnn"], pack_weights(CONFIGS["rnn"], arrays, shared=True))
    assert native.search([], [], SearchOptions()) == []
    assert native.score([], []) == []


def test_what_cannot_be_searched_is_refused() -> None:
    _, arrays = make(CONFIGS["rnn"])
    native = NativeModel(CONFIGS["rnn"], pack_weights(CONFIGS["rnn"], arrays, shared=True))
    with pytest.raises(ValueError, match="cannot search sentence 1: an id or a length is wrong"):
        native.search([(4,), (VOCABULARY,)], [5, 5], SearchOptions())
    with pytest.raises(ValueError, match="every sentence needs a limit of 1 token or more"):
        native.search([(4,)], [0], SearchOptions())
    with pytest.raises(ValueError, match="there are 2 prefixes or shortlists for 1 sentences"):
        native.search([(4,)], [5], SearchOptions(), prefixes=[(), ()])
    with pytest.raises(ConfigError, match="a beam of 65,537 is more than the native engine's 65,536"):
        native.search([(4,)], [5], SearchOptions(beam=65_537))
    with pytest.raises(ValueError, match="there are 1 sources and 2 targets"):
        native.score([(4,)], [(4,), (5,)])


@pytest.mark.parametrize("beam", [VOCABULARY, VOCABULARY + 1, 400])
def test_a_beam_larger_than_the_vocabulary(beam: int) -> None:
    model, arrays = make(CONFIGS["rnn"])
    native = NativeModel(CONFIGS["rnn"], pack_weights(CONFIGS["rnn"], arrays, shared=True))
    [found] = native.search([(260,)], [3], SearchOptions(beam=beam))
    config = DecodingConfig(beam=beam, max_len=3)
    [wanted] = search(model, [Job((260,))], config, PIECES)
    assert [one.ids for one in found[:20]] == [one.ids for one in wanted[:20]]


def test_a_position_past_the_learned_table() -> None:
    _, arrays = make(CONFIGS["pre"])
    native = NativeModel(CONFIGS["pre"], pack_weights(CONFIGS["pre"], arrays, shared=True))
    assert native.search([(260,) * 29], [3], SearchOptions())  # 30 rows, with the end
    with pytest.raises(LookupError, match="position 30 has no learned row: the table ends at 30"):
        native.search([(260,), (260,) * 30], [3, 3], SearchOptions())


def test_weights_that_overflow_name_the_sentence() -> None:
    _, arrays = make(CONFIGS["transformer"])
    arrays["decoder.0.feedforward.outer.weight"][:] = 3e38
    native = NativeModel(CONFIGS["transformer"], pack_weights(CONFIGS["transformer"], arrays, shared=True))
    with pytest.raises(NotFiniteError) as caught:
        native.search(SOURCES, [5] * 4, SearchOptions(beam=1))
    assert caught.value.sentence in range(4)


def test_parts_of_another_shape_are_refused_with_a_reason() -> None:
    config = CONFIGS["rnn"]
    _, arrays = make(config)
    parts = pack_weights(config, arrays, shared=True)
    wrong = PackedWeights(24, 7, parts["decoder.0.input"].data, None, parts["decoder.0.input"].bias)
    with pytest.raises(ModelError, match="the native engine cannot run this model: .*decoder.0.input"):
        NativeModel(config, {**parts, "decoder.0.input": wrong})


@pytest.mark.parametrize("head", [AlignHead(0, 0), AlignHead(0, 1), AlignHead(0)], ids=str)
def test_alignments_are_those_of_the_head_that_is_asked(head: AlignHead) -> None:
    model, arrays = make(CONFIGS["transformer"])
    native = NativeModel(CONFIGS["transformer"], pack_weights(CONFIGS["transformer"], arrays, shared=True))
    limits = [12] * len(SOURCES)
    plain = native.search(SOURCES, limits, SearchOptions(beam=1))
    wanted = align_answers(model, [Job(source) for source in SOURCES], plain, head)
    found = native.search(SOURCES, limits, SearchOptions(beam=1, align=head))
    for [mine], [its] in zip(found, wanted, strict=True):
        assert mine.alignment == its.alignment
        assert mine.looks == pytest.approx(its.looks, abs=1e-4)


def test_an_answer_aligns_with_the_only_word_that_is_no_tag() -> None:
    _, arrays = make(CONFIGS["transformer"])
    native = NativeModel(CONFIGS["transformer"], pack_weights(CONFIGS["transformer"], arrays, shared=True))
    decoding, head = DecodingConfig(beam=2), AlignHead(0, 0)
    [[best]] = native.search([SOURCES[0]], [9], SearchOptions.of(decoding, head))
    assert len(SOURCES[0]) - 1 in best.alignment  # the last word is one, unless it is said to be none
    assert native.search([SOURCES[0]], [9], SearchOptions(2, 1, keep=1, align=head)) == [[best]]
    for tags, place in (((1, 0), 1), ((0, 1), 0)):
        [[tagged]] = native.search([SOURCES[3]], [9], SearchOptions.of(decoding, head, tags))
        assert set(tagged.alignment) == {place}


def test_what_a_search_is_told_of_the_settings() -> None:
    def told(options: SearchOptions) -> dict[str, float]:
        asked = c_options(options, 3)
        return {name: getattr(asked, name) for name, *_ in asked._fields_ if getattr(asked, name)}

    usual = {"beam": 5, "n_best": 1, "keep": 5, "threads": 3, "length_penalty": 1.0}
    assert told(SearchOptions()) == usual
    assert told(SearchOptions.of(DecodingConfig())) == usual | {"keep": 1}
    many = DecodingConfig(beam=4, n_best=2, min_len=7, length_penalty=0.5)
    wanted = {"beam": 4, "n_best": 2, "keep": 4, "threads": 3, "min_len": 7, "length_penalty": 0.5}
    assert told(SearchOptions.of(many)) == wanted
    assert told(SearchOptions(beam=3, keep=9))["keep"] == 3  # no more than there are
    head = {"align": 3, "align_head": 2, "align_after": 1, "align_before": 4, "align_behind": 6}
    one = SearchOptions.of(DecodingConfig(), AlignHead(2, 1, after=True), (4, 6))
    assert told(one) == usual | {"keep": 1} | head
    every = SearchOptions(align=AlignHead(0), rows=8)
    assert told(every) == usual | {"align": 1, "rows": 8}


def test_of_draws_all_are_kept() -> None:
    options = SearchOptions.of(DecodingConfig(sample=True, beam=1, n_best=6))
    assert (options.beam, options.n_best, options.keep) == (6, 6, 6)
    options = SearchOptions.of(DecodingConfig(mbr=6, beam=1))
    assert (options.beam, options.n_best, options.keep) == (6, 1, 6)


def test_answers_stand_where_their_limits_say() -> None:
    """Two sentences with room for two answers each, of which the second sentence has one."""
    ended = partial(Answer, finished=True)
    limits = np.array([3, 2], np.int32)
    found = SearchArrays.of(10, 4, aligned=True)
    found.tokens[:] = [10, 11, 2, 20, 21, 22, 30, 2, 0, 0]
    found.log_probs[:] = np.arange(10) / -4
    found.lengths[:] = [3, 3, 2, -1]
    found.finished[:] = [1, 0, 1, 0]
    found.places[:] = range(10)
    found.looks[:] = np.arange(10) / 8
    first = ended((10, 11), (0.0, -0.25, -0.5), alignment=(0, 1), looks=(0.0, 0.125))
    second = replace(
        ended((20, 21, 22), (-0.75, -1.0, -1.25), alignment=(3, 4, 5), looks=(0.375, 0.5, 0.625)),
        finished=False,
    )
    third = ended((30,), (-1.5, -1.75), alignment=(6,), looks=(0.75,))
    assert unpacked(limits, 2, found, [4, 1]) == [[first, second], [third]]
    assert unpacked(limits, 2, found, [4, 0]) == [[first, second], [ended((30,), (-1.5, -1.75))]]
    assert found.in_c().places
    plain = SearchArrays.of(10, 4, aligned=False)
    assert (len(plain.places), len(plain.looks), plain.in_c().places) == (0, 0, None)
    assert unpacked(limits, 2, plain, [4, 1]) == [[], []]


def test_limits_and_beams_at_the_edge_are_fine() -> None:
    check_sizes(2, np.array([1, 1], np.int32), 65_536, (None, [(), ()]))
    with pytest.raises(ValueError, match="^there are 3 prefixes or shortlists for 2 sentences$"):
        check_sizes(2, np.array([1, 1], np.int32), 5, ([(), ()], [(), (), ()]))
    with pytest.raises(ValueError, match="^every sentence needs a limit of 1 token or more$"):
        check_sizes(2, np.array([1], np.int32), 5, ())


@pytest.mark.parametrize("code", [99, STOPPED, PAST_TABLE, NO_KEY])
def test_a_code_that_cannot_be_is_told(code: int) -> None:
    """Nobody watches, nothing is edited, and this model has no table: the library was wrong."""
    model = NativeModel.__new__(NativeModel)
    model.config = CONFIGS["rnn"]
    with pytest.raises(RuntimeError, match=f"^the native engine gave code {code}, which has no meaning$"):
        model._check(code, 0, [(260,)], NOTHING)


def test_edits_are_blamed_for_queries_without_a_key_alone() -> None:
    model = NativeModel.__new__(NativeModel)
    looker = Probe(Edits({("cross", 0): AttentionEdit(cut=((0, 1, 0), (0, 1, 1)))}))
    with pytest.raises(ValueError, match="^every key of head 0, query 1 is cut: a query needs one"):
        model._check(NO_KEY, 0, [(260,)], looker)
    with pytest.raises(ValueError, match="^the native engine cannot search sentence 0: an id or a length"):
        model._check(BAD_ARGUMENT, 0, [(260,)], looker)


def test_a_beginning_and_a_list_of_all_tokens_go_together() -> None:
    _, arrays = make(CONFIGS["transformer"])
    native = NativeModel(CONFIGS["transformer"], pack_weights(CONFIGS["transformer"], arrays, shared=True))
    options, prefixes = SearchOptions(beam=2), [(265, 266), ()]
    plain = native.search(SOURCES[:2], [8, 8], options, prefixes=prefixes)
    every = [np.arange(VOCABULARY, dtype=np.int32)] * 2
    assert native.search(SOURCES[:2], [8, 8], options, prefixes=prefixes, shortlists=every) == plain
    assert plain[0][0].ids[:2] == (265, 266)


def test_too_little_memory_says_what_to_do() -> None:
    model = NativeModel.__new__(NativeModel)
    with pytest.raises(RunError) as caught:
        model._check(NO_MEMORY, 0, [(260,)], NOTHING)
    assert (str(caught.value), caught.value.code) == (
        "there is not enough memory for these sentences\n"
        "  translate shorter texts or fewer at a time, or choose a smaller beam",
        "no_memory",
    )
