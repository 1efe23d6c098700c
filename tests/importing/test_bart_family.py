import numpy as np
import pytest
import torch

from jumok.errors import ModelError
from jumok.importing.bart_family import bart_config, tensor2tensor_waves
from jumok.importing.their_settings import TheirSettings

FIELDS = {
    "encoder_layers": 2, "decoder_layers": 3, "d_model": 8, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "activation_function": "gelu",
    "max_position_embeddings": 20,
}  # fmt: skip


def test_waves_are_those_of_m2m100() -> None:
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding

    theirs = M2M100SinusoidalPositionalEmbedding(50, 16, 1)(torch.zeros(1, 50, dtype=torch.long))[0].numpy()
    assert np.abs(tensor2tensor_waves(2, 50, 16) - theirs).max() < 1e-5


@pytest.mark.parametrize(
    ("kind", "norm", "positions", "normed"),
    [
        ("marian", "post", "sinusoidal", False),
        ("bart", "post", "learned", True),
        ("mbart", "pre", "learned", True),
        ("pegasus", "pre", "sinusoidal", False),
        ("m2m_100", "pre", "learned", False),
        ("blenderbot", "pre", "learned", False),
    ],
)
def test_settings_are_those_of_the_family(kind: str, norm: str, positions: str, *, normed: bool) -> None:
    config = bart_config(kind, TheirSettings(FIELDS, "here"))
    assert (config.norm, config.positions, config.embedding_norm) == (norm, positions, normed)
    assert (config.encoder_layers, config.decoder_layers, config.activation) == (2, 3, "gelu")
    assert config.logits_bias


def test_norms_elsewhere_are_refused() -> None:
    with pytest.raises(
        ModelError, match="normalize_before=True: a model of type marian has its norms elsewhere"
    ):
        bart_config("marian", TheirSettings({**FIELDS, "normalize_before": True}, "here"))


def test_what_a_folder_leaves_out_is_as_in_its_program() -> None:
    from transformers import BartConfig

    need = (
        "encoder_layers",
        "decoder_layers",
        "d_model",
        "encoder_attention_heads",
        "decoder_attention_heads",
    )
    bare = {name: FIELDS[name] for name in (*need, "encoder_ffn_dim", "decoder_ffn_dim")}
    full = BartConfig(**bare).to_dict()
    assert bart_config("bart", TheirSettings(bare, "")) == bart_config("bart", TheirSettings(full, ""))
