"""Looking into a model and changing it, whichever engine has it: what translators and engines have for that.

What is looked into, `inside`, is a model in torch or the native engine itself. No torch here.
"""

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, Union

import numpy as np
from numpy.typing import NDArray

from jumok.answers import Answer
from jumok.decoding.beam_tree import BeamTree, replay
from jumok.decoding.jobs import Job, Request
from jumok.edits import Edits, Where
from jumok.native.draws import Draws
from jumok.native.model import Lists, NativeModel, SearchOptions
from jumok.native.phrases import PhraseOptions
from jumok.native.record import Probe, Recorded, Recording, TreeArrays
from jumok.native.watch import Watch
from jumok.text.frame import closed
from jumok.text.specials import EOS

if TYPE_CHECKING:
    from jumok.decoding.engines import Engine, NativeEngine
    from jumok.decoding.torch_engine import TorchEngine
    from jumok.models.interface import Seq2Seq

Inside = Union["NativeEngine", "Seq2Seq"]  # strings: torch is not imported for it
Look = Callable[[str, int], None]
"""Hears before a pass how many tokens a side has, the end included; it ends the work by raising."""
MOST = 2**26
"""Numbers that a search may record, at the most 256 MiB; of more sentences a pass by itself does."""
Pair = tuple[tuple[Any, ...], tuple[int, ...]]
"""A source without its end, and a target as it was written."""


class Probed:
    """The native engine's part: nothing in it changes, so edits and watches are in copies that share it."""

    model: NativeModel
    sees = True
    """Whether it can be looked into."""
    edits: Edits | None = None
    _look: Look | None = None
    _wrap: "Callable[[Seq2Seq], Seq2Seq] | None" = None
    _origin: Self | None = None
    _seen: dict[Pair, Recorded] | None = None

    @property
    def inside(self) -> Inside:
        """What is looked into."""
        return self  # type: ignore[return-value]  # the native engine is the one class of this kind

    def _copied(self) -> Self:
        other = copy.copy(self)
        other._origin = self._origin or self
        return other

    def edited(self, edits: Edits | None) -> Self:
        """The same engine with these edits in its model, and no others."""
        other = self._copied()
        other.edits = edits
        return other

    def watched(self, look: Look, wrap: "Callable[[Seq2Seq], Seq2Seq]") -> Self:
        """The same engine, which someone watches; `wrap` does the same for its model in torch."""
        other = self._copied()
        other._look, other._wrap = look, wrap
        return other

    def remembering(self) -> Self:
        """The same engine, which keeps what it computes in a search until `record` asks for it."""
        other = self._copied()
        other._seen = {}
        return other

    def look(self, sources: Sequence[Sequence[Any]], targets: Sequence[Sequence[int]] = ()) -> None:
        """Tell whoever watches what comes."""
        for side, some in (("source", list(map(closed, sources))), ("target", targets)):
            if self._look is not None and some:
                self._look(side, max(map(len, some)))

    def searched(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchOptions,
        *,
        prefixes: Sequence[Sequence[int]] | None = None,
        shortlists: Lists | None = None,
        phrases: PhraseOptions | None = None,
        draws: Draws | None = None,
        watch: Watch | None = None,
    ) -> list[list[Answer]]:
        """`NativeModel.search` in the model as it is here."""
        self.look(sources)
        room = None
        if self._seen is not None and shortlists is None and phrases is None and draws is None:
            room = self._room(sources, limits, options.beam)
        answers = self.model.search(
            sources,
            limits,
            options,
            prefixes=prefixes,
            shortlists=shortlists,
            phrases=phrases,
            draws=draws,
            looker=Probe(self.edits, room, watch=watch),
        )
        for place, (source, [answer, *_]) in enumerate(zip(sources, answers, strict=True)):
            if room is not None and self._seen is not None:
                written = (*answer.ids, *([EOS] if answer.finished else []))
                self._seen[tuple(source), written] = room.read(place, len(written))
        return answers

    def _asked(self, batch: Sequence[Job], request: Request) -> dict[str, Any]:
        raise NotImplementedError

    def grow_tree(self, job: Job, request: Request, tree: BeamTree) -> None:
        """Record the search for the answers to one job."""
        self.look([job.source])
        asked = self._asked([job], request)
        wide = asked["options"].beam
        steps = TreeArrays(asked["limits"][0] * wide * max(2 * wide, wide + tree.spare))
        while True:
            [[best, *_]] = self.model.search([job.source], **asked, looker=Probe(self.edits, tree=steps))
            if not steps.full:
                break
            steps = TreeArrays(int(steps.c.count))  # phrases have brought more ways on
        replay(tree, steps.steps(), best)

    def _room(self, sources: Sequence[Sequence[int]], limits: Sequence[int], beam: int) -> Recording | None:
        """Where a search is recorded; None where that may take too much memory."""
        each = sum(layers * heads for layers, heads in self.model.config.attention.values())
        cells = sum((len(one) + limit) ** 2 for one, limit in zip(sources, limits, strict=True))
        return self.model.recording(sources, limits) if each * cells * beam <= MOST else None

    def record(
        self,
        sources: Sequence[Sequence[Any]],
        targets: Sequence[Sequence[int]],
        stages: Collection[Where] = (),
    ) -> list[Recorded]:
        """What the model computes while it reads each source and writes its target, which has a token."""
        self.look(sources, targets)
        known = self._seen if self._seen and not stages else {}
        found = [known.pop((tuple(one), tuple(two)), None) for one, two in zip(sources, targets, strict=True)]
        rest = [place for place, one in enumerate(found) if one is None]
        read, written = [sources[i] for i in rest], [targets[i] for i in rest]
        if rest:
            room = self.model.recording(read, list(map(len, written)), stages=stages)
            self.model.force(read, written, looker=Probe(self.edits, room))
            for n, place in enumerate(rest):
                found[place] = room.read(n, len(written[n]))
        return [one for one in found if one is not None]

    def force(
        self, sources: Sequence[Sequence[Any]], targets: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float32]]:
        """log p of each token of each target after those before it."""
        self.look(sources, targets)
        return self.model.force(sources, targets, looker=Probe(self.edits))

    def in_torch(self, plain: "TorchEngine") -> "TorchEngine":
        """What this copy is to the engine it was copied from, for the same model in torch."""
        other = plain if self.edits is None else plain.edited(self.edits)
        return other if self._wrap is None else other.around(self._wrap(other.model))


