"""The heat map of a trace, and what a model without attention says instead."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.views.conftest import TEXT, Traces
from tests.decoding.conftest import COPYING, untrained

from jumok.cli.views.attention import (
    AttentionChoice,
    HeadSteps,
    cell_view,
    find_attention,
    heat_view,
    no_attention,
    numbered,
    products_lines,
    row_view,
    stages_view,
    steps_view,
)
from jumok.config import LuongConfig, TransformerConfig
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError
from jumok.explain.attention import HeadStages
from jumok.explain.heatmap import cells
from jumok.explain.ops import no_scale, set_row
from jumok.explain.trace import make_trace, open_trace


def test_the_map_of_words_and_its_table(traces: Traces) -> None:
    view = heat_view(traces["luong"], AttentionChoice(words=True, style="blocks"))
    lines = view.text.splitlines()
    assert lines[0] == "2024-03-05T14:30"
    assert lines[2].startswith("cross · layer 1 · one head · words      specials folded: </s> 0.")
    assert lines[3].split() == ["den", "5", "mars", "2024", "kl", ".", "14", ":", "30"]
    assert view.line.startswith("strongest: ")
    head, *rows = view.table
    assert head == ["", "den", "5", "mars", "2024", "kl", ".", "14", ":", "30", "</s>"]
    assert [row[0] for row in rows] == ["2024", "-", "03", "-", "05T14", ":", "30", "</s>"]
    assert all(sum(row[1:]) == pytest.approx(1, abs=1e-5) for row in rows)


def test_a_model_that_copies_says_how_much_of_each_row() -> None:
    trace = make_trace(Translator(untrained(COPYING)), "a man", target="man")
    view = heat_view(trace, AttentionChoice(kind="copy", style="blocks"))
    assert view.text.splitlines()[2].startswith("copy · layer 1 · one head · tokens · %: the share copied")
    share = view.plain["attention"]["copied"][0]
    assert view.text.splitlines()[4].split()[1] == f"{share:.0%}"
    assert "←" in view.line
    assert "%" not in view.line


def test_the_fixed_vector_says_where_else_to_look(traces: Traces) -> None:
    view = heat_view(traces["rnn"], AttentionChoice())
    assert view.plain["attention"] is None
    assert "squeezes the source into one fixed vector" in view.text
    assert view.text.endswith(
        "jumok serve shows that vector (on the screen Inside) and what each word did (Attention)."
    )
    vector = traces["rnn"].tensor("rnn.bridge")
    assert view.plain["bridge"] == vector.tolist()
    assert "bridge" not in heat_view(traces["luong"], AttentionChoice(kind="enc_self")).plain


def test_reasons_are_in_plain_words() -> None:
    assert "one fixed vector" in no_attention("rnn", "cross")
    assert no_attention("luong", "enc_self").startswith("This model has no enc_self attention")
    assert "model.copy=true" in no_attention("transformer", "copy")


def test_a_kind_that_was_not_saved_is_not_said_to_be_missing(traces: Traces, tmp_path: object) -> None:
    saved = open_trace(traces["transformer"].save(f"{tmp_path}/one.trace", kinds=["cross"]))
    assert find_attention(saved, "cross") is not None
    with pytest.raises(ConfigError, match="--kind enc_self: the trace was saved without it") as caught:
        heat_view(saved, AttentionChoice(kind="enc_self"))
    assert caught.value.hint == "it holds: cross"


@pytest.mark.parametrize("choice", [AttentionChoice(layer=n) for n in "30x"])
def test_a_layer_that_is_not_there(traces: Traces, choice: AttentionChoice) -> None:
    with pytest.raises(ConfigError, match=f"--layer {choice.layer}: this model has 2 layers here"):
        heat_view(traces["transformer"], choice)


ONE = AttentionChoice(head="1")
LINE = re.compile(
    r"q·k (-?[\d.]+)   ÷√16 (-?[\d.]+)   mask allowed   softmax ([\d.]+)   \|value\| [\d.]+   "
    r"share of context -?[\d.]+"
)


def test_a_cell_of_the_transformer(traces: Traces) -> None:
    view = steps_view(traces["transformer"], replace(ONE, q=6, k=4))
    title, line, _, score, largest, softmax, *_ = view.text.splitlines()
    assert title == "cross · layer 2 · head 1 · query 6 '0' ← key 4 'mar'"
    found = LINE.fullmatch(line)
    assert found is not None
    assert view.line == line
    product, scaled, weight = map(float, found.groups())
    assert scaled == pytest.approx(product / 4, abs=6e-4)
    assert score == f"score    Σ of 16 products = {found[1]}"
    assert re.fullmatch(r" {9}largest: (d\d+ [+-][\d.]+   ){4}the other 12 [+-][\d.]+", largest)
    terms = [float(term) for term in re.findall(r" ([+-][\d.]+)", largest)]
    assert sum(terms) == pytest.approx(product, abs=1e-9)
    parts = re.fullmatch(r"softmax  exp\((\S+) - (\S+)\) / (\S+) \(the sum over the row\) = (\S+)", softmax)
    assert parts is not None
    mine, most, total, written = map(float, parts.groups())
    assert (mine, written) == (scaled, weight)
    assert np.exp(mine - most) / total == pytest.approx(weight, abs=2e-3)
    cell = view.plain
    assert (cell["kind"], cell["layer"], cell["head"], cell["q"], cell["k"]) == ("cross", 2, 1, 6, 4)
    assert sum(cell["products"]) == pytest.approx(cell["score"], abs=1e-4)
    assert cell["weight"] == pytest.approx(traces["transformer"].attention.cross[1, 0][5, 3])


def test_a_key_in_the_future_is_forbidden(traces: Traces) -> None:
    text = steps_view(traces["transformer"], replace(ONE, kind="dec_self", q=2, k=5)).text
    assert "mask forbidden   softmax 0.000" in text
    assert "the mask forbids this key, so its weight is 0" in text


def test_a_row_has_every_key_and_its_shares_add_up(traces: Traces) -> None:
    view = steps_view(traces["transformer"], replace(ONE, q=6))
    lines = view.text.splitlines()
    assert lines[0] == "cross · layer 2 · head 1 · query 6 '0'"
    names = ["k", "key", "q·k", "÷√16", "mask", "softmax", "|value|", "share", "of", "context"]
    assert lines[2].split() == names
    assert [line.split()[:2] for line in lines[3:5]] == [["1", "de"], ["2", "n"]]
    keys = view.plain["keys"]
    assert len(keys) == len(lines) - 5 == 17
    assert sum(key["share"] for key in keys) == pytest.approx(1)
    assert sum(key["weight"] for key in keys) == pytest.approx(1, abs=1e-5)
    assert view.line.startswith("cross · layer 2 · head 1 · query 6 '0' ← key 4 'mar' 0.")


def test_all_stages_with_shapes_and_the_numbers_of_the_tokens(traces: Traces) -> None:
    view = steps_view(traces["transformer"], ONE)
    lines = view.text.splitlines()
    assert lines[0] == "cross · layer 2 · head 1"
    stages = {line.split()[0]: line for line in lines[3:12]}
    assert list(stages) == ["q", "k", "v", "scores", "scaled", "mask", "weights", "context", "out"]
    assert "scores ÷ √16" in stages["scaled"]
    assert "17 × 64" in stages["out"]
    assert view.plain["stages"][0]["shape"] == [17, 16]
    norm = np.linalg.norm(traces["transformer"].attention.cross.stages(1, 0).q)
    assert view.plain["stages"][0]["norm"] == pytest.approx(norm, rel=1e-5)
    assert lines[13].startswith("queries, --q  1 2   2 0   3 2   4 4   5 -   6 0")
    assert "keys, --k     1 de   2 n   3 5   4 mar" in view.text


def test_luong_has_its_own_stages(traces: Traces) -> None:
    text = steps_view(traces["luong"], ONE).text
    assert "score(general) = (s Wₐ)·h" in text
    assert "attentional state tanh(W_c[context; s])" in text
    assert "scaled" not in text
    view = steps_view(traces["luong"], replace(ONE, q=6, k=4))
    assert view.line.startswith("score(general) ")
    assert "÷" not in view.line
    assert "|h| " in view.line
    assert sum(view.plain["products"]) == pytest.approx(view.plain["score"], abs=1e-3)


def test_concat_scores_are_no_sum_of_products(models: dict[str, Translator]) -> None:
    torch.manual_seed(0)
    concat = Translator(untrained(LuongConfig(width=8, score="concat")))
    view = steps_view(make_trace(concat, "a man", target="man"), replace(ONE, q=1, k=1))
    assert view.plain["products"] is None
    assert "products" not in view.text
    assert "softmax  exp(" in view.text


def test_a_transformer_that_does_not_divide_its_scores(models: dict[str, Translator]) -> None:
    torch.manual_seed(0)
    sizes = {"width": 8, "heads": 2, "feedforward": 8, "encoder_layers": 1, "decoder_layers": 1}
    unscaled = Translator(untrained(TransformerConfig(**sizes, scaled=False)))
    trace = make_trace(unscaled, "a man", target="man")
    assert "scores, not divided" in steps_view(trace, ONE).text
    view = steps_view(trace, replace(ONE, q=1, k=1))
    assert view.line.startswith("q·k ")
    assert "   not divided " in view.line


def test_where_a_model_points_ends_in_a_gate(models: dict[str, Translator]) -> None:
    sizes = {"width": 16, "heads": 2, "feedforward": 8, "encoder_layers": 1, "decoder_layers": 1}
    torch.manual_seed(0)
    copying = Translator(untrained(TransformerConfig(**sizes, scaled=False, copy=True)))
    trace = make_trace(copying, "a man", target="man")
    point = AttentionChoice(kind="copy", head="1")
    text = steps_view(trace, point).text
    assert "scores ÷ √16" in text
    assert "the share copied, 1 - g" in text
    assert "   ÷√16 " in steps_view(trace, replace(point, q=1, k=1)).line


def test_a_model_without_attention_has_no_stages(traces: Traces) -> None:
    view = steps_view(traces["rnn"], ONE)
    assert "This model has no attention" in view.text
    assert view.plain["stages"] is None
    assert "no enc_self attention" in steps_view(traces["luong"], replace(ONE, kind="enc_self")).text


def test_interventions_show_where_the_numbers_no_longer_follow(models: dict[str, Translator]) -> None:
    trace = make_trace(models["transformer"], TEXT, ops=[set_row("cross", 1, 0, 5, {0: 1.0})])
    text = steps_view(trace, replace(ONE, q=6, k=1)).text
    assert re.search(r"softmax  would be 0\.\d{3}; the what-if makes it 1\.000", text)
    trace = make_trace(models["transformer"], TEXT, ops=[no_scale("cross")])
    assert "   not divided " in steps_view(trace, replace(ONE, q=6, k=1)).line
    assert "scores, not divided" in steps_view(trace, ONE).text


@pytest.mark.parametrize(
    ("choice", "message", "hint"),
    [
        (replace(ONE, q=18), "--q 18: there are 17 queries here", "from 1 to 17; without --q they are"),
        (replace(ONE, q=1, k=99), "--k 99: there are 17 keys here", "from 1 to 17"),
        (replace(ONE, head="mean"), "--head mean: the steps are those of one head", "from 1 to 4"),
        (replace(ONE, layer="mean"), "--layer mean: the steps are those of one layer", "from 1 to 2"),
        (replace(ONE, head="5"), "--head 5: this model has 4 heads here", "from 1 to 4, mean"),
    ],
)
def test_numbers_that_are_not_there(traces: Traces, choice: AttentionChoice, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        steps_view(traces["transformer"], choice)
    assert caught.value.message == message
    assert hint in caught.value.hint


@given(st.lists(st.floats(-50, 50, width=32), min_size=5, max_size=40))
def test_what_is_written_adds_up_to_what_is_written(products: list[float]) -> None:
    array = np.array(products)
    head, terms = products_lines(array, float(array.sum()))
    total = float(head.split("= ")[1])
    assert sum(float(term) for term in re.findall(r" ([+-][\d.]+)", terms)) == pytest.approx(total, abs=1e-6)


def test_numbered_tokens_fit_the_width() -> None:
    lines = numbered("keys", ("영화를",) * 40).splitlines()
    assert all(cells(line) <= 100 for line in lines)
    assert lines[0].startswith("keys          1 영화를   2 영화를")
    assert lines[-1].endswith("40 영화를")


def test_relative_positions_are_a_stage_of_their_own() -> None:
    config = TransformerConfig(
        width=16, heads=2, feedforward=32, encoder_layers=1, decoder_layers=1, positions="relative", buckets=8
    )
    trace = make_trace(Translator(untrained(config)), "a man", target="man")
    table = steps_view(trace, AttentionChoice(kind="enc_self", layer="1", head="1"))
    assert [row["stage"] for row in table.plain["stages"]][3:7] == ["scores", "scaled", "bias", "mask"]
    assert "added for the distance from query to key" in table.text
    row = steps_view(trace, AttentionChoice(kind="enc_self", layer="1", head="1", q=2))
    assert "+ bias" in row.text
    cell = steps_view(trace, AttentionChoice(kind="enc_self", layer="1", head="1", q=2, k=1))
    total = cell.plain["scaled"] + cell.plain["bias"]
    assert f"exp({total:.3f} " in cell.text
    cross = steps_view(trace, AttentionChoice(kind="cross", layer="1", head="1"))
    assert "bias" not in [one["stage"] for one in cross.plain["stages"]]


def by_hand(title: str = "cross · layer 1 · head 1") -> HeadSteps:
    """One query and three keys, of which the last lies in the future: exp(-1.5) : 1 : 0."""
    rise = np.exp(-1.5)
    weights = np.array([[rise, 1, 0]]) / (1 + rise)
    values = np.array([[2.0, 0, 0, 0], [0, 1, 0, 0], [5, 5, 5, 5]])
    return HeadSteps(
        title,
        luong=False,
        score="scaled_dot",
        stages=HeadStages(
            q=np.array([[3.0, 4, 0, 1]]),
            k=np.array([[1.0, 0, 0, 0], [0, 1, 0, 2], [1, 1, 1, 1]]),
            v=values,
            scores=np.array([[3.0, 6, 8]]),
            scaled=np.array([[1.5, 3, 4]]),
            mask=np.array([[1.0, 1, 0]]),
            weights=weights,
            context=weights @ values,
            out=np.array([[1.0, 2]]),
        ),
        queries=("a",),
        keys=("x", "y", "</s>"),
        copies=False,
    )


STAGES = """\
cross · layer 1 · head 1

