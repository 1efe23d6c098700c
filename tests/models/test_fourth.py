"""A fourth model, made by the recipe in CONTRIBUTING: the laws hold for it, and nothing else need know it."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.models.conftest import Bench
from tests.models.fourth import CnnSeq2Seq
from tests.models.fourth_config import CnnConfig

# The laws, with the fixtures of this file
from tests.models.test_interface import (  # noqa: F401
    test_a_state_is_a_value_that_can_be_stepped_again,
    test_another_back_end_has_the_very_same_weights,
    test_batch_mates_never_change_the_logits,
    test_changing_a_token_changes_no_logit_before_it,
    test_changing_a_token_changes_the_logits_from_it_on,
    test_dropout_acts_in_training_and_never_in_eval_mode,
    test_every_parameter_receives_a_finite_non_zero_gradient,
    test_explain_gives_one_cross_attention_map_per_layer,
    test_fillers_in_a_fixed_room_change_no_logit,
    test_forward_is_decode_after_encode,
    test_recording_changes_no_logit,
    test_selecting_rows_before_or_after_a_step_is_the_same,
    test_selecting_sentences_of_the_memory_equals_encoding_those,
    test_step_by_step_equals_all_at_once,
    test_two_explanations_never_see_each_other,
)

SMALL: dict[str, Any] = {"width": 8, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
some_configs = st.builds(
    CnnConfig,
    encoder_layers=st.integers(1, 3),
    decoder_layers=st.integers(1, 3),
    width=st.sampled_from([2, 8]),
    window=st.integers(1, 4),
    tied=st.booleans(),
)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(any_config=some_configs, build=CnnSeq2Seq)  # type: ignore[arg-type]


@pytest.fixture
def config() -> Iterator[CnnConfig]:
    return CnnConfig(**SMALL)
