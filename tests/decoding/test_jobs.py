import copy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import DecodingConfig
from jumok.data.questions import join_question
from jumok.decoding.batched import CONTROL
from jumok.decoding.filters import written
from jumok.decoding.jobs import Job, Phrase, batches, cost, make_request, split_text, token_spellings
from jumok.errors import ConfigError, LimitError
from jumok.text.normalize import tidy


def test_the_limit_is_a_matter_of_the_sentence_alone() -> None:
    config = DecodingConfig(max_len=100)
    assert Job((4,) * 10).limit(config) == 60  # 3 * 10 + 30
    assert Job((4,) * 90).limit(config) == 100
    assert Job((4,), (5,) * 6, (Phrase("x", (7, 8)),)).limit(config) == 41
    assert Job((4,)).limit(DecodingConfig(max_len=100, min_len=50)) == 51


def test_the_cost_counts_rows_times_places() -> None:
    job = Job((4,) * 10)
    assert cost(job, DecodingConfig(beam=5, max_len=20)) == 5 * (11 + 20)
    assert cost(job, DecodingConfig(sample=True, n_best=3, max_len=20)) == 3 * (11 + 20)


def test_a_prefix_needs_room() -> None:
    with pytest.raises(
        ConfigError, match="have 8 tokens, and max_len=8 leaves no room\n  set max_len to 12 or more"
    ):
        Job((4,), (5,) * 8).limit(DecodingConfig(max_len=8))


@given(st.lists(st.integers(1, 9), max_size=20), st.integers(1, 40))
def test_batches_hold_every_job_once_within_the_budget(lengths: list[int], budget: int) -> None:
    jobs = [Job((4,) * length, (n,)) for n, length in enumerate(lengths)]
    found = list(batches(jobs, budget, lambda job: 2 * len(job.source)))
    assert sorted(job.prefix for batch in found for job in batch) == sorted(job.prefix for job in jobs)
    for batch in found:
        assert len(batch) == 1 or len(batch) * max(2 * len(job.source) for job in batch) <= budget
    sizes = [len(job.source) for batch in found for job in batch]
    assert sizes == sorted(sizes, reverse=True)


def test_piece_bytes_write_what_the_tokenizer_decodes(luong) -> None:
    tokenizer = luong.tokenizers.target
    pieces = token_spellings(tokenizer)
    assert len(pieces) == tokenizer.size
    for text in ("the dog", "나는 봤다 …", "\U0001f600"):
        assert written(tokenizer.encode(text), pieces).decode().removeprefix(" ") == text
    assert {pieces[i] for i in CONTROL} == {bytes([b]) for b in (*range(32), 127)}


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
    assert cutting.translate(text) == luong.translate(text, long="cut")
    assert cutting.translate(text, long="split") == luong.translate(text)
    shorter = luong.tokenizers.source.decode(luong.tokenizers.source.encode(text)[: config.data.max_length])
    assert cutting.score(text, "봤다").score == pytest.approx(luong.score(shorter, "봤다").score, abs=1e-5)


def test_short_text_is_one_part() -> None:
    assert split_text("One. Two.", lambda part: True) == ["One. Two."]


def test_sentence_ends_come_first() -> None:
    text = "This one is rather long. Short one. The end!"
    assert split_text(text, lambda part: len(part) <= 24) == [
        "This one is rather long.",
        "Short one. The end!",
    ]


def test_sentences_without_spaces_between() -> None:
    assert split_text("私は猫です。名前はない。", lambda part: len(part) <= 6) == [
        "私は猫です。",
        "名前はない。",
    ]


def test_then_spaces_and_then_anywhere() -> None:
    assert split_text("one two three four", lambda part: len(part) <= 10) == ["one two", "three four"]
    assert split_text("abcdef", lambda part: len(part) <= 2) == ["a", "bc", "d", "ef"]


def test_a_character_that_does_not_fit_is_left_whole() -> None:
    assert split_text("ab", lambda part: False) == ["a", "b"]


@given(st.text("ab. !?。…", max_size=60).map(tidy), st.integers(1, 9))
def test_parts_fit_and_nothing_but_spaces_is_lost(text: str, most: int) -> None:
    parts = split_text(text, lambda part: len(part) <= most)
    assert all(len(part) <= most for part in parts)
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    assert all(part == part.strip() for part in parts)


