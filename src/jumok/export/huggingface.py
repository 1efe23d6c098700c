"""The format of the `transformers` package: a folder for `AutoModelForSeq2SeqLM` and `AutoTokenizer`.

Ids stay as they are: the decoder begins with ours (`decoder_start_token_id`), and padding is masked.
Its search is its own: see docs/export.md for what its beams do differently.
"""

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from jumok.answers import Answer
from jumok.checkpoint.folder import dump_json
from jumok.checkpoint.model import LoadedModel, pack
from jumok.config import RunConfig, TransformerConfig
from jumok.decoding.search import log_softmax
from jumok.errors import ConfigError
from jumok.export.foreign_files import foreign_files
from jumok.export.format import WriteOptions
from jumok.export.kept_rows import KeptRows, kept_rows, saved_rows, trimmed
from jumok.export.layouts import ACTIVATIONS, T5, Layout, layout_of, layout_weights, table_rows
from jumok.export.spelling import suppressed, tokenizer_file
from jumok.export.t5 import t5_config, t5_reasons, t5_weights
from jumok.nn.layers import EPSILON
from jumok.text.foreign import ForeignTokenizer
from jumok.text.frame import closed
from jumok.text.tokenizer import EOS, SPECIALS

TYPES = ("float32",)
NEEDS = ("transformers",)
EXTRA = "huggingface"
FILE = False

WEIGHTS = "model.safetensors"
ROWS = 512
"""Fewest positions of a layout with waves, which `transformers` keeps in a table."""


def check(config: RunConfig) -> list[str]:
    """Why a model with these settings has no layout in `transformers`."""
    model, reasons = config.model, []
    if config.data.images:
        reasons.append("it reads pictures, and the layouts for translation read text")
    if config.text.jamo:
        reasons.append("text.jamo=true: a tokenizer file of transformers cannot spell syllables as letters")
    if not isinstance(model, TransformerConfig):
        return [*reasons, f"model.arch={model.arch}: transformers has no recurrent encoder-decoder"]
    if not config.data.images and (not config.text.shared or config.text.target_kind):
        reasons.append("each side has a vocabulary of its own, and AutoTokenizer reads one for both")
    if model.copy:
        reasons.append("model.copy=true: no layout points at the source")
    if not model.residual:
        reasons.append("model.residual=false: every layout adds a sub-layer's result to its input")
    if model.norm == "none":
        return [*reasons, "model.norm=none: every layout has layer norms"]
    return [*reasons, *unheld(model)]


def unheld(model: TransformerConfig) -> list[str]:
    """Which settings no layout has, or not together."""
    layout = layout_of(model)
    if layout is None:
        alone = model.embedding_norm and model.positions in ("sinusoidal", "relative")
        return [_NO_NORM if alone else _NO_POSITIONS[model.positions]]
    if layout is T5:
        return t5_reasons(model)
    reasons = []
    if model.rms_norm:
        reasons.append("model.rms_norm=true: only T5 has it, with model.positions=relative")
    if model.gated:
        reasons.append("model.gated=true: only T5 has a gate, with model.positions=relative")
    if model.norm_epsilon != EPSILON:
        reasons.append(
            f"model.norm_epsilon={model.norm_epsilon:g}: norms of the {layout.type} layout add {EPSILON:g}"
        )
    if model.heads * model.d_k != model.width:
        whole = f"the {layout.type} layout gives each of {model.heads} heads its share of {model.width}"
        reasons.append(f"model.head_width={model.head_width}: {whole}")
    return reasons


_NO_NORM = "model.embedding_norm=true: only BART and mBART norm their embeddings, and learn their positions"
_NO_POSITIONS = {
    "learned": "model.positions=learned with model.norm=post: BART norms the embeddings once more, "
    "and Marian computes its positions",
    "rotary": "model.positions=rotary: no layout for translation turns queries and keys",
    "relative": "model.positions=relative: only T5 has them, with model.norm=pre and model.rms_norm=true",
    "none": "model.positions=none: every layout adds positions",
}


