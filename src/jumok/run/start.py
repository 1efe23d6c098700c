"""The model that a run starts from: read, checked against what is asked, and kept in the run folder.

`start/` of a run is a model folder with the weights of step 0: those of the model it starts from, with rows
for new tokens if its vocabulary has grown. A run that goes on needs nothing else of where it came from.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jumok.checkpoint.card import model_files
from jumok.checkpoint.checkpoints import Checkpoint
from jumok.checkpoint.contents import WEIGHTS
from jumok.checkpoint.folder import dump_json, write_folder
from jumok.checkpoint.manifest import CHECKPOINTS, first_whole, read_json
from jumok.checkpoint.model import LoadedModel, pack, read_model
from jumok.config import RunConfig
from jumok.data.builtin import reads_pictures
from jumok.errors import ConfigError, ModelError
from jumok.settings import Flat, config_to_dict, flatten
from jumok.text.growth import parts_of
from jumok.text.tokenizer import Tokenizer, Tokenizers
from jumok.training.log import read_events

START = "start"
CURVE = "curve.json"
OWN = {"model.dropout", "text.dropout"}  # what a run may choose anew about the model that it goes on with
INHERITED = ("model.", "text.", "image.")
DESCENT = "descends_from"
FIGURES = ("step", "epoch", "loss", "bleu", "chrf", "exact", "per", "rouge1", "rougeL", "best")


@dataclass(frozen=True)
class StartModel:
    """A model to start from, and what is known of how it was trained."""

    asked: str
    """As the user named it."""
    loaded: LoadedModel
    curve: list[dict[str, Any]] = field(default_factory=list)
    """Its looks at its own validation set."""

    @property
    def config(self) -> RunConfig:
        return self.loaded.config

    @property
    def tokenizers(self) -> Tokenizers:
        return self.loaded.tokenizers

    @property
    def descent(self) -> list[dict[str, Any]]:
        """What a model that goes on from it descends from, the nearest first, by name and SHA-256."""
        info, data = self.loaded.info, self.config.data
        told = {key: info[key] for key in ("step", "metric", "score") if info.get(key) is not None}
        texts = " + ".join(Path(name).name for name in (data.name, data.source, data.target) if name)
        here = {
            "name": self.name,
            "sha256": info["fingerprint"],
            **told,
            **({"data": texts} if texts else {}),
        }
        before = info.get(DESCENT)
        return [here, *(before if isinstance(before, list) else [])]

    @property
    def name(self) -> str:
        """A short name: of the run or folder, or of a bundled model."""
        path = Path(self.asked).resolve()
        if path.parent.name == CHECKPOINTS:
            return f"{path.parents[1].name}/{path.name}"
        return self.asked if self.asked.startswith("demo/") else path.name


def read_start(asked: str) -> StartModel:
    """The model of a folder or a run, its best step; a ModelError says what is wrong with it."""
    loaded = first_whole(asked, read_model)
    if loaded.quantised:
        raise ModelError(
            f"{asked} has int8 weights, which are too coarse to learn on from",
            where=str(loaded.folder),
            hint="start from the model that it was made from",
            code="quantised",
        )
    curve: list[dict[str, Any]] = []
    with suppress(OSError):  # a plain model folder has none
        events = [
            event for event in read_events(Path(asked) / "metrics.jsonl") if event.get("type") == "valid"
        ]
        curve = [{key: event[key] for key in FIGURES if key in event} for event in events]
    return StartModel(asked, loaded, curve)


def inherited(given: Mapping[str, Any], start: StartModel) -> Flat:
    """The settings that come with the weights; refuses wishes that contradict them."""
    theirs = flatten(config_to_dict(start.config))
    arch = given.get("model.arch", start.config.model.arch)
    if arch != start.config.model.arch:
        raise ConfigError(
            f"--from {start.asked} is a {start.config.model.arch}, and --arch {arch} asks for another",
            hint="leave --arch out: architecture and shapes come with the weights",
            code="other_arch",
        )
    for key, value in given.items():
        if key.startswith(INHERITED) and key not in OWN and value != theirs.get(key):
            has = f"it has {key}={theirs[key]}" if key in theirs else "it has no such setting"
            raise ConfigError(
                f"{key}={value} contradicts --from {start.asked}: {has}",
                hint="leave it out, and --preset too: shapes and tokenizer come with the weights; "
                "--extend-vocabulary adds tokens",
                code="other_shapes",
            )
    return {key: value for key, value in theirs.items() if key.startswith(INHERITED) and key not in OWN}


def check_source(start: StartModel, config: RunConfig) -> None:
    """Refuse pictures for a model that reads text, and text for one that reads pictures."""
    pictures = start.tokenizers.pictures is not None
    if pictures != reads_pictures(config.data):
        reads, data = ("pictures", "text") if pictures else ("text", "pictures")
        raise ConfigError(
            f"--from {start.asked} reads {reads}, and the sources of the data are {data}",
            hint="start from another model, or give other data",
            code="other_source",
        )
    if config.text.dropout and not pictures and type(start.tokenizers.target) is not Tokenizer:
        raise ConfigError(
            f"text.dropout={config.text.dropout} cannot work: the tokenizer of --from {start.asked} comes "
            "from another toolkit",
            hint="set text.dropout to 0",
            code="foreign_tokenizer",
        )
    if config.start.extend_vocabulary and pictures:
        raise ConfigError(
            f"--extend-vocabulary {config.start.extend_vocabulary} cannot work: the model reads pictures",
            hint="leave it out",
        )


def write_start(run: Path, start: StartModel, config: RunConfig, tokenizers: Tokenizers) -> None:
    """Keep the start in the run folder, with rows for the tokens that these tokenizers have more."""
    weights = grown_weights(start.loaded, tokenizers)
    info = {DESCENT: start.descent}
    files = {
        **model_files(config, tokenizers, info),
        WEIGHTS: pack(weights, WEIGHTS),
        CURVE: dump_json(
            {
                "name": start.name,
                "sha256": start.descent[0]["sha256"],
                "metric": start.config.training.metric,
                "looks": start.curve,
            }
        ),
    }
    write_folder(run / START, files)


def kept_start(run: Path) -> dict[str, Tensor]:
    """The weights of step 0 of a run."""
    return Checkpoint(run / START, 0).tensors()


def kept_descent(run: Path) -> list[dict[str, Any]]:
    """What the models of a run descend from; nothing, if it began at random."""
    if not (run / START).is_dir():
        return []
    info = read_json(run / START, "config.json").get("info")
    descent = info.get(DESCENT) if isinstance(info, dict) else None
    return descent if isinstance(descent, list) else []


def grown_weights(start: LoadedModel, tokenizers: Tokenizers) -> dict[str, Tensor]:
    """The start's weights; a table that lacks rows for new tokens gets the mean of each one's parts."""
    sides = {"source": (start.tokenizers.source, tokenizers.source)}
    sides["target"] = (start.tokenizers.target, tokenizers.target)
    parts = {
        side: parts_of(before, after)
        for side, (before, after) in sides.items()
        if isinstance(before, Tokenizer) and isinstance(after, Tokenizer)
    }
    grown = {}
    for name, parameter in start.model.named_parameters():
        tensor, rows = parameter.detach(), parts.get(table_side(name), [])
        grown[name] = torch.cat((tensor, *(tensor[ids].mean(0, keepdim=True) for ids in rows)))
    return grown


def table_side(name: str) -> str:
    """Whose tokens the rows of a tensor belong to; "" if they belong to none."""
    if name == "source_embedding.weight":
        return "source"
    return "target" if name in ("target_embedding.weight", "output.weight", "logits_bias") else ""
