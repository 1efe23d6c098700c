"""A text in parts: sentences for a model of sentences, whole texts for the others, and what is too long."""

import copy
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import DataConfig, DecodingConfig, TextConfig
from jumok.data.questions import join_question
from jumok.decoding.jobs import Request, make_request, read_sources
from jumok.decoding.parts import (
    NO_TRANSLATION,
    SentenceHabit,
    begins_with_word,
    cut_spans,
    kept_phrases,
    make_jobs,
    protection_of,
    sentence_habit,
    sentence_terms,
    texts_read,
    with_terms,
    within,
)
from jumok.decoding.results import Hypothesis, TermUse, Translation
from jumok.errors import LimitError
from jumok.text.frame import Direction
from jumok.text.layouts import Protection, TextMasker
from jumok.text.masks import Masked
from jumok.text.normalize import tidy
from jumok.text.sentences import TextLayout
from jumok.text.tokenizer import Tokenizers, train_tokenizer

LETTERS = train_tokenizer(
    ["a b c d e f g h i j k l m n o p q r s t u v w x y z { } ( ) . 개 ⓵"] * 2,
    TextConfig(kind="char", vocabulary=400, marks=True),
)
BOTH = Tokenizers(LETTERS, LETTERS)
"""Each character is a token, and marks are, too."""


def asked(**options: object) -> Request:
    return make_request(DecodingConfig(), options)


def cut(text: str, fits: Callable[[str], bool]) -> list[str]:
    return [text[a:b] for a, b in cut_spans(text, fits)]


def test_a_question_is_never_translated_in_parts(luong) -> None:
    question = join_question("Is it on?", "the dog sees a man. " * 9)
    for long in (None, "split", "error"):
        with pytest.raises(LimitError) as caught:
            luong.translate(question, long=long)
        assert 'long="cut" reads only the beginning of the context' in str(caught.value)
    assert luong.translate(question, long="cut").text == luong.translate(question + " more", long="cut").text


def test_a_model_that_learned_from_beginnings_reads_beginnings(luong) -> None:
    config = replace(luong.config, data=replace(luong.config.data, long="cut"))
    cutting = copy.copy(luong)
    cutting.config = config
    text = "a man rides a horse. the dog sees a man! one two three four."
    assert cutting.translate(text) == luong.translate(text, long="cut", sentences="as-is")
    assert cutting.translate(text, long="split") == luong.translate(text, sentences="as-is")
    shorter = luong.tokenizers.source.decode(luong.tokenizers.source.encode(text)[: config.data.max_length])
    assert cutting.score(text, "봤다").score == pytest.approx(luong.score(shorter, "봤다").score, abs=1e-5)


def test_short_text_is_one_part() -> None:
    assert cut("One. Two.", lambda part: True) == ["One. Two."]


def test_sentence_ends_come_first() -> None:
    text = "This one is rather long. Short one. The end!"
    assert cut(text, lambda part: len(part) <= 24) == [
        "This one is rather long.",
        "Short one. The end!",
    ]


def test_sentences_without_spaces_between() -> None:
    assert cut("私は猫です。名前はない。", lambda part: len(part) <= 6) == [
        "私は猫です。",
        "名前はない。",
    ]


def test_then_spaces_and_then_anywhere() -> None:
    assert cut("one two three four", lambda part: len(part) <= 10) == ["one two", "three four"]
    assert cut("abcdef", lambda part: len(part) <= 2) == ["a", "bc", "d", "ef"]


def test_a_character_that_does_not_fit_is_left_whole() -> None:
    assert cut("ab", lambda part: False) == ["a", "b"]


@given(st.text("ab. !?。…", max_size=60).map(tidy), st.integers(1, 9))
def test_parts_fit_and_nothing_but_spaces_is_lost(text: str, most: int) -> None:
    parts = cut(text, lambda part: len(part) <= most)
    assert all(len(part) <= most for part in parts)
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    assert all(part == part.strip() for part in parts)


