"""One configuration class, one model class."""

import pytest

from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.models.luong import LuongSeq2Seq
from jumok.models.rnn import RnnSeq2Seq
from jumok.models.transformer import TransformerSeq2Seq

SMALL = TransformerConfig(width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=1)
CASES = [(RnnConfig(width=8), RnnSeq2Seq), (LuongConfig(width=8), LuongSeq2Seq), (SMALL, TransformerSeq2Seq)]


@pytest.mark.parametrize(("config", "kind"), CASES, ids=lambda x: getattr(x, "arch", None))
def test_each_configuration_builds_its_model(config: ModelConfig, kind: type[Seq2Seq]) -> None:
    assert type(build_model(config, 9, 9, shared=True)) is kind


@pytest.mark.parametrize(("config", "kind"), CASES, ids=lambda x: getattr(x, "arch", None))
def test_a_shared_vocabulary_means_one_embedding(config: ModelConfig, kind: type[Seq2Seq]) -> None:
    shared, separate = build_model(config, 9, 9, shared=True), build_model(config, 11, 9, shared=False)
    assert shared.source_embedding is shared.target_embedding
    assert separate.source_embedding.weight.shape == (11, 8)
    assert separate.target_embedding.weight.shape == (9, 8)


def test_vocabularies_of_two_sizes_cannot_be_shared() -> None:
    with pytest.raises(AssertionError):
        build_model(RnnConfig(width=8), 9, 10, shared=True)
