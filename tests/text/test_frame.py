"""What stands around a sentence is what the frame says, comes back from its file, and is never typed."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.errors import ConfigError, ModelError
from jumok.text.frame import (
    PLAIN,
    SOURCE,
    TARGET,
    TEXT,
    Direction,
    Frame,
    closed,
    listed,
    parse_frame,
    tagged,
)
from jumok.text.tokenizer import BOS, EOS, Tokenizers, load_tokenizers, train_tokenizer

LINES = ["ein Mann <2de> reitet", "a man rides <2en> a horse", "<2fr> un homme"] * 4
DIRECTIONS = (Direction("en", "de"), Direction("en", "fr"), Direction("de", "en"))
NLLB: dict[str, Any] = {"source": (SOURCE, TEXT, "</s>"), "target": (TARGET,)}
MBART: dict[str, Any] = {"source": (TEXT, "</s>", SOURCE), "target": (TARGET,)}
BART: dict[str, Any] = {"source": ("<s>", TEXT, "</s>"), "target": ("<s>",)}


def framed(kind: str = "bpe", **frame: Any) -> Tokenizers:
    plain = train_tokenizer(LINES, TextConfig(kind=kind, vocabulary=420))  # type: ignore[arg-type]
    made = Frame(languages=(("de", "<2de>"), ("en", "<2en>"), ("fr", "<2fr>")), **frame)
    tokenizer = plain.with_tags(made.tags)
    return Tokenizers(tokenizer, tokenizer, made)


@pytest.mark.parametrize(
    ("frame", "source", "target"),
    [
        ({"source": (TARGET, TEXT, "</s>")}, ["<2de>", 7, 8, "</s>"], []),
        (NLLB, ["<2en>", 7, 8, "</s>"], ["<2de>"]),
        (MBART, [7, 8, "</s>", "<2en>"], ["<2de>"]),
        (BART, ["<s>", 7, 8, "</s>"], ["<s>"]),
    ],
    ids=["jumok", "NLLB", "mBART", "BART"],
)
def test_templates_of_other_toolkits(frame: dict[str, Any], source: list[Any], target: list[str]) -> None:
    both = framed(**frame).towards(Direction("en", "de"))
    ids = both.target.token_id
    assert closed(both.framed((7, 8))) == [ids(i) if isinstance(i, str) else i for i in source]
    assert list(both.opening) == [ids(name) for name in target]


@pytest.mark.parametrize(
    ("source", "around"),
    [
        ((TEXT, "</s>"), (0, 0)),
        (("<s>", TEXT, "</s>"), (1, 0)),
        ((TEXT, "</s>", SOURCE), (0, 1)),
        ((TARGET, TEXT), (1, -1)),
        ((TEXT,), (0, -1)),
    ],
)
def test_what_stands_around_a_sentence_is_counted_and_taken_away(
    source: tuple[str, ...], around: tuple[int, int]
) -> None:
    both = framed(source=source).towards(Direction("en", "de"))
    assert both.frame.around == around
    ids = both.framed((7, 8))
    assert both.bare(ids) == (7, 8)
    assert len(closed(ids)) == 2 + sum(around) + 1


def test_which_frames_write_the_end_themselves() -> None:
    sources = [(TEXT, "</s>"), (TARGET, TEXT, "</s>"), (TEXT, "</s>", SOURCE), (TARGET, TEXT)]
    frames = [framed(source=source).frame for source in sources]
    assert [one.closes for one in frames] == [False, False, True, True]
    assert [one.endless for one in frames] == [False, False, False, True]


def test_a_message_names_a_dozen_languages() -> None:
    assert listed("abcdefghijkl") == "a, b, c, d, e, f, g, h, i, j, k, l"
    assert listed("abcdefghijklm") == "a, b, c, d, e, f, g, h, i, j, k, l and 1 more"


def test_the_file_of_a_frame_stays_as_it_was() -> None:
    """Its bytes are part of the fingerprint of a model's tokenizers."""
    assert framed(pairs=DIRECTIONS[:1], source=(TARGET, TEXT, "</s>")).frame.to_bytes().decode() == (
        '{\n "format": "jumok-frame/1",\n "source": [\n  "{target}",\n  "…",\n  "</s>"\n ],\n "target": [],\n'
        ' "languages": {\n  "de": "<2de>",\n  "en": "<2en>",\n  "fr": "<2fr>"\n },\n'
        ' "pairs": [\n  [\n   "en",\n   "de"\n  ]\n ]\n}'
    )


def test_the_plain_frame_changes_nothing() -> None:
    plain = train_tokenizer(LINES, TextConfig(vocabulary=420))
    both = Tokenizers(plain, plain)
    assert both.framed([7, 8]) == (7, 8)
    assert closed([7, 8]) == [7, 8, EOS]
    assert closed([]) == [EOS]
    assert both.opening == ()
    assert set(both.files()) == {"tokenizer.json"}
    assert both.fingerprint == plain.fingerprint


