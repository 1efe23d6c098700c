"""CTranslate2: a folder that `ctranslate2.Translator` opens, made through its own specification objects.

The folder also has our tokenizer, and our settings as `jumok.json`. The vocabulary is our pieces as they are,
a leading space included. A source is given without its end: CTranslate2 adds it, and starts from `<s>`.

`jumok.decoding.ct2_engine` runs such a folder, and says what it cannot be told of our own search.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from jumok.checkpoint.card import model_files
from jumok.checkpoint.checkpoints import Loaded
from jumok.config import DecodingConfig, RunConfig, TransformerConfig
from jumok.decoding.ct2_engine import SETTINGS, CTranslate2Engine
from jumok.decoding.jobs import Job
from jumok.export.format import Given, Options
from jumok.models.transformer import DecoderLayer, EncoderLayer, TransformerSeq2Seq
from jumok.nn.attention import MergedProjection, SplitProjection
from jumok.nn.layers import FeedForward, Residual
from jumok.text.tokenizer import SPECIALS

TYPES = ("float32", "int8")
NEEDS = ("ctranslate2",)
EXTRA = "ct2"
FILE = False

POSITIONS = 1024  # rows of a table that is computed; CTranslate2 cuts a source there unless told otherwise

Spell = Callable[[str], str]
SIDES = ("source", "target")


def check(config: RunConfig) -> list[str]:
    """Why CTranslate2 cannot run such a model."""
    model, reasons = config.model, list[str]()
    if not isinstance(model, TransformerConfig):
        return [f"it has no {model.arch} models (model.arch={model.arch}), only Transformers"]
    if not model.residual:
        reasons.append("its layers always add to their input (model.residual=false)")
    if model.norm == "none":
        reasons.append("its layers always have a norm (model.norm=none)")
    if model.copy:
        reasons.append("CTranslate2 has no pointing at the source (model.copy=true)")
    return reasons


def write(loaded: Loaded, folder: Path, options: Options) -> None:
    """model.bin, config.json and the vocabularies of CTranslate2; our tokenizer and settings beside them."""
    write_model(loaded, folder, options)
    files = model_files(loaded.config, loaded.tokenizers, {})
    for name, data in loaded.tokenizers.files().items():
        (folder / name).write_bytes(data)
    (folder / SETTINGS).write_bytes(files["config.json"])


def write_model(loaded: Loaded, folder: Path, options: Options, spell: Spell = str) -> None:
    """CTranslate2's own files; `spell` turns a piece of ours into its name in the vocabulary."""
    options.progress("writing for ctranslate2", 0, 3)
    spec = make_spec(loaded, spell)
    options.progress("writing for ctranslate2", 1, 3)
    spec.validate()
    spec.optimize(quantization=options.type)
    options.progress("writing for ctranslate2", 2, 3)
    spec.save(str(folder))
    options.progress("writing for ctranslate2", 3, 3)


def open(folder: Path) -> "CTranslate2Answerer":  # noqa: A001
    """The model in the folder, computed in the type that it is stored in."""
    return CTranslate2Answerer(CTranslate2Engine(folder, *vocabularies(folder)))


class CTranslate2Answerer:
    """Answers through the engine that `--engine ctranslate2` uses."""

    def __init__(self, engine: CTranslate2Engine) -> None:
        self._engine = engine

    def answer(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], *, beam: int, length_penalty: float
    ) -> list[Given]:
        """The best answer to each source; those with the same limit go together."""
        config = DecodingConfig(beam=beam, length_penalty=length_penalty, max_len=max(limits))
        groups = defaultdict[int, list[int]](list)
        for i, limit in enumerate(limits):
            groups[limit].append(i)
        found: dict[int, Given] = {}
        for limit, places in groups.items():
            answers = self._engine.search([Job(tuple(sources[i])) for i in places], limit, config)
            for i, (best, *_) in zip(places, answers, strict=True):
                found[i] = Given(best.ids, best.score, best.finished)
        return [found[i] for i in range(len(sources))]


def vocabularies(folder: Path) -> tuple[list[str], list[str]]:
    """The names of the source's and the target's pieces, in the order of their ids."""
    shared = folder / "shared_vocabulary.json"
    paths = [shared] * 2 if shared.exists() else [folder / f"{side}_vocabulary.json" for side in SIDES]
    source, target = (json.loads(path.read_text(encoding="utf-8")) for path in paths)
    return source, target


