"""Searches for the answers to a batch of jobs with torch, and scores given targets."""

from collections.abc import Sequence

import torch
from torch import Tensor

from jumok.answers import Answer
from jumok.config import DecodingConfig
from jumok.decoding.beam import BeamSearch
from jumok.decoding.beam_tree import BeamTree
from jumok.decoding.constraints import Constraint
from jumok.decoding.filters import NEVER, Filter, WholeCharacters, at_least, force_prefix, no_repeat, require
from jumok.decoding.greedy import GreedySearch, sampler
from jumok.decoding.jobs import BATCH_TOKENS, Job, Source
from jumok.decoding.mbr import Choose
from jumok.decoding.search import Search, check_finite, log_softmax, run_search
from jumok.decoding.uniforms import uniform_tables
from jumok.errors import ConfigError
from jumok.models.interface import Memory, Seq2Seq
from jumok.models.sentences import Sentences
from jumok.text.frame import closed
from jumok.text.tokenizer import BOS, EOS, FIRST_BYTE

CONTROL = tuple(FIRST_BYTE + byte for byte in (*range(32), 127))
"""No answer contains a line break, a tab or another control character: one line in, one line out."""
USUAL = WholeCharacters(never=NEVER + CONTROL)
"""The filter of every search."""
CUDA_TOKENS = 65_536
"""`BATCH_TOKENS` of a GPU, which would have little to do with the usual number."""


def token_budget(config: DecodingConfig, device: torch.device) -> int:
    """`batch_tokens` as someone has chosen it, or as it suits the device."""
    return config.batch_tokens or (CUDA_TOKENS if device.type == "cuda" else BATCH_TOKENS)


def search(
    model: Seq2Seq,
    jobs: Sequence[Job],
    config: DecodingConfig,
    spellings: Sequence[bytes],
    banned: Sequence[Filter] = (),
    choose: Choose | None = None,
) -> list[list[Answer]]:
    """The answers to each job, best first: up to `beam` of them, or all draws as `choose` orders them.

    spellings[id] is what a target id writes; `banned` are the filters for banned text.
    """
    new_search = make_search(jobs, config, spellings, banned, choose=choose, device=device_of(model))
    copies = [len(new_search.token) // len(jobs)] * len(jobs)
    return run_search(model, encode(model, jobs, copies), new_search)


def make_search(
    jobs: Sequence[Job],
    config: DecodingConfig,
    spellings: Sequence[bytes],
    banned: Sequence[Filter] = (),
    *,
    choose: Choose | None = None,
    device: torch.device | None = None,
    record: BeamTree | None = None,
) -> Search:
    """The search for the answers to these jobs; it writes the tree of a single one into `record`."""
    if config.draws and record is not None:
        raise ConfigError(
            "an answer that is drawn at random has no beam tree", hint="set sample to false and mbr to 0"
        )
    draws = config.draws or 1
    rows = [job for job in jobs for _ in range(draws)]
    limits = [job.limit(config) for job in rows]
    constraints = [
        Constraint(job.phrases, spellings, job.width(config)) if job.phrases else None for job in rows
    ]
    filters = make_filters(rows, config, constraints, banned)
    if config.draws:
        sources, lengths = [job.source for job in jobs], limits[::draws]
        tables = uniform_tables(sources, lengths, seed=config.seed, draws=draws)
        numbers = [row for table in tables for row in table]
        pick = sampler(numbers, temperature=config.temperature, top_k=config.top_k, top_p=config.top_p)
        return GreedySearch(
            limits,
            filters,
            pick,
            draws=draws,
            length_penalty=config.length_penalty,
            choose=choose,
            device=device,
        )
    if (
        config.beam == 1 and len(jobs) > 1 and not any(constraints)
    ):  # the same as a beam of one, and quicker for many rows
        return GreedySearch(limits, filters, device=device)
    return BeamSearch(
        limits,
        filters,
        beam=config.beam,
        n_best=config.n_best,
        length_penalty=config.length_penalty,
        device=device,
        record=record,
        constraints=constraints,
    )


@torch.inference_mode()
def encode(model: Seq2Seq, jobs: Sequence[Job], copies: Sequence[int]) -> Memory:
    """What the model reads of each job, in as many rows as `copies` says."""
    memory = model.encode(lay_sources([job.source for job in jobs], device_of(model)))
    if all(count == 1 for count in copies):
        return memory
    rows = [row for row, count in enumerate(copies) for _ in range(count)]
    return memory.select(rows)


def device_of(model: Seq2Seq) -> torch.device:
    """Where the model computes."""
    return next(model.parameters()).device


@torch.inference_mode()
def score_targets(
    model: Seq2Seq, sources: Sequence[Source], targets: Sequence[Sequence[int]]
) -> list[list[float]]:
    """The log-probability of each target token and of the end, given the source, all in one pass."""
    device = device_of(model)
    target_in, target_out = lay_targets([[*target, EOS] for target in targets], device)
    prediction = model.decode(target_in, model.encode(lay_sources(sources, device)))
    chosen = log_softmax(prediction.logits()).gather(1, target_out[:, None])[:, 0]  # (M,)
    rows = target_in.row_and_place[0]
    total = torch.zeros(len(sources), dtype=chosen.dtype, device=device).index_add_(0, rows, chosen)
    check_finite(total, torch.arange(len(sources), device=device))
    return [part.tolist() for part in torch.split(chosen, target_in.known_lengths.tolist())]


def make_filters(
    jobs: Sequence[Job],
    config: DecodingConfig,
    constraints: Sequence[Constraint | None],
    banned: Sequence[Filter],
) -> list[Filter]:
    """The filters of one batch; where two cannot both be kept the earlier one is. A beam sees to phrases."""
    filters: list[Filter] = [USUAL]
    if any(job.prefix for job in jobs):
        filters.append(force_prefix([job.prefix for job in jobs]))
    if config.draws and any(constraints):
        filters.append(require(constraints))
    filters += banned
    if config.no_repeat_ngram:
        filters.append(no_repeat(config.no_repeat_ngram))
    if config.min_len:
        filters.append(at_least(config.min_len))
    return filters


def lay_sources(sources: Sequence[Source], device: torch.device) -> Sentences:
    """Each source with its end, laid end to end; pictures have no end."""
    pictures = bool(sources[0]) and isinstance(sources[0][0], bytes)
    return Sentences.lay(sources if pictures else list(map(closed, sources)), device)  # type: ignore[arg-type]


def lay_targets(outs: Sequence[Sequence[int]], device: torch.device) -> tuple[Sentences, Tensor]:
    """What is read before each token is written (the start, then all tokens but the last), and the tokens."""
    target_in = Sentences.lay([[BOS, *out[:-1]] for out in outs], device)
    return target_in, torch.tensor([id for out in outs for id in out], device=device)
