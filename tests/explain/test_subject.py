"""What a trace is of: texts cut and checked, translations taken or made."""

from dataclasses import replace

import pytest
from tests.explain.conftest import Workshop

from jumok.config import TransformerConfig
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, DataError, LimitError
from jumok.explain import subject
from jumok.explain.subject import subjects_of

TEXT = "a man rides a horse."
LONG = " ".join(["나는 어제 영화를 봤다. one two three four the dog sees a man!"] * 3)


@pytest.fixture(scope="module")
def translator(workshop: Workshop) -> Translator:
    return workshop.translator("luong")


def test_a_text_without_a_target_is_translated(translator: Translator) -> None:
    (one,) = subjects_of(translator, [f"  {TEXT} "], options={"beam": 1})
    answer = translator.translate(TEXT, beam=1)
    assert (one.source, one.target, one.ended) == (TEXT, answer.text, answer.finished)
    assert one.origin == "decoded"
    assert one.settings is not None
    assert one.settings["method"] == "greedy"
    assert one.ms is not None
    assert one.ms > 0


def test_a_translation_that_is_there_is_taken(translator: Translator) -> None:
    answer = translator.translate(TEXT)
    (one,) = subjects_of(translator, [TEXT], translations=[answer])
    assert (one.target, one.ms) == (answer.text, None)
    assert one.settings == subjects_of(translator, [TEXT])[0].settings


def test_a_given_target_needs_no_search(translator: Translator) -> None:
    (one,) = subjects_of(translator, [TEXT], targets=[" one  two "])
    assert (one.target, one.origin, one.ended, one.settings) == (
        "one two",
        "given",
        True,
        {"method": "given"},
    )
    assert one.target_ids == tuple(translator.tokenizers.target.encode("one two"))


def test_a_long_text_is_cut_and_its_beginning_translated(translator: Translator) -> None:
    whole = translator.translate(LONG)  # in parts
    short = translator.translate(TEXT)
    cut, other = subjects_of(translator, [LONG, TEXT], translations=[whole, short])
    ids = translator.tokenizers.source.encode(LONG)
    assert cut.source_ids == tuple(ids[:24])
    assert cut.source == translator.tokenizers.source.decode(ids[:24])
    assert cut.warnings[0] == {
        "code": "source_truncated",
        "message": f"source cut from {len(ids)} to 24 tokens",
    }
    assert cut.target == translator.translate(LONG, long="cut", sentences="as-is").text
    assert (other.target, other.ms) == (short.text, None)


def test_long_texts_are_an_error_if_asked_for(translator: Translator) -> None:
    with pytest.raises(LimitError, match="this model takes 24"):
        subjects_of(translator, [LONG], options={"long": "error"})


def test_an_answer_that_was_stopped_says_so(translator: Translator) -> None:
    (one,) = subjects_of(translator, [TEXT], options={"max_len": 2, "min_len": 2})
    assert not one.ended
    assert len(one.target_ids) == 2
    assert one.warnings == (
        {"code": "target_unfinished", "message": "the answer was stopped after 2 tokens, before its end"},
    )


@pytest.mark.parametrize("text", ["", " \t\n "])
def test_an_empty_text_is_refused(translator: Translator, text: str) -> None:
    with pytest.raises(ConfigError, match="the text is empty") as caught:
        subjects_of(translator, [text])
    assert caught.value.code == "empty_text"


def test_a_target_has_a_limit(translator: Translator, workshop: Workshop) -> None:
    with pytest.raises(LimitError, match="tokens, more than 1,024") as caught:
        subjects_of(translator, [TEXT], targets=["ü" * 600])
    assert caught.value.code == "too_long"
    learned = TransformerConfig(width=8, heads=2, feedforward=8, positions="learned", max_positions=26)
    with pytest.raises(LimitError, match="more than 25"):
        subjects_of(workshop.translator(learned), [TEXT], targets=["ü" * 20])


def test_as_many_tokens_as_the_model_takes_are_not_cut(workshop: Workshop) -> None:
    count = len(workshop.translator("luong").tokenizers.source.encode(TEXT))
    for most, cut in ((count, False), (count - 1, True)):
        (one,) = subjects_of(workshop.translator("luong", max_length=most), [TEXT], targets=["a"])
        assert bool(one.warnings) is cut
        assert len(one.source_ids) == most
    learned = TransformerConfig(width=8, heads=2, feedforward=8, positions="learned")
    text = "one two three"
    size = len(workshop.translator("luong").tokenizers.target.encode(text))
    (one,) = subjects_of(
        workshop.translator(replace(learned, max_positions=size + 1)), ["a"], targets=[text]
    )  # the end takes a row
    assert len(one.target_ids) == size
    with pytest.raises(LimitError, match=f"the target has {size} tokens, more than {size - 1}"):
        subjects_of(workshop.translator(replace(learned, max_positions=size)), ["a"], targets=[text])


def test_each_text_has_one_target(translator: Translator) -> None:
    with pytest.raises(DataError, match="there are 1 texts and 2 targets"):
        subjects_of(translator, [TEXT], targets=["a", "b"])
    with pytest.raises(DataError, match="there are 1 texts and 0 translations"):
        subjects_of(translator, [TEXT], translations=[])


def test_the_time_of_a_search_is_shared_by_its_texts(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter([10.0, 10.5])
    monkeypatch.setattr(subject, "perf_counter", lambda: next(moments))
    known = translator.translate(TEXT)
    assert [one.ms for one in subjects_of(translator, ["a man", "a horse"])] == [250.0, 250.0]
    assert subjects_of(translator, [TEXT], translations=[known])[0].ms is None


def test_settings_are_what_decides_the_answer(translator: Translator) -> None:
    (one,) = subjects_of(
        translator, [TEXT], options={"sample": True, "seed": 7, "ban": ["x"], "prefix": ["a "]}
    )
    assert one.settings is not None
    chosen = {name: one.settings[name] for name in ("method", "beam", "seed", "top_p", "ban", "prefix")}
    assert chosen == {"method": "sample", "beam": 1, "seed": 7, "top_p": 1.0, "ban": ["x"], "prefix": "a"}
    (plain,) = subjects_of(translator, [TEXT])
    assert plain.settings is not None
    assert (plain.settings["method"], plain.settings["seed"]) == ("beam", None)
    assert not {"mbr", "utility"} & plain.settings.keys()


def test_settings_say_among_how_many_draws_an_answer_was_chosen(translator: Translator) -> None:
    options = {"mbr": 6, "utility": "rouge1", "temperature": 0.5}
    (one,) = subjects_of(translator, [TEXT], options=options)
    assert one.target == translator.translate(TEXT, **options).text
    assert one.settings is not None
    assert one.settings.items() >= {**options, "method": "sample", "beam": 1, "seed": 42}.items()
