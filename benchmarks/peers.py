"""Other people's Transformers, set up to do the work of ours: what the GPU measurements compare with.

Both are post-norm, with ReLU, sinusoidal positions, tied embeddings, torch's fused attention, and dropout on
the embeddings and after each sub-layer only, as ours. transformers need not be installed.
"""

from importlib.util import find_spec
from typing import Any

import torch
from contest import MissingError
from padded import Padded
from torch import Tensor, nn

from jumok.config import TransformerConfig
from jumok.models.transformer import TransformerSeq2Seq
from jumok.nn.attention import MergedProjection
from jumok.nn.positions import sinusoidal
from jumok.text.tokenizer import BOS, EOS, PAD

POSITIONS = 256  # rows of the peers' tables


class PlainTransformer(nn.Module):
    """torch.nn.Transformer between an embedding and its transpose."""

    def __init__(self, config: TransformerConfig, vocabulary: int) -> None:
        super().__init__()
        D = config.width
        self.embedding = nn.Embedding(vocabulary, D)
        nn.init.normal_(self.embedding.weight, std=D**-0.5)
        self.scale = D**0.5
        self.register_buffer("positions", sinusoidal(torch.arange(POSITIONS), D))  # (P, D)
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            D,
            config.heads,
            config.encoder_layers,
            config.decoder_layers,
            config.feedforward,
            config.dropout,
            batch_first=True,
        )
        self.transformer.encoder.norm = self.transformer.decoder.norm = None  # post-norm has one already
        for module in self.transformer.modules():  # nobody else drops attention weights or inner activations
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0

    def embed(self, ids: Tensor) -> Tensor:
        return self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.shape[1]])  # type: ignore[no-any-return, index]

    def forward(self, batch: Padded) -> Tensor:
        """Logits (B, T, V). Padding stands last, so the causal mask hides it from every real target."""
        hidden = ~batch.source_mask  # (B, S)
        T = batch.target_in.shape[1]
        x = self.transformer(
            self.embed(batch.source),
            self.embed(batch.target_in),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(T, device=hidden.device),
            tgt_is_causal=True,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
        )
        return nn.functional.linear(x, self.embedding.weight)  # (B, T, V)


def make_marian(config: TransformerConfig, vocabulary: int, positions: int = POSITIONS) -> Any:
    """transformers' MarianMTModel of this size, with fresh weights."""
    if find_spec("transformers") is None:
        raise MissingError("transformers is not installed: pip install transformers")
    import transformers  # not at the top: it need not be there

    transformers.logging.set_verbosity_error()
    sides = {
        f"{side}_{what}": value
        for side in ("encoder", "decoder")
        for what, value in (
            ("layers", getattr(config, f"{side}_layers")),
            ("ffn_dim", config.feedforward),
            ("attention_heads", config.heads),
        )
    }
    settings = transformers.MarianConfig(
        vocab_size=vocabulary,
        d_model=config.width,
        dropout=config.dropout,
        max_position_embeddings=positions,
        activation_function="relu",
        scale_embedding=True,
        init_std=config.width**-0.5,
        pad_token_id=PAD,
        eos_token_id=EOS,
        bos_token_id=BOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
        attn_implementation="sdpa",
        **sides,
    )
    marian = transformers.MarianMTModel(settings)
    assert marian.config._attn_implementation == "sdpa"
    assert marian.lm_head.weight is marian.model.shared.weight is marian.model.encoder.embed_tokens.weight
    return marian


def without_layer_drop(marian: Any) -> Any:
    """The same training, with nothing asked of a random number between layers, where a compiler has to stop.

    The stacks leave training mode, in which they would draw; their dropout of the embeddings moves in front
    of the first layer.
    """

    def drop(layer: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...]:
        return nn.functional.dropout(given[0], marian.config.dropout, layer.training), *given[1:]

    for stack in (marian.model.encoder, marian.model.decoder):
        assert stack.layerdrop == 0
        stack.training = False  # its layers stay as they are
        stack.layers[0].register_forward_pre_hook(drop)
    return marian


def marian_logits(marian: Any, source: Tensor, mask: Tensor, target_in: Tensor) -> Tensor:
    """Logits (B, T, V). No mask for the target: Marian then takes the fused causal path."""
    out = marian(input_ids=source, attention_mask=mask, decoder_input_ids=target_in, use_cache=False)
    return out.logits  # type: ignore[no-any-return]


@torch.no_grad()
def copy_into_marian(model: TransformerSeq2Seq, config: TransformerConfig, positions: int) -> Any:
    """A MarianMTModel with the weights of ours, and our table of positions in the place of its own."""
    wanted = {"norm": "post", "positions": "sinusoidal", "projection": "merged", "tied": True}
    for key, value in wanted.items():
        if getattr(config, key) != value:
            raise MissingError(
                f"Marian has no twin of a model with {key}={getattr(config, key)}: it has {value}"
            )
    if model.source_embedding is not model.target_embedding:
        raise MissingError("the comparison is written for one vocabulary shared by both sides")
    table = model.target_embedding.weight  # (V, D)
    marian = make_marian(config, len(table), positions)
    marian.model.shared.weight.copy_(table)
    for side in (marian.model.encoder, marian.model.decoder):
        side.embed_positions.weight.copy_(sinusoidal(torch.arange(positions), config.width))
    mine: Any
    for mine, its in zip(model.encoder, marian.model.encoder.layers, strict=True):
        copy_layer(mine, its)
    for mine, its in zip(model.decoder, marian.model.decoder.layers, strict=True):
        copy_layer(mine, its)
        copy_attention(mine.cross, its.encoder_attn, (mine.cross.project_query, mine.cross.project_memory))
        its.encoder_attn_layer_norm.load_state_dict(mine.add_cross.norm.state_dict())
    return marian.eval()


def copy_layer(mine: Any, its: Any) -> None:
    """What encoder and decoder layers have in common."""
    copy_attention(mine.attention, its.self_attn, (mine.attention.project,))
    its.self_attn_layer_norm.load_state_dict(mine.add_attention.norm.state_dict())
    its.fc1.load_state_dict(mine.feedforward.inner.state_dict())
    its.fc2.load_state_dict(mine.feedforward.outer.state_dict())
    its.final_layer_norm.load_state_dict(mine.add_feedforward.norm.state_dict())


def copy_attention(mine: Any, its: Any, projections: tuple[MergedProjection, ...]) -> None:
    """Q, K and V, which ours has side by side in one matrix, and the output."""
    weights = [part for one in projections for part in one.linear.weight.chunk(one.parts)]
    biases = [part for one in projections for part in one.linear.bias.chunk(one.parts)]
    for linear, weight, bias in zip((its.q_proj, its.k_proj, its.v_proj), weights, biases, strict=True):
        linear.weight.copy_(weight)
        linear.bias.copy_(bias)
    its.out_proj.load_state_dict(mine.output.linear.state_dict())
