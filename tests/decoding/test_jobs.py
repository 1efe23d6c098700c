import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import DecodingConfig
from jumok.decoding.batched import CONTROL
from jumok.decoding.filters import written
from jumok.decoding.jobs import (
    WIDEST,
    Job,
    Phrase,
    Spelling,
    batches,
    check_texts,
    cost,
    make_phrase,
    make_request,
    pair_size,
    token_spellings,
)
from jumok.errors import ConfigError


def test_the_limit_is_a_matter_of_the_sentence_alone() -> None:
    config = DecodingConfig(max_len=100)
    assert Job((4,) * 10).limit(config) == 60  # 3 * 10 + 30
    assert Job((4,) * 90).limit(config) == 100
    assert Job((4,), (5,) * 6, (Phrase((Spelling("x", (7, 8)),)),)).limit(config) == 41
    assert Job((4,)).limit(DecodingConfig(max_len=100, min_len=50)) == 51
    assert (
        Job((4,) * 10, (5, 5, 6), opening=2).limit(config) == 2 + 1 + 60
    )  # what a frame begins with is free


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


def test_items_of_like_size_are_a_batch() -> None:
    assert list(batches([3, 1, 2, 9, 3], 6, int)) == [[9], [3, 3], [2, 1]]
    assert pair_size(Job((4,) * 3, (5,) * 5)) == pair_size(Job((4,) * 5, (5,) * 3)) == 6


def test_what_an_answer_may_not_lack_is_its_prefix_and_every_spelling() -> None:
    word = Phrase((Spelling("a", (7,)), Spelling("b", (8, 9))))
    assert Job((4,), (5, 6), (word, word)).given == (5, 6, 7, 8, 9, 7, 8, 9)


def test_anything_but_a_text_is_refused_with_its_place() -> None:
    assert check_texts("a") == ["a"]
    assert check_texts(iter(["a", ""])) == ["a", ""]
    with pytest.raises(TypeError, match="text 2 is of type int, not str"):
        check_texts(["a", 3])  # type: ignore[list-item]


def test_a_stream_takes_nothing_that_belongs_to_single_texts() -> None:
    make_request(DecodingConfig(), {"prefix": "a"}).check_stream()
    for options, message in (
        ({"prefix": ["a"]}, "one prefix for all texts\n  translate a list to give prefix for each"),
        ({"keep": [(0, 1)]}, "no spans to keep\n  translate a list to give keep for each"),
    ):
        with pytest.raises(ConfigError, match=f"a stream takes {message}"):
            make_request(DecodingConfig(), options).check_stream()


def test_piece_bytes_write_what_the_tokenizer_decodes(luong) -> None:
    tokenizer = luong.tokenizers.target
    pieces = token_spellings(tokenizer)
    assert len(pieces) == tokenizer.size
    for text in ("the dog", "나는 봤다 …", "\U0001f600"):
        assert written(tokenizer.encode(text), pieces).decode().removeprefix(" ") == text
    assert {pieces[i] for i in CONTROL} == {bytes([b]) for b in (*range(32), 127)}


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
        ({"sentences": "spilt"}, "sentences='spilt' is unknown\n  did you mean 'split'"),
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
    assert make_request(folder, {"beam": 1}).decoding.n_best == 1
    assert make_request(folder, {"sample": True}).decoding.n_best == 6
    with pytest.raises(ConfigError, match="a beam of 2 gives at most 2 answers"):
        make_request(folder, {"beam": 2, "n_best": 3})


def test_spans_to_keep_are_for_the_only_text_or_for_each() -> None:
    def kept(keep: object) -> object:
        return make_request(DecodingConfig(), {"keep": keep}).keep

    assert kept([(0, 3), [3, 3]]) == (((0, 3), (3, 3)),)
    assert kept([[(0, 3)], [], [[1, 2]]]) == (((0, 3),), (), ((1, 2),))
    assert kept(None) == kept([]) == ()
    request = make_request(DecodingConfig(), {"keep": [[(0, 3)], []]})
    assert request.keeps(2) == (((0, 3),), ())
    assert make_request(DecodingConfig(), {}).keeps(2) == [(), ()]
    with pytest.raises(ConfigError, match="keep has spans for 2 texts, and there are 3\n  give a list of"):
        request.keeps(3)


@pytest.mark.parametrize("span", [(2, 1), (-1, 1), (0, 1, 2), (0,), (0, 1.0), (True, 2), "ab"])
def test_what_is_no_span_is_refused(span: object) -> None:
    with pytest.raises(ConfigError, match="which is no span\n  a span is two numbers: its first"):
        make_request(DecodingConfig(), {"keep": [[span]]})


def test_a_search_has_room_for_the_longest_spelling_of_each_phrase() -> None:
    long = Phrase((Spelling("a", (4,)), Spelling("abcde", (4, 5, 6)), Spelling("b", ())))
    assert [long.size, Phrase((Spelling("b", ()),)).size] == [3, 0]
    plain, job = Job((4,)), Job((4,), phrases=(long, long))
    assert [one.width(DecodingConfig(beam=5)) for one in (plain, job)] == [5, 11]
    assert job.width(DecodingConfig(beam=WIDEST - 3)) == WIDEST
    assert job.width(DecodingConfig(beam=WIDEST + 9)) == WIDEST + 9
    assert job.width(DecodingConfig(sample=True, n_best=3)) == 3


def test_a_phrase_counts_once_or_more_required_and_anywhere_unless_told(luong) -> None:
    tokenizer = luong.tokenizers.target
    plain = make_phrase(tokenizer, ["man"], ["men"])
    assert (plain.once, plain.soft, plain.word) == (False, False, False)
    assert [one.text for one in plain.spellings if not one.ids] == ["men"]
    assert all(tokenizer.decode(one.ids).strip() == "man" for one in plain.spellings if one.ids)
    told = make_phrase(tokenizer, ["man"], once=True, soft=True, word=True)
    assert (told.once, told.soft, told.word) == (True, True, True)
