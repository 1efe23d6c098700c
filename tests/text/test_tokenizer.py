"""Any text survives the tokenizer, and no file can harm it."""

import hashlib
import json
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.errors import DataError, TokenizerFileError
from jumok.images.patches import PatchReader
from jumok.text import tokenizer as module
from jumok.text.frame import Frame
from jumok.text.normalize import tidy
from jumok.text.tokenizer import (
    BOS,
    EOS,
    FIRST,
    NO_WORD,
    PAD,
    UNK,
    Tokenizer,
    Tokenizers,
    break_words,
    load_tokenizers,
    parse_tokenizer,
    train_tokenizer,
)
from jumok.text.tokenizer_form import MAX_FILE

LINES = [
    "the lower the lowest, 1984 and 2026!",
    "나는 어제 영화를 봤다. 나는 오늘 책을 읽었다.",
    "ein Mann reitet auf einem Pferd <s> </s> <0xEA>",
] * 4


def trained(kind: str = "bpe", vocabulary: int = 420, *, jamo: bool = False) -> Tokenizer:
    return train_tokenizer(LINES, TextConfig(kind=kind, vocabulary=vocabulary, jamo=jamo))  # type: ignore[arg-type]


BPE, CHAR, WORD = trained("bpe"), trained("char"), trained("word")
BPE_JAMO, CHAR_JAMO, WORD_JAMO = (trained(kind, jamo=True) for kind in ("bpe", "char", "word"))
EACH = {
    "bpe": BPE,
    "char": CHAR,
    "word": WORD,
    "bpe jamo": BPE_JAMO,
    "char jamo": CHAR_JAMO,
    "word jamo": WORD_JAMO,
}


def read(tokenizer: Tokenizer, text: str) -> str:
    """What is left of a text that was encoded and decoded."""
    return tidy(text) if tokenizer.kind == "word" else unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("tokenizer", EACH.values(), ids=EACH)
class TestRoundTrip:
    @settings(max_examples=150, deadline=None)
    @given(text=st.text())
    @example(text="")
    @example(text=" ")
    @example(text="  two  spaces  ")
    @example(text="▁the▁ lower")
    @example(text="</s> <s><pad><unk> <0xEA><0x41>")
    @example(text="\x00\x01\r\n\t\x7f\x85\u2028")
    @example(text="\u0301the")
    @example(text="\u1112\u1161\u11ab\u11ab")
    @example(text="\U0001f468\u200d\U0001f469\U0010ffff\ufffe")
    def test_decode_undoes_encode(self, tokenizer: Tokenizer, text: str) -> None:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == read(tokenizer, text)
        assert all(UNK < i < tokenizer.size for i in ids)
        assert tokenizer.decode_many([ids, []]) == [tokenizer.decode(ids), ""]

    @settings(max_examples=50, deadline=None)
    @given(texts=st.lists(st.text(), max_size=6))
    def test_many_at_once_equal_one_by_one(self, tokenizer: Tokenizer, texts: list[str]) -> None:
        assert tokenizer.encode_many(texts) == [tokenizer.encode(text) for text in texts]

    @settings(max_examples=50, deadline=None)
    @given(ids=st.lists(st.integers(0, 600)))
    def test_any_ids_decode_to_text(self, tokenizer: Tokenizer, ids: list[int]) -> None:
        text = tokenizer.decode(ids)
        assert text.encode("utf-8").decode("utf-8") == text

    def test_special_ids_are_dropped_from_text(self, tokenizer: Tokenizer) -> None:
        assert tokenizer.decode([BOS, *tokenizer.encode("the lower"), EOS, PAD, PAD]) == "the lower"

    def test_a_file_gives_the_same_tokenizer(self, tokenizer: Tokenizer) -> None:
        again = parse_tokenizer(tokenizer.to_bytes(), "tokenizer.json")
        assert again.to_bytes() == tokenizer.to_bytes()
        assert (again.kind, again.jamo) == (tokenizer.kind, tokenizer.jamo)
        assert again.fingerprint == hashlib.sha256(tokenizer.to_bytes()).hexdigest()
        assert again.encode("</s> lower") == tokenizer.encode("</s> lower")
        assert EOS not in again.encode("</s>")

    def test_spaces_of_a_file_do_not_matter(self, tokenizer: Tokenizer) -> None:
        pretty = json.dumps(json.loads(tokenizer.to_bytes()), indent=2).encode()
        assert parse_tokenizer(pretty, "pretty").fingerprint == tokenizer.fingerprint

    @pytest.mark.parametrize("pattern", ["a", " ", "한", "\U0001f600", "a ", "!", "1", "\u0301", "<s>", "\n"])
    def test_time_grows_with_length_not_faster(self, tokenizer: Tokenizer, pattern: str) -> None:
        def seconds(length: int) -> float:
            text = (pattern * length)[:length]
            began = time.process_time()
            assert tokenizer.decode(tokenizer.encode(text)) == read(tokenizer, text)
            return time.process_time() - began

        assert seconds(80_000) < 20 * max(seconds(10_000), 0.01)  # 64 times, were it quadratic


