"""The rows of Luong's attention in the table of tensors (`tensor_rows.py`), under the words of the paper."""

import torch
from torch import Tensor

from jumok.config import LuongConfig
from jumok.models.tensor_rows import How, RowList, memory_words
from jumok.nn.attention import LuongAttention
from jumok.nn.functional import Stages

SCORES = {
    "dot": "E_t = s_t Hᵀ",
    "general": "E_t = (s_t W_a) Hᵀ",
    "concat": "E_t = v_a · tanh(W_a [s_t; H])",
}


def add_luong(
    rows: RowList,
    config: LuongConfig,
    attention: LuongAttention,
    stages: Stages,
    state: tuple[int, Tensor],
    out: Tensor,
) -> int:
    """Note every step of one attention; `state` is the decoder's, and where it was noted. The last row."""
    T, add, weight, score = "1" if config.input_feeding else "T", rows.add, rows.weight, config.score
    s, H = state[0], rows.places["memory", memory_words(config)[0]]
    both, query = torch.cat((stages.context[:, 0], state[1]), dim=-1), stages.query[:, 0]
    how: How = "scores"
    compared = (s, H)
    if score == "general":
        W = weight("attention", "W_a", "[D,D]", attention.w_a)
        compared = (add("attention", "s_t W_a", f"[B,{T},D]", query, "product", s, W, detail=True), H)
    elif score == "concat":
        how = "additive"
        W_s, W_h = (
            weight("attention", f"W_a, the half for {name}", "[D,D]", one)
            for name, one in (("s", attention.w_query), ("H", attention.w_memory))
        )
        v = weight("attention", "v_a", "[D]", attention.v_a)
        keys = rows.places.get(("attention", "H W_a"))
        if keys is None:
            keys = add("attention", "H W_a", "[B,S,D]", stages.key[:, 0], "product", H, W_h, detail=True)
        compared = (
            add("attention", "s_t W_a", f"[B,{T},D]", query, "product", s, W_s, detail=True),
            keys,
            v,
        )  # type: ignore[assignment]
    E = add("attention", SCORES[score], f"[B,{T},S]", stages.scores[:, 0], how, *compared)
    a = add("attention", "α_t = softmax(E_t)", f"[B,{T},S]", stages.weights[:, 0], "softmax", E)
    c = add("attention", "c_t = α_t H", f"[B,{T},D]", stages.context[:, 0], "weigh", a, H)
    joined = add("attention", "[c_t; s_t]", f"[B,{T},2D]", both, "beside", c, s)
    W = weight("attention", "W_c", "[2D,D]", attention.w_c.weight.T)
    inner = add(
        "attention",
        "[c_t; s_t] W_c",
        f"[B,{T},D]",
        attention.w_c(both),
        "product",
        joined,
        W,
        detail=True,
    )
    end = out if out.dim() == 3 else out[None]
    place = add("attention", "s̃_t = tanh([c_t; s_t] W_c)", f"[B,{T},D]", end, "tanh", inner)
    return rows.remember(out, place)
