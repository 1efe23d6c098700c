"""A sweep is scoring with each head masked alone."""

import numpy as np
import pytest
from tests.explain.conftest import COPYING

from jumok.decoding.translator import Translator
from jumok.errors import ConfigError
from jumok.explain.edits import compile_ops
from jumok.explain.forced import log_probs
from jumok.explain.influence import sweep
from jumok.explain.ops import mask_head, scale_head
from jumok.text.tokenizer import EOS

TEXT, TARGET = "the dog sees a horse.", "나는 봤다."


def score(translator: Translator, source: str, target: str) -> float:
    """log p(y | x), which the rows of a sweep are compared with."""
    return translator.score(source, target).score


@pytest.mark.parametrize("arch", ["luong", "transformer"])
def test_each_row_is_the_score_with_a_head_masked(arch: str, workshop) -> None:  # type: ignore[no-untyped-def]
    translator: Translator = workshop.translator(arch)
    source = translator.tokenizers.source.encode(TEXT)
    target = [*translator.tokenizers.target.encode(TARGET), EOS]
    baseline = float(log_probs(translator, [source], target).sum())
    assert score(translator, TEXT, TARGET) == pytest.approx(baseline, abs=1e-4)
    found = list(sweep(translator, source, target))
    layers = {"luong": [("cross", 0)], "transformer": [("enc_self", 0)]}[arch]
    if arch == "transformer":
        layers += [(kind, layer) for kind in ("dec_self", "cross") for layer in range(2)]
    assert [(row.kind, row.layer) for row in found] == layers
    for row in found:
        for head, delta in enumerate(row.values):
            masked = translator.edited(
                compile_ops([mask_head(row.kind, row.layer, head)], translator, TEXT).edits
            )
            assert delta == pytest.approx(
                float(log_probs(masked, [source], target).sum()) - baseline, abs=1e-4
            )
        assert abs(row.values).max() > 1e-3
        assert row.values.dtype == np.float32


def test_a_model_that_copies_is_also_asked_without_pointing(workshop) -> None:  # type: ignore[no-untyped-def]
    translator: Translator = workshop.translator(COPYING)
    silent = translator.edited(compile_ops([mask_head("copy", 0, 0)], translator, TEXT).edits)
    *others, last = sweep(translator, TEXT, TARGET)
    assert (last.kind, last.layer, "copy" in {row.kind for row in others}) == ("copy", 0, False)
    expected = score(silent, TEXT, TARGET) - score(translator, TEXT, TARGET)
    assert last.values.tolist() == [pytest.approx(expected, abs=1e-4)]
    assert abs(expected) > 1e-2


def test_edits_stay_in_force(transformer: Translator) -> None:
    quiet = transformer.edited(compile_ops([scale_head("cross", 0, 1, 0.5)], transformer, TEXT).edits)
    both = compile_ops([scale_head("cross", 0, 1, 0.5), mask_head("cross", 0, 0)], transformer, TEXT).edits
    row = next(iter(sweep(quiet, TEXT, TARGET, ["cross"])))
    expected = score(transformer.edited(both), TEXT, TARGET) - score(quiet, TEXT, TARGET)
    assert row.values[0] == pytest.approx(expected, abs=1e-4)


def test_kinds_can_be_chosen_and_are_checked(transformer: Translator, rnn: Translator) -> None:
    rows = list(sweep(transformer, TEXT, TARGET, ["dec_self"]))
    assert [row.to_dict()["layer"] for row in rows] == [0, 1]
    assert all(row.kind == "dec_self" and len(row.to_dict()["values"]) == 2 for row in rows)
    with pytest.raises(ConfigError, match=r"this model \(transformer\) has no 'cros' attention") as caught:
        sweep(transformer, TEXT, TARGET, ["cros"])  # type: ignore[list-item]
    assert caught.value.hint == "did you mean 'cross'?"
    with pytest.raises(ConfigError, match=r"this model \(rnn\) has no 'cross' attention"):
        sweep(rnn, TEXT, TARGET, ["cross"])


def test_without_attention_or_target_there_are_no_rows(rnn: Translator, transformer: Translator) -> None:
    assert list(sweep(rnn, TEXT, TARGET)) == []
    assert list(sweep(transformer, TEXT, [])) == []
