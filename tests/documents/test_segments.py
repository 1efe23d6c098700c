import json

from tests.documents.copying import CopyingModel

import jumok
from jumok.decoding.results import Translation
from jumok.documents.journal import answer_fields, parse_answer
from jumok.documents.report import would_change
from jumok.documents.segments import BLOCK, CHARACTERS, SegmentTranslator, answered, blocks, outside
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
