"""Which rows of a vocabulary go along, and how ids count there."""

from dataclasses import replace
from pathlib import Path

import torch
from tests.decoding.conftest import TINY, untrained

from jumok.checkpoint.model import LoadedModel
from jumok.config import TransformerConfig
from jumok.export.kept_rows import KeptRows, kept_rows, same_row, saved_rows, trimmed
from jumok.models.build import build_model
from jumok.text.foreign import ForeignTokenizer
from jumok.text.foreign_form import ForeignForm, TextCut
from jumok.text.tokenizer import BOS, EOS, PAD, UNK, Tokenizers

PIECES = ("\u2581a", "b", "c")


def foreign(**settings: bool) -> LoadedModel:
    """A model with a vocabulary from elsewhere, whose start is its padding and which has no bytes."""
    model = {"type": "BPE", "vocab": {piece: i for i, piece in enumerate(PIECES)}, "merges": []}
    cut = TextCut(
        library=str({"normalizer": None, "pre_tokenizer": None, "model": model})
        .replace("'", '"')
        .replace("None", "null")
    )
    tokenizer = ForeignTokenizer(ForeignForm(PIECES, ("<mask>",), "spaces", (cut,)))
    base = untrained(TINY["transformer"])
    config = replace(base.config.model, logits_bias=True, **settings)
    assert isinstance(config, TransformerConfig)
    torch.manual_seed(1)
    network = build_model(config, tokenizer.size, tokenizer.size, shared=True).eval()
    with torch.no_grad():
        network.logits_bias[[BOS, *range(4, 260)]] = -1e4  # type: ignore[index]
        network.target_embedding.weight[BOS] = network.target_embedding.weight[PAD]  # type: ignore[union-attr,index]
    return replace(
        base,
        model=network,
        tokenizers=Tokenizers(tokenizer, tokenizer),
        config=replace(base.config, model=config),
    )


def test_a_start_that_has_learned_takes_the_place_of_padding_where_no_logit_is_low() -> None:
    loaded = foreign(tied=False)
    table, head = loaded.model.target_embedding.weight, loaded.model.output.weight  # type: ignore[union-attr]
    with torch.no_grad():
        table[BOS] += 1.0  # type: ignore[index,operator]
    assert kept_rows(loaded).ids[0] == BOS
    kept = kept_rows(loaded, at_pad=True)
    assert (kept.ids, kept.start) == ((1, 2, 3, 260, 261, 262, 263), 0)
    model, config = trimmed(loaded, kept)
    assert not config.logits_bias
    assert torch.equal(model.target_embedding.weight[0], table[BOS])  # type: ignore[index]
    assert torch.equal(model.target_embedding.weight[1:], table[list(kept.ids[1:])])  # type: ignore[index]
    assert torch.equal(model.output.weight, head[list(kept.ids)])  # type: ignore[union-attr,index]


def test_a_vocabulary_of_ours_goes_as_it_is(tmp_path: Path) -> None:
    loaded = untrained(TINY["transformer"])
    kept = kept_rows(loaded)
    assert kept == KeptRows(tuple(range(loaded.tokenizers.target.size)), BOS)
    kept.save(tmp_path)
    assert not list(tmp_path.iterdir())
    assert saved_rows(tmp_path, len(kept.ids)) == kept


def test_what_was_never_theirs_stays_behind(tmp_path: Path) -> None:
    kept = kept_rows(foreign())
    assert kept.ids == (1, 2, 3, 260, 261, 262, 263)
    assert kept.start == 0  # its padding, of which <s> is a copy
    assert kept.special == {"bos_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    assert kept.away([260, 263, 7, EOS]) == [3, 6, 2, 1]
    assert kept.back([3, 6, 1]) == [260, 263, EOS]
    kept.save(tmp_path)
    assert saved_rows(tmp_path, 7) == kept


def test_a_start_that_is_no_copy_any_more_goes_along() -> None:
    loaded = foreign()
    with torch.no_grad():
        loaded.model.target_embedding.weight[BOS] += 0.1  # type: ignore[union-attr,index,operator]
    kept = kept_rows(loaded)
    assert (kept.ids[0], kept.start) == (BOS, 0)


def test_the_trimmed_model_has_their_rows_and_no_bias_that_adds_nothing() -> None:
    loaded = foreign()
    model, config = trimmed(loaded, kept_rows(loaded))
    assert not config.logits_bias
    assert model.head.shape[0] == 7
    wanted = loaded.model.state_dict()["target_embedding.weight"][[1, 2, 3, 260, 261, 262, 263]]
    assert torch.equal(model.head, wanted)
    assert same_row(wanted, [1, 2]) is None


def test_ids_of_programs_that_lack_some_of_ours() -> None:
    """Without `<pad>` the end pads; what stayed behind is unknown, or the end where nothing is."""
    bare = KeptRows((EOS, 300, 400), 2)
    assert bare.special == {"bos_token_id": 2, "pad_token_id": 0, "eos_token_id": 0}
    assert bare.theirs == {EOS: 0, 300: 1, 400: 2}
    assert bare.away([400, 301, EOS]) == [2, 0, 0]
    known = KeptRows((UNK, BOS, PAD, EOS), 1)
    assert known.special == {"bos_token_id": 1, "pad_token_id": 2, "eos_token_id": 3}
    assert known.away([301]) == [0]
    assert known.back([3, 0]) == [EOS, UNK]


def test_rows_are_saved_only_where_they_are_others(tmp_path: Path) -> None:
    for n, kept in enumerate((KeptRows((0, 1, 2), 1), KeptRows((0, 2, 1), BOS))):
        (tmp_path / str(n)).mkdir()
        kept.save(tmp_path / str(n))
        assert saved_rows(tmp_path / str(n), 3) == kept
    (tmp_path / "same").mkdir()
    KeptRows((0, 1, 2), BOS).save(tmp_path / "same")
    assert not list((tmp_path / "same").iterdir())
