import dataclasses
import json

import pytest

from jumok.decoding.results import (
    Confidence,
    Hypothesis,
    Joint,
    Score,
    SentenceSpan,
    TermUse,
    TextLink,
    Token,
    Translation,
    WordDoubt,
    alone,
    shorten,
    sum_up,
    together,
)
from jumok.text.layouts import Protection, TextMasker
from jumok.text.masks import mask
from jumok.text.protected import protected_spans
from jumok.text.restore import restore_all
from jumok.text.sentences import lay_out, whole

TOKENS = (Token(" 안녕", 300, -0.5), Token("</s>", 2, -0.25))


def test_a_translation_is_frozen_and_short_to_look_at() -> None:
    one = Translation("안녕" * 50, -0.75, -0.375, TOKENS, finished=True, source="hello")
    assert repr(one) == f"Translation('{('안녕' * 50)[:59]}…', score=-0.75)"
    with pytest.raises(AttributeError):
        one.text = "other"  # type: ignore[misc]


def test_json_holds_everything() -> None:
    other = Hypothesis("안녕하세요", -1.0, -1.0, (), finished=False)
    one = Translation("안녕", -0.75, -0.375, TOKENS, finished=True, source="hello", alternatives=(other,))
    assert one.hypotheses == (one, other)
    assert json.loads(one.to_json()) == {
        "text": "안녕",
        "score": -0.75,
        "score_per_token": -0.375,
        "tokens": [
            {"text": " 안녕", "id": 300, "logprob": -0.5},
            {"text": "</s>", "id": 2, "logprob": -0.25},
        ],
        "finished": True,
        "sentences": [],
        "links": [],
        "confidence": None,
        "source": "hello",
        "terms": [],
        "alternatives": [
            {
                "text": "안녕하세요",
                "score": -1.0,
                "score_per_token": -1.0,
                "tokens": [],
                "finished": False,
                "sentences": [],
                "links": [],
                "confidence": None,
            }
        ],
        "matches": [],
    }
    assert "안녕" in one.to_json()


def test_plain_values_are_those_of_asdict() -> None:
    doubt = Confidence(0.5, (0.25, 0.5), (WordDoubt((0, 2), 0.5),))
    hypothesis = Hypothesis("나", -1.0, -0.5, (Token("나", 4, -1.0),), finished=True, confidence=doubt)
    fields = {field.name: getattr(hypothesis, field.name) for field in dataclasses.fields(hypothesis)}
    for one in (
        hypothesis,
        Translation(
            **fields, source="I", alternatives=(hypothesis,), terms=(TermUse("I", ("나",), present=True),)
        ),
        Score("I", "나", -1.0, -0.5, hypothesis.tokens),
    ):
        assert one.to_dict() == dataclasses.asdict(one)


def test_a_score_knows_its_pair() -> None:
    score = Score("hello", "안녕", -0.75, -0.375, TOKENS)
    assert repr(score) == "Score('안녕', score=-0.75)"
    assert json.loads(score.to_json())["tokens"][0]["logprob"] == -0.5


def test_parts_are_joined_best_with_best() -> None:
    good, poor = (Hypothesis(t, -0.75, -0.375, TOKENS, finished=f) for t, f in (("가", True), ("나", False)))
    both = Joint(lay_out("a! B.", "en")).translation("a! B.", [[good, poor], [good]])
    assert (both.text, both.source, both.score, both.finished) == ("가 가", "a! B.", -1.5, True)
    assert both.tokens == TOKENS * 2
    assert both.score_per_token == -0.375
    [other] = both.alternatives
    assert (other.text, other.finished) == ("나 가", False)  # the second part has no second answer
    nothing = Joint(whole("")).translation("", [])
    assert (nothing.text, nothing.alternatives) == ("", ())


def test_sentences_say_where_they_stand() -> None:
    one = Hypothesis("가나", -0.75, -0.375, TOKENS, finished=True)
    text = "- One.  Two!\n"
    found = Joint(lay_out(text, "en")).translation(text, [[one], [one]])
    assert found.text == "- 가나  가나\n"
    count = len(TOKENS)
    assert found.sentences == (
        SentenceSpan((2, 6), (2, 4), (0, count)),
        SentenceSpan((8, 12), (6, 8), (count, 2 * count)),
    )
    assert [text[slice(*span.source)] for span in found.sentences] == ["One.", "Two!"]
    assert Joint(whole("One. Two!")).translation("One. Two!", [[one]]).sentences == ()


def test_what_is_written_while_the_second_sentence_grows() -> None:
    joint = Joint(lay_out("他来了。好！", "zh"), "zh", "en")
    assert joint.begun(["He ca"]) == ["", "He ca"]
    assert joint.begun(["He came.", ""]) == ["", "He came.", " ", ""]


