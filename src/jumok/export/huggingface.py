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
from jumok.export.format import WriteOptions
from jumok.export.layouts import LAYOUTS, Layout, layout_weights, table_rows
from jumok.export.spelling import IDS, suppressed, tokenizer_file
from jumok.text.tokenizer import BOS, EOS, PAD, SPECIALS

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
        reasons.append("model.norm=none: every layout has layer norms")
    elif (model.norm, model.positions) not in LAYOUTS:
        reasons.append(_NO_POSITIONS[model.positions])
    return reasons


_NO_POSITIONS = {
    "learned": "model.positions=learned with model.norm=post: BART norms the embeddings once more, "
    "and Marian computes its positions",
    "rotary": "model.positions=rotary: no layout for translation turns queries and keys",
    "none": "model.positions=none: every layout adds positions",
}


def write(loaded: LoadedModel, folder: Path, options: WriteOptions) -> None:
    """config.json, weights, tokenizer, generation settings and a card."""
    config, model = loaded.config, loaded.config.model
    assert isinstance(model, TransformerConfig)
    if not loaded.tokenizers.shared:
        raise ConfigError("each side has a vocabulary of its own, and AutoTokenizer reads one for both")
    layout = LAYOUTS[model.norm, model.positions]
    rows = table_rows(config, ROWS)
    options.progress("laying out the weights", 0, None)
    files = {
        WEIGHTS: pack(layout_weights(loaded.model, model, layout, rows), WEIGHTS),
        "config.json": dump_json(_config(model, layout, rows, loaded.tokenizers.target.size)),
        "generation_config.json": dump_json(_generation_config(config)),
        "tokenizer.json": dump_json(tokenizer_file(loaded.tokenizers.target)),
        "tokenizer_config.json": dump_json(_tokenizer_config(config)),
        "README.md": _readme(config, layout, loaded.info).encode(),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)


def _config(model: TransformerConfig, layout: Layout, rows: int, vocabulary: int) -> dict[str, Any]:
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
        "model_type": layout.type,
        "architectures": [layout.architecture],
        "is_encoder_decoder": True,
        "dtype": "float32",
        "vocab_size": vocabulary,
        **({"decoder_vocab_size": vocabulary} if layout.type == "marian" else {}),
        "d_model": model.width,
        **sides,
        "max_position_embeddings": rows,
        "activation_function": "relu",
        "scale_embedding": True,
        "static_position_embeddings": layout.waves,
        "tie_word_embeddings": model.tied,
        "dropout": model.dropout,
        **IDS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
    }


def _generation_config(config: RunConfig) -> dict[str, Any]:
    decoding = config.decoding
    return {
        "num_beams": decoding.beam,
        "length_penalty": decoding.length_penalty,
        "max_new_tokens": min(decoding.max_len, table_rows(config)),
        **({"min_new_tokens": decoding.min_len} if decoding.min_len else {}),
        "no_repeat_ngram_size": decoding.no_repeat_ngram,
        "suppress_tokens": suppressed(),
        **IDS,
        "decoder_start_token_id": BOS,
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

    @torch.inference_mode()
    def answer(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], *, beam: int, length_penalty: float
    ) -> list[Answer]:
        """The best answer to each source; all are searched up to the largest limit, and cut at their own."""
        ids, mask = padded(sources)  # (B, S)
        rows = self.model.generate(
            input_ids=ids,
            attention_mask=mask.long(),
            num_beams=beam,
            length_penalty=length_penalty if beam > 1 else 1.0,
            max_new_tokens=min(max(limits), self.model.config.max_position_embeddings),
            min_new_tokens=0,  # whatever the folder's own settings are, a comparison is without them
            no_repeat_ngram_size=0,
        )
        return [
            self.given(source, row[:limit])
            for source, row, limit in zip(sources, rows[:, 1:].tolist(), limits, strict=True)
        ]

    def given(self, source: Sequence[int], row: list[int]) -> Answer:
        """An answer with the model's log-probability of it, from one more pass over source and answer."""
        finished = EOS in row
        tokens = row[: row.index(EOS) + 1] if finished else row
        target = torch.tensor([tokens])  # (1, T)
        ids, mask = padded([source])
        logits = self.model(
            input_ids=ids,
            attention_mask=mask.long(),
            decoder_input_ids=F.pad(target[:, :-1], (1, 0), value=BOS),
            use_cache=False,
        ).logits
        log_probs = log_softmax(logits).gather(2, target[:, :, None]).flatten()  # (T,)
        return Answer(tuple(tokens[:-1] if finished else tokens), tuple(log_probs.tolist()), finished)


open = TransformersAnswerer  # noqa: A001


def padded(sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Each source with its end, in a rectangle (B, S), as that library reads it; and where it is real."""
    S = max(map(len, sources)) + 1
    ids = torch.tensor([[*source, EOS, *[PAD] * (S - 1 - len(source))] for source in sources])
    return ids, torch.arange(S) < torch.tensor([[len(source) + 1] for source in sources])
