"""A trace: one translation of one sentence, with an answer to every question about how it came about.

trace = f(model, source, target, decode settings, interventions), a pure function: the finished target goes
through the model once, all steps together, and what a view needs beyond that is computed when it asks.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from jumok.decoding.engines import NativeEngine
from jumok.decoding.jobs import SourceText, batches
from jumok.decoding.results import Translation, shorten
from jumok.decoding.translator import Translator
from jumok.edits import Kind
from jumok.errors import DataError, RunError
from jumok.explain.attention import Attention, Attentions, HeadStages
from jumok.explain.capture import STAGES, Array, Captured, capture, read_only
from jumok.explain.edits import compile_ops
from jumok.explain.forced import explained, tokens_at_once
from jumok.explain.forward import SCHEMA as FORWARD
from jumok.explain.forward import check_place, forward_rows, forward_values, part_of
from jumok.explain.influence import Influence, Replace, check_names, leave_out
from jumok.explain.manifest import SCHEMA, SIDES, build_manifest, model_block
from jumok.explain.ops import Op, bad_parameter, ops_to_json
from jumok.explain.subject import Subject, beam_tree, subjects_of
from jumok.explain.tensors import (
    Head,
    TensorNeed,
    TensorStore,
    bad_trace,
    check_need,
    exact_names,
    pack,
    parse_need,
    read_tensor,
    state_names,
    unpack,
)
from jumok.explain.tokens import UnitName, source_ids_of, units_of
from jumok.progress import Progress, silent

LARGEST = 2 << 30  # bytes of a file


class Trace:
    """One translation and everything the model computed for it. Layers and heads count from 0."""

    def __init__(
        self,
        manifest: Callable[[], dict[str, Any]],
        store: TensorStore,
        translator: Translator | None = None,
        answers: Mapping[str, Any] | None = None,
    ) -> None:
        self._make, self._store, self.translator = manifest, store, translator
        self._answers = dict(answers or {})

    def __repr__(self) -> str:
        about = self.manifest
        return f"Trace({about['id']}, {shorten(about['source']['text'])} -> {about['target']['text']!r})"

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Everything but the tensors, as JSON of the schema `trace/1`."""
        return self._make()

    @property
    def id(self) -> str:
        """The same for the same inputs, on any machine."""
        return str(self.manifest["id"])

    @property
    def source_ids(self) -> list[Any]:
        """The tokens that were read, without the end; of a picture, its patches."""
        tokenizers = None if self.translator is None else self.translator.tokenizers
        return source_ids_of(tokenizers, self.manifest["source"])

    @property
    def target_ids(self) -> list[int]:
        """Everything that was written, with the end if it came to one."""
        return [token["id"] for token in self.manifest["target"]["tokens"]]

    @property
    def nbytes(self) -> int:
        """Memory that its numbers take now; it grows with the stages that are asked for."""
        return self._store.nbytes

    @cached_property
    def attention(self) -> Attentions:
        """The weights of all layers and heads, by kind."""
        return Attentions(**{kind: self._attention(kind) for kind in self.manifest["attention"]})

    def _attention(self, kind: Kind) -> Attention:
        about = self.manifest["attention"][kind]
        queries, keys = (
            tuple(token["piece"] for token in self.manifest[about[side]]["tokens"]) for side in ("q", "k")
        )
        shares = (step["copied"] for step in self.manifest["steps"]) if kind == "copy" else ()
        return Attention(
            kind,
            keys,
            queries,
            self._store.find(f"{kind}.weights"),
            find=partial(self._head_stages, kind),
            copied=tuple(float("nan" if share is None else share) for share in shares),
        )

    def _head_stages(self, kind: Kind, layer: int, head: int) -> HeadStages:
        held = self.manifest["attention"][kind]["stages"]
        parts = [*STAGES, *(part for part in held if part == "bias")]
        return HeadStages(**{part: self.tensor(f"{kind}.{part}", layer, head) for part in parts})

    def tensor(self, name: str, layer: int | None = None, head: int | None = None) -> Array:
        """One tensor by name, such as `cross.scaled`: whole, of a layer, or of one head. Read-only."""
        plain = parse_need(name)
        need = TensorNeed(plain.group, plain.part, layer, head) if plain.layer is None else plain
        return next(self._read([need]))

    def tensors(self, names: Sequence[str]) -> Iterator[tuple[str, Array]]:
        """Tensors by name, such as `cross.weights:2.3`, in turn; those of `forward` in one pass."""
        yield from zip(names, self._read([parse_need(name) for name in names]), strict=True)

    def _read(self, needs: Sequence[TensorNeed]) -> Iterator[Array]:
        passed = [need for need in needs if need.group == "forward"]
        rows = self.forward()["tensors"] if passed else []
        places = {check_place(need, rows) for need in passed}
        found = self._passed(places) if passed else {}
        for need in needs:
            if need.group != "forward":
                yield read_tensor(self._store, check_need(need, self.manifest))
                continue
            place = check_place(need, rows)
            yield part_of(found[place], need, rows[place]["axes"])

    def _passed(self, places: Collection[int]) -> dict[int, Array]:
        assert self.translator is not None  # `forward` has asked it
        return forward_values(
            self.translator.on_torch("forward_pass"), self.source_ids, self.target_ids, places
        )

    def forward(self) -> dict[str, Any]:
        """Every tensor from the ids to the loss as JSON of the schema `forward/1`, without the numbers.

        `tensor("forward.tensor:4")` gives those of the fifth, `forward.tensor:4.1` its second head, or row.
        """
        found: dict[str, Any] = self._answer(
            "the forward pass",
            lambda one: forward_rows(one.on_torch("forward_pass"), self.source_ids, self.target_ids),
        )
        about = {name: self.manifest[name] for name in ("id", "model", "source", "target", "target_in")}
        return {"schema": FORWARD, **about, **found}

    def influence(
        self, *, unit: UnitName = "words", replace: Replace = "unk", progress: Progress = silent
    ) -> Influence:
        """How much each source word (or token) supports each target token; computed once, then kept."""
        check_names(unit, replace)
        units = units_of(self.manifest["source"], unit)
        values = self._answer(
            f"influence.{unit}.{replace}",
            lambda one: leave_out(
                one, self.source_ids, self.target_ids, units, replace=replace, progress=progress
            ),
        )
        return Influence(unit, replace, units, values)

    def beam(self) -> dict[str, Any] | None:
        """The tree of the search, in the form `beam/1`; None for a target that was given or drawn."""
        if self.manifest["decode"]["method"] not in ("beam", "greedy"):
            return None
        found: dict[str, Any] = self._answer("beam", lambda one: beam_tree(one, self.manifest))
        return found

    def positions(self) -> Array | None:
        """What each of the first 64 positions adds to a source token, [64, D]; None without such rows."""
        if self.manifest["positions"] is None:
            return None
        found: Array | None = self._answer("positions", position_rows)
        return found

    def _answer(self, name: str, find: Callable[[Translator], Any]) -> Any:
        """What the model says, asked once."""
        if name not in self._answers:
            if self.translator is None:
                raise bad_parameter(
                    f"this trace comes from a file that was saved without {name.split('.')[0]}",
                    hint="make the trace again from its model",
                )
            self._answers[name] = find(self.translator)
        return self._answers[name]

    def record(self, kinds: Collection[Kind]) -> None:
        """Compute every stage of these kinds now, in one pass instead of one for each layer."""
        sizes = {kind: self.manifest["attention"][kind]["shape"][0] for kind in kinds}
        self._store.record([(kind, n) for kind, layers in sizes.items() for n in range(layers)])

    def save(
        self,
        path: str | Path,
        *,
        kinds: Collection[Kind] | None = None,
        heads: Sequence[Head] | None = None,
    ) -> Path:
        """Write the trace to one file, which `open_trace` reads without the model.

        Weights and every stage of all heads are kept; `kinds` keeps only those kinds, `heads` only the stages
        of those (layer, head) pairs. Influence, positions and the beam are kept if they were asked for.
        """
        kept = {k: v for k, v in self.manifest["attention"].items() if kinds is None or k in kinds}
        manifest = {**self.manifest, "attention": kept}
        if heads is None:
            self.record(kept)
        names = [*state_names(manifest), *(f"{kind}.weights" for kind in kept)]
        exact = [name for kind in kept for name in exact_names(manifest, kind, heads)]
        names += [name for name in exact if ".weights" not in name]
        arrays = {name: self.tensor(name) for name in names}
        answers = dict(self._answers)  # as they are now: another thread may be asking
        arrays |= {name: one for name, one in answers.items() if isinstance(one, np.ndarray)}
        texts = {"manifest": manifest}
        if "beam" in answers:
            texts["beam"] = answers["beam"]
        plain = {name: json.dumps(one, ensure_ascii=False, allow_nan=False) for name, one in texts.items()}
        return write_whole(path, pack(arrays, plain))

    def save_html(self, path: str | Path, **choice: Any) -> Path:
        """Write the trace to one HTML file that opens in any browser; options are those of `trace_html`."""
        from jumok.explain.html import trace_html  # it needs traces itself

        return write_whole(path, trace_html(self, **choice).encode())


