import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.answers import Answer, NotFiniteError
from jumok.backends.recording import RecordingBackend
from jumok.config import DecodingConfig, LuongConfig, TransformerConfig
from jumok.decoding import device
from jumok.decoding.batched import USUAL, encode
from jumok.decoding.beam import BeamSearch
from jumok.decoding.device import (
    Batches,
    DeviceSearch,
    bucket,
    compute_type,
    power_above,
    power_below,
    supports,
)
from jumok.decoding.filters import forbid
from jumok.decoding.jobs import Job, Phrase, Spelling
from jumok.decoding.search import run_search
from jumok.models.build import build_model
from jumok.models.cache import BatchShape
from jumok.models.interface import Seq2Seq
from jumok.models.transformer import TransformerSeq2Seq
from jumok.native.model import SearchOptions
from jumok.text.tokenizer import EOS

VOCABULARY = 290
SMALL = {"width": 16, "heads": 2, "feedforward": 24, "encoder_layers": 1, "decoder_layers": 2}


def make_model(seed: int, **settings: object) -> TransformerSeq2Seq:
    """Random, with opinions, some of them about bytes and about when to end."""
    torch.manual_seed(seed)
    config = TransformerConfig(**SMALL, max_positions=40, **settings)  # type: ignore[arg-type]
    model = build_model(config, VOCABULARY, VOCABULARY, shared=True)
    assert isinstance(model, TransformerSeq2Seq)
    head = model.target_embedding.weight if model.output is None else model.output.weight
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.3)
        head[EOS] *= 1 + seed % 3
        head[4 + 0xC2 : 4 + 0xF5] *= 1 + seed % 2
    return model.eval()


def searched(
    search: DeviceSearch, sources: list[list[int]], limits: list[int], options: SearchOptions, **more: int
) -> list[list[Answer]]:
    found: dict[int, list[Answer]] = {}
    for places, answers in search.search(sources, limits, options, **more):
        found.update(zip(places, answers, strict=True))
    assert sorted(found) == list(range(len(sources)))
    return [found[place] for place in range(len(sources))]


def twin(
    model: Seq2Seq, sources: list[list[int]], limits: list[int], options: SearchOptions
) -> list[list[Answer]]:
    jobs = [Job(tuple(source)) for source in sources]
    search = BeamSearch(
        limits, [USUAL], beam=options.beam, n_best=options.n_best, length_penalty=options.length_penalty
    )
    return [
        answers[: options.kept] for answers in run_search(model, encode(model, jobs, [1] * len(jobs)), search)
    ]


def check_same(found: list[list[Answer]], wanted: list[list[Answer]]) -> None:
    for answers, others in zip(found, wanted, strict=True):
        assert [(a.ids, a.finished) for a in answers] == [(a.ids, a.finished) for a in others]
        for one, other in zip(answers, others, strict=True):
            assert one.log_probs == pytest.approx(other.log_probs, abs=1e-5, rel=1e-5)


SENTENCES = st.lists(
    st.tuples(st.lists(st.integers(4, VOCABULARY - 1), min_size=1, max_size=9), st.integers(1, 20)),
    min_size=1,
    max_size=9,
)


@settings(max_examples=25, deadline=None)
@given(
    sentences=SENTENCES,
    seed=st.integers(0, 999),
    beam=st.integers(1, 6),
    n_best=st.integers(1, 6),
    alpha=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    batch=st.sampled_from([None, 3]),
    settings_=st.fixed_dictionaries(
        {
            "positions": st.sampled_from(["sinusoidal", "learned", "rotary", "none"]),
            "norm": st.sampled_from(["pre", "post"]),
            "projection": st.sampled_from(["merged", "split"]),
            "tied": st.booleans(),
        }
    ),
)
def test_the_answers_are_those_of_beam_search(sentences, seed, beam, n_best, alpha, batch, settings_) -> None:
    model = make_model(seed, **settings_)
    sources, limits = [source for source, _ in sentences], [limit for _, limit in sentences]
    options = SearchOptions(beam, min(n_best, beam), alpha)
    found = searched(DeviceSearch(model), sources, limits, options, sentences=batch)
    check_same(found, twin(model, sources, limits, options))


