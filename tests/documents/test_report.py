import json

from jumok.documents.report import DocumentReport, ReportCounts, SegmentAnswer
from jumok.formats.segments import MarkedText, Segment


def report_of(*answers: SegmentAnswer, resumed: int = 0) -> DocumentReport:
    counts = ReportCounts()
    for n, answer in enumerate(answers, start=1):
        counts.add(Segment(MarkedText("Hallo"), f"line {n}"), answer)
    return counts.report("a.html", "b.html", "html", resumed)


def test_a_report_counts_and_names_what_is_doubtful() -> None:
    doubtful = SegmentAnswer("translated", MarkedText("Hello"), ("the place of <b></b> is a guess",))
    report = report_of(SegmentAnswer("present"), SegmentAnswer("skipped"), doubtful, resumed=2)
    assert report.segments == 3
    assert report.summary() == (
        "1 segment translated · 1 already there · 1 with nothing to translate · 1 to look at"
        " · 2 of them done before\n  line 3: the place of <b></b> is a guess"
    )
    told = json.loads(report.to_json())
    assert told["doubts"] == [
        {
            "where": "line 3",
            "source": "Hallo",
            "target": "Hello",
            "doubts": ["the place of <b></b> is a guess"],
        }
    ]
    assert (told["segments"], told["translated"], told["present"], told["skipped"]) == (3, 1, 1, 1)


def test_a_long_list_of_doubts_is_cut_and_all_are_counted() -> None:
    report = report_of(*[SegmentAnswer("translated", None, ("x",))] * 1_005)
    assert (report.doubtful, len(report.doubts)) == (1_005, 1_000)
    assert report.summary().endswith("… and 5 more")
