"""Alignments in torch: finished answers go through the model once more, and one head is looked at.

Axis letters: B answers, H heads, T target, S source.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from jumok.answers import Answer
from jumok.config import AlignHead
from jumok.decoding.batched import device_of, lay_sources, lay_targets
from jumok.decoding.jobs import Job, batches
from jumok.models.interface import Seq2Seq
from jumok.text.frame import closed
from jumok.text.tokenizer import EOS

Looks = tuple[tuple[int, ...], tuple[float, ...]]
"""Of each token the place of a source token, and the weight."""
TOKENS = 4096  # of a batch, both sides, the longest counted for all


def align_answers(
    model: Seq2Seq,
    jobs: Sequence[Job],
    answers: Sequence[Sequence[Answer]],
    head: AlignHead,
    tags: tuple[int, int] = (0, 0),
) -> list[list[Answer]]:
    """The answers to each job with their alignments; those that have one keep it.

    `tags` are the tokens of each source that are nobody's words, as in `SearchOptions`.
    """
    pairs = [
        Job(job.source, (*answer.ids, EOS) if answer.finished else answer.ids)
        for job, mine in zip(jobs, answers, strict=True)
        for answer in mine
        if job.source and answer.ids and not answer.alignment
    ]
    done: dict[Job, Looks] = {}
    for batch in batches(pairs, TOKENS, lambda pair: len(pair.source) + len(pair.prefix) + 2):
        found = looks_of(model, [one.source for one in batch], [one.prefix for one in batch], head, tags)
        done.update(zip(batch, found, strict=True))

    def with_looks(job: Job, answer: Answer) -> Answer:
        key = Job(job.source, (*answer.ids, EOS) if answer.finished else answer.ids)
        if answer.alignment or key not in done:
            return answer
        places, looks = (part[: len(answer.ids)] for part in done[key])
        return replace(answer, alignment=places, looks=looks)  # type: ignore[arg-type]

    return [[with_looks(job, answer) for answer in mine] for job, mine in zip(jobs, answers, strict=True)]


@torch.inference_mode()
def looks_of(
    model: Seq2Seq,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    head: AlignHead,
    tags: tuple[int, int] = (0, 0),
) -> Iterator[Looks]:
    """Of each pair: where the head looked most for each token, never at the end, and with which weight.

    Targets are written to their last token. A head that looks `after` a token was read does so for the last
    one when it is written.
    """
    device = device_of(model)
    target_in, _ = lay_targets(targets, device)
    maps = model.explain(target_in, model.encode(lay_sources(sources, device)))[head.layer]  # (B, H, T, S)
    weights: Tensor = maps.mean(1) if head.head is None else maps[:, head.head]  # (B, T, S)
    weights = weights.float().cpu()
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        end = len(closed(source)) - 1 - tags[1]
        best = weights[row, : len(target), tags[0] : max(end, tags[0] + 1)].max(dim=1)
        places = best.indices + tags[0]
        if head.after:
            steps = torch.arange(1, len(target) + 1).clamp(max=len(target) - 1)
            yield tuple(places[steps].tolist()), tuple(best.values[steps].tolist())
            continue
        yield tuple(places.tolist()), tuple(best.values.tolist())