@pytest.mark.parametrize("tokenizer", [CHAR, CHAR_JAMO], ids=["char", "char jamo"])
def test_a_spelled_text_is_what_the_tokens_are_made_of(tokenizer: Tokenizer) -> None:
    for line in LINES:
        assert "".join(tokenizer.pieces(tokenizer.encode(line))) == tokenizer.spell(line)


def test_ids_are_specials_bytes_alphabet_and_merges_in_order() -> None:
    pieces = BPE.pieces(range(BPE.size))
    assert pieces[:6] == ["<s>", "<pad>", "</s>", "<unk>", "<0x00>", "<0x01>"]
    assert pieces[259] == "<0xFF>"
    learned = pieces[FIRST:]
    letters = [piece for piece in learned if len(piece) == 1]
    assert letters == sorted(letters) == learned[: len(letters)]
    assert " lower" not in letters
    assert " the" in learned


def test_pieces_show_bytes_of_unseen_characters() -> None:
    assert BPE.pieces(BPE.encode("the é")) == [" the", " ", "<0xC3>", "<0xA9>"]
    assert CHAR.pieces(CHAR.encode("the")) == ["t", "h", "e"]


def test_digits_stand_alone_and_words_keep_their_space() -> None:
    assert BPE.pieces(BPE.encode("the 1984")) == [" the", " 1", "9", "8", "4"]


def test_characters_beyond_the_vocabulary_fall_back_to_bytes() -> None:
    many = ["".join(chr(0xAC00 + i) for i in range(100)), "가각갂" * 5]
    small = train_tokenizer(many, TextConfig(kind="char", vocabulary=300))
    assert small.size == 300
    assert len(small.encode("가각갂")) == 3
    assert len(small.encode(chr(0xAC00 + 99))) == 3  # its bytes


def test_many_scripts_leave_room_for_merges() -> None:
    scripts = ["".join(chr(0x4E00 + i) for i in range(1000))] * 2 + ["hello world"] * 50
    tokenizer = train_tokenizer(scripts, TextConfig(vocabulary=400))
    assert sum(len(piece) == 1 for piece in tokenizer.pieces(range(FIRST, tokenizer.size))) <= 70
    assert tokenizer.pieces(tokenizer.encode("hello world")) == [" hello", " world"]


def test_rare_characters_do_not_join_their_neighbours() -> None:
    tokenizer = train_tokenizer([f"x{chr(0x4E00 + i)}y" for i in range(50)], TextConfig(vocabulary=400))
    assert "xy" not in tokenizer.pieces(range(tokenizer.size))


