"""What a memory knows is its answer, the rest is what the model would have said; similar ones are shown."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.conftest import TINY, untrained

from jumok.config import DataConfig
from jumok.decoding.jobs import make_request
from jumok.decoding.recall import recall, remembered
from jumok.decoding.results import Hypothesis
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError
from jumok.terms.memory import MemoryMatch, TranslationMemory

SENTENCES = ["Ein Haus steht da.", "Zwei Hunde laufen.", "Der Mann liest 12 Bücher."]


@pytest.fixture(scope="module")
def model() -> Translator:
    loaded = untrained(TINY["luong"])
    data = DataConfig(max_length=64, source_language="de", target_language="en")
    return Translator(replace(loaded, config=replace(loaded.config, data=data)))


@pytest.fixture(scope="module")
def memory() -> TranslationMemory:
    return TranslationMemory([(SENTENCES[0], "There is a house."), ("Zwei Katzen laufen.", "Two cats run.")])


def test_the_same_text_is_answered_and_marked(model: Translator, memory: TranslationMemory) -> None:
    answer = model.translate(f" {SENTENCES[0]}\n", memory=memory)
    assert answer.text == " There is a house.\n"
    assert (answer.tokens, answer.score, answer.finished) == ((), 0.0, True)
    [match] = answer.matches
    assert (match.span, match.source, match.target) == ((1, 19), SENTENCES[0], "There is a house.")
    assert (match.score, match.used) == (1.0, True)


def test_other_texts_are_translated_as_ever_and_similar_entries_shown(
    model: Translator, memory: TranslationMemory
) -> None:
    with_memory, plain = model.translate(SENTENCES[1], memory=memory), model.translate(SENTENCES[1])
    assert replace(with_memory, matches=()) == plain
    [match] = with_memory.matches
    assert (match.target, match.used) == ("Two cats run.", False)
    assert 0.7 <= match.score < 1
    assert model.translate("Ganz anders ist das hier.", memory=memory).matches == ()


@settings(max_examples=15, deadline=None)
@given(
    places=st.lists(st.integers(0, 2), min_size=1, max_size=4),
    gaps=st.lists(st.sampled_from([" ", "\n", "\n\n- "]), min_size=4, max_size=4),
)
def test_known_sentences_of_a_text_are_reused_and_the_others_are_the_models(
    model: Translator, memory: TranslationMemory, places: list[int], gaps: list[str]
) -> None:
    text = "".join(SENTENCES[place] + gap for place, gap in zip(places, gaps, strict=False))
    answer, plain = model.translate(text, memory=memory), model.translate(text)
    expected = [
        "There is a house." if place == 0 else model.translate(SENTENCES[place]).text for place in places
    ]
    spans = answer.sentences or [None]
    found = [answer.text[slice(*span.text)] if span else answer.text.strip("- \n") for span in spans]
    assert found == expected
    assert [span.source for span in answer.sentences] == [span.source for span in plain.sentences]
    used = [match.span for match in answer.matches if match.used]
    assert [text[slice(*span)] for span in used] == [SENTENCES[0]] * places.count(0)


def test_a_list_keeps_its_order(model: Translator, memory: TranslationMemory) -> None:
    texts = [SENTENCES[1], SENTENCES[0], "", f"{SENTENCES[0]} {SENTENCES[2]}", SENTENCES[2]]
    found = model.translate(texts, memory=memory)
    assert [one.source for one in found] == texts
    assert [any(match.used for match in one.matches) for one in found] == [False, True, False, True, False]
    again = list(model.translate_iter(texts, block=2, memory=memory))
    assert [(one.text, one.matches) for one in again] == [(one.text, one.matches) for one in found]


@pytest.mark.parametrize("options", [{"prefix": "The"}, {"ban": ["house"]}])
def test_who_says_what_answers_contain_gets_them_computed(
    model: Translator, memory: TranslationMemory, options: dict[str, object]
) -> None:
    answer = model.translate(SENTENCES[0], memory=memory, **options)
    assert replace(answer, matches=()) == model.translate(SENTENCES[0], **options)
    assert [(match.score, match.used) for match in answer.matches] == [(1.0, False)]


def test_what_is_left_is_known_before_it_is_computed(model: Translator, memory: TranslationMemory) -> None:
    request = make_request(model.config.decoding, {})
    plan = recall(model, memory, [SENTENCES[0], SENTENCES[1], f"{SENTENCES[0]} {SENTENCES[2]}"], request)
    assert plan.whole == [SENTENCES[1]]
    assert plan.sentences == [SENTENCES[2]]
    assert plan.keep == ()


def test_what_comes_out_as_it_is_makes_a_text_whole_unless_all_of_it_is_known(
    model: Translator, memory: TranslationMemory
) -> None:
    texts = [SENTENCES[0], f"{SENTENCES[0]} {SENTENCES[2]}", SENTENCES[1]]
    request = make_request(model.config.decoding, {"keep": [[(0, 3)], [(4, 8)], []]})
    plan = recall(model, memory, texts, request)
    assert (plan.whole, plan.sentences, plan.keep) == (texts[1:], [], (((4, 8),), ()))
    assert [[match.used for match in one.matches] for one in plan.texts] == [[True], [False], [False]]


def test_three_similar_entries_are_shown(model: Translator) -> None:
    memory = TranslationMemory([(f"{number} Hunde laufen.", "x") for number in range(5)])
    [one] = recall(model, memory, ["7 Hunde laufen."], make_request(model.config.decoding, {})).texts
    assert [match.target for match in one.matches] == ["x"] * 3


def test_a_question_is_looked_up_as_a_whole(model: Translator, memory: TranslationMemory) -> None:
    text = " ␞ Wer? ␟ Tom kam. Anna ging."
    [one] = recall(model, memory, [text], make_request(model.config.decoding, {})).texts
    assert one.layout.sentences == (text.strip(),)


def test_an_answer_that_nobody_computed_has_no_score() -> None:
    wanted = Hypothesis("b", 0.0, 0.0, (), finished=True)
    assert remembered(MemoryMatch("a", "b", 1.0)) == wanted


def test_pictures_have_no_memory(model: Translator, memory: TranslationMemory) -> None:
    seeing = SimpleNamespace(tokenizers=SimpleNamespace(pictures=object()))
    with pytest.raises(ConfigError, match="a memory is of texts, and this model reads pictures\n  leave out"):
        recall(seeing, memory, [], make_request(model.config.decoding, {}))  # type: ignore[arg-type]
