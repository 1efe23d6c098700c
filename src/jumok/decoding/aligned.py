"""Alignments in torch: finished answers go through the model once more, and one head is looked at.

Axis letters: B answers, H heads, T target, S source.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from jumok.answers import Answer
from jumok.architectures import AlignHead
from jumok.decoding.batched import device_of, lay_sources, lay_targets
from jumok.decoding.jobs import Job, batches
from jumok.models.interface import Seq2Seq

TOKENS = 4096  # of a batch, both sides, the longest counted for all


def align_answers(
    model: Seq2Seq, jobs: Sequence[Job], answers: Sequence[Sequence[Answer]], head: AlignHead
) -> list[list[Answer]]:
    """The answers to each job with their alignments; those that have one keep it."""
    todo = {
        (job.source, answer.ids): answer
        for job, mine in zip(jobs, answers, strict=True)
        for answer in mine
        if job.source and answer.ids and not answer.alignment
    }
    pairs, done = [Job(source, ids) for source, ids in todo], dict[tuple[object, ...], Answer]()
    for batch in batches(pairs, TOKENS, lambda pair: len(pair.source) + len(pair.prefix) + 2):
        found = looks_of(model, [one.source for one in batch], [one.prefix for one in batch], head)
        for one, (places, looks) in zip(batch, found, strict=True):
            key = (one.source, one.prefix)
            done[key] = replace(todo[key], alignment=places, looks=looks)
    return [
        [
            replace(answer, alignment=known.alignment, looks=known.looks)
            if (known := done.get((job.source, answer.ids)))
            else answer
            for answer in mine
        ]
        for job, mine in zip(jobs, answers, strict=True)
    ]


@torch.inference_mode()
def looks_of(
    model: Seq2Seq, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], head: AlignHead
) -> Iterator[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Of each pair: where the head looked most before it wrote each token, never the end, and the weight."""
    device = device_of(model)
    target_in, _ = lay_targets(targets, device)
    maps = model.explain(target_in, model.encode(lay_sources(sources, device)))[head.layer]  # (B, H, T, S)
    weights: Tensor = maps.mean(1) if head.head is None else maps[:, head.head]  # (B, T, S)
    weights = weights.float().cpu()
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        best = weights[row, : len(target), : len(source)].max(dim=1)
        yield tuple(best.indices.tolist()), tuple(best.values.tolist())
