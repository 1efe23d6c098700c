"""The tree of a beam search: what was kept, what was rejected, and why it came out as it did."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from jumok.answers import Answer, normalised
from jumok.text.tokenizer import BOS, EOS, Tokenizer

Way = tuple[float, int, int, float]
"""One way to go on: log-probability of the whole, the live hypothesis it goes on from (0 is the best), token,
and the token's own log-probability."""

Fate = Literal["expanded", "pruned", "finished", "chosen"]


@dataclass(frozen=True, slots=True)
class Node:
    """One hypothesis of the tree: its last token, and what became of it."""

    parent: int | None
    """The number of the node that it goes on from."""
    t: int
    """The place of its last token in the answer; -1 is the root."""
    id: int
    logprob: float
    """The model's own, of the last token."""
    score: float
    """The sum of them from the root."""
    norm: float
    """The score divided by the length penalty."""
    state: Fate
    rank: int = 0
    """Its place among the ways on from its parent."""
    beam: int | None = None
    """Its place among the hypotheses that lived on, if it did."""


class BeamTree:
    """Records the search of one sentence; give it to `BeamSearch(record=...)`.

    It keeps every hypothesis that lived or ended, and the best `pruned` of those that were rejected in favour
    of others, for each live hypothesis at each step.
    """

    def __init__(self, beam: int, length_penalty: float, *, pruned: int = 3) -> None:
        self.beam, self.length_penalty, self.pruned = beam, length_penalty, pruned
        self.nodes = [Node(None, -1, BOS, 0.0, 0.0, 0.0, "expanded", 0, 0)]
        self.chosen: tuple[int, ...] = ()
        """The numbers of the nodes from the root to the end of the answer, once the search is done."""
        self.stable_prefix = 0
        """Leading tokens of the answer that all hypotheses shared that were in the running at the end."""
        self._live = [0]
        self._children: dict[tuple[int, int], int] = {}

    @property
    def spare(self) -> int:
        """How many ways on from one hypothesis are needed beyond W: an end, and those that are rejected."""
        return 1 + self.pruned

    def step(self, ways: Sequence[Way], ended: Sequence[Way], alive: Sequence[Way]) -> None:
        """One step: all ways on, best first for each hypothesis; those that end; those that live on."""
        places = {(row, token): place for place, (_, row, token, _) in enumerate(alive)}
        ends = {row for _, row, _, _ in ended}
        seen, rejected = Counter[int](), Counter[int]()
        t = self.nodes[self._live[0]].t + 1
        for total, row, token, log_prob in ways:
            rank, place = seen[row], places.get((row, token))
            seen[row] += 1
            state: Fate = "expanded" if place is not None else "pruned"
            if token == EOS and row in ends:
                state = "finished"
            rejected[row] += state == "pruned"
            if state == "pruned" and rejected[row] > self.pruned:
                continue
            parent = self._live[row]
            norm = normalised(total, t + 1, self.length_penalty)
            self._children[parent, token] = len(self.nodes)
            self.nodes.append(Node(parent, t, token, log_prob, total, norm, state, rank, place))
        self._live = [self._children[self._live[row], token] for _, row, token, _ in alive]

    def choose(self, answer: Answer, stable: int) -> None:
        """The search is done, and this is the best answer."""
        path = [0]
        for token in (*answer.ids, *([EOS] if answer.finished else [])):
            path.append(self._children[path[-1], token])
        self.chosen, self.stable_prefix = tuple(path), stable

    def to_dict(self, tokenizer: Tokenizer) -> dict[str, Any]:
        """The tree in the form `beam/1`, ready for JSON; the tokenizer is the target's."""
        chosen, texts = set(self.chosen), tokenizer.pieces(node.id for node in self.nodes)
        nodes = [
            {"n": n, "text": text, **asdict(node), "state": "chosen" if n in chosen else node.state}
            for n, (node, text) in enumerate(zip(self.nodes, texts, strict=True))
        ]
        return {
            "schema": "beam/1",
            "beam": self.beam,
            "length_penalty": self.length_penalty,
            "nodes": nodes,
            "chosen": list(self.chosen),
            "stable_prefix": self.stable_prefix,
            "dropped_candidates": f"top {self.pruned} per hypothesis",
        }
