"""Configuration to model: one `match`."""

from typing import assert_never

from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.models.interface import Seq2Seq
from jumok.models.luong import LuongSeq2Seq
from jumok.models.rnn import RnnSeq2Seq
from jumok.models.transformer import TransformerSeq2Seq
from jumok.nn.patches import Patches


def build_model(
    config: ModelConfig, source_vocab: int, target_vocab: int, *, shared: bool, patches: Patches | None = None
) -> Seq2Seq:
    """A model with fresh weights; `shared` lets both sides use one embedding.

    With `patches` the source is a picture: (N, P) bytes instead of (N,) ids.
    """
    assert not shared or (source_vocab == target_vocab and patches is None)
    match config:
        case RnnConfig():
            return RnnSeq2Seq(config, source_vocab, target_vocab, shared=shared, patches=patches)
        case LuongConfig():
            return LuongSeq2Seq(config, source_vocab, target_vocab, shared=shared, patches=patches)
        case TransformerConfig():
            return TransformerSeq2Seq(config, source_vocab, target_vocab, shared=shared, patches=patches)
        case _:
            assert_never(config)