class Seen:
    """A translator's part."""

    _engine: "Engine"
    interventions: Sequence[Mapping[str, Any]]

    def on_torch(self, what: str) -> Self:
        raise NotImplementedError

    @property
    def inside(self) -> Inside:
        """What is looked into: the native engine, or the model in torch."""
        return self._engine.inside

    def seeing(self, what: str) -> Self:
        """The same translator on an engine that can be looked into, for `what`."""
        return self if self._engine.sees else self.on_torch(what)

    def remembering(self) -> Self:
        """The same translator; on the native engine a search keeps what a trace of it will need."""
        if not isinstance(self._engine, Probed) or not self._engine.sees:
            return self
        other = copy.copy(self)
        other._engine = self._engine.remembering()
        return other

    def edited(self, edits: Edits, interventions: Sequence[Mapping[str, Any]] = ()) -> Self:
        """The same translator around a model with these edits inside; nothing is copied."""
        other = copy.copy(self.seeing("intervention"))
        other.interventions = interventions
        if edits != Edits():  # else the model is as it was: its own back end, the same rounding
            other._engine = other._engine.edited(edits)
        return other

    @property
    def edits(self) -> Edits | None:
        """What is changed inside the model, if anything is."""
        return edits_in(self.inside)


def edits_in(inside: Inside) -> Edits | None:
    """What is changed in what is looked into."""
    if isinstance(inside, Probed):
        return inside.edits
    from jumok.models.interface import edits_of

    return edits_of(inside)
