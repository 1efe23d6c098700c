"""Test sets of several directions, named as `jumok train` names its corpora."""

from collections.abc import Iterator, Sequence
from dataclasses import fields

from jumok.config import DataConfig
from jumok.data.columns import Texts
from jumok.data.corpus import Corpus
from jumok.data.corpus_spec import parse_specs
from jumok.errors import ConfigError
from jumok.run.mixture import open_spec
from jumok.text.frame import Direction


class BackwardCorpus(Corpus):
    """A corpus whose targets are sources; further references have no place there."""

    def texts(self) -> Iterator[Texts]:
        return ((texts[1], texts[0]) for texts in super().texts())


def read_directions(lines: Sequence[str]) -> Iterator[tuple[str, Corpus, Direction]]:
    """Every file in each of its directions: its name, its pairs, and the direction."""
    for spec in parse_specs(tuple(lines)):
        if spec.weight or spec.alone:
            raise ConfigError(
                f"--data {spec.given}: a test set has no weight, and two sides",
                hint="leave the word out",
                code="bad_corpus",
            )
        one = open_spec(spec, DataConfig())
        if not all(one.direction):
            raise ConfigError(
                f"--data {spec.given} does not say its languages",
                hint=f"write them behind the file: {spec.given}:de-en",
                code="bad_corpus",
            )
        for back, direction in enumerate(one.directions):
            same = {field.name: getattr(one.corpus, field.name) for field in fields(one.corpus)}
            yield spec.name, BackwardCorpus(**same) if back else one.corpus, direction