stage    is                                    shape    norm  smallest  largest
q        queries of this head                  1 × 4   5.099     0.000    4.000
k        keys                                  3 × 4   3.162     0.000    2.000
v        values                                3 × 4  10.247     0.000    5.000
scores   q·k                                   1 × 3  10.440     3.000    8.000
scaled   scores ÷ √4                           1 × 3   5.220     1.500    4.000
mask     1 where looking is allowed            1 × 3   1.414     0.000    1.000
weights  softmax over the keys                 1 × 3   0.838     0.000    0.818
context  weights · v                           1 × 4   0.895     0.000    0.818
out      all heads of the layer joined, · W_O  1 × 2   2.236     1.000    2.000

queries, --q  1 a
keys, --k     1 x   2 y   3 </s>"""
ROW = """\
cross · layer 1 · head 1 · query 1 'a'

k  key     q·k    ÷√4       mask  softmax  |value|  share of context
1  x     3.000  1.500    allowed    0.182     2.00              0.17
2  y     6.000  3.000    allowed    0.818     1.00              0.83
3  </s>  8.000  4.000  forbidden    0.000    10.00              0.00

share of context: how far weight · value goes the context's way; the shares of a row add up to 1"""
CELL = """\
cross · layer 1 · head 1 · query 1 'a' ← key 1 'x'
q·k 3.000   ÷√4 1.500   mask allowed   softmax 0.182   |value| 2.00   share of context 0.17

score    Σ of 4 products = 3.000
         largest: d1 +3.000   d2 +0.000   d3 +0.000   d4 +0.000
softmax  exp(1.500 - 3.000) / 1.223 (the sum over the row) = 0.182

share of context: how far weight · value goes the context's way; the shares of a row add up to 1"""