def write(loaded: LoadedModel, folder: Path, options: WriteOptions) -> None:
    """config.json, weights, tokenizer, generation settings and a card."""
    config, model = loaded.config, loaded.config.model
    assert isinstance(model, TransformerConfig)
    if not loaded.tokenizers.shared:
        raise ConfigError("each side has a vocabulary of its own, and AutoTokenizer reads one for both")
    layout = layout_of(model)
    assert layout is not None
    rows, kept = table_rows(config, ROWS), kept_rows(loaded, at_pad=layout is T5)
    options.progress("laying out the weights", 0, None)
    network, model = trimmed(loaded, kept)
    if layout is T5:
        weights = t5_weights(network.state_dict(), model)
    else:
        weights = layout_weights(network, model, layout, rows)
    tokenizers = loaded.tokenizers
    files = {
        WEIGHTS: pack(weights, WEIGHTS),
        "config.json": dump_json(_config(model, layout, rows, kept)),
        "generation_config.json": dump_json(_generation_config(loaded, layout, kept)),
        "README.md": _readme(config, layout, loaded.info).encode(),
    }
    if isinstance(tokenizers.target, ForeignTokenizer):
        files |= foreign_files(tokenizers.target, tokenizers.frame, kept, config, layout.type)
    else:
        files["tokenizer.json"] = dump_json(tokenizer_file(tokenizers.target))
        files["tokenizer_config.json"] = dump_json(_tokenizer_config(config))
    kept.save(folder)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def _config(model: TransformerConfig, layout: Layout, rows: int, kept: KeptRows) -> dict[str, Any]:
    vocabulary = len(kept.ids)
    return {
        "model_type": layout.type,
        "architectures": [layout.architecture],
        "is_encoder_decoder": True,
        "dtype": "float32",
        "vocab_size": vocabulary,
        "tie_word_embeddings": model.tied,
        **(t5_config(model) if layout is T5 else _shapes(model, layout, rows, vocabulary)),
        **kept.special,
        "decoder_start_token_id": kept.start,
        "forced_eos_token_id": None,
    }


def _shapes(model: TransformerConfig, layout: Layout, rows: int, vocabulary: int) -> dict[str, Any]:
    """The settings of layouts that name their weights as Marian does."""
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (
            ("layers", getattr(model, f"{side}_layers")),
            ("attention_heads", model.heads),
            ("ffn_dim", model.feedforward),
        )
    }
    return {
        **({"decoder_vocab_size": vocabulary} if layout.type == "marian" else {}),
        "d_model": model.width,
        **sides,
        "max_position_embeddings": rows,
        "activation_function": ACTIVATIONS[model.activation],
        "scale_embedding": model.embedding_scaled,
        "static_position_embeddings": layout.waves,
        "dropout": model.dropout,
    }


def _generation_config(loaded: LoadedModel, layout: Layout, kept: KeptRows) -> dict[str, Any]:
    config = loaded.config
    decoding, (encoder, decoder) = config.decoding, config.model.depths
    known, tokenizers = kept.theirs, loaded.tokenizers
    first = () if tokenizers.frame.slots else tokenizers.opening
    # The package makes T5 room to remember as many layers of the decoder as the encoder has.
    forgets = layout is T5 and decoder > encoder
    return {
        **({"use_cache": False} if forgets else {}),
        "num_beams": decoding.beam,
        "length_penalty": decoding.length_penalty,
        "max_new_tokens": min(decoding.max_len, table_rows(config)),
        **({"min_new_tokens": decoding.min_len} if decoding.min_len else {}),
        "no_repeat_ngram_size": decoding.no_repeat_ngram,
        "suppress_tokens": [known[i] for i in suppressed() if i in known],
        **({"forced_bos_token_id": known[first[0]]} if first else {}),
        **kept.special,
        "decoder_start_token_id": kept.start,
    }


