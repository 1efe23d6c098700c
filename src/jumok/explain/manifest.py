"""The manifest of a trace: everything but its tensors, as JSON of the schema `trace/1`."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import fsum, isfinite
from typing import Any
from urllib.parse import quote

from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.decoding.engines import NativeEngine
from jumok.decoding.translator import Translator
from jumok.edits import Kind
from jumok.explain.capture import Captured, Step
from jumok.explain.documents import KindSize
from jumok.explain.head_profile import head_profile
from jumok.explain.subject import Subject
from jumok.explain.tokens import is_picture, is_special, label, side_of, source_side
from jumok.text.novelty import Novelty
from jumok.text.tokenizer import Tokenizer, Tokenizers

SCHEMA = "trace/1"
SIDES: dict[Kind, tuple[str, str]] = {
    "enc_self": ("source", "source"),
    "dec_self": ("target", "target_in"),
    "cross": ("target", "source"),
    "copy": ("target", "source"),
}
"""Which tokens the queries and the keys of each kind are."""


def build_manifest(
    model: Mapping[str, Any],
    tokenizers: Tokenizers,
    subject: Subject,
    captured: Captured,
    interventions: Sequence[Mapping[str, Any]] = (),
    novelty: Novelty | None = None,
) -> dict[str, Any]:
    """The manifest of one captured sentence; `model` is its `model_block`."""
    sides = sides_of(model, tokenizers, subject)
    if novelty is not None:
        read: tuple[Any, ...] = subject.source_ids
        sides["source"]["novelty"] = asdict(novelty.count([read]))
    settings = dict(subject.settings or {})
    trace = trace_id(model, captured, settings, interventions)
    href = f"/v1/traces/{trace}"
    name = quote(model["name"], safe="")
    manifest = {
        "schema": SCHEMA,
        "id": trace,
        "model": model,
        **sides,
        "decode": {**settings, **result_block(captured, subject)},
        "steps": [step_block(t, step, tokenizers.target) for t, step in enumerate(captured.steps)],
        "attention": {
            kind: attention_block(kind, captured, sides) for kind in SIDES if kind in captured.weights
        },
        "rnn": rnn_block(model, captured),
        "beam": {"href": f"{href}/beam"} if settings["method"] == "beam" else None,
        "influence": {"href": f"{href}/influence"},
        "positions": {"href": f"/v1/models/{name}/positions?n=64"} if model["positions"] else None,
        "interventions": list(interventions),
        "warnings": list(subject.warnings),
    }
    return finite(manifest)  # type: ignore[no-any-return]


def trace_id(
    model: Mapping[str, Any],
    captured: Captured,
    settings: Mapping[str, Any],
    interventions: Sequence[Mapping[str, Any]],
) -> str:
    """A name for the numbers: traces with equal ids, on one kind of device, are equal."""
    decided_by = [
        model["fingerprint"],
        model["dtype"],
        hashed(captured.source) if is_picture(captured.source) else captured.source,
        captured.target,
        settings,
        list(interventions),
    ]
    plain = json.dumps(decided_by, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def hashed(patches: Sequence[bytes]) -> str:
    """A name for a picture."""
    return hashlib.sha256(b"".join(patches)).hexdigest()


def sides_of(model: Mapping[str, Any], tokenizers: Tokenizers, subject: Subject) -> dict[str, Any]:
    """The source, the target, and the target as the decoder reads it: a start, then all but the last."""
    language, ids = model["tgt_lang"], subject.target_ids
    fed = ids if subject.ended else ids[:-1]
    return {
        "source": source_side(tokenizers, subject.source_ids, subject.source, model["src_lang"], end=True),
        "target": {
            "origin": subject.origin,
            **side_of(tokenizers.target, ids, subject.target, language, end=subject.ended),
        },
        "target_in": side_of(
            tokenizers.target, fed, tokenizers.target.decode(fed), language, end=False, start=True
        ),
    }


def result_block(captured: Captured, subject: Subject) -> dict[str, Any]:
    """How probable the target is to the model, and how the search for it went."""
    score = fsum(step.logprob for step in captured.steps)
    each = score / max(len(captured.steps), 1)
    return {"score": score, "score_per_token": each, "finished": subject.ended, "ms": subject.ms}


def model_block(translator: Translator, name: str = "") -> dict[str, Any]:
    """What the manifest says about a model. `name` is what links call it."""
    config, info = translator.config.model, translator.info
    dtype, device = kind_and_place(translator)
    return {
        "name": name or str(info["name"]),
        "arch": config.arch,
        "fingerprint": str(info.get("fingerprint") or weights_fingerprint(translator)),
        "src_lang": info["source_language"],
        "tgt_lang": info["target_language"],
        "dtype": dtype,
        "device": device,
        "d_model": config.width,
        "max_length": translator.config.data.max_length,
        "source": info.get("source", "text"),
        "image": info.get("image"),
        **_parts(config),
    }


def kind_and_place(translator: Translator) -> tuple[str, str]:
    """What a model's numbers are, and where; the native engine shows floats, int8 or not."""
    inside = translator.inside
    if isinstance(inside, NativeEngine):
        return "float32", "cpu"
    parameter = next(inside.parameters())
    return str(parameter.dtype).removeprefix("torch."), str(parameter.device)


