"""The tree of a beam search: what each step kept and what it rejected. No torch."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from os.path import commonprefix
from typing import Any, Literal

from jumok.answers import Answer, normalised
from jumok.decoding.beam_branches import Way
from jumok.native.record import TreeWay
from jumok.text.tokenizer import BOS, EOS, Tokenizer

ENDED = -2
"""The place of a way on that is an answer, as in jumok.h."""
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
        self.chosen = self.path((*answer.ids, *([EOS] if answer.finished else [])))
        self.stable_prefix = stable

    def path(self, ids: Sequence[int]) -> tuple[int, ...]:
        """The numbers of the nodes from the root along these tokens, as far as they go."""
        path = [0]
        for token in ids:
            if (path[-1], token) not in self._children:
                break
            path.append(self._children[path[-1], token])
        return tuple(path)

    def choose_cut(self, ids: Sequence[int]) -> None:
        """The answer is another, for a loop was cut off: these tokens, of which the search knows all."""
        if len(path := self.path(ids)) == len(ids) + 1:
            self.chosen, self.stable_prefix = path, min(self.stable_prefix, len(ids))

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


def replay(tree: BeamTree, steps: Iterable[Sequence[TreeWay]], best: Answer) -> None:
    """Put the steps of a search in the C library into a tree; `best` is its answer."""
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]  # the score and the tokens of each hypothesis
    for found in steps:
        ways: list[Way] = [
            (live[one.row][0] + one.log_prob, one.row, one.token, one.log_prob) for one in found
        ]
        both = list(zip(found, ways, strict=True))
        ended = [way for one, way in both if one.place == ENDED]
        alive = [way for _, way in sorted((one.place, way) for one, way in both if one.place >= 0)]
        tree.step(ways, ended, alive)
        live = [(total, (*live[row][1], token)) for total, row, token, _ in alive]
    tree.choose(best, len(commonprefix([best.ids, *(ids for _, ids in live)])))
