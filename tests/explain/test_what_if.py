"""A what-if: two answers, how they differ, and what the edited model thinks of the first."""

import json
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.decoding.translator import Translator
from jumok.errors import ConfigError
from jumok.explain.forced import log_probs
from jumok.explain.ops import ban, bridge, force_prefix, mask_head, ops_to_json, replace_source
from jumok.explain.trace import make_trace
from jumok.explain.what_if import changes, shared, what_if

TEXT = "the dog sees a horse."
tokens = st.lists(st.integers(0, 3), max_size=9)


def test_without_interventions_nothing_changes(translator: Translator) -> None:
    found = what_if(translator, TEXT, [])
    assert found.edited == found.baseline == translator.translate(TEXT)
    assert found.first_divergence is None
    assert [change.op for change in found.diff] == ["equal"]
    assert found.baseline_logprob_under_edit == pytest.approx(found.baseline.score, abs=1e-4)
    assert found.edited_trace.id == found.baseline_trace.id


def test_a_banned_word_parts_the_answers(translator: Translator) -> None:
    first = translator.translate(TEXT, beam=1).text[0]
    found = what_if(translator, TEXT, [ban(first)], beam=1)
    assert first not in found.edited.text
    assert found.first_divergence is not None
    assert found.first_divergence < 4  # the first character, which has up to four bytes
    # The model itself is as it was, so it thinks of its own answer as before.
    assert found.baseline_logprob_under_edit == pytest.approx(found.baseline.score, abs=1e-4)
    assert found.baseline_trace.id != found.edited_trace.id


@pytest.mark.parametrize(
    ("arch", "op"),
    [
        ("rnn", bridge("zero")),
        ("luong", mask_head("cross", 0, 0)),
        ("transformer", mask_head("cross", "*", "*")),
    ],
)
def test_the_edited_model_scores_the_baseline(arch: str, op, workshop) -> None:  # type: ignore[no-untyped-def]
    translator: Translator = workshop.translator(arch)
    found = what_if(translator, TEXT, [op], beam=1)
    steps = make_trace(translator, TEXT, ops=[op], translation=found.baseline).manifest["steps"]
    assert found.baseline_logprob_under_edit == pytest.approx(fsum(s["logprob"] for s in steps), abs=1e-4)
    assert found.baseline_logprob_under_edit < found.baseline.score
    assert found.edited_trace.manifest["interventions"] == ops_to_json([op])
    assert found.edited_trace.manifest["target"]["text"] == found.edited.text


def test_the_edited_source_is_what_is_read(transformer: Translator) -> None:
    found = what_if(transformer, TEXT, [replace_source(1, "man"), force_prefix("a")])
    assert found.edited == transformer.translate("the man sees a horse.", prefix="a")
    source = transformer.tokenizers.source.encode("the man sees a horse.")
    score = float(log_probs(transformer, [source], [token.id for token in found.baseline.tokens]).sum())
    assert found.baseline_logprob_under_edit == pytest.approx(score, abs=1e-4)
    assert found.edited_trace.manifest["source"]["text"] == "the man sees a horse."


def test_the_json_form(luong: Translator) -> None:
    found = what_if(luong, TEXT, [mask_head("cross", "*", "*")])
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert list(plain) == ["baseline", "edited", "diff", "first_divergence", "baseline_logprob_under_edit"]
    assert list(plain["baseline"]) == ["id", "text", "score", "tokens"]
    assert plain["baseline"]["id"] == found.baseline_trace.id
    assert plain["edited"]["tokens"] == [
        {"text": t.text, "id": t.id, "logprob": t.logprob} for t in found.edited.tokens
    ]
    assert repr(found) == f"WhatIf({found.baseline.text!r} -> {found.edited.text!r})"


def test_bad_interventions_are_refused_before_any_work(rnn: Translator) -> None:
    with pytest.raises(ConfigError, match=r"this model \(rnn\) has no cross attention"):
        what_if(rnn, TEXT, [mask_head("cross", 0, 0)])


def test_a_long_text_is_cut_on_both_sides(workshop) -> None:  # type: ignore[no-untyped-def]
    short = workshop.translator("transformer", max_length=5)
    found = what_if(short, "one two three four " * 4, [mask_head("cross", 0, 0)])
    assert found.baseline == short.translate("one two three four " * 4, long="cut", sentences="as-is")


def test_the_diff_of_the_design() -> None:
    found = [change.to_dict() for change in changes([5, 6, 7, 8, 9], [5, 6, 9])]
    assert found == [
        {"op": "equal", "a": [0, 2], "b": [0, 2]},
        {"op": "delete", "a": [2, 4], "b": [2, 2]},
        {"op": "equal", "a": [4, 5], "b": [2, 3]},
    ]


@given(tokens, tokens)
def test_changes_lead_from_one_to_the_other(a: list[int], b: list[int]) -> None:
    found = changes(a, b)
    assert [i for change in found for i in range(*change.a)] == list(range(len(a)))
    assert [i for change in found for i in range(*change.b)] == list(range(len(b)))
    for change in found:
        left, right = a[slice(*change.a)], b[slice(*change.b)]
        assert (left == right) == (change.op == "equal")
        assert change.op != "delete" or not right
        assert change.op != "insert" or not left
    first = next((change.a[0] for change in found if change.op != "equal"), None)
    assert first == (None if a == b else shared(a, b))