@pytest.mark.parametrize("kind", ["bpe", "char", "word"])
class TestTypedTags:
    @settings(max_examples=40, deadline=None)
    @given(words=st.lists(st.sampled_from(["<2de>", "<2fr>", "a", "Mann", "</s>", "<", "2de>"]), max_size=6))
    def test_what_a_user_types_is_text(self, kind: str, words: list[str]) -> None:
        tokenizer = framed(kind).target
        for text in (" ".join(words), "".join(words)):
            ids = tokenizer.encode(text)
            assert not {*ids} & {*tokenizer.tags, BOS, EOS}
            assert tokenizer.decode(ids) == text

    def test_tags_write_nothing_into_a_text(self, kind: str) -> None:
        tokenizer = framed(kind).target
        tag = tokenizer.token_id("<2de>")
        assert tag == tokenizer.tags[0]
        assert tokenizer.decode([tag, *tokenizer.encode("a man"), tag]) == "a man"

    def test_other_ids_stay_as_they_were(self, kind: str) -> None:
        plain = train_tokenizer(LINES, TextConfig(kind=kind, vocabulary=420))  # type: ignore[arg-type]
        assert [framed(kind).target.encode(line) for line in LINES] == [plain.encode(line) for line in LINES]


def test_a_folder_keeps_its_frame(tmp_path: Path) -> None:
    both = framed(pairs=DIRECTIONS, **NLLB)
    for name, data in both.files().items():
        (tmp_path / name).write_bytes(data)
    again = load_tokenizers(tmp_path)
    assert again.frame == both.frame
    assert again.fingerprint == both.fingerprint
    other = framed(**NLLB)
    assert other.fingerprint != both.fingerprint, "other directions are another model"


class TestChoose:
    frame = tagged(DIRECTIONS)

    def test_jumoks_own_frame(self) -> None:
        assert self.frame.source == ("{target}", TEXT, "</s>")
        assert self.frame.target == ()
        assert self.frame.tags == ("<2de>", "<2en>", "<2fr>")

    def test_one_language_to_go_into_needs_no_tag(self) -> None:
        frame = tagged([Direction("de", "en"), Direction("fr", "en")])
        assert frame.source == PLAIN.source
        assert frame.tags == ()
        assert frame.choose() == Direction("", "en")
        assert tagged([Direction("de", "en")] * 2) == PLAIN

    def test_what_follows_need_not_be_said(self) -> None:
        assert self.frame.choose(target="FR") == Direction("en", "fr")
        assert self.frame.choose(source="de") == Direction("de", "en")

    def test_what_does_not_follow_is_asked_for(self) -> None:
        with pytest.raises(ConfigError, match=r"translates into de, en, fr: say which") as told:
            self.frame.choose()
        assert "--to de" in told.value.hint
        with pytest.raises(ConfigError, match=r"translates into de, fr: say which"):
            self.frame.choose(source="en")

    def test_without_pairs_every_language_goes_into_every_other(self) -> None:
        frame = framed(**NLLB).frame
        assert list(map(str, frame.directions)) == ["de→en", "de→fr", "en→de", "en→fr", "fr→de", "fr→en"]
        assert frame.choose("DE", "en") == Direction("de", "en")
        with pytest.raises(ConfigError, match="does not translate from de into de"):
            frame.choose("de", "de")
        with pytest.raises(ConfigError, match=r"translates from de, fr: say which") as told:
            frame.choose(target="en")
        assert told.value.hint == '--from de, or from_language="de" in Python and over HTTP'
        two = Frame(languages=(("de", "d"), ("en", "e")), **NLLB)
        assert two.choose(target="en") == two.choose(source="de") == Direction("de", "en")

    def test_two_languages_to_go_into_are_told_by_a_tag(self) -> None:
        assert tagged([Direction("de", "en"), Direction("en", "de")]).source == (TARGET, TEXT, "</s>")

    def test_a_language_that_it_does_not_have(self) -> None:
        with pytest.raises(ConfigError, match=r"to='ko': this model has no such language on its target side"):
            self.frame.choose(target="ko")
        with pytest.raises(ConfigError, match=r"from_language='fr': .* on its source side"):
            self.frame.choose(source="fr", target="en")

    def test_a_pair_that_it_does_not_translate(self) -> None:
        with pytest.raises(ConfigError, match="does not translate from de into fr") as told:
            self.frame.choose("de", "fr")
        assert "en→de, en→fr, de→en" in told.value.hint


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"format": "other"}, "another format"),
        ({"source": ["</s>"]}, 'source has "…" 0 times, not once'),
        ({"source": ["…", "</s>", "</s>"]}, "source has </s> 2 times, not once"),
        ({"source": ["</s>", "…"]}, "stands before the sentence"),
        ({"target": ["</s>"]}, "target has"),
        ({"languages": {}}, "knows none"),
        ({"languages": {"en": 3}}, "a setting differs"),
        ({"pairs": [["xx", "en"]]}, "unknown language"),
        ({"more": 1}, "a setting differs"),
    ],
)
def test_a_damaged_file_is_refused(changed: dict[str, Any], fault: str) -> None:
    content = {**json.loads(framed(**NLLB).frame.to_bytes()), **changed}
    with pytest.raises(ModelError, match=fault):
        parse_frame(json.dumps(content).encode(), "frame.json")


def test_a_frame_that_names_no_token_is_refused() -> None:
    both = Tokenizers(*(train_tokenizer(LINES, TextConfig(vocabulary=420)),) * 2, tagged(DIRECTIONS))
    with pytest.raises(ModelError, match="the frame names '<2de>', which is no token"):
        both.towards(Direction("en", "de")).framed([5])
