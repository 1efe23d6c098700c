import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.decoding.beam import BeamSearch
from jumok.decoding.filters import NEVER, forbid
from jumok.decoding.search import search_steps
from jumok.decoding.stream import Final, Partial, whole
from jumok.errors import LimitError, RunError
from jumok.text.tokenizer import EOS

MODES = [
    {"beam": 1},
    {"beam": 4, "n_best": 3},
    {"sample": True, "seed": 5},
    {"sample": True, "n_best": 3},
    {"sample": True, "top_k": 1},
    {"mbr": 5, "temperature": 0.3},
]
LONG = "a man rides a horse. the dog sees a man! one two three four. a dog."


def check_stable(partials, answer) -> None:
    """The stable beginning never shrinks, never changes, and begins the answer."""
    before = ()
    for tokens, stable in partials:
        assert stable <= len(tokens)
        assert tokens[:stable][: len(before)] == before
        before = tokens[:stable]
    assert answer[: len(before)] == before


@pytest.mark.parametrize("options", MODES)
@pytest.mark.parametrize("text", ["a man", "나는 영화를", "one two three"])
def test_a_stream_ends_with_what_translate_gives(translator, text, options) -> None:
    *partials, final = translator.stream(text, **options)
    assert final == Final(translator.translate(text, **options))
    assert [one.t for one in partials] == list(range(1, len(partials) + 1))
    answer = tuple(token.text for token in final.translation.tokens if token.id != EOS)
    check_stable([(one.tokens, one.stable) for one in partials], answer)
    assert partials[-1].tokens == answer
    assert partials[-1].stable == len(answer)
    assert partials[-1].score == pytest.approx(final.translation.score, abs=1e-5)
    assert partials[-1].text == final.translation.text
    assert not any("\N{REPLACEMENT CHARACTER}" in one.text for one in partials)
    if options in MODES[::2]:  # one hypothesis
        assert all(one.stable == len(one.tokens) for one in partials)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 999), beam=st.integers(1, 5), n_best=st.integers(1, 3))
def test_what_is_stable_stays(bench, seed, beam, n_best) -> None:
    model = bench.toy(seed, 9, spread=3.0)
    search = BeamSearch([10], [forbid(NEVER)], beam=beam, n_best=min(n_best, beam))
    seen = []
    for _ in search_steps(model, bench.memory(model, [[4, 5]]), search):
        lead = search.lead()
        seen.append((lead.ids, lead.stable))
    check_stable(seen, search.answers()[0][0].ids)


@pytest.mark.parametrize("options", [{"beam": 3}, {"sample": True, "n_best": 3}, {"mbr": 5}])
def test_a_long_text_comes_part_after_part(luong, options) -> None:
    *partials, final = luong.stream(LONG, **options)
    whole_text = luong.translate(LONG, **options)
    assert final.translation.text == whole_text.text
    assert final.translation.score == pytest.approx(whole_text.score, abs=1e-4)
    answer = tuple(token.text for token in final.translation.tokens if token.id != EOS)
    check_stable([(one.tokens, one.stable) for one in partials], answer)
    assert partials[-1].tokens == answer
    assert partials[-1].text == final.translation.text
    assert partials[-1].to_dict()["stable"] == len(answer)


def test_a_blank_text_has_only_an_end(luong) -> None:
    assert list(luong.stream(" ")) == [Final(luong.translate(" "))]


def test_mistakes_come_before_the_first_step(luong) -> None:
    with pytest.raises(TypeError, match="unknown option 'nbest'"):
        luong.stream("a", nbest=3)
    with pytest.raises(LimitError, match="text 1 has"):
        luong.stream(LONG, long="error", sentences="as-is")


def test_numbers_that_are_not_finite_name_the_part(luong, broken) -> None:
    stream = broken(luong).stream(LONG)
    with pytest.raises(RunError, match="numbers that are not finite\n  for the text 'a man rides"):
        list(stream)


def test_bytes_that_are_no_character_yet_are_not_shown() -> None:
    bytes_of = [4 + byte for byte in "안".encode()]
    assert whole([300, *bytes_of]) == [300, *bytes_of]
    assert whole([300, *bytes_of[:2]]) == [300]
    assert whole([300, *bytes_of[:1]]) == [300]
    assert whole([]) == []


def test_partials_are_short_to_look_at() -> None:
    assert repr(Partial(3, "a b c", ("a", " b", " c"), 2, -math.log(2))) == "Partial('a b c', stable=2 of 3)"
