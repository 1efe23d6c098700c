"""What a crash leaves behind is found; what was whole is used again."""

import json
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.decoding.results import TermUse
from jumok.documents.journal import Journal, answer_fields, parse_answer
from jumok.documents.report import SegmentAnswer, WordDoubt
from jumok.errors import ConfigError, RunError
from jumok.formats.segments import MarkedText, Tag
from jumok.seals import sealed, unsealed

JOB = {"source": "abc", "model": "m"}
TEXT = st.text(max_size=10)
TAGS = st.builds(Tag, st.integers(0, 9), st.integers(0, 9), TEXT, TEXT, st.booleans())
TARGETS = st.none() | st.builds(MarkedText, TEXT, st.lists(TAGS, max_size=3).map(tuple))
OUTCOMES = st.sampled_from(["translated", "present", "skipped"])
ANSWERS = st.lists(
    st.builds(SegmentAnswer, OUTCOMES, TARGETS, st.lists(TEXT, max_size=2).map(tuple)), max_size=6
)


@given(ANSWERS)
def test_an_answer_comes_back_as_it_was(answers: list[SegmentAnswer]) -> None:
    assert [parse_answer(answer_fields(one)) for one in answers] == answers


def test_the_terms_of_an_answer_come_back() -> None:
    used = SegmentAnswer("translated", terms=(TermUse("Rad", ("wheel", "bike"), present=False),))
    assert parse_answer(json.loads(json.dumps(answer_fields(used)))) == used


def test_the_doubts_about_words_come_back_to_four_digits() -> None:
    doubtful = SegmentAnswer("translated", words=(WordDoubt((0, 4), 0.6172), WordDoubt((5, 9), 0.8)))
    assert parse_answer(json.loads(json.dumps(answer_fields(doubtful)))) == doubtful


@given(answers=ANSWERS, cut=st.integers(0, 400), damage=st.sampled_from(["cut", "flip"]))
def test_whatever_is_lost_what_is_left_is_a_beginning(
    tmp_path_factory: pytest.TempPathFactory, answers: list[SegmentAnswer], cut: int, damage: str
) -> None:
    path = tmp_path_factory.mktemp("journal") / "x.jumok"
    with Journal(path, JOB) as journal:
        journal.append(answers)
    data = path.read_bytes()
    if damage == "flip" and cut < len(data):
        path.write_bytes(data[:cut] + bytes([data[cut] ^ 1]) + data[cut + 1 :])
    else:
        path.write_bytes(data[:cut])
    with Journal(path, JOB) as journal:
        found = list(journal.answers())
        assert found == answers[: journal.done]
        journal.append([SegmentAnswer("skipped")])
        assert list(journal.answers()) == [*found, SegmentAnswer("skipped")]


def test_another_job_begins_anew(tmp_path: Path) -> None:
    with Journal(tmp_path / "a", JOB) as journal:
        journal.append([SegmentAnswer("skipped")])
    with Journal(tmp_path / "a", {**JOB, "model": "other"}) as journal:
        assert journal.done == 0


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "a", JOB),
        pytest.raises(RunError, match="another process is translating to this place"),
    ):
        Journal(tmp_path / "a", JOB)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot write .*: No such file or directory"):
        Journal(tmp_path / "nowhere" / "a", JOB)


WHOLE = SegmentAnswer(
    "translated",
    MarkedText("ä b", (Tag(0, 1, "<b>", "</b>", keep=True),), 0.75),
    ("x",),
    (WordDoubt((0, 1), 0.61726),),
    (TermUse("Rad", ("wheel",), present=True),),
)


def content(path: Path) -> list[dict[str, object]]:
    return [unsealed(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def test_what_stands_in_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with Journal(path, JOB) as journal:
        journal.append([SegmentAnswer("skipped")])
        journal.append([WHOLE, SegmentAnswer("present")])
        assert journal.done == 3
    assert content(path) == [
        {"journal": 1, "source": "abc", "model": "m"},
        {"n": 0, "outcome": "skipped"},
        {
            "n": 1,
            "outcome": "translated",
            "text": "ä b",
            "tags": [[0, 1, "<b>", "</b>", True]],
            "confidence": 0.75,
            "doubts": ["x"],
            "words": [[0, 1, 0.6173]],
            "terms": [["Rad", ["wheel"], True]],
        },
        {"n": 2, "outcome": "present"},
    ]
    assert '"text": "ä b"' in path.read_text(encoding="utf-8")
    with Journal(path, JOB) as journal:
        assert [one.outcome for one in journal.answers()] == ["skipped", "translated", "present"]
        assert list(journal.answers())[1].target == WHOLE.target
        journal.remove()
        journal.remove()
    assert not path.exists()


@pytest.mark.parametrize(
    ("lines", "done"),
    [
        ([0, 1, 2], 2),
        ([0, 2, 1], 0),
        ([0, 1, 1], 1),
        ([0, 1, 1, 3], 1),
        ([0, 1, 2, 3], 3),
        ([0, 1, 0, 2], 1),
        ([1, 2], 0),
        ([0, 1, None, 2], 1),
    ],
)
def test_lines_count_as_far_as_they_are_in_order(tmp_path: Path, lines: list[int | None], done: int) -> None:
    path = tmp_path / "a"
    with Journal(path, JOB) as journal:
        journal.append([SegmentAnswer("skipped"), WHOLE, SegmentAnswer("present")])
    whole = path.read_bytes().splitlines(keepends=True)
    other = json.dumps(sealed({"n": 1, "outcome": "other"})).encode() + b"\n"
    path.write_bytes(b"".join(other if n is None else whole[n] for n in lines))
    with Journal(path, JOB) as journal:
        assert journal.done == done
        assert path.read_bytes() == b"".join(whole[: done + 1])


def test_another_job_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    with Journal(tmp_path / "a", JOB) as journal:
        journal.append([WHOLE])
    with Journal(tmp_path / "a", {"source": "x"}) as journal:
        journal.append([SegmentAnswer("skipped")])
    assert content(tmp_path / "a") == [{"journal": 1, "source": "x"}, {"n": 0, "outcome": "skipped"}]


def test_what_is_no_answer_is_told() -> None:
    with pytest.raises(ValueError, match="unknown outcome 'other'"):
        parse_answer({"outcome": "other"})


def test_a_disk_that_is_full_is_told(tmp_path: Path) -> None:
    with Journal(tmp_path / "a", JOB) as journal:
        file, journal._file = (
            journal._file,
            Mock(write=Mock(side_effect=OSError(28, "No space left on device"))),
        )
        with pytest.raises(
            RunError, match="cannot write .*a: No space left on device\n  make room on the disk"
        ):
            journal.append([WHOLE])
        journal._file = file
        assert journal.done == 0


def test_an_answer_is_added_at_the_end_wherever_someone_reads(tmp_path: Path) -> None:
    with Journal(tmp_path / "a", JOB) as journal:
        journal.append([SegmentAnswer("skipped"), SegmentAnswer("present")])
        reading = journal.answers()
        assert next(reading).outcome == "skipped"
        journal.append([SegmentAnswer("translated")])
        assert [one.outcome for one in journal.answers()] == ["skipped", "present", "translated"]
