"""How a request becomes a trace, and how a trace that was kept comes back to life."""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fastapi import Request

from jumok.decoding.results import Translation
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, Error
from jumok.explain.capture import capture
from jumok.explain.edits import CompiledOps, compile_edits, compile_ops
from jumok.explain.manifest import weights_fingerprint
from jumok.explain.ops import (
    Bridge,
    MaskEdge,
    MaskHead,
    NoScale,
    Op,
    Positions,
    ScaleHead,
    SetRow,
    Uniform,
    ops_to_json,
    parse_ops,
)
from jumok.explain.tensors import TensorStore
from jumok.explain.tokens import source_ids_of
from jumok.explain.trace import Trace, make_trace
from jumok.explain.watched import too_long, watched
from jumok.server.analysis import CancelFlag
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem, bad_field
from jumok.server.services import ServedModel, Services, answer_in_time, deadline_of
from jumok.server.traces.cache import CachedTrace
from jumok.server.traces.folder import TRACE_ID, TraceFolder
from jumok.server.traces.schema import TraceRequest
from jumok.server.translate.order import DecodingOrder, make_order

INSIDE = (MaskHead, ScaleHead, MaskEdge, SetRow, Uniform, NoScale, Positions, Bridge)
"""Interventions in the model itself. The others only change the search or the text."""


@dataclass(frozen=True)
class Question:
    """A request for a trace, as the model understands it."""

    served: ServedModel
    text: str
    target: str | None
    options: dict[str, Any]
    ops: tuple[Op, ...]
    compiled: CompiledOps | None = None
    """What the interventions do, and the text as the model reads it."""
    order: DecodingOrder | None = None
    """What the model's worker has to decode; None where nothing is decoded, or an edited model has to."""

    @property
    def key(self) -> str:
        """The same for the same question to the same model."""
        plain = [self.served.name, fingerprint_of(self.served), self.text, self.target, self.options]
        return hashlib.sha256(f"{json.dumps(plain)} {self.ops!r}".encode()).hexdigest()


def question_of(body: TraceRequest, services: Services) -> Question:
    """What a request asks for; 404, 409 or 422 if it cannot be answered."""
    served = services.model(body.model).facing(body.to, body.from_language)
    meant, own = (body.fingerprint or "").removeprefix("sha256:"), fingerprint_of(served)
    if meant and not own.removeprefix("sha256:").startswith(meant):
        raise Problem(
            409, "fingerprint_differs", f"the model is another one now: its fingerprint is {own[:16]}"
        )
    return Question(served, body.text, body.target, body.chosen(), body.interventions)


async def trace_of(question: Question, request: Request, services: Services) -> CachedTrace:
    """The trace of a question: the one that is kept, or a new one.

    The model's worker decodes, together with everyone else's sentences, unless the model is edited.
    """
    if (kept := services.traces.answering(question.key)) is not None:
        return kept
    ready = await services.scorer.run(prepare, question, services.limits)
    translation, ms = None, None
    if ready.order is not None:
        began = time.perf_counter()
        [translation] = found = await ready.served.worker.translate(
            ready.order, deadline_of(request, services.limits)
        )
        ready.order.check(found)
        ms = (time.perf_counter() - began) * 1000
    analyst = services.scorer if translation or ready.target is not None else services.analyst
    trace = await analyst.run(capture_trace, ready, translation, ms, services)
    return services.traces.put(trace, question.key)


def prepare(flag: CancelFlag, question: Question, limits: Limits) -> Question:
    """The question with bounds on its options and an order for the worker; 422 beyond the limits."""
    translator, text, ops = question.served.translator, question.text, question.ops
    with watched(translator, flag.check, limits.trace_tokens) as own:
        compiled = compile_ops(ops, own, text, question.options)
    if not compiled.source.text:
        raise bad_field("text", "a sentence is needed", "empty_text")
    order = make_order(translator, [compiled.source], compiled.options, limits)
    [job] = order.parts[0].jobs
    if len(job.source) >= limits.trace_tokens:
        raise too_long("source", len(job.source) + 1, limits.trace_tokens)
    options = {**compiled.options, "max_len": order.request.decoding.max_len}
    inside = any(isinstance(op, INSIDE) for op in ops)
    whole = len(compiled.source.ids) == len(translator.tokenizers.bare(job.source))
    alone = question.target is not None or inside or not whole
    return Question(question.served, text, question.target, options, ops, compiled, None if alone else order)


