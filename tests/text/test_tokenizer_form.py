"""The file of a tokenizer comes back as it was, and no tag can be written by a text."""

import json

import pytest

from jumok.text.tokenizer_form import TokenizerForm, parse_form

FORM = TokenizerForm((" ", "2", "d", "e", "<", ">", "de"), (("d", "e"),), "bpe")
TAGGED = TokenizerForm(FORM.learned, FORM.merges, "bpe", tags=("<2de>", "<2fr>"))


@pytest.mark.parametrize("form", [FORM, TAGGED], ids=["plain", "tagged"])
def test_a_file_comes_back_as_it_was(form: TokenizerForm) -> None:
    assert parse_form(form.to_bytes()) == form


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
