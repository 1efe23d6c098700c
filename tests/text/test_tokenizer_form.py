"""The file of a tokenizer comes back as it was, and no tag can be written by a text."""

import json
from typing import Any

import pytest

from jumok.text import tokenizer_form
from jumok.text.specials import SPECIALS
from jumok.text.tokenizer_form import Kind, TokenizerForm, parse_form

FORM = TokenizerForm((" ", "2", "d", "e", "<", ">", "de"), (("d", "e"),), "bpe")
TAGGED = TokenizerForm(FORM.learned, FORM.merges, "bpe", tags=("<2de>", "<2fr>"))


ALL_TAGS = TokenizerForm((), (), "char", tags=("<2de>",))
JAMO = TokenizerForm(FORM.learned, FORM.merges, "bpe", jamo=True)
WORDS = r" ?\\p{L}[\\p{L}\\p{M}]*| ?\\p{N}| ?[^\\s\\p{L}\\p{N}]+|\\s+"


@pytest.mark.parametrize("form", [FORM, TAGGED, ALL_TAGS, JAMO], ids=["plain", "tagged", "all tags", "jamo"])
def test_a_file_comes_back_as_it_was(form: TokenizerForm) -> None:
    assert parse_form(form.to_bytes()) == form


def added(i: int, piece: str) -> str:
    settings = '"single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true'
    return f'{{"id":{i},"content":"{piece}",{settings}}}'


def split(pattern: str) -> str:
    return f'{{"type":"Split","pattern":{{"Regex":"{pattern}"}},"behavior":"Isolated","invert":false}}'


@pytest.mark.parametrize(
    ("kind", "normalizer", "cuts", "strip", "whole"),
    [
        (
            *("bpe", '{"type":"Prepend","prepend":" "}', split(WORDS)),
            *(',{"type":"Strip","content":" ","start":1,"stop":0}', "false"),
        ),
        (
            *("word", '{"type":"Prepend","prepend":" "}', split(r" ?\\S+")),
            *(',{"type":"Strip","content":" ","start":1,"stop":0}', "true"),
        ),
        ("char", "null", "null", "", "false"),
    ],
)
def test_the_file_stays_as_it_was(kind: Kind, normalizer: str, cuts: str, strip: str, whole: str) -> None:
    """Its bytes are the fingerprint of the tokenizer, and the library reads them."""
    form = TokenizerForm((" ", "é"), (), kind, tags=("<2de>", "<2fr>"))
    text = form.to_bytes().decode()
    begin, end = text.index('"vocab":{'), text.index('},"merges"')
    tokens = [*enumerate(SPECIALS), (262, "<2de>"), (263, "<2fr>")]
    assert text[:begin] == (
        '{"version":"1.0","truncation":null,"padding":null,"added_tokens":['
        f"{','.join(added(i, piece) for i, piece in tokens)}],"
        f'"normalizer":{normalizer},"pre_tokenizer":{cuts},"post_processor":null,'
        f'"decoder":{{"type":"Sequence","decoders":[{{"type":"ByteFallback"}},{{"type":"Fuse"}}{strip}]}},'
        '"model":{"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,'
        f'"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":true,"ignore_merges":{whole},'
    )
    assert text[begin:end].endswith('"<0xFF>":259," ":260,"é":261,"<2de>":262,"<2fr>":263')
    assert text[end:] == '},"merges":[]}}'


def test_that_syllables_are_letters_stands_in_the_file_but_not_for_the_library() -> None:
    assert FORM.jamo is False
    assert FORM.to_bytes() == FORM.library_bytes() == JAMO.library_bytes()
    assert JAMO.to_bytes() == FORM.to_bytes()[:-1] + b',"jamo":true}'


def test_a_file_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = FORM.to_bytes()
    assert tokenizer_form.MAX_FILE >> 20 == 32
    monkeypatch.setattr(tokenizer_form, "MAX_FILE", len(data))
    assert parse_form(data) == FORM
    with pytest.raises(ValueError, match="larger than 0 MiB"):
        parse_form(data + b" ")


