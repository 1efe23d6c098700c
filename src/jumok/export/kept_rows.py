"""Which rows of a vocabulary another program gets: all of ours, or those that its own had.

A vocabulary that came from elsewhere has rows here that it did not have there: `<s>` where its decoder starts
from another token, and bytes. Their logits are so low that they are never written. They stay behind, and the
others count anew. What `<s>` has learned since goes where no logit can be made low, in T5: to its `<pad>`,
which it starts from and reads nowhere else.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from jumok.checkpoint.model import LoadedModel
from jumok.config import TransformerConfig
from jumok.models.transformer import TransformerSeq2Seq
from jumok.text.foreign import ForeignTokenizer
from jumok.text.specials import BOS, EOS, PAD, UNK

FILE = "jumok_rows.json"
LOW = -1e3  # a logit's bias below which a row is no token


@dataclass(frozen=True)
class KeptRows:
    """Ids of ours in the order of theirs."""

    ids: tuple[int, ...]
    start: int
    """Their id of the token that the decoder starts from."""

    @property
    def theirs(self) -> dict[int, int]:
        """Their id of each of ours."""
        return {ours: i for i, ours in enumerate(self.ids)}

    @property
    def special(self) -> dict[str, int]:
        """Their special ids, as other programs name them; a program without padding pads with the end."""
        known = self.theirs
        return {
            "bos_token_id": known.get(BOS, self.start),
            "pad_token_id": known.get(PAD, known[EOS]),
            "eos_token_id": known[EOS],
        }

    def away(self, ids: Sequence[int]) -> list[int]:
        """Ids of ours as theirs; one that stayed behind is unknown."""
        known = self.theirs
        return [known.get(i, known.get(UNK, known[EOS])) for i in ids]

    def back(self, ids: Sequence[int]) -> list[int]:
        """Ids of theirs as ours."""
        return [self.ids[i] for i in ids]

    def save(self, folder: Path) -> None:
        """Beside the model, for whoever compares the two; nothing where ids stayed as they were."""
        if self.ids != tuple(range(len(self.ids))) or self.start != BOS:
            (folder / FILE).write_text(json.dumps({"ids": self.ids, "start": self.start}))


def saved_rows(folder: Path, size: int) -> KeptRows:
    """What `save` wrote for a model with so many tokens."""
    if not (folder / FILE).exists():
        return KeptRows(tuple(range(size)), BOS)
    said = json.loads((folder / FILE).read_text())
    return KeptRows(tuple(said["ids"]), said["start"])


def kept_rows(loaded: LoadedModel, *, at_pad: bool = False) -> KeptRows:
    """The rows that go; all of a tokenizer of ours. With `at_pad` a start that has learned goes there."""
    weights, size = loaded.model.state_dict(), loaded.tokenizers.target.size
    every = KeptRows(tuple(range(size)), BOS)
    bias = weights.get("logits_bias")
    if bias is None or not isinstance(loaded.tokenizers.target, ForeignTokenizer):
        return every
    ids = [i for i in torch.nonzero(bias > LOW).flatten().tolist() if i != BOS]
    start = None if bias[BOS] > LOW else same_row(weights["target_embedding.weight"], ids)
    if start is None and at_pad and bias[BOS] <= LOW and PAD in ids:
        start = ids.index(PAD)
    return KeptRows((BOS, *ids), 0) if start is None else KeptRows(tuple(ids), start)


def same_row(table: Tensor, ids: Sequence[int]) -> int | None:
    """The place in `ids` of the token that `<s>` is a copy of."""
    alike = (table[list(ids)] == table[BOS]).all(dim=1).nonzero().flatten()
    return int(alike[0]) if len(alike) else None


def trimmed(loaded: LoadedModel, kept: KeptRows) -> tuple[TransformerSeq2Seq, TransformerConfig]:
    """The model with those rows alone, in the same memory; a bias that adds nothing is none."""
    config, model = loaded.config.model, loaded.model
    assert isinstance(config, TransformerConfig)
    assert isinstance(model, TransformerSeq2Seq)
    weights = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    if kept.ids != tuple(range(len(model.head))):
        for name in ("source_embedding.weight", "target_embedding.weight", "output.weight", "logits_bias"):
            if name in weights:
                weights[name] = weights[name][list(kept.ids)]
            if name in weights and "embedding" in name and kept.ids[kept.start] == PAD:
                weights[name][kept.start] = model.state_dict()[name][BOS]  # its copy, or what became of it
    if config.logits_bias and not weights["logits_bias"].any():
        config = replace(config, logits_bias=False)
        del weights["logits_bias"]
    with torch.device("meta"):
        other = TransformerSeq2Seq(config, len(kept.ids), len(kept.ids), shared=loaded.tokenizers.shared)
    other.load_state_dict(weights, assign=True)
    return other.eval(), config