@given(st.text(st.sampled_from("ab1! 한"), max_size=700))
def test_no_word_to_learn_from_is_endless(line: str) -> None:
    broken = break_words(line)
    assert broken.replace("\n", "") == line
    assert max(map(len, broken.split()), default=0) <= NO_WORD
    if max(map(len, line.split()), default=0) <= NO_WORD:
        assert broken == line


def test_pieces_are_learned_beside_an_endless_word() -> None:
    learned = train_tokenizer([*["hello world"] * 3, "xyz" * 100_000], TextConfig(vocabulary=300))
    assert {" hello", "xyzxyz"} <= set(learned.pieces(range(learned.size)))


def test_vocabulary_is_a_limit_not_a_promise() -> None:
    assert trained(vocabulary=300).size == 300
    assert train_tokenizer(["ab ab"], TextConfig(vocabulary=8000)).size < 270
    assert train_tokenizer([], TextConfig()).decode(train_tokenizer([], TextConfig()).encode("한")) == "한"


def test_the_sample_of_a_long_text_is_spread_over_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE", 2_000)
    lines = [f"{'source' if n % 2 == 0 else 'target'} {n}" for n in range(3_000)]
    sample = module.spread(lines, lambda *_: None)
    assert sum(map(len, sample)) <= 2_000
    numbers = [int(line.split()[1]) for line in sample]
    assert numbers[0] < 100
    assert numbers[-1] > 2_800
    assert {n % 2 for n in numbers} == {0, 1}


def test_training_reports_progress() -> None:
    seen: list[tuple[str, int, int | None]] = []
    train_tokenizer(LINES, TextConfig(vocabulary=300), lambda *report: seen.append(report))
    assert seen[0] == ("reading text for the vocabulary", 0, None)
    assert ("reading text for the vocabulary", len(LINES), len(LINES)) in seen
    assert seen[-1] == ("learning tokens", 300, 300)


def test_training_gives_the_same_bytes_in_every_process() -> None:
    code = """
import random
from jumok.config import TextConfig
from jumok.text.tokenizer import train_tokenizer
chance = random.Random(7)
words = ["".join(chance.choices("abcdeghi한국어말", k=chance.randint(1, 7))) for _ in range(900)]
lines = [" ".join(chance.choices(words, k=9)) for _ in range(400)]
print(train_tokenizer(lines, TextConfig(vocabulary=700)).fingerprint)
"""
    command = [sys.executable, "-c", code]
    answers = {subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(3)}
    assert len(answers) == 1
    assert len(answers.pop().strip()) == 64


@pytest.mark.parametrize("method", [BPE.encode, lambda text: BPE.encode_many(["fine", text])])
def test_a_lone_surrogate_is_refused(method: Callable[[str], object]) -> None:
    with pytest.raises(DataError, match=r"lone surrogate U\+DFFF at character 2"):
        method("a\udfff")


def changed(**changes: Any) -> bytes:
    return json.dumps(json.loads(BPE.to_bytes()) | changes).encode()


def changed_model(**changes: Any) -> bytes:
    return changed(model=json.loads(BPE.to_bytes())["model"] | changes)


