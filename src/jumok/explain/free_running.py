"""Teacher forcing against free running: what a model writes after the right tokens, and after its own.

    forced    each token after the right ones      y_{t-1} = the reference, as in training
    free      each after those it has written      y_{t-1} = its own, as in use
    slipped   the right ones up to a place, one wrong token there, and from then on its own

Each run is scored on the reference: -log p(y_t | what was read before place t), so that one sees where errors
pile up and where they are made good again. Axis letters: M tokens of all runs, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from jumok.decoding.jobs import Job, make_request
from jumok.decoding.results import JsonResult
from jumok.decoding.translator import Translator
from jumok.explain.forced import explained
from jumok.explain.ops import bad_parameter
from jumok.explain.subject import Subject, subjects_of
from jumok.text.tokenizer import EOS, SPECIALS

if TYPE_CHECKING:
    from torch import Tensor

CANDIDATES = 5
ROOM = 16  # tokens that a run may have beyond twice the reference: one that never ends says no more


@dataclass(frozen=True, slots=True)
class LikelyToken:
    """A token and how probable it was."""

    text: str
    id: int
    p: float


@dataclass(frozen=True, slots=True)
class RunToken:
    """What stands at one place of a run, and what the model thought there."""

    text: str
    id: int
    right: bool
    """It is the reference's token at this place."""
    loss: float | None
    """-log p of the reference's token here, after what this run has read; None past the reference's end."""
    best: tuple[LikelyToken, ...]
    """What the model would write here, most probable first."""


@dataclass(frozen=True, slots=True)
class DecoderRun:
    """One way through a target: what was read or written at each place, its end included."""

    text: str
    tokens: tuple[RunToken, ...]
    finished: bool
    """It came to its end; False where the length limit stopped it."""
    wrong: int
    """Places at which it differs from the reference: those that only one of them has count, too."""
    loss: float
    """The mean of the losses."""


@dataclass(frozen=True, slots=True)
class FreeRunning(JsonResult):
    """The same sentence forced, free, and free after one wrong token."""

    source: str
    target: str
    forced: DecoderRun
    """`tokens` are the reference's; what the model would have written is `best`."""
    free: DecoderRun
    slipped: DecoderRun | None
    slip: int | None
    """The place of the wrong token."""


def free_running(
    translator: Translator,
    text: str,
    target: str,
    *,
    slip: int | None = None,
    wrong: int | str | None = None,
) -> FreeRunning:
    """The three runs, the last where a place to `slip` is given; see `Model.free_running`."""
    [subject] = subjects_of(translator, [text], targets=[target], options={"long": "error"})
    reference = (*subject.target_ids, EOS)
    if slip is None and wrong is not None:
        raise bad_parameter(
            f"wrong={wrong!r} has no place", hint="give slip, the place where it is put in", field="slip"
        )
    prefixes: list[tuple[int, ...]] = [translator.tokenizers.opening]
    with explained():
        if slip is not None:
            right = reference[: checked_place(slip, reference)]
            prefixes.append((*right, wrong_token(translator, subject, reference, slip, wrong)))
        written = [greedy(translator, subject, prefix) for prefix in prefixes]
        forced, free, *slipped = runs_of(translator, subject, reference, [(reference, True), *written])
    return FreeRunning(subject.source, subject.target, forced, free, slipped[0] if slipped else None, slip)


