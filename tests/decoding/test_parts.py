"""A text in parts: sentences for a model of sentences, whole texts for the others, and what is too long."""

import copy
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import DataConfig, DecodingConfig
from jumok.data.questions import join_question
from jumok.decoding.jobs import make_request, read_sources
from jumok.decoding.parts import NO_TRANSLATION, cut_spans, make_jobs, sentence_habit
from jumok.errors import LimitError
from jumok.text.frame import Direction
from jumok.text.normalize import tidy


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
