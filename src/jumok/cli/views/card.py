"""A model's card: what it is, what it learned from, how good it is."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jumok.checkpoint.checkpoints import load_model
from jumok.cli.views.view import View, size_of
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TextConfig, TransformerConfig


def card_view(path: Path) -> View:
    loaded = load_model(path)
    info, data, tokenizers = loaded.info, loaded.config.data, loaded.tokenizers
    size = sum(file.stat().st_size for file in loaded.folder.rglob("*") if file.is_file())
    tokens = f"{tokenizers.source.size:,} source and {tokenizers.target.size:,} target"
    if tokenizers.pictures is not None:
        tokens = f"{tokenizers.pictures.places} patches of a picture, {tokenizers.target.size:,} target"
    if tokenizers.shared:
        tokens = f"{tokenizers.source.size:,} shared"
    rows = {
        "architecture": " · ".join(describe(loaded.config.model)),
        "parameters": f"{info['parameters']:,}",
        "weights": info.get("weights", ""),
        "vocabulary": f"{tokens} tokens ({kinds_of(loaded.config.text)})",
        "languages": " → ".join(filter(None, (data.source_language, data.target_language))),
        "data": data.name or " → ".join(filter(None, (data.source, data.target))),
        "training": f"step {info['step']:,}" if isinstance(info.get("step"), int) else "",
        "score": f"{info['metric']} {info['score']:.4g}" if has_score(info) else "",
        "fingerprint": info["fingerprint"],
        "folder": f"{loaded.folder}  ({size_of(size)})",
    }
    plain = {
        "folder": str(loaded.folder),
        "bytes": size,
        "model": asdict(loaded.config.model),
        "source_vocabulary": tokenizers.source.size,
        "target_vocabulary": tokenizers.target.size,
        "shared_vocabulary": tokenizers.shared,
        "source_language": data.source_language,
        "target_language": data.target_language,
        "data": data.name or data.source,
        **info,
    }
    text = "\n".join(f"{name:<14}{value}" for name, value in rows.items() if value)
    return View(plain, text, f"{loaded.config.model.arch} {info['parameters']} {info['fingerprint']}")


def kinds_of(text: TextConfig) -> str:
    """How both sides are cut into tokens."""
    kinds = dict.fromkeys((text.kind, text.target_kind or text.kind))
    return " → ".join(kinds) + (", Korean in letters" if text.jamo else "")


def has_score(info: dict[str, Any]) -> bool:
    return isinstance(info.get("metric"), str) and isinstance(info.get("score"), int | float)


def describe(config: ModelConfig) -> Iterator[str]:
    """A model's settings in words."""
    yield config.arch
    if isinstance(config, TransformerConfig):
        yield f"{config.encoder_layers}+{config.decoder_layers} layers"
        yield f"width {config.width}"
        yield f"{config.heads} heads"
        yield f"feed-forward {config.feedforward:,}"
        yield f"{config.norm}-norm" if config.norm != "none" else "no norms"
        if not config.residual:
            yield "no residuals"
        if not config.scaled:
            yield "scores not scaled"
        yield f"{config.positions} positions" if config.positions != "none" else "no positions"
    elif isinstance(config, RnnConfig | LuongConfig):
        yield f"{config.cell} cells"
        yield f"{config.layers}+{config.layers} layers"
        yield f"width {config.width}"
        yield "encoder in both directions" if config.bidirectional else "encoder in one direction"
    else:
        yield "{}+{} layers".format(*config.depths)
        yield f"width {config.width}"
    if isinstance(config, LuongConfig):
        yield f"{config.score} score"
        if config.input_feeding:
            yield "input feeding"
    yield "tied output" if config.tied else "own output"