def capture_trace(
    flag: CancelFlag, ready: Question, translation: Translation | None, ms: float | None, services: Services
) -> Trace:
    """The trace, with its manifest made and, if there is a folder for it, kept there."""
    served, compiled = ready.served, ready.compiled
    assert compiled is not None
    with watched(served.translator, flag.check, services.limits.trace_tokens) as own:
        trace = make_trace(
            own.edited(compiled.edits, ops_to_json(ready.ops)) if ready.ops else own,
            compiled.source,
            target=ready.target,
            options=ready.options,
            translation=translation,
            name=served.name,
        )
        manifest = trace.manifest  # made here: it takes a while
        if ms is not None:
            manifest["decode"]["ms"] = ms
    keep(trace, services)
    return trace


def keep(trace: Trace, services: Services) -> None:
    """Put a trace into the folder, if there is one. Not for the event loop."""
    if services.folder is not None:
        services.folder.save(trace)


async def find_trace(id: str, request: Request, services: Services) -> CachedTrace:
    """The trace of this id, from memory or from the folder; 404 for another."""
    kept = services.traces.get(id) if TRACE_ID.fullmatch(id) else None
    if kept is None and services.folder is not None:
        work = services.scorer.run(open_kept, services.folder, id, services)
        trace = await answer_in_time(request, services, work)
        kept = None if trace is None else services.traces.put(trace)
    if kept is None:
        raise Problem(404, "unknown_trace", "there is no such trace: post its request to /v1/trace again")
    return kept


def open_kept(flag: CancelFlag, folder: TraceFolder, id: str, services: Services) -> Trace | None:
    """A trace of the folder; where its model is served, with all that the model can compute."""
    trace = folder.open(id)
    if trace is None:
        return None
    with suppress(Error, LookupError, TypeError, ValueError):  # then with what its file holds
        return revive(trace, services)
    return trace


def revive(trace: Trace, services: Services) -> Trace:
    """The same trace from the model that made it, under the name that the model has here."""
    served = served_for(trace.manifest["model"], services)
    manifest, ended = trace.manifest, bool(trace.manifest["decode"]["finished"])
    tokenizers = served.translator.tokenizers
    source = source_ids_of(tokenizers, manifest["source"])
    if not tokenizers.pictures:
        check_ids(source, tokenizers.source.size, services.limits)
    check_ids(trace.target_ids, tokenizers.target.size, services.limits)
    translator = editor(trace, served.translator, source)
    written = trace.target_ids[:-1] if ended else trace.target_ids
    [captured] = capture(translator.inside, [source], [written], ended=[ended])
    rows = f"/v1/models/{quote(served.name, safe='')}/positions?n=64"
    named = {
        **manifest,
        "model": {**manifest["model"], "name": served.name},
        "positions": {"href": rows} if manifest["positions"] else None,
    }
    return Trace(lambda: named, TensorStore.of(translator.inside, captured), translator)


def check_ids(ids: Sequence[int], size: int, limits: Limits) -> None:
    if len(ids) > limits.trace_tokens or not all(0 <= id < size for id in ids):
        raise ConfigError("the file has ids that the model does not take")


def served_for(model: Mapping[str, Any], services: Services) -> ServedModel:
    """The served model that a manifest speaks of; a LookupError if it is not here."""
    same = [one for one in services.models.values() if fingerprint_of(one) == model["fingerprint"]]
    return next((one for one in same if one.name == model["name"]), None) or same[0]


def editor(trace: Trace, translator: Translator, source: Sequence[Any]) -> Translator:
    """The translator with the interventions of a trace inside its model."""
    ops = parse_ops(trace.manifest["interventions"])
    if not ops:
        return translator
    return translator.edited(compile_edits(ops, translator, source, {}))


def fingerprint_of(served: ServedModel) -> str:
    """The model's fingerprint as traces have it."""
    return served.fingerprint or weights_fingerprint(served.translator)