def write_whole(path: str | Path, data: bytes) -> Path:
    """Write a file whole or not at all."""
    path = Path(path)
    unfinished = path.with_name(f"{path.name}.part")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise RunError(f"cannot write the trace: {error.strerror}", where=str(path)) from None
    return path


def position_rows(translator: Translator, count: int = 64) -> Array | None:
    """The rows (P, D) of a model's first positions, as its `position_rows` gives them."""
    inside = translator.inside
    if isinstance(inside, NativeEngine):
        from jumok.explain import in_native

        rows = in_native.position_rows(inside, count)
    else:
        from jumok.explain import in_torch

        rows = in_torch.position_rows(inside, count)
    return None if rows is None else read_only(rows)


def open_trace(path: str | Path) -> Trace:
    """The trace in a file that `Trace.save` wrote. Nothing in the file is executed."""
    path = Path(path)
    try:
        if (size := path.stat().st_size) > LARGEST:
            raise DataError(f"the file has {size:,} bytes, more than {LARGEST:,}", where=str(path))
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the trace: {error.strerror}", where=str(path)) from None
    metadata, arrays = unpack(data, str(path))
    try:
        manifest = json.loads(metadata["manifest"], parse_constant=_refuse)
        _check(manifest, arrays)
        trace = Trace(lambda: manifest, TensorStore(arrays), answers=_answers(metadata, manifest, arrays))
        assert trace.attention is not None  # its labels are there
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise bad_trace(f"{type(error).__name__}: {str(error)[:200]}", str(path)) from None
    return trace


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _check(manifest: Any, arrays: Mapping[str, Array]) -> None:
    """A manifest of this schema, with the tensors it speaks of."""
    if manifest["schema"] != SCHEMA:
        raise ValueError(f"the schema is {manifest['schema']!r}, not {SCHEMA!r}")
    for kind, about in manifest["attention"].items():
        lengths = [len(manifest[about[side]]["tokens"]) for side in ("q", "k")]
        shape = [*about["shape"][:2], *lengths]
        if kind not in SIDES or list(arrays[f"{kind}.weights"].shape) != shape or shape != about["shape"]:
            raise ValueError(f"the weights of {kind!r} do not fit its tokens")
        if kind == "copy" and len(manifest["steps"]) != lengths[0]:
            raise ValueError("the steps do not fit the target")
    for name in state_names(manifest):
        if list(arrays[name].shape) != manifest["rnn"][name.removeprefix("rnn.")]:
            raise ValueError(f"the states {name} have another shape")


