"""Text of a run to its tokenizers: learned from the training pairs, grown, or with tags for languages."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from jumok.config import RunConfig
from jumok.data.builtin import reads_pictures
from jumok.errors import ConfigError
from jumok.images.patches import PatchReader
from jumok.progress import Progress
from jumok.text.frame import PLAIN, Direction, Frame
from jumok.text.growth import grow
from jumok.text.tokenizer import Tokenizers, train_tokenizer

Pairs = Callable[[], Iterable[tuple[Any, ...]]]


def learn_tokenizers(pairs: Pairs, run: RunConfig, progress: Progress, frame: Frame = PLAIN) -> Tokenizers:
    """One tokenizer for both sides, or one each, from the training pairs alone; with the tags of a frame."""

    def lines(*sides: int) -> Iterator[str]:
        for pair in pairs():
            yield from (pair[side] for side in sides)

    tags = frame.tags
    config = replace(run.text, vocabulary=max(300, run.text.vocabulary - len(tags)))
    target = replace(config, kind=config.target_kind or config.kind)
    if reads_pictures(run.data):
        reader = PatchReader(run.image.size, run.image.patch)
        return Tokenizers(reader, train_tokenizer(lines(1), target, progress))
    if config.shared and target == config:
        both = train_tokenizer(lines(0, 1), config, progress)
        both = both.with_tags(tags) if tags else both
        return Tokenizers(both, both, frame)
    source = train_tokenizer(lines(0), config, progress)
    answers = train_tokenizer(lines(1), target, progress)
    return Tokenizers(source.with_tags(tags) if tags else source, answers, frame)


def chosen_direction(both: Tokenizers, said: Direction) -> Direction:
    """What a model calls a direction of the data; refuses one that it does not have.

    Text in one language has no direction, but its language must be known.
    """
    frame = both.frame
    if not frame.languages:
        return Direction()
    if said.source != said.target or not said.target:
        return frame.choose(said.source, said.target)
    known = {code.lower(): code for code, _ in frame.languages}
    if said.target.lower() not in known:
        raise ConfigError(
            f"the model has no language {said.target!r}",
            hint=f"it has {', '.join(known.values())}",
            code="unknown_language",
        )
    return Direction(known[said.target.lower()], known[said.target.lower()])


def check_frame(both: Tokenizers, wanted: Frame) -> None:
    """Refuse to teach a model several directions that it cannot tell apart."""
    if wanted.slots and not both.frame.slots:
        raise ConfigError(
            "these corpora go into several languages, and the model that the run starts from has no tags",
            hint="set data.tags to none, or start from a model of several directions",
            code="no_tags",
        )


def grown_tokenizers(both: Tokenizers, pairs: Pairs, add: int) -> Tokenizers:
    """The same with at most `add` tokens more for the training pairs: of both sides, or of each."""
    if both.shared:
        one = grow(both.source, (text for pair in pairs() for text in pair[:2]), add)
        return Tokenizers(one, one, both.frame)
    source = grow(both.source, (pair[0] for pair in pairs()), add)
    return Tokenizers(source, grow(both.target, (pair[1] for pair in pairs()), add), both.frame)