def _tokenizer_config(config: RunConfig) -> dict[str, Any]:
    names = ("bos_token", "pad_token", "eos_token", "unk_token")
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **dict(zip(names, SPECIALS, strict=True)),
        "model_max_length": config.data.max_length + 1,  # with the end
        "model_input_names": ["input_ids", "attention_mask"],
        "padding_side": "right",
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # a typed "</s>" is text
    }


def _readme(config: RunConfig, layout: Layout, info: Mapping[str, Any]) -> str:
    languages = [code for code in (config.data.source_language, config.data.target_language) if code]
    header = {
        "library_name": "transformers",
        "pipeline_tag": "translation",
        "license": info.get("license", "unknown"),
        "language": list(dict.fromkeys(languages)),
    }
    front = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in header.items())
    return f"""---
{front}
---
# {" to ".join(languages) or "a translation model"}, for transformers

A Transformer that jumok trained, in the {layout.type} layout (`{layout.architecture}`).

```python
{EXAMPLE}```

`certificate.json` says how well its answers agree with those of the model it was made from. Its beam search
divides a score by length ** length_penalty; jumok divides by ((5 + length) / 6) ** length_penalty.
"""


EXAMPLE = """from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

folder = "path/to/this/folder"
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForSeq2SeqLM.from_pretrained(folder)
batch = tokenizer(["..."], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
"""


class TransformersAnswerer:
    """Answers by `generate`."""

    def __init__(self, folder: Path) -> None:
        # By name: the package is large, and type checkers need not read it.
        package: Any = import_module("transformers")
        quiet: Any = import_module("transformers.utils.logging")
        shown = quiet.is_progress_bar_enabled()
        quiet.disable_progress_bar()
        try:
            self.model = package.AutoModelForSeq2SeqLM.from_pretrained(folder, local_files_only=True).eval()
        finally:
            if shown:
                quiet.enable_progress_bar()
        self.rows = saved_rows(folder, self.model.config.vocab_size)

    @torch.inference_mode()
    def answer(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], *, beam: int, length_penalty: float
    ) -> list[Answer]:
        """The best answer to each source; all are searched up to the largest limit, and cut at their own."""
        ids, mask = padded([self.rows.away(closed(source)) for source in sources])  # (B, S)
        rows = self.model.generate(
            input_ids=ids,
            attention_mask=mask.long(),
            num_beams=beam,
            length_penalty=length_penalty if beam > 1 else 1.0,
            max_new_tokens=min(
                max(limits), getattr(self.model.config, "max_position_embeddings", max(limits))
            ),
            min_new_tokens=0,  # whatever the folder's own settings are, a comparison is without them
            no_repeat_ngram_size=0,
        )
        return [
            self.given(source, self.rows.back(row[:limit]))
            for source, row, limit in zip(sources, rows[:, 1:].tolist(), limits, strict=True)
        ]

    def given(self, source: Sequence[int], row: list[int]) -> Answer:
        """An answer with the model's log-probability of it, from one more pass over source and answer."""
        finished = EOS in row
        tokens = row[: row.index(EOS) + 1] if finished else row
        target = torch.tensor([self.rows.away(tokens)])  # (1, T)
        ids, mask = padded([self.rows.away(closed(source))])
        logits = self.model(
            input_ids=ids,
            attention_mask=mask.long(),
            decoder_input_ids=F.pad(target[:, :-1], (1, 0), value=self.rows.start),
            use_cache=False,
        ).logits
        log_probs = log_softmax(logits).gather(2, target[:, :, None]).flatten()  # (T,)
        return Answer(tuple(tokens[:-1] if finished else tokens), tuple(log_probs.tolist()), finished)


open = TransformersAnswerer  # noqa: A001


def padded(sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Whole sources in a rectangle (B, S), as that library reads it, and where it is real."""
    S = max(map(len, sources))
    ids = torch.tensor(
        [[*source, *[0] * (S - len(source))] for source in sources]
    )  # what is masked is not read
    return ids, torch.arange(S) < torch.tensor([[len(source)] for source in sources])