def _answers(
    metadata: Mapping[str, str], manifest: Mapping[str, Any], arrays: Mapping[str, Array]
) -> dict[str, Any]:
    """What the model had said when the file was written."""
    kept: dict[str, Any] = {name: arrays[name] for name in arrays if name.startswith("influence.")}
    for name, values in kept.items():
        units = units_of(manifest["source"], name.split(".")[1])  # type: ignore[arg-type]
        if list(values.shape) != [len(manifest["target"]["tokens"]), len(units)]:
            raise ValueError(f"{name} does not fit the tokens")
    if "positions" in arrays:
        kept["positions"] = arrays["positions"]
    if "beam" in metadata:
        kept["beam"] = json.loads(metadata["beam"], parse_constant=_refuse)
        if kept["beam"]["schema"] != "beam/1":
            raise ValueError(f"the beam's schema is {kept['beam']['schema']!r}, not 'beam/1'")
    return kept


def make_trace(
    translator: Translator,
    text: str | SourceText,
    *,
    target: str | None = None,
    options: Mapping[str, Any] | None = None,
    ops: Sequence[Op] = (),
    translation: Translation | None = None,
    name: str = "",
) -> Trace:
    """The trace of a text and its translation: the one given, or `target`, or what the model makes of it.

    `options` are those of `translate`, `ops` the interventions of a what-if, `name` is what links call the
    model. A text that is too long for the model is cut, with a warning.
    """
    translator = translator.asked_in(options)
    if ops:
        compiled = compile_ops(ops, translator, text, options or {})
        options, text = compiled.options, compiled.source
        translator = translator.edited(compiled.edits, ops_to_json(ops))
    (trace,) = make_traces(
        translator,
        [text],
        targets=None if target is None else [target],
        translations=None if translation is None else [translation],
        options=options,
        name=name,
    )
    return trace


def make_traces(
    translator: Translator,
    texts: Sequence[str | SourceText],
    *,
    targets: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    translations: Sequence[Translation] | None = None,
    name: str = "",
) -> list[Trace]:
    """The traces of several texts, as `make_trace` of each, captured in batches.

    Manifests are made when they are first read, so asking for attention costs one pass and no more.
    """
    translator = translator.asked_in(options)
    subjects = subjects_of(translator, texts, targets=targets, options=options, translations=translations)
    about = model_block(translator, name)
    traces = []
    for subject, captured in zip(subjects, _captured(translator, subjects), strict=True):
        given = (about, translator.tokenizers, subject, captured, translator.interventions)
        manifest = partial(build_manifest, *given, translator.novelty)
        traces.append(Trace(manifest, TensorStore.of(translator.inside, captured), translator))
    return traces


def _captured(translator: Translator, subjects: Sequence[Subject]) -> list[Captured]:
    """What the model computed for each subject, in batches of similar length."""

    def length(i: int) -> int:
        return max(len(subjects[i].source_ids), len(subjects[i].target_ids)) + 1

    found: dict[int, Captured] = {}
    # Interventions speak of single positions, also of those that are padding in other sentences.
    budget = 1 if translator.edits is not None else tokens_at_once(translator)
    for batch in batches(range(len(subjects)), budget, length):
        some = [subjects[i] for i in batch]
        with explained():
            numbers = capture(
                translator.inside,
                [one.source_ids for one in some],
                [one.target_ids for one in some],
                ended=[one.ended for one in some],
            )
        found |= zip(batch, numbers, strict=True)
    return [found[i] for i in range(len(subjects))]