@pytest.mark.parametrize(
    "change", [{"scaled": False}, {"norm": "none"}, {"residual": False}, {"residual": False, "norm": "pre"}]
)
def test_models_without_a_part_are_searched_as_others(change: dict[str, object]) -> None:
    """Scores only: without residuals beams are near ties, and rounding may choose among them."""
    model, options = make_model(1, **change), SearchOptions(beam=3)
    sources, limits = [[5, 9, 40], [7], [200, 8, 8, 100, 30]], [9, 9, 9]
    assert supports(model, [Job(tuple(source)) for source in sources], DecodingConfig(beam=3))
    found = searched(DeviceSearch(model), sources, limits, options)
    for one, other in zip(found, twin(model, sources, limits, options), strict=True):
        assert sum(one[0].log_probs) == pytest.approx(sum(other[0].log_probs), rel=1e-3)


def many(count: int) -> tuple[list[list[int]], list[int]]:
    numbers = torch.Generator().manual_seed(5)
    lengths = torch.randint(1, 12, (count,), generator=numbers).tolist()
    sources = [torch.randint(4, VOCABULARY, (n,), generator=numbers).tolist() for n in lengths]
    return sources, torch.randint(1, 30, (count,), generator=numbers).tolist()


def test_batches_shrink_and_the_last_few_wait_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "FEWEST", 8)
    model, options = make_model(4), SearchOptions(beam=3, keep=1)
    sources, limits = many(210)
    batches = []
    search = DeviceSearch(model)
    for places, answers in search.search(sources, limits, options, sentences=32):
        batches.append(len(places))
        check_same(answers, twin(model, [sources[i] for i in places], [limits[i] for i in places], options))
    assert sum(batches) == 210
    assert len(batches) == 8  # seven batches of 32, and one more for those that took longest
    assert any(count < 32 for count in batches[:6])


def test_a_search_can_be_used_again_with_any_shape_and_with_new_weights() -> None:
    model = make_model(1)
    search = DeviceSearch(model)
    sources, limits = many(12)
    for options in (SearchOptions(2), SearchOptions(4, 2, 0.6), SearchOptions(2, keep=1)):
        check_same(searched(search, sources, limits, options), twin(model, sources, limits, options))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.9)
    check_same(
        searched(search, sources, limits, SearchOptions(2)), twin(model, sources, limits, SearchOptions(2))
    )
    longer = [source * 4 for source in sources]
    check_same(
        searched(search, longer, limits, SearchOptions(2)), twin(model, longer, limits, SearchOptions(2))
    )


def test_a_budget_makes_smaller_batches() -> None:
    model = make_model(2)
    sources, limits = many(20)
    batches = list(DeviceSearch(model).search(sources, limits, SearchOptions(2), budget=2 * 32 * 4))
    assert [len(places) for places, _ in batches] == [4] * 5


def test_no_sentences_give_no_batches() -> None:
    assert list(DeviceSearch(make_model(0)).search([], [], SearchOptions())) == []


def test_numbers_that_are_not_finite_name_their_sentence_and_leave_no_trace() -> None:
    model = make_model(3)
    search = DeviceSearch(model)
    sources, limits = [[7], [8, 9, 10], [11, 12]], [5, 5, 5]
    embedding = model.source_embedding.weight
    before = embedding.detach().clone()
    with torch.no_grad():
        embedding[11] = torch.nan  # shared: it is a column of the logits, too
    with pytest.raises(NotFiniteError):
        searched(search, sources, limits, SearchOptions(2))
    with torch.no_grad():
        embedding.copy_(before)
    check_same(
        searched(search, sources, limits, SearchOptions(2)), twin(model, sources, limits, SearchOptions(2))
    )


def test_threads_take_turns() -> None:
    model = make_model(6)
    search, results = DeviceSearch(model), dict[int, list[list[Answer]]]()
    sources, limits = many(30)

    def work(n: int) -> None:
        results[n] = searched(search, sources[n:], limits[n:], SearchOptions(3), sentences=8)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = twin(model, sources, limits, SearchOptions(3))
    for n in range(3):
        check_same(results[n], wanted[n:])


