import json
from typing import Any

import pytest
from tests.documents.copying import CopyingModel, link

import jumok
from jumok.decoding.results import Confidence, TermUse, Translation, WordDoubt
from jumok.documents.journal import answer_fields, parse_answer
from jumok.documents.report import would_change
from jumok.documents.segments import (
    BLOCK,
    CHARACTERS,
    SegmentTranslator,
    answered,
    blocks,
    needs_links,
    outside,
)
from jumok.formats.segments import MarkedText, Segment, Tag


def segments(*texts: str) -> list[Segment]:
    return [Segment(MarkedText(text), f"line {n}") for n, text in enumerate(texts, start=1)]


def test_blocks_are_bounded_and_in_order() -> None:
    many = segments(*map(str, range(2 * BLOCK + 1)))
    assert [len(block) for block in blocks(many)] == [BLOCK, BLOCK, 1]
    assert [one for block in blocks(many) for one in block] == many
    assert [len(block) for block in blocks(segments(*["x" * CHARACTERS] * 3))] == [1, 1, 1]
    assert list(blocks([])) == []


def test_what_no_model_needs_to_see() -> None:
    model = CopyingModel(upper=True)
    there = Segment(MarkedText("a b"), "1", MarkedText("A"))
    found = SegmentTranslator(model, {}).answers([*segments("", "12,5 %", "https://a.org/x", "word"), there])
    assert [one.outcome for one in found] == ["skipped"] * 3 + ["translated", "present"]
    assert found[3].target == MarkedText("WORD")
    assert model.asked_for == [["word"]]
    (again,) = SegmentTranslator(model, {}, all_segments=True).answers([there])
    assert again.target == MarkedText("A B")


def test_white_space_at_the_ends_stays() -> None:
    (found,) = SegmentTranslator(CopyingModel(upper=True), {}).answers(segments("\n  two words "))
    assert found.target == MarkedText("\n  TWO WORDS ")


def test_text_that_is_all_code_is_not_translated() -> None:
    code = MarkedText("run x", (Tag(0, 5, "<code>", "</code>", keep=True),))
    assert outside(code).strip() == ""
    (found,) = SegmentTranslator(CopyingModel(), {}).answers([Segment(code, "1")])
    assert found.outcome == "skipped"


def test_doubtful_words_have_their_places_in_the_target() -> None:
    model = jumok.load("demo/rnn")
    segment = Segment(MarkedText("  the 11th of June in 98 "), "line 1")
    [answer] = SegmentTranslator(model, {"confidence": True}).answers([segment])
    assert answer.target is not None
    found = [answer.target.text[slice(*word.text)] for word in answer.words]
    assert found
    assert all(word.change >= 0.5 for word in answer.words)
    assert answer.doubts == ()
    assert answer.reasons == (would_change(found),)
    assert parse_answer(json.loads(json.dumps(answer_fields(answer)))).reasons == answer.reasons


def test_a_text_that_the_model_has_no_answer_to_stays() -> None:
    source = MarkedText("Ein Wort", (Tag(0, 3, "<b>", "</b>"),))
    found = answered(source, Translation("", 0.0, 0.0, (), finished=True, source="Ein Wort"), "", "")
    assert (found.outcome, found.target) == ("skipped", None)
    assert found.reasons == ("the model had no answer, and the text stays",)


def test_a_block_has_256_segments_or_60_000_characters() -> None:
    def sizes(*lengths: int) -> list[int]:
        return [len(block) for block in blocks(segments(*("x" * length for length in lengths)))]

    assert sizes(*[1] * 513) == [256, 256, 1]
    assert sizes(59_999, 1, 1) == [2, 1]
    assert sizes(1, 59_998, 1, 59_999, 1) == [3, 2]
    assert sizes(60_000, 60_001, 30_000, 30_000) == [1, 1, 2]


@pytest.mark.parametrize(
    ("span", "needed"),
    [
        ((1, 6), False),
        ((0, 7), False),
        ((1, 1), False),
        ((6, 6), False),
        ((2, 6), True),
        ((1, 5), True),
        ((3, 3), True),
    ],
)
def test_links_are_needed_for_tags_inside_a_text(span: tuple[int, int], *, needed: bool) -> None:
    assert needs_links(MarkedText(" ab cd ", (Tag(*span, "<b>", "</b>"),))) == needed
    assert needs_links(MarkedText("ab", (Tag(0, 2, "<b>", "</b>"), Tag(1, 1, "<br>"))))
    assert not needs_links(MarkedText(" ab cd "))


class AskedModel(CopyingModel):
    """Notes how it is asked."""

    def translate(self, texts: Any, **options: Any) -> Any:
        self.options = [
            *getattr(self, "options", ()),
            {key: one for key, one in options.items() if key != "progress"},
        ]
        return super().translate(texts, **options)


def test_titles_and_running_texts_are_asked_for_apart_and_links_where_they_are_needed() -> None:
    model = AskedModel(upper=True)
    code = Tag(2, 4, "<c>", "</c>", keep=True)
    asked = [
        Segment(MarkedText("eins"), "1", sentences=False),
        Segment(MarkedText(" a bc d", (Tag(3, 5, "<c>", "</c>", keep=True), Tag(1, 2, "<b>", "</b>"))), "2"),
        Segment(MarkedText("zwei", (Tag(0, 4, "<b>", "</b>"),)), "3", sentences=False),
        Segment(MarkedText("drei"), "4"),
    ]
    found = SegmentTranslator(model, {"beam": 2}).answers(asked)
    assert [one.target.text for one in found if one.target] == ["EINS", " A bc D", "ZWEI", "DREI"]
    assert model.asked_for == [["eins", "zwei"], ["a bc d", "drei"]]
    assert model.options == [
        {"beam": 2, "sentences": "as-is", "align": False, "keep": [[], []]},
        {"beam": 2, "align": True, "keep": [[(code.begin, code.end)], []]},
    ]


def test_all_that_is_doubtful_about_an_answer() -> None:
    source = MarkedText("ein ls Rad", (Tag(4, 6, "<c>", "</c>", keep=True), Tag(7, 10, "<b>", "</b>")))
    links = (link((4, 6), (2, 6)),)
    terms = (TermUse("Rad", ("wheel",), present=False), TermUse("ein", ("a",), present=True))
    confidence = Confidence(0.5, (0.5,), (WordDoubt((0, 1), 0.25), WordDoubt((2, 6), 0.75)))
    answer = Translation(
        "a list x",
        0.0,
        0.0,
        (),
        finished=False,
        source=source.text,
        links=links,
        terms=terms,
        confidence=confidence,
    )
    found = answered(source, answer, "  ", "\n")
    assert found.target == MarkedText(
        "  a ls x\n", (Tag(4, 6, "<c>", "</c>", keep=True), Tag(7, 8, "<b>", "</b>")), 0.5
    )
    assert found.doubts == (
        "the answer was cut at the length limit",
        "the place of <b></b> is a guess",
        "'ls' had been changed, and was put back",
        "the term 'Rad' is missing",
        "a person would probably change 'list'",
    )
    assert (found.outcome, found.words, found.terms) == ("translated", (), terms)
