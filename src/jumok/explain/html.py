"""One HTML file from traces: the explorer's page with the data inside, for any browser, without a network.

In a notebook it is shown as a frame; in a terminal a picture of characters stands for it.
"""

import base64
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from jumok.edits import Kind
from jumok.errors import Error, nearest
from jumok.explain.capture import Array
from jumok.explain.heatmap import heat_map
from jumok.explain.influence import Influence
from jumok.explain.manifest import SIDES, finite
from jumok.explain.ops import bad_parameter
from jumok.explain.page import document, frame
from jumok.explain.tensors import Head, exact_names, heads_of, pack, state_names
from jumok.explain.trace import Trace

T = TypeVar("T")

ROOM = 3_000_000  # bytes of exact numbers, unpacked; more are left out unless they are asked for

HEIGHT = 640  # pixels of a frame in a notebook
Exact = Mapping[Kind, Sequence[Head]] | None
"""The heads whose exact numbers a file holds, by kind; None for all of them."""


def trace_html(
    trace: Trace | Sequence[Trace],
    *,
    title: str = "",
    kinds: Collection[Kind] | None = None,
    heads: Sequence[Head] | None = None,
    screen: str = "translate",
    answers: Mapping[str, Any] | None = None,
) -> str:
    """A trace, or several, as one HTML file: every view that only looks works in it.

    All weights are in it as pictures of 8 bits, with influence, beam and positions where the model or the
    trace has them. Exact weights and all stages are those of every head if they take at most 3 MB, else of
    the last layer of cross-attention; or of the (layer, head) pairs in `heads`, counted from 0. `kinds` keeps
    only those kinds of attention. The file opens on `screen`; `answers` are more that the page may ask for.
    """
    traces = [trace] if isinstance(trace, Trace) else list(trace)
    if not traces:
        raise bad_parameter("there is no trace to write", hint="give one or more")
    kept = choose_kinds(traces, kinds)
    chosen = choose_heads(traces, kept, heads)
    names = names_of_models(traces)
    held = {one.id: hold(one, names[one.id], kept, chosen[one.id]) for one in traces}
    manifests = [manifest for manifest, _ in held.values()]
    found = {path: value for one in traces for path, value in ask(one, names[one.id])}
    data = {
        "models": cards(manifests, {one.id: one for one in traces}),
        "traces": manifests,
        "answers": finite({**found, **(answers or {})}),
        "start": start_address(screen, manifests[0]),
    }
    packed = {id: pack(tensors) for id, (_, tensors) in held.items()}
    return document(title or title_of(manifests[0]), data, packed)


def choose_kinds(traces: Sequence[Trace], kinds: Collection[Kind] | None) -> list[Kind]:
    """The kinds of attention to keep, those that a trace has."""
    for kind in kinds or ():
        if kind not in SIDES:
            raise bad_parameter(f"{kind!r} is no kind of attention", hint=nearest(str(kind), SIDES))
    there = {kind for one in traces for kind in one.manifest["attention"]}
    return [kind for kind in SIDES if kind in there and (kinds is None or kind in kinds)]


def choose_heads(
    traces: Sequence[Trace], kinds: Sequence[Kind], heads: Sequence[Head] | None
) -> dict[str, Exact]:
    """The heads whose exact numbers go in, by trace: those given, all, or the last layer of `cross`."""
    if heads is not None:
        check_heads(traces, kinds, heads)
        return {
            one.id: {kind: heads_of(one.manifest, kind, heads) for kind in kinds_in(one, kinds)}
            for one in traces
        }
    if sum(full_size(one.manifest, kinds) for one in traces) <= ROOM:
        return dict.fromkeys(one.id for one in traces)
    return {one.id: {"cross": last_layer(one.manifest)} for one in traces}


def check_heads(traces: Sequence[Trace], kinds: Sequence[Kind], heads: Sequence[Head]) -> None:
    """A (layer, head) pair that no kind of any trace has is an error."""
    sizes = [one.manifest["attention"][kind]["shape"][:2] for one in traces for kind in kinds_in(one, kinds)]
    for layer, head in heads:
        if not any(0 <= layer < L and 0 <= head < H for L, H in sizes):
            L, H = (max((size[axis] for size in sizes), default=0) for axis in (0, 1))
            raise bad_parameter(
                f"no attention has head {head} of layer {layer}",
                hint=f"they count from 0, and there are {L} layers of {H} heads",
            )


