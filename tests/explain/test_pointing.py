"""Interventions on where a model that copies points: silenced, turned and cut, in a pass and in a search."""

from dataclasses import replace

import numpy as np
import torch
from tests.explain.conftest import COPYING, Workshop
from tests.explain.test_edits import TARGET, TEXT, scores, seen
from tests.explain.test_refusals import refused

from jumok.decoding.translator import Translator
from jumok.explain import ops
from jumok.explain.edits import compile_ops
from jumok.explain.forced import log_probs


def test_pointing_can_be_silenced_turned_and_cut(workshop: Workshop) -> None:
    translator = workshop.translator(COPYING)
    source, target = (translator.tokenizers.source.encode(text) for text in (TEXT, TARGET))
    given: list[torch.Tensor] = []
    hook = translator.model.copying.register_forward_pre_hook(lambda _, inputs: given.append(inputs[1]))
    silent = scores(translator, ops.mask_head("copy", 0, 0))
    hook.remove()
    wanted = given[-1][0].log_softmax(-1)  # of the logits before anything is copied
    np.testing.assert_allclose(silent, wanted[range(len(target)), target], atol=1e-5)
    shares = [step.copied for step in seen(translator, ops.mask_head("copy", "*", "*")).steps]
    assert shares == [0.0] * (len(target) + 1)

    before = seen(translator).weights["copy"][0, 0]
    left = before[1] * (np.arange(len(source) + 1) != 2)
    cut = seen(translator, ops.mask_edge("copy", 0, 0, q=1, k=2)).weights["copy"][0, 0]
    np.testing.assert_allclose(cut[1], left / left.sum(), atol=1e-5)
    turned = seen(translator, ops.set_row("copy", 0, 0, q=1, weights={3: 2})).weights["copy"][0, 0]
    assert turned[1].tolist() == [0, 0, 0, 1, *[0] * (len(source) - 3)]
    np.testing.assert_allclose(turned[0], before[0], atol=1e-6)
    alike = seen(translator, ops.uniform("copy", 0, 0)).weights["copy"]
    np.testing.assert_allclose(alike, 1 / (len(source) + 1), atol=1e-6)


def test_pointing_is_scaled_also_in_a_model_that_divides_nowhere_else(workshop: Workshop) -> None:
    translator = workshop.translator(replace(COPYING, scaled=False))
    stages = [seen(translator, *given).stages["copy", 0] for given in ((), (ops.no_scale("copy"),))]
    np.testing.assert_allclose(stages[0]["scaled"], stages[0]["scores"] / 4, atol=1e-5)
    np.testing.assert_array_equal(stages[1]["scaled"], stages[1]["scores"])


def test_a_search_points_where_it_is_told(workshop: Workshop) -> None:
    translator = workshop.translator(COPYING)
    source = translator.tokenizers.source.encode(TEXT)
    turn = [ops.set_row("copy", 0, 0, q, {(3 * q) % len(source): 1}) for q in range(4)]
    given = [*turn, ops.scale_head("copy", 0, 0, 1000)]
    changed = translator.edited(compile_ops(given, translator, TEXT).edits)
    for beam in (1, 3):
        answer = changed.translate(TEXT, beam=beam)
        ids = [token.id for token in answer.tokens]
        assert beam > 1 or ids[:4] == [source[(3 * q) % len(source)] for q in range(4)]
        forced = log_probs(changed, [source], ids)[0]
        np.testing.assert_allclose([token.logprob for token in answer.tokens], forced, atol=1e-4)


def test_a_model_that_does_not_copy_says_so(transformer: Translator) -> None:
    found = refused(transformer, ops.mask_head("copy", 0, 0))
    assert found.message == "mask_head: this model (transformer) has no copy attention"
    assert found.hint == "it has: enc_self, dec_self, cross"
