"""Pairs that were pasted: what is wrong with them is what jumok check says of files."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import jumok
from jumok.server.gates.problems import Problem
from jumok.server.trainer.pairs import finding_out, look_at, refuse_unreadable, sides, write_pairs
from jumok.server.trainer.schema import FindingOut, PairsOut, PairsRequest

GOOD = "\n".join(f"ein Wort {n}\ta word {n}" for n in range(120))


def test_good_pairs_have_no_findings() -> None:
    found = look_at(PairsRequest(pairs=GOOD))
    assert (found.pairs, found.findings, found.trainable) == (120, [], True)


def test_two_columns_are_the_same_as_one_table() -> None:
    left, right = zip(*(line.split("\t") for line in GOOD.split("\n")), strict=True)
    found = look_at(PairsRequest(source="\r\n".join(left) + "\r\n", target="\n".join(right)))
    assert found == look_at(PairsRequest(pairs=GOOD))


def test_columns_of_unequal_length_say_where() -> None:
    found = look_at(PairsRequest(source="eins\nzwei\ndrei", target="one\ntwo"))
    worst = found.findings[0]
    assert (worst.kind, worst.severity, worst.count, worst.lines) == ("unequal_lines", "error", 1, [3])
    assert worst.example == (
        "source has 3 lines and target has 2; source:3: the first line that seems to have no partner"
    )
    with pytest.raises(Problem) as refused:
        refuse_unreadable(found)
    assert (refused.value.code, refused.value.sentence) == (
        "bad_pairs",
        f"unequal line counts, line 3: {worst.example}",
    )


def test_lines_that_are_no_pair_are_numbered_and_no_option_of_a_command_is_advised() -> None:
    found = look_at(PairsRequest(pairs="a\tb\nc\nd\te\tf"))
    worst = found.findings[0]
    assert (worst.kind, worst.lines) == ("bad_row", [2, 3])
    assert (worst.example, worst.advice) == (
        "pairs:2: 1 column instead of 2",
        "write one source and one target per line",
    )
    assert not found.trainable


@pytest.mark.parametrize("text", ["", "\n\n", "a\tb"])
def test_nothing_to_learn_from_is_refused(text: str) -> None:
    with pytest.raises(Problem, match="422") as refused:
        refuse_unreadable(look_at(PairsRequest(pairs=text)))
    assert refused.value.code == "bad_pairs"


def test_a_megabyte_is_looked_at() -> None:
    lines = [f"Satz Nummer {n} von vielen\tsentence number {n} of many" for n in range(20_000)]
    text = "\n".join(lines)
    assert len(text) > 1_000_000
    assert look_at(PairsRequest(pairs=text)).pairs == 20_000


def test_the_findings_are_those_of_a_check_of_the_file(tmp_path: Path) -> None:
    text = GOOD + "\nein Wort 3\ta word 3\nhallo\thallo\n \tblank"
    (path,) = write_pairs(tmp_path, "x", sides(PairsRequest(pairs=text)))
    checked = {(one.kind, one.count, one.lines) for one in jumok.check(path).findings}
    assert {
        (one.kind, one.count, tuple(one.lines)) for one in look_at(PairsRequest(pairs=text)).findings
    } == (checked)
    assert len(checked) >= 3


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "source: give pairs, or source and target"),
        ({"source": "a"}, "target: give pairs, or source and target"),
        ({"pairs": "a\tb", "source": "a"}, "pairs: give either pairs, or source and target"),
    ],
)
def test_pairs_come_in_one_of_two_forms(body: dict[str, str], told: str) -> None:
    with pytest.raises(Problem) as refused:
        sides(PairsRequest(**body))
    assert refused.value.sentence == told


def test_files_that_are_there_are_not_written_over(tmp_path: Path) -> None:
    write_pairs(tmp_path, "x", {"tsv": "a\tb"})
    with pytest.raises(FileExistsError):
        write_pairs(tmp_path, "x", {"tsv": "c\td"})
    assert (tmp_path / "x.tsv").read_text() == "a\tb\n"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\r\nb", "a\nb\n"),
        ("a\n\n\n", "a\n"),
        ("\n\r\n", ""),
        ("", ""),
        (" ", " \n"),
        ("\na\rb", "\na\rb\n"),
    ],
)
def test_files_end_with_one_line_break_and_have_no_other_kind(
    tmp_path: Path, text: str, written: str
) -> None:
    one, two = write_pairs(tmp_path, "x", {"source.txt": text, "target.txt": "b"})
    assert (one.name, two.name) == ("x.source.txt", "x.target.txt")
    assert (one.read_bytes(), two.read_bytes()) == (written.encode(), b"b\n")


def finding(kind: str, *lines: int, example: str = "", advice: str = "write b") -> FindingOut:
    told = {"severity": "error", "title": kind.upper(), "advice": advice, "count": 1}
    return FindingOut(kind=kind, lines=list(lines), example=example, **told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ([], "1 pairs are too few to learn from: two are the least"),
        ([finding("copied", 3)], "1 pairs are too few to learn from: two are the least"),
        ([finding("nul", 1234, 2, example="x:1234")], "NUL, line 1,234: x:1234"),
        ([finding("copied", 1), finding("bad_row"), finding("nul", 1)], "BAD_ROW: write b"),
    ],
)
def test_the_first_reason_that_stops_a_training_is_told(findings: list[FindingOut], said: str) -> None:
    with pytest.raises(Problem, match="422") as refused:
        refuse_unreadable(PairsOut(pairs=1, findings=findings, trainable=False))
    assert refused.value.sentence == said
    refuse_unreadable(PairsOut(pairs=2, findings=findings, trainable=True))


def test_two_pairs_are_the_least_and_empty_columns_are_columns() -> None:
    assert [look_at(PairsRequest(pairs=text)).trainable for text in ("a\tb\nc\td", "a\tb")] == [True, False]
    assert sides(PairsRequest(source="", target="")) == {"source.txt": "", "target.txt": ""}
    assert sides(PairsRequest(pairs="")) == {"tsv": ""}
    for body in ({"pairs": "", "target": ""}, {"pairs": "", "source": ""}):
        with pytest.raises(Problem, match="422") as refused:
            sides(PairsRequest(**body))
        assert refused.value.field == "pairs"


def test_advice_for_a_command_line_is_left_out() -> None:
    told = {"kind": "copied", "severity": "warning", "title": "t", "count": 2, "example": "e"}
    found: Any = SimpleNamespace(**told, advice="look; use --x; or not", lines=(1, 5))
    assert finding_out(found).model_dump() == {**told, "advice": "look; or not", "lines": [1, 5]}
