from pathlib import Path

import pytest
import torch

from jumok.answers import NotFiniteError
from jumok.checkpoint.model import LoadedModel
from jumok.config import DecodingConfig, LuongConfig, RunConfig, TextConfig
from jumok.decoding.batched import CUDA_TOKENS, lay_sources, lay_targets, score_targets, search, token_budget
from jumok.decoding.jobs import BATCH_TOKENS, Job, token_spellings
from jumok.decoding.translator import Translator
from jumok.models.build import build_model
from jumok.text.tokenizer import BOS, EOS, Tokenizers, train_tokenizer


def test_a_gpu_takes_larger_batches_unless_someone_has_chosen() -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert token_budget(DecodingConfig(), cpu) == BATCH_TOKENS
    assert token_budget(DecodingConfig(), gpu) == CUDA_TOKENS
    for chosen in (100, BATCH_TOKENS, CUDA_TOKENS):
        assert token_budget(DecodingConfig(batch_tokens=chosen), cpu) == chosen
        assert token_budget(DecodingConfig(batch_tokens=chosen), gpu) == chosen


def test_sources_get_an_end_and_targets_a_start() -> None:
    source = lay_sources([[7], [8, 9]], torch.device("cpu"))
    assert source.tokens.tolist() == [7, EOS, 8, 9, EOS]
    assert source.known_lengths.tolist() == [2, 3]
    target_in, written = lay_targets([[7, EOS], [8, 9]], torch.device("cpu"))
    assert target_in.tokens.tolist() == [BOS, 7, BOS, 8]
    assert written.tolist() == [7, EOS, 8, 9]


def test_search_is_greedy_beam_or_sampling(luong) -> None:
    model, pieces = luong.model, token_spellings(luong.tokenizers.target)
    jobs = [Job((300, 301)), Job((302,))]
    one = search(model, jobs, DecodingConfig(beam=1, max_len=9), pieces)
    assert [len(answers) for answers in one] == [1, 1]
    five = search(model, jobs, DecodingConfig(beam=5, n_best=5, max_len=9), pieces)
    assert all(1 < len(answers) <= 5 for answers in five)
    draws = search(model, jobs, DecodingConfig(sample=True, n_best=6, max_len=9), pieces)
    assert [len(answers) for answers in draws] == [6, 6]
    assert len({answer.ids for answer in draws[0]}) > 1


def test_answers_are_at_least_as_long_as_asked(bench) -> None:
    model, pieces = bench.toy(1, 262), [*[b""] * 4, *(bytes([byte]) for byte in range(256)), b"x", b"y"]
    model.table[..., EOS] += 5.0
    shortest = []
    for least in (0, 3):
        config = DecodingConfig(beam=5, n_best=5, max_len=6, min_len=least)
        [answers] = search(model, [Job((4, 5))], config, pieces)
        shortest.append(min(len(one.ids) for one in answers))
    assert shortest[0] < 3 <= shortest[1]


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


def test_texts_of_korean_letters_are_banned_and_required() -> None:
    text = TextConfig(kind="char", vocabulary=300, jamo=True)
    tokenizer = train_tokenizer(["나는 영화를 봤다", "한국 학교"], text)
    torch.manual_seed(1)
    model = build_model(LuongConfig(width=16), tokenizer.size, tokenizer.size, shared=True)
    config = RunConfig(model=LuongConfig(width=16), text=text, decoding=DecodingConfig(beam=2, max_len=40))
    both = Translator(LoadedModel(Tokenizers(tokenizer, tokenizer), config, Path("x"), {}, model=model))
    free = both.translate("학교")
    assert "한국" in both.translate("학교", require="한국").text
    [seen, *_] = [part for part in free.text if "가" <= part <= "힣"] or ["나"]
    assert seen not in both.translate("학교", ban=seen).text
