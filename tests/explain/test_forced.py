"""Teacher-forced scores are those of `score`, and troubles come with words."""

import numpy as np
import pytest
import torch

from jumok.answers import NotFiniteError
from jumok.config import LuongConfig
from jumok.decoding.translator import Translator
from jumok.edits import Edits
from jumok.errors import ConfigError, LimitError, RunError
from jumok.explain.capture import capture
from jumok.explain.forced import explained, finals, log_probs, tokens_at_once
from jumok.text.tokenizer import EOS

TEXTS = ["a man rides a horse.", "one two three", "the dog"]


def test_every_source_has_the_scores_it_has_alone(translator: Translator) -> None:
    target = [*translator.tokenizers.target.encode("나는 봤다."), EOS]
    sources = translator.tokenizers.source.encode_many(TEXTS)
    together = log_probs(translator, sources, target)
    for text, source, row in zip(TEXTS, sources, together, strict=True):
        np.testing.assert_allclose(row, log_probs(translator, [source], target)[0], atol=1e-5)
        known = [token.logprob for token in translator.score(text, "나는 봤다.").tokens]
        np.testing.assert_allclose(row, known, atol=1e-5)


def test_no_target_has_no_scores(translator: Translator) -> None:
    assert log_probs(translator, [[5], [6]], []).shape == (2, 0)


@pytest.mark.parametrize("arch", ["rnn", "luong"])
def test_where_a_decoder_would_start_without_edits(workshop, arch: str) -> None:  # type: ignore[no-untyped-def]
    one = workshop.translator(arch)
    ids = one.tokenizers.source.encode("a man")
    other = np.full((1, 1, 16), 0.5, np.float32)
    plain, edited = finals(one.model, [ids]), finals(one.edited(Edits(bridge=other)).inside, [ids])
    np.testing.assert_array_equal(edited, plain)
    assert plain.shape == (1, 1, 1, 16)
    np.testing.assert_allclose(plain[0], capture(one.model, [ids], [[300]])[0].states["bridge"], atol=1e-6)


def test_passes_stay_within_the_budget(workshop) -> None:  # type: ignore[no-untyped-def]
    small = workshop.translator(LuongConfig(width=8), batch_tokens=100)
    assert tokens_at_once(small) == 100
    large = workshop.translator(LuongConfig(width=8), batch_tokens=1 << 26)
    V = large.tokenizers.target.size
    assert tokens_at_once(large) == 2**24 // V


def test_troubles_say_what_to_do() -> None:
    with pytest.raises(LimitError, match="no learned row") as limit, explained():
        raise LookupError("position 9 has no learned row")
    assert limit.value.code == "too_long"
    with pytest.raises(RunError, match="not finite") as run, explained():
        raise NotFiniteError(0)
    assert run.value.code == "model_numeric_error"
    with pytest.raises(ConfigError, match="every key") as config, explained():
        raise ValueError("every key of head 0, query 1 is cut")
    assert config.value.code == "bad_parameter"
    with pytest.raises(LimitError, match="as it is"), explained():
        raise LimitError("as it is")


def test_numbers_that_are_not_finite_are_an_error(workshop) -> None:  # type: ignore[no-untyped-def]
    broken = workshop.translator(LuongConfig(width=8))
    with torch.no_grad():
        broken.model.target_embedding.weight.fill_(torch.nan)
    with pytest.raises(RunError, match="not finite"):
        log_probs(broken, [[300]], [EOS])
