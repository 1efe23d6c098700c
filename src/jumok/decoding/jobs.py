"""Source ids to answers in batches: the work between a text and its translation."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.decoding.beam import beam_search
from jumok.decoding.filters import (
    CHARACTER,
    FIRST_BYTE,
    NEVER,
    Filter,
    Phrase,
    at_least,
    force_prefix,
    no_repeat,
    require,
    whole_characters,
)
from jumok.decoding.greedy import greedy
from jumok.decoding.sample import sampler, uniforms
from jumok.decoding.scores import Answer, check_finite, log_softmax, ranked
from jumok.errors import ConfigError
from jumok.models.interface import Seq2Seq
from jumok.text.tokenizer import BOS, EOS, PAD, Tokenizer

CONTROL = tuple(FIRST_BYTE + byte for byte in (*range(32), 127))
"""No answer contains a line break, a tab or another control character: one line in, one line out."""


@dataclass(frozen=True, slots=True)
class Job:
    """One source sentence to be searched. Equal jobs have equal answers."""

    source: tuple[int, ...]
    prefix: tuple[int, ...] = ()
    phrases: tuple[Phrase, ...] = ()

    def limit(self, config: DecodingConfig) -> int:
        """Most tokens of an answer, its end included.

        A bound of the sentence's own, so that its neighbours cannot change its answer; a generous one, for it
        is there to stop answers that never end.
        """
        given = len(self.prefix) + sum(len(phrase.ids) for phrase in self.phrases)
        if given and given + CHARACTER > config.max_len:
            raise ConfigError(
                f"prefix and required texts have {given} pieces, and max_len={config.max_len} leaves no room",
                hint=f"set max_len to {given + CHARACTER} or more, or shorten them",
            )
        return min(config.max_len, given + max(3 * len(self.source) + 30, config.min_len + 1))


def batches(jobs: Iterable[Job], budget: int, size: Callable[[Job], int]) -> Iterator[list[Job]]:
    """Jobs of similar size, largest first; rows times the largest size stay within the budget.

    A job that is larger than the budget is a batch of its own.
    """
    batch: list[Job] = []
    for job in sorted(jobs, key=size, reverse=True):
        if batch and (len(batch) + 1) * size(batch[0]) > budget:
            yield batch
            batch = []
        batch.append(job)
    if batch:
        yield batch


def search(
    model: Seq2Seq,
    jobs: Sequence[Job],
    config: DecodingConfig,
    pieces: Sequence[bytes],
    banned: Sequence[Filter] = (),
) -> list[list[Answer]]:
    """The answers to each job, best first: up to `beam` of them, or `n_best` draws.

    pieces[id] is what a target id writes; `banned` are the filters for banned text.
    """
    draws = config.n_best if config.sample else 1
    rows = [job for job in jobs for _ in range(draws)]
    limits = [job.limit(config) for job in rows]
    filters = make_filters(rows, config, pieces, banned)
    with torch.inference_mode():
        device = next(model.parameters()).device
        memory = model.encode(*pad_sources([job.source for job in rows], device))
    if config.sample:
        numbers = [
            uniforms(job.source, limit, seed=config.seed, draw=row % draws)
            for row, (job, limit) in enumerate(zip(rows, limits, strict=True))
        ]
        pick = sampler(numbers, temperature=config.temperature, top_k=config.top_k, top_p=config.top_p)
        answers = greedy(model, memory, limits, filters, pick)
        return [
            ranked(answers[row : row + draws], config.length_penalty) for row in range(0, len(rows), draws)
        ]
    if config.beam == 1:
        return [[answer] for answer in greedy(model, memory, limits, filters)]
    return beam_search(
        model,
        memory,
        limits,
        filters,
        beam=config.beam,
        n_best=config.n_best,
        length_penalty=config.length_penalty,
    )


@torch.inference_mode()
def score_targets(
    model: Seq2Seq, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> list[list[float]]:
    """The log-probability of each target piece and of the end, given the source, all in one pass."""
    device = next(model.parameters()).device
    memory = model.encode(*pad_sources(sources, device))
    target_out, mask = pad_sources(targets, device)  # (B, T), each with its end
    target_in = target_out.roll(1, dims=1)
    target_in[:, 0] = BOS
    log_probs = log_softmax(model.decode(target_in, memory))  # (B, T, V)
    chosen = log_probs.gather(2, target_out[:, :, None]).squeeze(2)  # (B, T)
    check_finite(chosen.masked_fill(~mask, 0).sum(dim=1), torch.arange(len(chosen), device=device))
    return [row[real].tolist() for row, real in zip(chosen, mask, strict=True)]


def make_filters(
    jobs: Sequence[Job], config: DecodingConfig, pieces: Sequence[bytes], banned: Sequence[Filter]
) -> list[Filter]:
    """The filters of one batch; where two cannot both be kept the earlier one is."""
    filters = [whole_characters(never=NEVER + CONTROL)]
    if any(job.prefix for job in jobs):
        filters.append(force_prefix([job.prefix for job in jobs]))
    if any(job.phrases for job in jobs):
        filters.append(require([job.phrases for job in jobs], pieces))
    filters += banned
    if config.no_repeat_ngram:
        filters.append(no_repeat(config.no_repeat_ngram))
    if config.min_len:
        filters.append(at_least(config.min_len))
    return filters


def pad_sources(sources: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Each source with its end, padded: ids (B, S) and mask (B, S), True at real tokens."""
    S = max(map(len, sources)) + 1
    ids = [[*source, EOS, *[PAD] * (S - 1 - len(source))] for source in sources]
    lengths = torch.tensor([len(source) + 1 for source in sources], device=device)
    return torch.tensor(ids, device=device), torch.arange(S, device=device) < lengths[:, None]


def piece_bytes(tokenizer: Tokenizer) -> list[bytes]:
    """What each id writes into a text; special ids write nothing."""
    specials, first_learned = [b""] * FIRST_BYTE, FIRST_BYTE + 256
    learned = tokenizer.pieces(range(first_learned, tokenizer.size))
    return [*specials, *(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in learned)]
