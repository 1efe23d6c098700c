import sys
from pathlib import Path

import pytest
from tests.importing.families import sentences, train_pieces

from jumok.errors import ConfigError
from jumok.text.cutters import LibraryCutter, SentencePieceCutter
from jumok.text.foreign_form import checked_library
from jumok.text.specials import UNK


@pytest.fixture(scope="module", params=["unigram", "bpe", "bytes"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    kind = "unigram" if request.param == "bytes" else request.param
    file = tmp_path_factory.mktemp("pieces") / "a.model"
    return train_pieces(file, kind=kind, byte_fallback=request.param == "bytes").read_bytes()


def test_texts_are_cut_as_sentencepiece_cuts_them(model: bytes) -> None:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    ids = {processor.id_to_piece(i): 1000 + i for i in range(3, len(processor))}
    cutter = SentencePieceCutter(model, ids)
    texts = sentences(40)
    assert cutter.cut(texts) == [
        [ids.get(piece, UNK) for piece in processor.encode(one, out_type=str)] for one in texts
    ]
    assert cutter.pieces[3:] == list(ids)
    assert cutter.controls == {"<s>", "</s>"}
    assert cutter.unknown == "<unk>"


def test_spans_cover_the_text_in_order(model: bytes) -> None:
    cutter = SentencePieceCutter(model, {})
    for text in sentences(40):
        text = " ".join(text.split())
        spans = cutter.spans(text)
        assert len(spans) == len(cutter.cut([text])[0])
        assert all(0 <= begin < end <= len(text) for begin, end in spans)
        assert [begin for begin, _ in spans] == sorted(begin for begin, _ in spans)
        assert {at for begin, end in spans for at in range(begin, end)} == set(range(len(text)))


def test_the_library_cuts_by_its_parts() -> None:
    vocabulary = {"<unk>": 0, "▁": 1, "a": 2, "▁a": 3, "b": 4}
    steps = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    parts = {
        "normalizer": None,
        "pre_tokenizer": steps,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": [["▁", "a"]], "unk_token": "<unk>"},
    }
    cutter = LibraryCutter(checked_library(parts), {"▁a": 300, "b": 301})
    assert cutter.cut(["a b", "c"]) == [[300, UNK, 301], [UNK, UNK]]
    assert cutter.spans("ab") == [(0, 1), (1, 2)]


def test_without_sentencepiece_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ConfigError, match=r"which is not installed\n  pip install 'jumok\[import\]'"):
        SentencePieceCutter(b"", {})


def test_a_file_of_a_model_without_sentencepiece_says_so_too(
    tmp_path: Path, model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jumok.text.foreign_form import ForeignForm, TextCut
    from jumok.text.tokenizer import parse_tokenizer

    data = ForeignForm(("a",), (), "spaces", (TextCut(sentencepiece=model),)).to_bytes()
    assert parse_tokenizer(data, "tokenizer.json").size == 261
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ConfigError, match="cuts its texts with SentencePiece, which is not installed"):
        parse_tokenizer(data, "tokenizer.json")