def greedy(translator: Translator, subject: Subject, prefix: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """What the model writes by itself after these tokens, the end included; and whether it came to an end.

    Always the most probable token, whatever the model's folder says of a search.
    """
    from jumok.decoding.batched import encode
    from jumok.decoding.search import run_search

    most = min(translator.config.decoding.max_len, 2 * len(subject.target_ids) + ROOM)
    options = {"beam": 1, "max_len": most, "min_len": 0, "no_repeat_ngram": 0}
    request = make_request(translator.config.decoding, options)
    job = Job(subject.source_ids, prefix)
    search = translator.search_for(job, request)
    [[answer, *_]] = run_search(
        translator.model, encode(translator.model, [job], [len(search.token)]), search
    )
    return (*answer.ids, *([EOS] if answer.finished else [])), answer.finished


def runs_of(
    translator: Translator,
    subject: Subject,
    reference: Sequence[int],
    written: Sequence[tuple[Sequence[int], bool]],
) -> list[DecoderRun]:
    """Each way through the target with the model's opinion at every place, all in one pass."""
    import torch

    from jumok.decoding.batched import device_of, lay_sources, lay_targets
    from jumok.decoding.search import log_softmax

    model = translator.model
    target_in, _ = lay_targets([ids for ids, _ in written], device_of(model))
    with torch.inference_mode():
        memory = model.encode(lay_sources([subject.source_ids] * len(written), device_of(model)))
        log_probs = log_softmax(model.decode(target_in, memory).logits()).cpu()  # (M, V)
    parts = torch.split(log_probs, [len(ids) for ids, _ in written])
    return [
        make_run(translator, reference, ids, part, finished=finished)
        for (ids, finished), part in zip(written, parts, strict=True)
    ]


def make_run(
    translator: Translator, reference: Sequence[int], ids: Sequence[int], log_probs: Tensor, *, finished: bool
) -> DecoderRun:
    """A run of these tokens; log_probs (T, V) are those of every place of it."""
    tokenizer = translator.tokenizers.target
    top = log_probs.topk(min(CANDIDATES, log_probs.shape[1]))
    texts = tokenizer.pieces(ids)
    tokens = []
    for place, (id, right) in enumerate(zip_longest(ids, reference[: len(ids)])):
        found = top.indices[place].tolist()
        shares = top.values[place].exp().tolist()
        best = tuple(map(LikelyToken, tokenizer.pieces(found), found, shares))
        loss = None if right is None else 0.0 - float(log_probs[place, right])
        tokens.append(RunToken(texts[place], id, id == right, loss, best))
    losses = [one.loss for one in tokens if one.loss is not None]
    wrong = sum(one != other for one, other in zip_longest(ids, reference))
    text = tokenizer.decode(ids[:-1] if finished else ids)
    return DecoderRun(text, tuple(tokens), finished, wrong, sum(losses) / len(losses))


def wrong_token(
    translator: Translator, subject: Subject, reference: Sequence[int], place: int, wrong: int | str | None
) -> int:
    """The id of the wrong token asked for; without one the most probable that is wrong and no end."""
    tokenizer = translator.tokenizers.target
    if wrong is None:
        [forced] = runs_of(translator, subject, reference, [(reference, True)])
        likely = (one.id for one in forced.tokens[place].best)
        return next(id for id in likely if id != reference[place] and id >= len(SPECIALS))
    known: list[Any] = tokenizer.pieces(range(tokenizer.size)) if isinstance(wrong, str) else []
    id = known.index(wrong) if wrong in known else wrong
    if isinstance(id, bool) or not isinstance(id, int) or not len(SPECIALS) <= id < tokenizer.size:
        raise bad_parameter(
            f"wrong={wrong!r} is no token that this model writes",
            hint="give an id, or a token as the runs show it, such as one of `best`",
            field="wrong",
        )
    if id == reference[place]:
        raise bad_parameter(
            f"{tokenizer.pieces([id])[0]!r} is the right token at place {place}",
            hint="give another one, or another place",
            field="wrong",
        )
    return id


def checked_place(slip: int, reference: Sequence[int]) -> int:
    """A place before the end of the reference."""
    if isinstance(slip, bool) or not isinstance(slip, int) or not 0 <= slip < len(reference):
        raise bad_parameter(
            f"slip is {slip!r}, and the target has {len(reference)} tokens, its end included",
            hint=f"give a whole number from 0 to {len(reference) - 1}",
            field="slip",
        )
    return slip
