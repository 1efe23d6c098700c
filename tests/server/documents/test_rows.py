"""The table of segments: what goes in comes out, in order; what a person wrote stays."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumok.documents.report import SegmentAnswer
from jumok.formats.segments import MarkedText, Segment, Tag
from jumok.server.documents.rows import PAGE, SegmentRows

BOLD = (Tag(0, 1, "<b>", "</b>"),)


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[SegmentRows]:
    made = SegmentRows(tmp_path / "segments.db")
    yield made
    made.close()


def segments(count: int) -> list[Segment]:
    return [Segment(MarkedText(f"source {n}", BOLD), f"line {n}") for n in range(count)]


def test_rows_come_in_pages(rows: SegmentRows) -> None:
    rows.fill(segments(7))
    assert [row.source for row in rows.page(2, 3)] == ["source 2", "source 3", "source 4"]
    assert [row.where for row in rows.page(6, 3)] == ["line 6"]
    assert rows.page(7, 3) == []
    assert (rows.count(), rows.characters()) == (7, 7 * 8)


def test_answers_and_doubts(rows: SegmentRows) -> None:
    rows.fill(segments(4))
    target = MarkedText("target", BOLD)
    rows.answer(1, [SegmentAnswer("translated", target, ("cut",)), SegmentAnswer("skipped")])
    waiting, done, skipped, _ = rows.page(0, 4)
    assert (waiting.target, waiting.outcome, waiting.written) == (None, None, None)
    assert (done.target, done.outcome, done.doubts, done.written) == (
        "target",
        "translated",
        ("cut",),
        target,
    )
    assert (skipped.target, skipped.outcome, skipped.written) == (None, "skipped", None)
    assert [row.n for row in rows.page(0, 4, doubtful=True)] == [1]
    assert rows.page(1, 4, doubtful=True) == []
    assert rows.count(doubtful=True) == 1


def test_the_documents_own_translation_is_shown_and_not_written(rows: SegmentRows) -> None:
    own = MarkedText("own", BOLD)
    rows.fill([Segment(MarkedText("source"), "entry 1", target=own)])
    rows.answer(0, [SegmentAnswer("present")])
    [row] = rows.page(0, 1)
    assert (row.target, row.marked, row.written) == ("own", own, None)


def test_what_a_person_wrote_stays(rows: SegmentRows) -> None:
    rows.fill(segments(2))
    rows.edit(0, MarkedText("mine", BOLD))
    rows.answer(
        0, [SegmentAnswer("translated", MarkedText("theirs")), SegmentAnswer("translated", MarkedText("x"))]
    )
    mine, other = rows.page(0, 2)
    assert (mine.target, mine.edited, mine.outcome, mine.tags) == ("mine", True, "translated", BOLD)
    assert (other.target, other.edited) == ("x", False)
    assert list(rows.written()) == [MarkedText("mine", BOLD), MarkedText("x")]


def test_a_segment_without_translation_keeps_the_tags_of_its_source(rows: SegmentRows) -> None:
    rows.fill(segments(1))
    assert rows.page(0, 1)[0].marked == MarkedText("source 0", BOLD)


def test_what_is_written_comes_in_order_over_pages(rows: SegmentRows) -> None:
    count = 2 * PAGE + 1
    rows.fill(segments(count))
    rows.answer(0, [SegmentAnswer("translated", MarkedText(str(n))) for n in range(count)])
    assert [one and one.text for one in rows.written()] == [str(n) for n in range(count)]


def test_a_reader_that_breaks_off_is_heard(rows: SegmentRows) -> None:
    def broken() -> Iterator[Segment]:
        yield from segments(1)
        raise ValueError("line 2")

    with pytest.raises(ValueError, match="line 2"):
        rows.fill(broken())


ANY = st.text(st.characters(exclude_categories=["Cs"]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(text=ANY, open=ANY, doubt=ANY.filter(bool))
def test_any_text_comes_back(
    tmp_path_factory: pytest.TempPathFactory, text: str, open: str, doubt: str
) -> None:
    rows = SegmentRows(tmp_path_factory.mktemp("rows") / "segments.db")
    marked = MarkedText(text, (Tag(0, len(text), open, "x", keep=True),))
    rows.fill([Segment(MarkedText(text), text)])
    rows.answer(0, [SegmentAnswer("translated", marked, (doubt,))])
    [row] = rows.page(0, 1, doubtful=True)
    assert (row.source, row.where, row.written, row.doubts) == (text, text, marked, (doubt,))
    rows.close()
