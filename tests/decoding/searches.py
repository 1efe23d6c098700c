"""Greedy and beam search of a model in one call, as tests ask for them."""

from collections.abc import Sequence
from typing import Any

from jumok.answers import Answer
from jumok.decoding.beam import BeamSearch
from jumok.decoding.filters import Filter
from jumok.decoding.greedy import GreedySearch, Pick, best
from jumok.decoding.search import run_search
from jumok.models.interface import Memory, Seq2Seq


def greedy(
    model: Seq2Seq, memory: Memory, limits: Sequence[int], filters: Sequence[Filter] = (), pick: Pick = best
) -> list[Answer]:
    """One answer per sentence of `memory`."""
    search = GreedySearch(limits, filters, pick, device=memory.source.device)
    return [answer for [answer] in run_search(model, memory, search)]


def beam_search(
    model: Seq2Seq, memory: Memory, limits: Sequence[int], filters: Sequence[Filter] = (), **options: Any
) -> list[list[Answer]]:
    """Up to `beam` answers per sentence of `memory`, best first."""
    return run_search(model, memory, BeamSearch(limits, filters, device=memory.source.device, **options))
