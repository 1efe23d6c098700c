"""The heat map of a trace, and what a model without attention says instead."""

import pytest
from tests.cli.views.conftest import Traces
from tests.decoding.conftest import COPYING, untrained

from jumok.cli.views.heat import AttentionChoice, find_attention, heat_view, no_attention
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError
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
    assert view.text.splitlines()[2].startswith("copy · layer 1 · one head · pieces · %: the share copied")
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