def test_a_head_a_row_and_a_cell_worked_by_hand() -> None:
    """Shares are those of (2 · 0.182)² and 0.818² in their sum; a key of the future has none."""
    steps = by_hand()
    whole = stages_view(steps, {"layer": 1})
    assert (whole.text, whole.line) == (STAGES, "cross · layer 1 · head 1   weights 1 × 3")
    row = row_view(steps, {"layer": 1}, 0)
    assert (row.text, row.line) == (ROW, "cross · layer 1 · head 1 · query 1 'a' ← key 2 'y' 0.818")
    cell = cell_view(steps, {"layer": 1}, 0, 0)
    assert cell.text == CELL
    assert cell.line == CELL.splitlines()[1]
    plain = cell.plain
    assert {name: plain[name] for name in ("layer", "q", "query", "k", "key", "allowed", "products")} == {
        **{"layer": 1, "q": 1, "query": "a", "k": 1, "key": "x", "allowed": True},
        "products": [3.0, 0.0, 0.0, 0.0],
    }
    assert cell.table == [
        ["q·k", "÷√4", "mask", "softmax", "|value|", "share of context"],
        [plain[name] for name in ("score", "scaled", "allowed", "weight", "value_norm", "share")],
    ]


def test_the_largest_products_are_written_and_the_rest_is_one_number() -> None:
    assert products_lines(np.array([0.5, -2.0, 0.25, 1.0, -0.125, 3.0]), 2.625) == [
        "score    Σ of 6 products = 2.625",
        "         largest: d6 +3.000   d2 -2.000   d4 +1.000   d1 +0.500   the other 2 +0.125",
    ]


def test_numbered_tokens_begin_a_new_line_only_where_the_width_ends() -> None:
    """Fourteen columns for the name, then words of ten; the blanks behind the last one need no room."""
    name, eight = " " * 14, "   ".join(f"{n} abcde" for n in range(1, 9))
    assert numbered("keys, --k", ("abcde",) * 8 + ("abcd",)) == f"keys, --k     {eight}   9 abcd"
    assert numbered("keys, --k", ("abcde",) * 9) == f"keys, --k     {eight}\n{name}9 abcde"
    assert numbered("keys, --k", ("x" * 200, "y")) == f"keys, --k\n{name}1 {'x' * 200}\n{name}2 y"
