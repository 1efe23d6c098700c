import json

from jumok.decoding.results import TermUse, WordDoubt
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
    assert report.summary(999).endswith("… and 6 more")
    assert report_of(*[SegmentAnswer("translated", None, ("x",))] * 2).summary(1) == (
        "2 segments translated · 2 to look at\n  line 1: x\n  … and 1 more"
    )
    assert report.summary().startswith(
        "1,005 segments translated · 1,005 to look at\n  line 1: x\n  line 2: x\n"
    )


def test_all_that_a_report_says() -> None:
    terms = (TermUse("Rad", ("wheel",), present=False), TermUse("Öl", ("oil",), present=True))
    report = report_of(SegmentAnswer("translated", None, ("x", "y"), terms=terms))
    assert report.to_json() == (
        '{"segments": 1, "source": "a.html", "target": "b.html", "format": "html", "translated": 1, '
        '"present": 0, "skipped": 0, "resumed": 0, "doubtful": 1, "doubts": [{"where": "line 1", '
        '"source": "Hallo", "target": "", "doubts": ["x", "y"]}], "terms": 2, "missed": {"Rad → wheel": 1}}'
    )
    assert report.summary() == (
        "1 segment translated · 1 to look at\n  line 1: x; y\n"
        "1 of 2 terms of the glossary are there\nmissed: Rad → wheel (1)"
    )
    nothing = {"segments": 0, "translated": 0, "present": 0, "skipped": 0, "resumed": 0, "doubtful": 0}
    assert DocumentReport("ä", "b", "html").to_dict() == (
        nothing | {"source": "ä", "target": "b", "format": "html", "doubts": (), "terms": 0, "missed": {}}
    )
    assert '"source": "ä"' in DocumentReport("ä", "b", "html").to_json()


def test_words_that_would_be_changed_are_a_reason_each_once() -> None:
    words = tuple(WordDoubt(span, 0.75) for span in ((0, 2), (3, 5), (6, 8)))
    answer = SegmentAnswer("translated", MarkedText("ab ab cd"), ("x",), words)
    assert answer.reasons == ("x", "a person would probably change 'ab', 'cd'")
    assert SegmentAnswer("translated", MarkedText("ab"), ("x",)).reasons == ("x",)
    assert SegmentAnswer("skipped", None, ("x",), words).reasons == ("x",)
