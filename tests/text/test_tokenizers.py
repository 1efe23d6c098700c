"""What a model knows of the tokenizers of its two sides, and what its tokens write."""

from pathlib import Path

import pytest

from jumok.config import TextConfig
from jumok.errors import ConfigError, TokenizerFileError
from jumok.images.patches import PatchReader
from jumok.text import tokenizer as module
from jumok.text.frame import Frame
from jumok.text.marks import CONTEXT_MARK
from jumok.text.tokenizer import (
    BOS,
    FIRST,
    FIRST_BYTE,
    NO_WORD,
    PATCHES,
    Tokenizer,
    Tokenizers,
    break_words,
    load_tokenizers,
    train_tokenizer,
)

LINES = ["the lower the lowest 1984", "나는 어제 영화를 봤다."] * 4
TEXT = train_tokenizer(LINES, TextConfig(vocabulary=330))
CHAR = train_tokenizer(LINES, TextConfig(kind="char", vocabulary=300))
PICTURES = Tokenizers(PatchReader(8, 4), CHAR)


@pytest.mark.parametrize("tokenizer", [TEXT, CHAR])
def test_a_text_is_what_its_tokens_write(tokenizer: Tokenizer) -> None:
    tagged = tokenizer.with_tags(["<en>", "<de>"])
    written = tagged.spellings()
    assert len(written) == tagged.size == tokenizer.size + 2
    assert written[:FIRST_BYTE] == [b""] * 4
    assert written[FIRST_BYTE:FIRST] == [bytes([byte]) for byte in range(256)]
    assert written[tokenizer.size :] == [b"", b""]
    for text in (*LINES, "é漢 the"):
        spelled = b"".join(written[i] for i in tagged.encode(text)).decode()
        assert spelled.removeprefix(" ") == text


def test_tags_stand_behind_all_others_and_no_text_has_them() -> None:
    tagged = TEXT.with_tags(["<en>"]).with_tags(["<de>"])
    assert (list(TEXT.tags), list(tagged.tags)) == ([], [TEXT.size, TEXT.size + 1])
    assert [tagged.token_id(name) for name in ("<en>", "<de>", "<fr>")] == [TEXT.size, TEXT.size + 1, None]
    assert tagged.encode("<en> the") == TEXT.encode("<en> the")
    assert tagged.decode([TEXT.size, *TEXT.encode("the"), BOS]) == "the"
    assert tagged.fingerprint != TEXT.fingerprint


def test_what_a_source_is() -> None:
    text = Tokenizers(TEXT, CHAR)
    assert text.source_info == {"source": "text"}
    assert PICTURES.source_info == {"source": "image", "image": {"size": 8, "patch": 4}}
    assert (text.pictures, PICTURES.pictures) == (None, PICTURES.source)
    assert (text.tidy_source(" a  b "), PICTURES.tidy_source(" a  b ")) == ("a b", "a  b")
    assert text.blank_source == "1"
    assert PICTURES.source.encode(PICTURES.blank_source) == (b"\xff" * 48,) * 4
    assert (text.text_source, text.shared, Tokenizers(TEXT, TEXT).shared) == (TEXT, False, True)
    with pytest.raises(
        ConfigError, match="^this needs a model that reads text, and this one reads pictures$"
    ):
        _ = PICTURES.text_source


def test_a_model_answers_questions_if_the_mark_before_a_context_is_a_token() -> None:
    asked = train_tokenizer([f"is it {CONTEXT_MARK} it is"] * 9, TextConfig(vocabulary=330))
    assert Tokenizers(asked, CHAR).reads_context
    assert not Tokenizers(TEXT, asked).reads_context
    assert not Tokenizers(PatchReader(8, 4), asked).reads_context


@pytest.mark.parametrize(
    ("both", "names"),
    [
        (Tokenizers(TEXT, TEXT), ["tokenizer.json"]),
        (Tokenizers(TEXT, CHAR), ["source_tokenizer.json", "target_tokenizer.json"]),
        (PICTURES, [PATCHES, "target_tokenizer.json"]),
        (Tokenizers(TEXT, TEXT, Frame(target=("<s>",))), ["frame.json", "tokenizer.json"]),
    ],
)
def test_a_folder_holds_the_files_of_its_tokenizers(
    tmp_path: Path, both: Tokenizers, names: list[str]
) -> None:
    files = both.files()
    assert sorted(files) == sorted(names)
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    again = load_tokenizers(tmp_path)
    assert (again.fingerprint, again.frame) == (both.fingerprint, both.frame)
    assert again.source_info == both.source_info


def test_a_frame_of_a_token_that_is_not_there_is_refused() -> None:
    framed = Tokenizers(TEXT, TEXT, Frame(target=("<fr>",)))
    with pytest.raises(TokenizerFileError, match="^the frame names '<fr>', which is no token\n  frame.json"):
        _ = framed.opening
    assert Tokenizers(TEXT, TEXT, Frame(target=("<s>", "<unk>"))).opening == (0, 3)


def test_words_of_more_than_256_letters_are_broken() -> None:
    assert NO_WORD == 256
    assert break_words("x" * 256) == "x" * 256
    assert break_words("x" * 257) == "x" * 256 + "\nx"
    assert break_words("a " + "x" * 512 + " b") == "a " + "x" * 256 + "\n" + "x" * 256 + " b"


def test_a_sample_is_told_every_ten_thousand_lines_and_keeps_every_third(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[tuple[str, int, int | None]] = []
    monkeypatch.setattr(module, "SAMPLE", 10)
    lines = [chr(0xAC00 + n) for n in range(20)]  # three bytes each
    kept = module.spread(lines, lambda *report: told.append(report))
    assert kept == [lines[0], lines[9], lines[18]]
    what = "reading text for the vocabulary"
    assert told == [(what, 0, None), (what, 20, 20)]
    module.spread(["a"] * 10_001, lambda *report: told.append(report))
    assert told[2:] == [(what, 0, None), (what, 10_000, None), (what, 10_001, 10_001)]
    assert module.spread(["a" * 99], lambda *_: None) == ["a" * 99]  # one line always stays


def test_learning_tells_where_it_is() -> None:
    told: list[tuple[str, int, int | None]] = []
    train_tokenizer(LINES, TextConfig(vocabulary=330), lambda *report: told.append(report))
    what = "reading text for the vocabulary"
    learned = [("learning tokens", done, 330) for done in (0, 330)]
    assert told == [(what, 0, None), (what, 8, 8), *learned]
