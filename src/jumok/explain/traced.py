"""A translation that remembers how it came about: attention, alignment, influence, beam, files to keep."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from jumok.decoding.results import Translation
from jumok.errors import ConfigError
from jumok.explain.attention import THRESHOLD, Attentions, Link, links, pharaoh
from jumok.explain.html import HEIGHT, Display, known, shares, show_trace, word_rows
from jumok.explain.influence import Replace
from jumok.explain.ops import bad_parameter, check_name
from jumok.explain.tokens import UnitName
from jumok.explain.trace import Trace

NAMES = [one.name for one in fields(Translation)]
PLAIN = attrgetter(*NAMES)
"""What a translation is made of, in order."""
Method = Literal["cross", "influence"]
WordLinks = tuple[Sequence[str], Sequence[str], list[Link]]
"""The words of both sides, and the links between them."""


class AlignedWords(NamedTuple):
    """A target word and the source word that it goes with most."""

    source: str
    target: str
    weight: float


@dataclass(frozen=True, slots=True, repr=False)
class TracedTranslation(Translation):
    """The answer that `translate` gives, and all that a trace knows. A blank text has no trace."""

    made: Trace | None = field(default=None, compare=False)
    recorded: bool = field(default=False, compare=False)
    """The beam was asked for."""
    parts: tuple["TracedTranslation", ...] = field(default=(), compare=False)
    """Of a text of several sentences, each with its own trace; `trace` and `attention` are the first's."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: those of the translation."""
        return asdict(Translation(*PLAIN(self)))

    @property
    def trace(self) -> Trace:
        """Everything the model computed; of a text too long for the model, that for its beginning."""
        if self.made is None:
            raise ConfigError("a blank text has no trace", hint="give a text", code="empty_text")
        return self.made

    @property
    def attention(self) -> Attentions:
        """The weights by kind; None for a kind that the model does not have."""
        return Attentions() if self.made is None else self.made.attention

    @property
    def beam(self) -> dict[str, Any] | None:
        """The tree of the search, in the form `beam/1`, if `record_beam=True` asked for it."""
        return self.made.beam() if self.recorded and self.made else None

    def influence(self, *, unit: UnitName = "words", replace: Replace = "unk") -> NDArray[np.float32]:
        """[target tokens, source words]: how much each word supports each token, in nats."""
        return self.trace.influence(unit=unit, replace=replace).values

    def align(
        self, method: Method = "cross", layer: int | None = -1, *, threshold: float = THRESHOLD
    ) -> list[AlignedWords]:
        """Each target word with the source word it looked at most, as (source, target, weight).

        `method="influence"` asks what it depended on, which every model can answer. A word whose largest
        weight is below the threshold has no partner; nor has one that looked at the end of the sentence.
        """
        source, target, found = self._links(method, layer, threshold)
        return [AlignedWords(source[one.source], target[one.target], one.weight) for one in found]

    def pharaoh(
        self, method: Method = "cross", layer: int | None = -1, *, threshold: float = THRESHOLD
    ) -> str:
        """The same as numbers of words, `0-0 2-1`, the form that other tools read."""
        return pharaoh(self._links(method, layer, threshold)[2])

    def _links(self, method: Method, layer: int | None, threshold: float) -> WordLinks:
        """The words of both sides, and the links between them; of a text, through all its sentences."""
        check_name("method", method, get_args(Method))
        if self.parts:
            return joined_links([part._links(method, layer, threshold) for part in self.parts])
        if self.made is None:
            return (), (), []
        if method == "influence":
            return self._influence_links(self.made, threshold)
        cross = self.made.attention.cross
        if cross is None:
            raise bad_parameter(
                "this model has no attention to align by",
                hint='method="influence" asks what each word depended on',
            )
        words = cross.mean(layer).words()
        weights, target = words.weights[0, 0], words.target[:-1]  # the ends come last
        if not self.made.manifest["decode"]["finished"]:  # then the last row is a word, too
            weights, target = np.vstack([weights, np.zeros_like(weights[:1])]), words.target
        return words.source[:-1], target, links(weights, threshold=threshold)

    @staticmethod
    def _influence_links(trace: Trace, threshold: float) -> WordLinks:
        found, words = trace.influence(), trace.manifest["target"]["words"]
        rows = word_rows(trace, shares(found))
        kept = [i for i, word in enumerate(words) if "type" not in word]
        source, target = [unit.text for unit in found.units], [words[i]["text"] for i in kept]
        return source, target, links(rows[kept], threshold=threshold, end=False)

    def show(self, height: int = HEIGHT) -> Display:
        """The explorer with this translation: in a notebook as a frame, in a terminal as a heat map."""
        return show_trace(self.trace, height)

    def save_html(self, path: str | Path, **choice: Any) -> Path:
        """Write one HTML file that opens in any browser; options are those of `trace_html`."""
        return self.trace.save_html(path, **choice)

    def save(self, path: str | Path, **choice: Any) -> Path:
        """Write one file that `open_trace` reads without the model; options are those of `Trace.save`."""
        known(self.trace.influence)  # what was asked is kept
        known(self.trace.positions)
        if self.recorded:
            known(self.trace.beam)
        return self.trace.save(path, **choice)


def joined_links(sentences: Sequence[WordLinks]) -> WordLinks:
    """The words of a text and the links between them, from those of its sentences."""
    source, target, found = list[str](), list[str](), list[Link]()
    for read, written, own in sentences:
        places = len(source), len(target)
        found += [Link(one.source + places[0], one.target + places[1], one.weight) for one in own]
        source += read
        target += written
    return source, target, found


def with_traces(
    found: Translation, sentences: Sequence[tuple[Translation, Trace]], *, recorded: bool
) -> TracedTranslation:
    """A translation with the traces of its sentences; one without sentences has none."""
    several = sentences if len(sentences) > 1 else ()
    parts = tuple(with_traces(one, [(one, made)], recorded=recorded) for one, made in several)
    made = sentences[0][1] if sentences else None
    values = dict(zip(NAMES, PLAIN(found), strict=True))
    return TracedTranslation(**values, made=made, recorded=recorded, parts=parts)