def test_links_move_with_their_sentence() -> None:
    link = TextLink((0, 1), (1, 2), 0.5)
    one = Hypothesis("xy", 0.0, 0.0, (), finished=True, links=(link,))
    text = "- One.\n\n  Two!"
    found = Joint(lay_out(text, "en")).translation(text, [[one], [one]])
    assert [text[slice(*each.source)] for each in found.links] == ["O", "T"]
    assert [found.text[slice(*each.target)] for each in found.links] == ["y", "y"]
    assert [each.target[0] for each in found.links] == [3, 9]
    one_alone = Joint(whole("  One")).translation("  One", [[one]])
    assert (one_alone.text, one_alone.links) == ("xy", (TextLink((2, 3), (1, 2), 0.5),))


def test_one_sentence_by_itself_is_translated_by_its_best_hypothesis() -> None:
    good, poor = (Hypothesis(text, -0.75, -0.375, TOKENS, finished=True) for text in ("가", "나"))
    found = alone("One. Two!", [good, poor])
    assert (found.text, found.source, found.score, found.sentences) == ("가", "One. Two!", -0.75, ())
    assert [one.text for one in found.alternatives] == ["나"]


DOUBTS = Confidence(0.5, (0.25, 0.5), (WordDoubt((0, 2), 0.5), WordDoubt((3, 4), 0.25)))


def test_the_share_of_words_that_would_be_changed() -> None:
    assert (DOUBTS.share, DOUBTS.kept) == (0.375, 0.625)
    assert DOUBTS.doubtful == DOUBTS.words[:1]
    assert Confidence(0.0, (), ()).share == 0
    assert DOUBTS.shifted(10) == Confidence(
        0.5, (0.25, 0.5), (WordDoubt((10, 12), 0.5), WordDoubt((13, 14), 0.25))
    )


def test_sentences_together_stay_if_all_of_them_do() -> None:
    found = together([DOUBTS, Confidence(0.2, (0.2,), (WordDoubt((7, 8), 0.2),))])
    assert found.change == pytest.approx(1 - 0.75 * 0.5 * 0.8)
    assert (found.sentences, found.words) == ((0.25, 0.5, 0.2), (*DOUBTS.words, WordDoubt((7, 8), 0.2)))


def test_doubts_move_with_their_sentence_and_to_what_people_see() -> None:
    masker = TextMasker("en", split=True, protect=Protection.MARKS, count=len)
    joint = Joint(masker.lay_out("Hi {name}! Bye."), "en", "de")
    first, second = (Confidence(0.5, (0.5,), (WordDoubt(span, 0.5),)) for span in ((6, 7), (0, 7)))
    links = (TextLink((3, 4), (6, 7), 0.5),)
    one = Hypothesis("Hallo ⓵!", 0.0, 0.0, (), finished=True, links=links, confidence=first)
    two = Hypothesis("Tschüss.", 0.0, 0.0, (), finished=True, confidence=second)
    found = joint.hypothesis([one, two])
    assert found.text == "Hallo {name}! Tschüss."
    assert found.links == (TextLink((3, 9), (6, 12), 0.5),)
    words = (WordDoubt((6, 12), 0.5), WordDoubt((14, 21), 0.5))
    assert found.confidence == Confidence(0.75, (0.5, 0.5), words)
    unsure = joint.hypothesis([one, dataclasses.replace(two, confidence=None)])
    assert (unsure.text, unsure.confidence) == (found.text, None)
    assert [joint.is_plain(0), joint.is_plain(1), Joint(whole("a")).is_plain(0)] == [False, True, True]
    assert joint.begun(["Hallo"]) == ["", "Hallo"]


def test_numbers_that_are_none_are_no_json() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        Score("a", "b", float("nan"), 0.0, ()).to_json()
    assert sum_up(TOKENS[:1]) == (-0.5, -0.5)
    assert sum_up(()) == (0, 0)


def test_a_long_text_is_shown_by_its_beginning() -> None:
    assert shorten("a" * 60) == repr("a" * 60)
    assert shorten("a" * 61) == repr("a" * 59 + "…")


def test_links_lead_to_the_texts_that_people_see() -> None:
    """`⓵` stands for `{name}`, in the source and in the answer."""
    one = mask("Hi {name}!", protected_spans("Hi {name}!"), marks=True)
    [restored] = restore_all([one], ["안녕 ⓵!"], language="ko")
    assert restored.text == "안녕 {name}!"
    assert TextLink((3, 4), (3, 4), 0.5).unmasked(one, restored) == TextLink((3, 9), (3, 9), 0.5)
    assert TextLink((4, 5), (4, 5), 0.25).unmasked(one, restored) == TextLink((9, 10), (9, 10), 0.25)
