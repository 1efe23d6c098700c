import copy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from jumok.checkpoint.checkpoints import Loaded
from jumok.config import DecodingConfig, LuongConfig, RunConfig, TextConfig
from jumok.data.questions import join_question
from jumok.decoding.filters import Phrase, written
from jumok.decoding.jobs import (
    CONTROL,
    CUDA_TOKENS,
    Job,
    batches,
    cost,
    pad_sources,
    piece_bytes,
    score_targets,
    search,
    token_budget,
)
from jumok.decoding.scores import NotFiniteError
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, LimitError
from jumok.models.build import build_model
from jumok.text.tokenizer import EOS, PAD, Tokenizers, train_tokenizer


def test_the_limit_is_a_matter_of_the_sentence_alone() -> None:
    config = DecodingConfig(max_len=100)
    assert Job((4,) * 10).limit(config) == 60  # 3 * 10 + 30
    assert Job((4,) * 90).limit(config) == 100
    assert Job((4,), (5,) * 6, (Phrase("x", (7, 8)),)).limit(config) == 41
    assert Job((4,)).limit(DecodingConfig(max_len=100, min_len=50)) == 51


def test_the_cost_counts_rows_times_places() -> None:
    job = Job((4,) * 10)
    assert cost(job, DecodingConfig(beam=5, max_len=20)) == 5 * (11 + 20)
    assert cost(job, DecodingConfig(sample=True, n_best=3, max_len=20)) == 3 * (11 + 20)


def test_a_gpu_takes_larger_batches_unless_someone_has_chosen() -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert token_budget(DecodingConfig(), cpu) == DecodingConfig().batch_tokens
    assert token_budget(DecodingConfig(), gpu) == CUDA_TOKENS
    assert token_budget(DecodingConfig(batch_tokens=100), gpu) == 100


def test_a_prefix_needs_room() -> None:
    with pytest.raises(
        ConfigError, match="have 8 pieces, and max_len=8 leaves no room\n  set max_len to 12 or more"
    ):
        Job((4,), (5,) * 8).limit(DecodingConfig(max_len=8))


@given(st.lists(st.integers(1, 9), max_size=20), st.integers(1, 40))
def test_batches_hold_every_job_once_within_the_budget(lengths: list[int], budget: int) -> None:
    jobs = [Job((4,) * length, (n,)) for n, length in enumerate(lengths)]
    found = list(batches(jobs, budget, lambda job: 2 * len(job.source)))
    assert sorted(job.prefix for batch in found for job in batch) == sorted(job.prefix for job in jobs)
    for batch in found:
        assert len(batch) == 1 or len(batch) * max(2 * len(job.source) for job in batch) <= budget
    sizes = [len(job.source) for batch in found for job in batch]
    assert sizes == sorted(sizes, reverse=True)


def test_sources_get_an_end_and_padding() -> None:
    ids, mask = pad_sources([[7], [8, 9]], torch.device("cpu"))
    assert ids.tolist() == [[7, EOS, PAD], [8, 9, EOS]]
    assert mask.tolist() == [[True, True, False], [True, True, True]]


def test_piece_bytes_write_what_the_tokenizer_decodes(luong) -> None:
    tokenizer = luong.tokenizers.target
    pieces = piece_bytes(tokenizer)
    assert len(pieces) == tokenizer.size
    for text in ("the dog", "나는 봤다 …", "\U0001f600"):
        assert written(tokenizer.encode(text), pieces).decode().removeprefix(" ") == text
    assert {pieces[i] for i in CONTROL} == {bytes([b]) for b in (*range(32), 127)}


def test_search_is_greedy_beam_or_sampling(luong) -> None:
    model, pieces = luong.model, piece_bytes(luong.tokenizers.target)
    jobs = [Job((300, 301)), Job((302,))]
    one = search(model, jobs, DecodingConfig(beam=1, max_len=9), pieces)
    assert [len(answers) for answers in one] == [1, 1]
    five = search(model, jobs, DecodingConfig(beam=5, n_best=5, max_len=9), pieces)
    assert all(1 < len(answers) <= 5 for answers in five)
    draws = search(model, jobs, DecodingConfig(sample=True, n_best=6, max_len=9), pieces)
    assert [len(answers) for answers in draws] == [6, 6]
    assert len({answer.ids for answer in draws[0]}) > 1


def test_scores_of_targets_do_not_depend_on_neighbours(translator) -> None:
    sources, targets = [[300], [301, 302, 303]], [[304, 305, 306], [307]]
    both = score_targets(translator.model, sources, targets)
    assert [len(one) for one in both] == [4, 2]
    for source, target, together in zip(sources, targets, both, strict=True):
        assert score_targets(translator.model, [source], [target])[0] == pytest.approx(together, abs=1e-5)


def test_scores_that_are_not_finite_are_refused(bench) -> None:
    model = bench.toy(0)
    model.table[:] = torch.nan
    with pytest.raises(NotFiniteError):
        score_targets(model, [[4]], [[5]])


def test_a_question_is_never_translated_in_parts(luong) -> None:
    question = join_question("Is it on?", "the dog sees a man. " * 9)
    for long in (None, "split", "error"):
        with pytest.raises(LimitError) as caught:
            luong.translate(question, long=long)
        assert 'long="cut" reads only the beginning of the context' in str(caught.value)
    assert luong.translate(question, long="cut").text == luong.translate(question + " more", long="cut").text


def test_a_model_that_learned_from_beginnings_reads_beginnings(luong) -> None:
    config = replace(luong.config, data=replace(luong.config.data, long="cut"))
    cutting = copy.copy(luong)
    cutting.config = config
    text = "a man rides a horse. the dog sees a man! one two three four."
    assert cutting.translate(text) == luong.translate(text, long="cut")
    assert cutting.translate(text, long="split") == luong.translate(text)
    shorter = luong.tokenizers.source.decode(luong.tokenizers.source.encode(text)[: config.data.max_length])
    assert cutting.score(text, "봤다").score == pytest.approx(luong.score(shorter, "봤다").score, abs=1e-5)


def test_texts_of_korean_letters_are_banned_and_required() -> None:
    text = TextConfig(kind="char", vocabulary=300, jamo=True)
    tokenizer = train_tokenizer(["나는 영화를 봤다", "한국 학교"], text)
    torch.manual_seed(1)
    model = build_model(LuongConfig(width=16), tokenizer.size, tokenizer.size, shared=True)
    config = RunConfig(model=LuongConfig(width=16), text=text, decoding=DecodingConfig(beam=2, max_len=40))
    both = Translator(Loaded(model, Tokenizers(tokenizer, tokenizer), config, Path("x"), {}))
    free = both.translate("학교")
    assert "한국" in both.translate("학교", require="한국").text
    [seen, *_] = [part for part in free.text if "가" <= part <= "힣"] or ["나"]
    assert seen not in both.translate("학교", ban=seen).text