def habit(source: str, target: str, info: dict[str, object] | None = None, **data: object):
    return sentence_habit(
        DataConfig(source_language=source, target_language=target, **data),
        Direction(source, target),
        info or {},
        pictures=False,
    )


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (habit("", "de"), "it does not say which languages it translates"),
        (habit("mul", "iso8601"), NO_TRANSLATION),
        (habit("ko", "ipa"), NO_TRANSLATION),
        (habit("ko", "ko"), NO_TRANSLATION),
        (habit("en", "de", long="cut"), "it was taught to sum up or to read only the beginning"),
        (habit("en", "de", {"metric": "rougeL"}), "it was taught to sum up or to read only the beginning"),
        (
            habit("en", "de", {"train_lengths": {"several": 0.7}}),
            "70% of its training lines have",
        ),
    ],
)
def test_other_models_get_texts_as_they_are(found, reason: str) -> None:
    assert (found.split, found.reason[: len(reason)]) == (False, reason)


def test_a_model_that_translates_sentences_gets_sentences() -> None:
    assert habit("en", "zh-Hans").split
    assert habit("en", "de", {"train_lengths": {"several": 0.1}, "metric": "bleu"}).split
    assert not sentence_habit(
        DataConfig(source_language="en", target_language="de"), Direction("en", "de"), {}, pictures=True
    ).split


def test_each_sentence_is_a_job_and_the_layout_keeps_the_rest(luong) -> None:
    text = "the dog.  A man!\n\n - the dog.\n"
    request = make_request(DecodingConfig(), {"prefix": "봤다", "require": "나는"})
    sources = read_sources([text, " ", "---"], luong.tokenizers)
    first, blank, ruler = make_jobs(sources, request, luong.tokenizers, DataConfig(), split=True)
    encode = luong.tokenizers.source.encode
    assert [list(job.source) for job in first] == [encode("the dog."), encode("A man!"), encode("the dog.")]
    assert first.layout.gaps == ("", "  ", "\n\n - ", "\n")
    assert [bool(job.prefix) for job in first] == [True, False, False]
    assert [bool(job.phrases) for job in first] == [False, False, True]
    assert (blank.jobs, blank.layout.gaps, ruler.jobs, ruler.layout.gaps) == ((), (" ",), (), ("---",))


def test_a_text_as_it_is_is_one_job(luong) -> None:
    sources = read_sources(["the dog. A man!\n"], luong.tokenizers)
    [made] = make_jobs(sources, make_request(DecodingConfig(), {}), luong.tokenizers, DataConfig())
    assert [job.source for job in made] == [sources[0].ids]
    assert not made.layout.kept


def test_a_sentence_that_is_too_long_is_cut_inside_its_text(luong) -> None:
    text = "the dog sees a man and the dog sees a man. The end."
    data = replace(luong.config.data, max_length=12)
    sources = read_sources([text], luong.tokenizers)
    [made] = make_jobs(sources, make_request(DecodingConfig(), {}), luong.tokenizers, data, split=True)
    assert len(made.jobs) == len(made.layout.sentences) > 2
    assert all(len(job.source) <= 12 for job in made)
    assert "".join(made.layout.join(made.layout.sentences)) == text


def test_what_is_too_long_is_told_with_the_number_of_its_text() -> None:
    sources = read_sources(["ab. cd.", "abc. abcdefg."], BOTH)
    data = DataConfig(max_length=5)
    for before, number in ((0, 2), (5, 7)):
        with pytest.raises(LimitError, match=f"text {number} has 8 tokens, and this model takes 5\n  long="):
            make_jobs(sources, asked(long="error"), BOTH, data, before, split=True)
    with pytest.raises(LimitError, match="text 2 has 8 tokens"):
        make_jobs(sources, asked(long="error"), BOTH, data, split=True)
    [_, cut_off] = make_jobs(sources, asked(long="cut"), BOTH, data, split=True)
    assert [LETTERS.decode(job.source) for job in cut_off] == ["abc.", "abcde"]


def test_parts_may_be_as_long_as_the_model_takes() -> None:
    [made] = make_jobs(read_sources(["abcd efgh"], BOTH), asked(), BOTH, DataConfig(max_length=4))
    assert made.layout.sentences == ("abcd", "efgh")
    assert "".join(made.layout.join(["x", "y"])) == "x y"


def test_a_layout_in_the_places_of_sentences() -> None:
    masked = Masked("a", "⓵", inner=True)
    outer = TextLayout(("a", "b c"), ("<", "-", ">"))
    inner = [TextLayout(("a",), ("(", ")"), masks=(masked,)), TextLayout(("b", "c"), ("", " ", "!"))]
    found = within(outer, inner)
    assert (found.sentences, found.gaps, found.kept) == (("a", "b", "c"), ("<(", ")-", " ", "!>"), True)
    assert found.masks == (masked, Masked("b", "b"), Masked("c", "c"))
    assert within(TextLayout(("b c",), ("", ""), kept=False), inner[1:]) == TextLayout(
        ("b", "c"), ("", " ", "!"), kept=True
    )