def kind_sizes(config: ModelConfig) -> dict[Kind, KindSize]:
    """Layers, heads and width of a head for each kind of attention that a model has."""
    own = config.d_k if isinstance(config, TransformerConfig) else None  # copying has one head, of all
    return {
        kind: KindSize(
            layers=layers,
            heads=heads,
            d_head=config.width // heads if own is None or kind == "copy" else own,
        )
        for kind, (layers, heads) in config.attention.items()
    }


def _parts(config: ModelConfig) -> dict[str, Any]:
    """Layers, heads, positions and score of an architecture."""
    common = {
        "positions": config.placing,
        "score": config.scoring,
        "kinds": {kind: size.model_dump() for kind, size in kind_sizes(config).items()},
    }
    encoder, decoder = config.depths
    parts: dict[str, Any] = {"layers": {"encoder": encoder, "decoder": decoder}, **common}
    if isinstance(config, RnnConfig | LuongConfig):
        parts["recurrent"] = {
            "cell": config.cell,
            "bidirectional": config.bidirectional,
            "input_feeding": isinstance(config, LuongConfig) and config.input_feeding,
        }
    return parts


def weights_fingerprint(translator: Translator) -> str:
    """SHA-256 of a model's numbers, for one that never was in a folder."""
    found = hashlib.sha256()
    for parameter in translator.model.parameters():
        found.update(parameter.detach().float().cpu().numpy().tobytes())
    return found.hexdigest()


def step_block(t: int, step: Step, tokenizer: Tokenizer) -> dict[str, Any]:
    """One step: the token written, its log-probability (nats), the entropy (bits), the best candidates.

    Of a model that copies also which share was `copied`.
    """
    ids = [step.id, *(id for id, _ in step.top)]
    own, *pieces = tokenizer.pieces(ids)
    best = [
        {"id": id, "text": label(piece), "piece": piece, "logprob": logprob}
        for piece, (id, logprob) in zip(pieces, step.top, strict=True)
    ]
    return {
        "t": t,
        "id": step.id,
        "text": label(own),
        "logprob": step.logprob,
        "entropy": step.entropy,
        "top": best,
        **({} if step.copied is None else {"copied": step.copied}),
    }


def attention_block(kind: Kind, captured: Captured, sides: Mapping[str, Any]) -> dict[str, Any]:
    """One kind of attention: its axes, its stages, where its tensors are, and what its heads do."""
    q, k = SIDES[kind]
    special = [is_special(token) for token in sides[k]["tokens"]]
    weights, causal = captured.weights[kind], kind == "dec_self"
    return {
        "q": q,
        "k": k,
        "causal": causal,
        "shape": list(weights.shape),
        "stages": captured.stages_of(kind),
        "atlas": {"tensor": f"{kind}.atlas"},
        "fingerprint": head_profile(weights, special, causal=causal, same=kind in ("enc_self", "dec_self")),
    }


def rnn_block(model: Mapping[str, Any], captured: Captured) -> dict[str, Any] | None:
    """The shapes of a recurrent model's states; None for one that has none."""
    if not captured.states:
        return None
    shapes = {part: list(captured.states[part].shape) for part in ("encoder", "decoder", "bridge")}
    return {**shapes, "layers": model["layers"]["decoder"], **model["recurrent"]}


def finite(value: Any) -> Any:
    """Plain values without numbers that JSON cannot write.

    Such a number becomes null, and a sibling of its key with `_nonfinite` after it says which it was: nan,
    inf or -inf (for a list, the first one in it).
    """
    if isinstance(value, dict):
        clean: dict[str, Any] = {}
        for key, inner in value.items():
            clean[key] = finite(inner)
            if (word := _nonfinite(inner)) is not None:
                clean[f"{key}_nonfinite"] = word
        return clean
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _nonfinite(value: Any) -> str | None:
    """The first number in a value or a list that is not finite, in letters."""
    if isinstance(value, float):
        return None if isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return next((word for inner in value if (word := _nonfinite(inner)) is not None), None)
    return None