def kinds_in(trace: Trace, kinds: Sequence[Kind]) -> list[Kind]:
    return [kind for kind in kinds if kind in trace.manifest["attention"]]


def full_size(manifest: Mapping[str, Any], kinds: Sequence[Kind]) -> int:
    """Bytes of the exact weights and all stages of every head."""
    total = 0
    for kind in set(kinds) & set(manifest["attention"]):
        L, H, Q, K = manifest["attention"][kind]["shape"]
        d, D = manifest["model"]["kinds"][kind]["d_head"], manifest["model"]["d_model"]
        exact = 3 + ("bias" in manifest["attention"][kind]["stages"])  # scores, scaled, weights and a bias
        maps = (exact * 4 + 1) * Q * K  # and the mask
        out = 1 if kind == "copy" else D
        total += L * (H * (maps + 4 * (2 * Q + 2 * K) * d) + 4 * Q * out)  # q, context, k and v; out
    return total


def last_layer(manifest: Mapping[str, Any]) -> list[Head]:
    """The heads of the last layer of cross-attention."""
    L, H = manifest["attention"].get("cross", {"shape": (0, 0)})["shape"][:2]
    return [(L - 1, head) for head in range(H)]


def hold(
    trace: Trace, name: str, kinds: Sequence[Kind], heads: Exact
) -> tuple[dict[str, Any], dict[str, Array]]:
    """What a file keeps of a trace, manifest and tensors: the exact numbers of these heads, or of all."""
    mine = kinds_in(trace, kinds)
    tensors = {name: trace.tensor(name) for name in state_names(trace.manifest)}
    if heads is None:
        trace.record(mine)
    for kind in mine:
        tensors[f"{kind}.atlas"] = trace.tensor(f"{kind}.atlas")
        for need in exact_names(trace.manifest, kind, None if heads is None else heads.get(kind, ())):
            if (found := known(partial(trace.tensor, need))) is not None:
                tensors[need] = found
    manifest = shown_manifest(trace.manifest, name, mine, heads)
    return {**manifest, "file": {"kinds": mine, "tensors": sorted(tensors)}}, tensors


def shown_manifest(
    manifest: Mapping[str, Any], name: str, kinds: Sequence[Kind], heads: Exact
) -> dict[str, Any]:
    """The manifest as the file has it: with the kinds that it keeps, and what it says about the rest."""
    model = manifest["model"]
    sizes = {kind: size for kind, size in model["kinds"].items() if kind in kinds}
    warnings = list(manifest["warnings"])
    if heads is not None and kinds:
        named = [f"{kind} {layer + 1}.{head + 1}" for kind in heads for layer, head in heads[kind]]
        message = (
            f"this file has exact numbers for some heads only (layer.head): {', '.join(named) or 'none'}"
        )
        warnings.append({"code": "part_of_trace", "message": message})
    return {
        **manifest,
        "model": {**model, "name": name, "kinds": sizes},
        "attention": {kind: manifest["attention"][kind] for kind in kinds},
        "warnings": warnings,
    }


def names_of_models(traces: Sequence[Trace]) -> dict[str, str]:
    """The name of each trace's model, by trace; another model of the same name gets a number."""
    names: dict[tuple[str, str], str] = {}
    for model in (one.manifest["model"] for one in traces):
        number = 1 + sum(name == model["name"] for name, _ in names)
        own = model["name"] if number == 1 else f"{model['name']} ({number})"
        names.setdefault((model["name"], model["fingerprint"]), own)
    models = ((one.id, one.manifest["model"]) for one in traces)
    return {id: names[model["name"], model["fingerprint"]] for id, model in models}


def ask(trace: Trace, name: str) -> list[tuple[str, Any]]:
    """What the page may ask beyond tensors, by the path it asks with."""
    here, model = f"/v1/traces/{trace.id}", quote(name, safe="!*'()")  # as encodeURIComponent writes it
    found: list[tuple[str, Any]] = []
    if (influence := known(trace.influence)) is not None:
        found.append((f"{here}/influence?unit=words&replace=unk", shorter(influence.to_dict())))
    if trace.manifest["decode"]["method"] == "beam" and (tree := known(trace.beam)) is not None:
        found.append((f"{here}/beam", shorter(tree)))
    if (rows := known(trace.positions)) is not None or trace.manifest["model"]["positions"] == "none":
        kind = trace.manifest["model"]["positions"]
        plain = None if rows is None else shorter(rows.tolist(), digits=5)
        found.append((f"/v1/models/{model}/positions?n=64", {"positions": kind, "rows": plain}))
    return found


