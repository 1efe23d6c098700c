"""The last thing a run keeps beside its model: which source tokens stood side by side in its training."""

from collections.abc import Iterator

from jumok.checkpoint.calibration import write_calibration
from jumok.checkpoint.contents import read_contents
from jumok.checkpoint.manifest import NOVELTY, first_whole
from jumok.data.store import Store
from jumok.errors import Error
from jumok.text.novelty import Pairs, make_novelty, pairs_of
from jumok.training.loop import notice
from jumok.training.work import RunWork

SENTENCES = 20_000
"""Read at a time: memory does not grow with the corpus."""


def keep_novelty(work: RunWork, step: int) -> None:
    """Keep it for the model that the run stands for. What goes wrong is a notice: the model itself is saved.

    Pictures have no such tokens. A run that starts from a model does not know what that one has seen.
    """
    if work.prepared.tokenizers.pictures is None and not work.config.start.model:
        work.world.first(lambda: keep_for_best(work, step))


def keep_for_best(work: RunWork, step: int) -> None:
    train, valid = work.prepared.train, work.prepared.valid
    try:
        novelty = make_novelty(stored_pairs(train), (valid.source(row) for row in range(len(valid))))
        if novelty is not None:
            folder = first_whole(work.checkpoints.run, read_contents).folder
            write_calibration(folder, novelty.to_dict(), NOVELTY)
    except Error as error:
        message = f"which tokens stood together in training is not kept: {error.message}"
        work.log(notice(step, "warning", error.code, message))


def stored_pairs(store: Store) -> Iterator[Pairs]:
    """The pairs of neighbouring source tokens, of many sentences at a time."""
    for begin in range(0, len(store), SENTENCES):
        yield pairs_of(store.source(row) for row in range(begin, min(begin + SENTENCES, len(store))))
