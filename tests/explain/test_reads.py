"""What a model reads is told by its tokenizers."""

from dataclasses import replace

from tests.explain.conftest import LINES, Workshop
from tests.explain.seeing import seeing

from jumok.config import TextConfig
from jumok.explain.reads import blank_source, reads_context
from jumok.text.tokenizer import Tokenizers, train_tokenizer


def test_a_model_that_has_seen_contexts_reads_them(workshop: Workshop) -> None:
    translator = workshop.translator("rnn")
    assert not reads_context(translator)
    assert not reads_context(seeing("rnn"))
    taught = train_tokenizer(["␞ who rides ␟ a man rides"] * 20 + LINES, TextConfig(vocabulary=330))
    translator.tokenizers = replace(translator.tokenizers, source=taught)
    assert isinstance(translator.tokenizers, Tokenizers)
    assert reads_context(translator)


def test_the_simplest_source_can_be_read(workshop: Workshop) -> None:
    assert blank_source(workshop.translator("rnn")) == "1"
    model = seeing("rnn")
    assert set(model.tokenizers.source.encode(blank_source(model))) == {b"\xff" * 192}