def make_spec(loaded: Loaded, spell: Spell = str) -> Any:
    """The model as CTranslate2 describes one; raises what it raises if a part is missing."""
    from ctranslate2.specs import transformer_spec

    model, config = loaded.model, loaded.config.model
    assert isinstance(model, TransformerSeq2Seq)
    assert isinstance(config, TransformerConfig)
    how = {"pre_norm": config.norm == "pre", "rotary_dim": 0 if config.positions == "rotary" else None}
    spec = transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(config.encoder_layers, config.heads, **how),
        transformer_spec.TransformerDecoderSpec(config.decoder_layers, config.heads, **how),
    )
    source, target = loaded.tokenizers.text_source, loaded.tokenizers.target
    spec.register_source_vocabulary([spell(piece) for piece in source.pieces(range(source.size))])
    spec.register_target_vocabulary([spell(piece) for piece in target.pieces(range(target.size))])
    bos, _, eos, unk = SPECIALS
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = bos, eos, unk
    spec.config.decoder_start_token, spec.config.layer_norm_epsilon = bos, 1e-5
    spec.config.add_source_bos, spec.config.add_source_eos = False, True

    spec.encoder.embeddings[0].weight = array(source_rows(model))
    spec.decoder.embeddings.weight = array(model.target_embedding.weight)
    spec.decoder.projection.weight = array(model.head)
    if config.positions != "rotary":
        rows = positions(loaded.config)
        spec.encoder.position_encodings.encodings = table(model, model.source_positions, rows)
        spec.decoder.position_encodings.encodings = table(model, model.target_positions, rows)
    for one, encoder_layer in zip(spec.encoder.layer, model.encoder, strict=True):
        put_encoder_layer(one, encoder_layer, scaled=config.scaled)
    for one, decoder_layer in zip(spec.decoder.layer, model.decoder, strict=True):
        put_decoder_layer(one, decoder_layer, scaled=config.scaled)
    if config.norm == "pre":
        put_norm(spec.encoder.layer_norm, model.encoder_norm)
        put_norm(spec.decoder.layer_norm, model.decoder_norm)
    return spec


def source_rows(model: TransformerSeq2Seq) -> Tensor:
    """The source embedding (V, D)."""
    weight = model.source_embedding.weight
    assert isinstance(weight, Tensor)
    return weight


def positions(config: RunConfig) -> int:
    """Rows of a position table that is computed: enough for what the model reads and writes."""
    return max(POSITIONS, config.data.max_length + 1, config.decoding.max_len + 1)


@torch.inference_mode()
def table(model: TransformerSeq2Seq, places: nn.Module, rows: int) -> NDArray[np.float32]:
    """What is added at each position (P, D): computed, learned, or nothing."""
    learned = getattr(places, "table", None)
    if learned is not None:
        return array(learned)
    zeros = torch.zeros(1, rows, model.target_embedding.weight.shape[1])
    return array(places(zeros, torch.arange(rows), rows)[0])


def put_encoder_layer(spec: Any, layer: nn.Module, *, scaled: bool) -> None:
    assert isinstance(layer, EncoderLayer)
    put_attention(
        spec.self_attention, [layer.attention.project], layer.attention.output.linear, scaled=scaled
    )
    put_norm(spec.self_attention.layer_norm, norm_of(layer.add_attention))
    put_feedforward(spec.ffn, layer.feedforward, layer.add_feedforward)


def put_decoder_layer(spec: Any, layer: nn.Module, *, scaled: bool) -> None:
    assert isinstance(layer, DecoderLayer)
    put_attention(
        spec.self_attention, [layer.attention.project], layer.attention.output.linear, scaled=scaled
    )
    put_norm(spec.self_attention.layer_norm, norm_of(layer.add_attention))
    cross = [layer.cross.project_query, layer.cross.project_memory]
    put_attention(spec.attention, cross, layer.cross.output.linear, scaled=scaled)
    put_norm(spec.attention.layer_norm, norm_of(layer.add_cross))
    put_feedforward(spec.ffn, layer.feedforward, layer.add_feedforward)


def put_attention(spec: Any, projections: Sequence[nn.Module], out: nn.Linear, *, scaled: bool) -> None:
    for linear, projection in zip(spec.linear, projections, strict=False):
        linear.weight, linear.bias = merged(projection)
    put_linear(spec.linear[-1], out)
    if not scaled:
        spec.queries_scale = 1.0


def merged(projection: nn.Module) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """One matrix (parts · D, D) and its bias, also of a projection that has a matrix for each head."""
    if isinstance(projection, MergedProjection):
        return array(projection.linear.weight), array(projection.linear.bias)
    assert isinstance(projection, SplitProjection)
    weight = projection.weight.mT  # (parts, H, K, D)
    return array(weight.reshape(-1, weight.shape[-1])), array(projection.bias.reshape(-1))


def put_feedforward(spec: Any, layer: FeedForward, around: Residual) -> None:
    put_linear(spec.linear_0, layer.inner)
    put_linear(spec.linear_1, layer.outer)
    put_norm(spec.layer_norm, norm_of(around))


def put_linear(spec: Any, linear: nn.Linear) -> None:
    spec.weight, spec.bias = array(linear.weight), array(linear.bias)


def put_norm(spec: Any, norm: nn.Module) -> None:
    assert isinstance(norm, nn.LayerNorm)
    spec.gamma, spec.beta = array(norm.weight), array(norm.bias)


def norm_of(around: Residual) -> nn.Module:
    return around.norm


def array(tensor: Tensor) -> NDArray[np.float32]:
    """A copy in float32."""
    return tensor.detach().to("cpu", torch.float32).contiguous().numpy().copy()