@pytest.mark.parametrize(
    ("data", "complaint"),
    [(b"[]", "not a JSON object"), (b"{}", "no model"), (b'{"model":3}', "no model")],
)
def test_another_document_is_refused(data: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_form(data)


@pytest.mark.parametrize(
    ("vocabulary", "complaint"),
    [
        ({"de": "x"}, "an id is not a number"),
        ({"de": True}, "an id is not a number"),
        ({"de": 999}, "ids are missing or doubled"),
        ({"de": 265}, "ids are missing or doubled"),
        ({"</s>": 3, "<unk>": 2}, "special and byte tokens are not where they belong"),
        ({"": 267}, "a token is empty"),
        ({"\ud800": 267}, "surrogates not allowed"),
    ],
)
def test_a_vocabulary_that_is_none_is_refused(vocabulary: dict[str, Any], complaint: str) -> None:
    content = json.loads(FORM.to_bytes())
    content["model"]["vocab"] |= vocabulary
    with pytest.raises(ValueError, match=complaint):
        parse_form(json.dumps(content).encode())


@pytest.mark.parametrize(
    ("merge", "complaint"),
    [
        (["d"], "a merge is not a pair"),
        ("de", "a merge is not a pair"),
        ([1, 2], "a merge is not a pair of tokens"),
        (["z", "e"], "no tokens for the merge"),
        (["d", "z"], "no tokens for the merge"),
        (["e", "d"], "no tokens for the merge"),
        (["<", "2de>"], "no tokens for the merge"),
        (["<", "s>"], "no tokens for the merge"),
    ],
)
def test_a_merge_of_what_is_no_token_is_refused(merge: object, complaint: str) -> None:
    learned = (*FORM.learned, "dz", "ze", "2de>", "s>")
    content = json.loads(TokenizerForm(learned, FORM.merges, "bpe", tags=("<2de>",)).to_bytes())
    content["model"]["merges"].append(merge)
    with pytest.raises(ValueError, match=complaint):
        parse_form(json.dumps(content).encode())


def test_the_first_token_may_be_merged() -> None:
    form = TokenizerForm((" ", "d", " d"), ((" ", "d"),), "bpe")
    assert parse_form(form.to_bytes()) == form


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"jamo": False}, "a setting differs"),
        ({"jamo": 1}, "a setting differs"),
        ({"added_tokens": None}, "a setting differs"),
        ({"added_tokens": []}, "a setting differs"),
        ({"added_tokens": [{}] * 12}, "more tokens are added than there are"),
        ({"version": "2.0"}, "a setting differs"),
    ],
)
def test_other_settings_are_refused(changed: dict[str, Any], complaint: str) -> None:
    content = {**json.loads(FORM.to_bytes()), **changed}
    with pytest.raises(ValueError, match=complaint):
        parse_form(json.dumps(content).encode())


def test_tags_are_the_last_tokens_and_special() -> None:
    content = json.loads(TAGGED.to_bytes())
    assert TAGGED.pieces[-2:] == ("<2de>", "<2fr>")
    assert [one["content"] for one in content["added_tokens"] if one["special"]][-2:] == ["<2de>", "<2fr>"]


def test_a_merge_cannot_make_a_tag() -> None:
    hostile = TokenizerForm((*FORM.learned, "<2", "de>"), (("<2", "de>"),), "bpe", tags=("<2de>",))
    with pytest.raises(ValueError, match="no tokens for the merge"):
        parse_form(hostile.to_bytes())


def test_a_tag_that_is_not_last_is_refused() -> None:
    content = json.loads(TAGGED.to_bytes())
    content["added_tokens"][-1]["id"] = 261
    with pytest.raises(ValueError, match="a setting differs"):
        parse_form(json.dumps(content).encode())


@pytest.mark.parametrize(("member", "complaint"), [("vocab", "no vocabulary"), ("merges", "no merges")])
def test_a_file_without_its_tables_is_refused(member: str, complaint: str) -> None:
    content = json.loads(FORM.to_bytes())
    del content["model"][member]
    with pytest.raises(ValueError, match=complaint):
        parse_form(json.dumps(content).encode())