def test_options_go_over_the_models_own() -> None:
    request = make_request(DecodingConfig(beam=3, max_len=50), {"beam": 7, "ban": "x", "prefix": " a  b "})
    assert (request.decoding.beam, request.decoding.max_len) == (7, 50)
    assert (request.ban, request.prefix, request.require) == (("x",), "a b", ())


def test_a_misspelt_option_is_offered_the_right_name() -> None:
    with pytest.raises(TypeError, match="unknown option 'beams'; did you mean 'beam'"):
        make_request(DecodingConfig(), {"beams": 2})
    with pytest.raises(TypeError, match="unknown option 'prefixes'; did you mean 'prefix'"):
        make_request(DecodingConfig(), {"prefixes": "a"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"long": "spilt"}, "long='spilt' is unknown\n  did you mean 'split'"),
        ({"ban": [""]}, "ban has an empty text\n  give at least one character"),
        ({"require": " "}, "require has an empty text"),
        ({"ban": "at", "require": "cat"}, "ban='at' and require='cat' cannot both be kept"),
        ({"ban": "at", "prefix": ["", "A hat"]}, "ban='at' and prefix='A hat' cannot both be kept"),
        ({"n_best": 9}, "decoding.n_best=9 cannot work"),
        ({"mbr": 1}, "decoding.mbr=1 cannot work\n  mbr is 0, or from 2 to 256"),
        ({"mbr": 257}, "decoding.mbr=257 cannot work\n  mbr is 0, or from 2 to 256"),
        ({"mbr": 4, "n_best": 5}, "decoding.n_best=5 cannot work\n  4 draws give at most 4 answers"),
        ({"mbr": 4, "utility": "bleu"}, "decoding.utility=bleu cannot work\n  choose chrf or rouge1"),
        ({"mbr": 4, "beam": 1}, "beam and mbr cannot be had together\n  mbr draws its answers by itself"),
        ({"mbr": 4, "sample": True}, "sample and mbr cannot be had together\n  mbr draws its answers by"),
    ],
)
def test_options_that_cannot_work(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_request(DecodingConfig(), options)
    assert message in str(caught.value)


@pytest.mark.parametrize("usual", [{}, {"sample": True}, {"mbr": 8}])
@pytest.mark.parametrize(
    ("options", "way"),
    [
        ({"beam": 2}, (2, False, 0)),
        ({"sample": True}, (5, True, 0)),
        ({"mbr": 3, "sample": False}, (5, False, 3)),
        ({"sample": True, "beam": 4}, (4, True, 0)),
    ],
)
def test_a_call_that_names_a_way_puts_the_folders_own_aside(usual, options, way) -> None:
    found = make_request(DecodingConfig(**usual), options).decoding
    assert (found.beam, found.sample, found.mbr) == way


def test_a_call_that_names_no_way_goes_the_folders() -> None:
    usual = DecodingConfig(mbr=8, utility="rouge1", temperature=0.5)
    assert make_request(usual, {}).decoding == usual
    found = make_request(usual, {"seed": 3, "sample": False, "n_best": 2}).decoding
    assert (found.mbr, found.utility, found.seed, found.draws) == (8, "rouge1", 3, 8)


def test_prefixes_for_all_or_for_each() -> None:
    assert make_request(DecodingConfig(), {"prefix": "a"}).prefixes(2) == ["a", "a"]
    each = make_request(DecodingConfig(), {"prefix": ["a", "", "b"]})
    assert each.prefixes(3) == ["a", "", "b"]
    with pytest.raises(ConfigError, match="there are 3 prefixes for 2 texts"):
        each.prefixes(2)


def test_a_call_that_names_its_way_gets_as_many_of_the_folders_answers_as_there_are() -> None:
    folder = DecodingConfig(mbr=8, n_best=6)
    assert make_request(folder, {"beam": 2}).decoding.n_best == 2
    assert make_request(folder, {"mbr": 3}).decoding.n_best == 3
    assert make_request(folder, {"beam": 9}).decoding.n_best == 6
    assert make_request(folder, {"sample": True}).decoding.n_best == 6
    with pytest.raises(ConfigError, match="a beam of 2 gives at most 2 answers"):
        make_request(folder, {"beam": 2, "n_best": 3})