def signs(text: str, room: int = 99) -> list[str]:
    """What the answer to a text must have, by the letters of the first way to write it."""
    layout = TextMasker("en", split=False, protect=Protection.SIGNS, count=len).lay_out(text)
    found = kept_phrases(layout, 0, BOTH, room)
    assert all(phrase.once for phrase in found)
    return [phrase.spellings[0].text for phrase in found]


def test_the_search_is_given_few_and_short_spans_that_occur_once() -> None:
    assert signs("hi {a} {b} {c} {d} x") == ["{a}", "{b}", "{c}"]
    assert signs("hi {a} {b} {a} x") == ["{b}"]
    for letters, there in ((13, True), (14, False)):  # with its braces, and a space before it: 16 tokens
        assert signs(f"hi {{{'a' * letters}}} x") == [f"{{{'a' * letters}}}"] * there
    assert signs("hi {a} {b} x", room=8) == ["{a}", "{b}"]  # each takes three tokens, and one for a space
    assert signs("hi {a} {b} x", room=7) == ["{a}"]
    assert kept_phrases(TextLayout(("hi {a}",), ("", "")), 0, BOTH, 99) == ()
    request = make_request(DecodingConfig(max_len=14), {})
    [made] = make_jobs(
        read_sources(["a {b} {c} d"], BOTH), request, BOTH, DataConfig(), protect=Protection.SIGNS
    )
    assert [phrase.spellings[0].text for phrase in made.jobs[0].phrases] == ["{b}"]  # half of the answer


def test_terms_are_found_in_a_sentence_and_in_its_answer() -> None:
    request = asked(glossary={"dog": "개", "cat": ["x", "y"]})
    [(dog, one), (cat, _)] = sentence_terms("the dog, a cat, a dog", request, BOTH, "en")  # as they come
    assert ((dog.text, dog.targets), (cat.text, cat.targets)) == (("dog", ("개",)), ("cat", ("x", "y")))
    assert (one.soft, one.word, one.once) == (False, True, False)
    [(_, soft)] = sentence_terms("a dog", asked(glossary={"dog": "개"}, glossary_mode="soft"), BOTH, "en")
    assert soft.soft
    assert sentence_terms("a dog", asked(), BOTH, "en") == []
    layout = TextLayout(("a dog.", "a cat."), ("", " ", ""))
    parts = [[Hypothesis(text, 0.0, 0.0, (), finished=True)] for text in ("개 a.", "z.")]
    made = Translation("개 a. z.", 0.0, 0.0, (), finished=True, source="a dog. a cat.")
    found = with_terms(made, layout, parts, request, BOTH, DataConfig(source_language="en"))
    assert found == replace(
        made, terms=(TermUse("dog", ("개",), present=True), TermUse("cat", ("x", "y"), present=False))
    )
    assert with_terms(made, layout, parts, asked(), BOTH, DataConfig()) is made
    assert [begins_with_word(texts) for texts in (["file", "개"], ["漢字"], ["file", "(x)"])] == [
        *(True, False, False)
    ]


def test_how_a_model_protects_what_must_survive(luong) -> None:
    assert SentenceHabit(split=True, reason="").translates is False
    taught, other = habit("en", "de"), SentenceHabit(split=True, reason="")
    marks, none = TextConfig(marks=True), TextConfig()
    for text, tokenizers, known, options, found in (
        (marks, BOTH, taught, {}, Protection.MARKS),
        (none, BOTH, taught, {}, Protection.SIGNS),
        (marks, luong.tokenizers, taught, {}, Protection.SIGNS),
        (marks, BOTH, taught, {"protect": False}, Protection.NONE),
        (marks, BOTH, other, {}, Protection.NONE),
        (marks, BOTH, other, {"protect": True}, Protection.MARKS),
    ):
        assert protection_of(text, tokenizers, known, asked(**options)) is found


def test_what_is_read_of_a_text_in_one_piece() -> None:
    sources = read_sources(["hi {a}. go.", "{n, plural, one {a dog} other {dogs}} are.", "go"], BOTH)
    assert texts_read(sources, asked(), BOTH, Protection.MARKS) == ["hi ⓵. go.", "⓵ are.", "go"]
    assert texts_read(sources, asked(), BOTH, Protection.NONE) == sources