def known(find: Callable[[], T]) -> T | None:
    """What is found; None where a file was saved without it, or the model cannot say."""
    try:
        return find()
    except Error:
        return None


def cards(manifests: Sequence[Mapping[str, Any]], traces: Mapping[str, Trace]) -> list[dict[str, Any]]:
    """The card of each model, with the texts that the file holds as its examples."""
    found: dict[str, dict[str, Any]] = {}
    for one in manifests:
        model, translator = one["model"], traces[one["id"]].translator
        card = {
            "name": model["name"],
            "arch": model["arch"],
            "source_language": model["src_lang"] or "und",
            "target_language": model["tgt_lang"] or "und",
            "parameters": int(translator.info.get("parameters", 0)) if translator else 0,
            "fingerprint": model["fingerprint"],
            "max_length": model["max_length"],
            "positions": model["positions"],
            "score": model["score"] if model["arch"] == "luong" else None,
            "d_model": model["d_model"],
            "kinds": model["kinds"],
            "decoding": {name: one["decode"].get(name) for name in ("beam", "length_penalty", "max_len")},
            "limits": {},
            "run": None,
            "examples": [],
            "context": False,
            "source": model.get("source", "text"),
            "image": model.get("image"),
            "members": [],
        }
        examples = found.setdefault(model["name"], card)["examples"]
        if one["source"]["text"] not in examples:
            examples.append(one["source"]["text"])
    return list(found.values())


def start_address(screen: str, manifest: Mapping[str, Any]) -> str:
    """The view that the file opens with: a screen, model, text and interventions, as the page writes them."""
    asked = {"m": manifest["model"]["name"], "s": manifest["source"]["text"]}
    if manifest["interventions"]:
        plain = json.dumps(manifest["interventions"], separators=(",", ":"), ensure_ascii=False)
        asked["w"] = base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")
    return f"/{screen}?" + "&".join(f"{key}={quote(value, safe='')}" for key, value in asked.items())


def shorter(value: Any, digits: int = 7) -> Any:
    """Plain values with numbers of so many digits: float32 has no more."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {key: shorter(inner, digits) for key, inner in value.items()}
    return [shorter(inner, digits) for inner in value] if isinstance(value, list) else value


def title_of(manifest: Mapping[str, Any]) -> str:
    source = manifest["source"]
    return f"{'▦' if 'image' in source else source['text']} → {manifest['target']['text']} · jumok"


@dataclass(frozen=True, repr=False)
class Display:
    """What `show()` returns. A notebook draws it as a frame, which is saved with the notebook."""

    document: Callable[[], str]
    text: Callable[[], str]
    height: int = HEIGHT

    def _repr_html_(self) -> str:
        return frame(self.document(), self.height)

    def __repr__(self) -> str:
        return self.text()


def show_trace(trace: Trace, height: int = HEIGHT) -> Display:
    """A trace to look at."""
    return Display(lambda: trace_html(trace), lambda: picture(trace), height)


def picture(trace: Trace) -> str:
    """What the target looked at, words by words; by influence where the model has no attention."""
    cross = trace.attention.cross
    if cross is not None:
        return cross.mean().words().show()
    found = known(trace.influence)
    if found is None:
        return repr(trace)
    weights = shares(found)
    keep = [i for i, word in enumerate(trace.manifest["target"]["words"]) if "type" not in word]
    words = [trace.manifest["target"]["words"][i]["text"] for i in keep]
    drawn = heat_map([unit.text for unit in found.units], words, word_rows(trace, weights)[keep])
    return "\n".join(filter(None, ("influence · words", drawn)))


def shares(found: Influence) -> NDArray[np.float64]:
    """For each target token (T, U), which share of its support each source unit has; all 0 if none has."""
    support = found.values.astype(np.float64).clip(min=0)
    found_shares: NDArray[np.float64] = support / np.maximum(support.sum(axis=1, keepdims=True), 1e-12)
    return found_shares


def word_rows(trace: Trace, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of target tokens as the mean over each target word."""
    words = [word["tokens"] for word in trace.manifest["target"]["words"]]
    return np.stack([rows[tokens].mean(axis=0) for tokens in words]) if words else rows[:0]