VOCABULARY = json.loads(BPE.to_bytes())["model"]["vocab"]
HOSTILE = {
    "empty": (b"", "Expecting value"),
    "cut short": (BPE.to_bytes()[:1000], "Unterminated string|Expecting"),
    "not UTF-8": (b"\xff" + BPE.to_bytes(), "codec can't decode"),
    "too deep": (b"[" * 200_000, "recursion|too deeply|Expecting|nested"),
    "a list": (b"[]", "not a JSON object"),
    "no model": (b"{}", "no model"),
    "another model": (changed_model(type="Unigram"), "a setting differs"),
    "no vocabulary": (changed_model(vocab=[]), "no vocabulary"),
    "id a string": (changed_model(vocab=VOCABULARY | {" ": "4"}), "an id is not a number"),
    "id twice": (changed_model(vocab=VOCABULARY | {"new": 5}), "ids are missing or doubled"),
    "id too high": (changed_model(vocab=VOCABULARY | {"new": 1 << 40}), "ids are missing or doubled"),
    "specials swapped": (changed_model(vocab=VOCABULARY | {"<s>": 2, "</s>": 0}), "not where they belong"),
    "empty piece": (changed_model(vocab=VOCABULARY | {"": len(VOCABULARY)}), "a token is empty"),
    "surrogate": (changed_model(vocab=VOCABULARY | {"\ud800": len(VOCABULARY)}), "surrogates not allowed"),
    "no merges": (changed_model(merges={}), "no merges"),
    "odd merge": (changed_model(merges=[["t"]]), "a merge is not a pair"),
    "number in a merge": (changed_model(merges=[["t", 1]]), "a merge is not a pair of tokens"),
    "merge of nothing": (changed_model(merges=[["t", "♞"]]), "no tokens for the merge"),
    "merge of a special": (changed_model(merges=[["<s>", "t"]]), "no tokens for the merge"),
    "slow pattern": (
        changed(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"}),
        "a setting differs",
    ),
    "extra special": (changed(added_tokens=[]), "a setting differs"),
    "post-processor": (changed(post_processor={"type": "ByteLevel"}), "a setting differs"),
    "too large": (b" " * (MAX_FILE + 1), "larger than 32 MiB"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name: str) -> None:
    data, reason = HOSTILE[name]
    with pytest.raises(TokenizerFileError, match=f"not a tokenizer of jumok: .*({reason})") as caught:
        parse_tokenizer(data, "models/tokenizer.json")
    assert caught.value.where == "models/tokenizer.json"
    assert "copy the model folder again" in caught.value.hint


@settings(max_examples=60, deadline=None)
@given(place=st.integers(0, len(BPE.to_bytes()) - 1), bit=st.integers(0, 7))
def test_a_flipped_bit_is_refused_or_makes_another_fingerprint(place: int, bit: int) -> None:
    data = bytearray(BPE.to_bytes())
    data[place] ^= 1 << bit
    try:
        tokenizer = parse_tokenizer(bytes(data), "flipped")
    except TokenizerFileError:
        return
    assert tokenizer.fingerprint != BPE.fingerprint


class Panic(BaseException):
    """Like the library's own faults, no Exception."""


@pytest.mark.parametrize(
    ("fault", "expected"), [(Panic, TokenizerFileError), (KeyboardInterrupt, KeyboardInterrupt)]
)
def test_library_faults_become_our_error(
    fault: type[BaseException], expected: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise fault("inside")

    data = BPE.to_bytes()
    monkeypatch.setattr(module.tokenizers.Tokenizer, "from_str", fail, raising=True)
    with pytest.raises(expected, match="inside"):
        parse_tokenizer(data, "tokenizer.json")


def test_shared_and_separate_files(tmp_path: Path) -> None:
    for both in (Tokenizers(BPE, BPE), Tokenizers(BPE, CHAR)):
        folder = tmp_path / str(both.shared)
        folder.mkdir()
        for name, data in both.files().items():
            (folder / name).write_bytes(data)
        loaded = load_tokenizers(folder)
        assert loaded.fingerprint == both.fingerprint
        assert loaded.shared == both.shared
    assert list(Tokenizers(BPE, BPE).files()) == ["tokenizer.json"]
    assert list(Tokenizers(BPE, CHAR).files()) == ["source_tokenizer.json", "target_tokenizer.json"]
    assert Tokenizers(BPE, CHAR).fingerprint != Tokenizers(CHAR, BPE).fingerprint


def test_a_folder_without_tokenizer_says_what_belongs_there(tmp_path: Path) -> None:
    with pytest.raises(TokenizerFileError, match="the folder has no tokenizer") as caught:
        load_tokenizers(tmp_path)
    assert "source_tokenizer.json" in caught.value.where
    assert "tokenizer.json, or source_tokenizer.json and target_tokenizer.json" in caught.value.hint


def test_a_folder_in_the_place_of_a_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").mkdir()
    with pytest.raises(TokenizerFileError, match="cannot read the tokenizer: Is a directory"):
        load_tokenizers(tmp_path)


def test_parts_that_no_piece_crosses() -> None:
    assert BPE.split("the-lower 12x") == [" the", "-", "lower", " 1", "2", "x"]
    assert CHAR.split("the lower") == ["the lower"]
    assert WORD.split("the-lower 12x") == [" the-lower", " 12x"]


def test_a_word_is_one_piece_and_an_unknown_one_is_bytes() -> None:
    assert WORD.pieces(WORD.encode("the  lowest, </s> the.")) == [
        *(" the", " lowest,", " </s>"),
        *(" ", "<0x74>", "<0x68>", "<0x65>", "<0x2E>"),
    ]
    assert EOS not in WORD.encode("</s>")
    assert WORD.pieces(WORD.encode("the")) == [" the"]  # in front of a text as in the middle of it
    assert WORD.merges == ()


def test_the_vocabulary_bounds_the_words() -> None:
    lines = [f"common w{i}" for i in range(100)]
    small = train_tokenizer(lines, TextConfig(kind="word", vocabulary=300))
    assert small.size == 300
    assert small.pieces(small.encode("common")) == [" common"]


def test_pieces_of_korean_letters() -> None:
    assert CHAR_JAMO.pieces(CHAR_JAMO.encode("나는")) == ["\u1102", "\u1161", "\u1102", "\u1173", "\u11ab"]
    assert BPE_JAMO.decode(CHAR_JAMO.encode("x")[:0]) == ""
    assert CHAR_JAMO.decode(CHAR_JAMO.encode("봤다")) == "봤다"
    new = "늗"  # a syllable that was never seen, of letters that were
    assert len(CHAR.encode(new)) == 3  # bytes
    assert CHAR_JAMO.pieces(CHAR_JAMO.encode("는"))[:2] == CHAR_JAMO.pieces(CHAR_JAMO.encode(new))[:2]


def test_letters_are_noted_in_the_file_and_old_files_have_no_note() -> None:
    assert json.loads(BPE_JAMO.to_bytes())["jamo"] is True
    assert "jamo" not in json.loads(BPE.to_bytes())
    assert BPE_JAMO.fingerprint != BPE.fingerprint
    for value in (False, 1, "yes", None):
        with pytest.raises(TokenizerFileError, match="a setting differs"):
            parse_tokenizer(changed(jamo=value), "tokenizer.json")


def test_the_files_of_earlier_versions_are_the_same_to_the_byte() -> None:
    one = train_tokenizer(["ab ab", "ab c"], TextConfig(vocabulary=300))
    other = train_tokenizer(["ab ab", "ab c"], TextConfig(kind="char", vocabulary=300))
    assert (one.fingerprint[:16], other.fingerprint[:16]) == ("9eac7f1301380921", "6c0a1cb4dfe658d0")


def test_a_frame_has_a_fingerprint_of_its_own_and_none_has_that_of_the_tokenizer() -> None:
    assert Tokenizers(BPE, BPE).fingerprint == BPE.fingerprint
    assert Tokenizers(BPE, CHAR).fingerprint not in (BPE.fingerprint, CHAR.fingerprint)
    framed = [Tokenizers(BPE, BPE, Frame(target=(sign,))).fingerprint for sign in ("<s>", "<unk>")]
    assert len({BPE.fingerprint, *framed}) == 3


def test_marks_must_be_tokens_of_both_sides() -> None:
    marked = train_tokenizer(LINES, TextConfig(vocabulary=420, marks=True))
    sides = [(a, b) for a in (BPE, marked) for b in (BPE, marked)]
    assert [Tokenizers(*both).have_marks for both in sides] == [False, False, False, True]
    assert not Tokenizers(PatchReader(8, 4), marked).have_marks
