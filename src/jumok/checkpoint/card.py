"""What a model folder says about itself: to jumok, to other tools, and to people. No torch."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from jumok import __version__
from jumok.checkpoint.folder import dump_json
from jumok.checkpoint.manifest import FORMAT_VERSION
from jumok.config import RunConfig
from jumok.settings import SETTINGS_VERSION, config_to_dict
from jumok.text.frame import FRAME_FILE, PLAIN, SOURCE, TARGET
from jumok.text.tokenizer import BOS, EOS, PAD, SPECIALS, UNK, Tokenizers

TOKENS = ("bos_token", "pad_token", "eos_token", "unk_token")
IDS = {
    **{f"{name}_id": value for name, value in zip(TOKENS, (BOS, PAD, EOS, UNK), strict=True)},
    "decoder_start_token_id": BOS,
}


def model_files(config: RunConfig, tokenizers: Tokenizers, info: Mapping[str, Any]) -> dict[str, bytes]:
    """Every file of a model folder besides the weights and the manifest.

    `info` is what is known about the model: plain JSON values such as `step`, `metric`, `score`, `license`.
    """
    return {
        "config.json": dump_json(_config(config, tokenizers, info)),
        **tokenizers.files(),
        "tokenizer_config.json": dump_json(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                **dict(zip(TOKENS, SPECIALS, strict=True)),
                "model_max_length": config.data.max_length,
                "clean_up_tokenization_spaces": False,
            }
        ),
        "generation_config.json": dump_json(
            {
                "num_beams": config.decoding.beam,
                "max_new_tokens": config.decoding.max_len,
                "length_penalty": config.decoding.length_penalty,
                **{name: value for name, value in IDS.items() if name != "unk_token_id"},
            }
        ),
        "README.md": _readme(config, tokenizers, info).encode(),
    }


def _config(config: RunConfig, tokenizers: Tokenizers, info: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model_type": "jumok",
        "architectures": [f"{config.model.arch.capitalize()}Seq2Seq"],
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "is_encoder_decoder": True,
        "vocab_size": tokenizers.target.size,
        **({} if tokenizers.pictures is None else {"source": "image"}),
        "source_vocab_size": tokenizers.source.size,
        "target_vocab_size": tokenizers.target.size,
        "shared_vocabulary": tokenizers.shared,
        "tokenizer_sha256": tokenizers.fingerprint,
        **({} if tokenizers.frame == PLAIN else {"frame": FRAME_FILE}),
        **IDS,
        "settings_version": SETTINGS_VERSION,
        "jumok": config_to_dict(config),
        "info": dict(info),
    }


def _readme(config: RunConfig, tokenizers: Tokenizers, info: Mapping[str, Any]) -> str:
    data, languages = config.data, [config.data.source_language, config.data.target_language]
    direction = " to ".join(language for language in languages if language)
    name = " ".join(filter(None, (data.name, direction, config.model.arch)))
    vocabulary = f"{tokenizers.source.size:,} tokens, shared"
    if tokenizers.pictures is not None:
        side, patches = tokenizers.pictures.side, tokenizers.pictures.places
        vocabulary = f"pictures of {side} pixels in {patches} patches, {tokenizers.target.size:,} tokens"
    elif not tokenizers.shared:
        vocabulary = f"{tokenizers.source.size:,} source and {tokenizers.target.size:,} target tokens"
    facts = {
        "architecture": config.model.arch,
        "vocabulary": vocabulary,
        **{key: value for key, value in info.items() if isinstance(value, str | int | float)},
    }
    does = "translation" if tokenizers.pictures is None else "image-to-text"
    table = "\n".join(f"| {_cell(key)} | {_cell(value)} |" for key, value in facts.items())
    return f"""---
{_front_matter(config, info, name, does, tokenizers.frame.languages)}
---
# {name}

A sequence-to-sequence model made with jumok.

```python
import jumok

model = jumok.load("path/to/this/folder")
print(model.translate("{"..." if tokenizers.pictures is None else "picture.png"}"{_chosen(tokenizers)}).text)
```

## facts

| | |
|---|---|
{table}
{_directions(tokenizers, info)}{_descent(info.get("descends_from"))}{_origin(info)}
The complete settings are in `config.json`. `jumok verify` says whether this folder is whole and unchanged.
"""


def _descent(models: object) -> str:
    """The models that this one was started from, the nearest first; "" if it began from nothing."""
    if not isinstance(models, list) or not models:
        return ""
    head = ("model", "its data", "SHA-256 of its manifest")
    keys = ("name", "data", "sha256")
    rows = [[model.get(key, "") for key in keys] for model in models if isinstance(model, dict)]
    return f"\n## descends from\n\n{_table(head, rows)}\n"


def _origin(info: Mapping[str, Any]) -> str:
    """Where an imported model came from: its files with their hashes."""
    match info.get("origin"):
        case {"name": str(name), "family": str(family), "program": str(program), "files": dict(files)}:
            about = f"Imported from {_cell(name)}, {_cell(family)} of {_cell(program)}."
            table = _table(("file", "SHA-256"), [(file, f"`{digest}`") for file, digest in files.items()])
            return f"\n## where it came from\n\n{about}\n\n{table}\n"
    return ""


def _chosen(tokenizers: Tokenizers) -> str:
    """How one of several languages is asked for."""
    frame = tokenizers.frame
    if not frame.directions:
        return ""
    source = f', from_language="{frame.directions[0].source}"' if SOURCE in frame.slots else ""
    return f', to="{frame.directions[0].target}"{source}' if TARGET in frame.slots else source


def _directions(tokenizers: Tokenizers, info: Mapping[str, Any]) -> str:
    """What each of several directions scored on its validation pairs."""
    pairs, found = tokenizers.frame.pairs, info.get("directions")
    if not pairs:
        return ""
    scores = found if isinstance(found, dict) else {}
    names = list(dict.fromkeys(name for one in scores.values() if isinstance(one, dict) for name in one))
    rows = list[list[object]]()
    for pair in map(str, pairs):
        values = [scores.get(pair, {}).get(name, "") for name in names]
        rows.append([pair, *(f"{one:.4g}" if isinstance(one, float) else one for one in values)])
    return f"\n## directions\n\n{_table(('direction', *names), rows)}\n"


def _table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """A table in Markdown."""
    names = list(head)
    first, *rest = ("| " + " | ".join(map(_cell, line)) + " |" for line in (names, *rows))
    return "\n".join((first, "|" + "---|" * len(names), *rest))


def _front_matter(
    config: RunConfig, info: Mapping[str, Any], name: str, does: str, spoken: tuple[tuple[str, str], ...]
) -> str:
    """The card's header. JSON is valid YAML, so every value is written as JSON."""
    languages = dict.fromkeys(filter(None, (config.data.source_language, config.data.target_language)))
    languages |= dict.fromkeys(code for code, _ in spoken)
    header: dict[str, Any] = {
        "language": list(languages),
        "license": info.get("license", "unknown"),
        "library_name": "jumok",
        "pipeline_tag": does,
        "datasets": [config.data.name] if config.data.name else [],
        "metrics": [info["metric"]] if "metric" in info else [],
    }
    if "metric" in info and isinstance(info.get("score"), int | float):
        task = {"type": does}
        dataset = {"type": "text", "name": config.data.name or "validation"}
        metric = {"type": info["metric"], "value": info["score"]}
        header["model-index"] = [
            {"name": name, "results": [{"task": task, "dataset": dataset, "metrics": [metric]}]}
        ]
    return "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in header.items())


def _cell(value: object) -> str:
    """Text that cannot leave its table cell."""
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return " ".join(text.replace("|", r"\|").split())