def test_only_plain_searches_of_a_plain_transformer_are_supported() -> None:
    model, jobs, plain = make_model(0), [Job((4, 5))], DecodingConfig()
    assert supports(model, jobs, plain)
    assert supports(model, jobs, DecodingConfig(beam=1))
    assert not supports(model, jobs, DecodingConfig(sample=True))
    assert not supports(model, jobs, DecodingConfig(min_len=2))
    assert not supports(model, jobs, DecodingConfig(no_repeat_ngram=3))
    assert not supports(model, [*jobs, Job((4,), prefix=(7,))], plain)
    assert not supports(model, [Job((4,), phrases=(Phrase((Spelling("x", (7,)),)),))], plain)
    assert not supports(model, jobs, plain, [forbid([9])])
    assert not supports(model.using(RecordingBackend()), jobs, plain)
    assert not supports(build_model(LuongConfig(width=8), 300, 300, shared=True).eval(), jobs, plain)
    assert not supports(build_model(TransformerConfig(**SMALL), 20, 20, shared=True).eval(), jobs, plain)
    learned = make_model(0, positions="learned")  # a table of 40 rows
    assert supports(learned, [Job((4,))], plain)  # at most 33 tokens
    assert not supports(learned, [Job((4,) * 5)], plain)  # at most 45
    assert not supports(make_model(0).train(), jobs, plain)
    assert not supports(make_model(0, copy=True), jobs, plain)


def test_shapes_are_few() -> None:
    assert [power_above(n) for n in (1, 8, 9, 1000, 1024, 1025)] == [8, 8, 16, 1024, 1024, 2048]
    assert [power_below(n) for n in (0, 0.5, 9, 2048, 2047.9)] == [8, 8, 8, 2048, 1024]
    assert [bucket(n) for n in (1, 16, 17, 64, 65, 200)] == [16, 16, 32, 64, 128, 256]
    assert compute_type(torch.device("cpu")) == torch.float32


@pytest.mark.gpu
@pytest.mark.parametrize("graphs", [False, True])
def test_a_gpu_gives_the_same_answers_in_float32(graphs: bool) -> None:  # noqa: FBT001
    model = make_model(7).cuda()
    sources, limits = many(100)
    search = DeviceSearch(model, dtype=torch.float32, graphs=graphs)
    wanted = twin(make_model(7), sources, limits, SearchOptions(5))
    for _ in range(3):  # run, capture, replay
        same = [
            [a.ids for a in one] == [a.ids for a in two]
            for one, two in zip(
                searched(search, sources, limits, SearchOptions(5), sentences=64), wanted, strict=True
            )
        ]
        assert sum(same) >= 98  # sums in another order may turn a tie
    assert search._graphs is None or (len(search._graphs) > 0 and not search._graphs.off)


@pytest.mark.gpu
def test_a_gpu_searches_in_bf16() -> None:
    model = make_model(7).cuda()
    sources, limits = many(50)
    search = DeviceSearch(model)
    assert search.fixed.dtype == torch.bfloat16
    found = searched(search, sources, limits, SearchOptions(5))
    wanted = twin(make_model(7), sources, limits, SearchOptions(5))
    near = [abs(a[0].score - b[0].score) < 0.5 for a, b in zip(found, wanted, strict=True)]
    assert sum(near) >= 45


@pytest.mark.parametrize(("batches", "together"), [(3, False), (4, True)])
def test_from_four_batches_on_the_last_few_of_each_wait_for_a_batch_of_their_own(
    batches: int, *, together: bool
) -> None:
    """With 32 sentences in a batch one may wait."""
    model, (sources, limits) = make_model(4), many(32 * batches)
    found = [
        len(places)
        for places, _ in DeviceSearch(model).search(
            sources, limits, SearchOptions(beam=2, keep=1), sentences=32
        )
    ]
    assert sum(found) == 32 * batches
    assert len(found) == batches + together
    assert any(count < 32 for count in found[:batches]) == together


def test_a_batch_takes_memory_for_every_hypothesis_and_no_more_than_is_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search, (sources, limits) = DeviceSearch(make_model(4)), many(300)
    for beam in (1, 3):
        one, two = (search._bytes(BatchShape(count, beam, 32, 64)) for count in (1, 2))
        assert two == 2 * one > 2 * 3 * 4 * beam * VOCABULARY  # three logits of every token
        batch = Batches(sources, limits, SearchOptions(beam), None, None)
        sizes = []
        for free in (16 * one, 64 * one, 1000 * one):
            monkeypatch.setattr(search, "_free", lambda free=free: float(free))
            plan = search._plan(batch, range(300))
            assert sorted(place for _, places in plan for place in places) == list(range(300))
            assert all(search._bytes(shape) <= free for shape, _ in plan)
            sizes.append([shape.sentences for shape, _ in plan])
        assert [set(some[:-1]) for some in sizes] == [{16}, {64}, set()]
