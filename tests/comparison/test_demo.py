"""The demo says what its figures say: thirds, falls and the sentence that sums up."""

import json
from pathlib import Path
from typing import Any

import pytest

from jumok.cli.demo import NAMES
from jumok.comparison.bins import wilson
from jumok.comparison.budget import Budget
from jumok.comparison.demo import AT_ONCE, DATA, ThirdsResult, by_thirds, look_inside, open_demo, verdict
from jumok.comparison.entry import ComparisonEntry
from jumok.comparison.measure import TESTED
from jumok.comparison.plan import TUNED
from jumok.comparison.publish import parameter_counts
from jumok.config import ARCHS, Arch
from jumok.decoding.translator import load
from jumok.seals import sealed
from jumok.server.runs.evals import parse

SOURCES = [
    f"{'x' * length}{line}" for line, length in enumerate(range(10, 100))
]  # 90, each longer than the last


def write_tested(out: Path, name: str, right: list[bool]) -> None:
    """Answers to 90 sources, right or wrong."""
    (out / name).mkdir(parents=True)
    references = [[str(line)] for line in range(90)]
    hypotheses = [str(line) if good else "no" for line, good in enumerate(right)]
    kept = {"data": "dates-cjk test", "sha256": "", "sources": SOURCES, "references": references}
    (out / name / TESTED).write_text(json.dumps(sealed({**kept, "hypotheses": hypotheses, "chrf": []})))


def result(arch: Arch, *shares: float) -> ThirdsResult:
    """Of 100 dates in each third so many right; whether it falls is told by the real rule."""
    from jumok.comparison.report import slope_of

    parts = [
        {
            "lo": 1,
            "hi": 9,
            "n": 100,
            "value": share,
            "ci95": wilson(share, 100),
            "thin": False,
            "beyond": False,
        }
        for share in shares
    ]
    slope = slope_of({"name": arch, "quality": {"by_length": {"bins": parts}}}, lower=False)
    assert slope is not None
    whole = sum(shares) / 3
    return ThirdsResult(arch, 300, whole, wilson(3 * whole, 300), parts, slope["falls"])


def test_thirds_are_counted_and_kept_where_the_explorer_finds_them(tmp_path: Path) -> None:
    right = [True] * 30 + [line % 2 == 0 for line in range(30)] + [line < 3 for line in range(30)]
    write_tested(tmp_path, "rnn", right)
    found = by_thirds(tmp_path, ComparisonEntry(name="rnn", arch="rnn"))
    assert [part["n"] for part in found.thirds] == [30, 30, 30]
    assert [part["value"] for part in found.thirds] == [100.0, 50.0, 10.0]
    assert found.short["ci95"] == (pytest.approx(88.65, abs=0.01), 100.0)
    assert found.exact == pytest.approx(100 * sum(right) / 90)
    assert found.n == 90
    assert found.falls is True
    document = parse((tmp_path / "rnn" / "eval" / "dates-cjk-test.json").read_bytes())
    assert document is not None
    assert [part["exact"] for part in document["by_length"]["bins"]] == [100.0, 50.0, 10.0]


def test_what_falls_and_what_holds_is_told_from_the_answers(tmp_path: Path) -> None:
    write_tested(tmp_path, "luong", [True] * 90)
    assert by_thirds(tmp_path, ComparisonEntry(name="luong", arch="luong")).falls is False
    write_tested(tmp_path, "rnn", [False] * 90)
    assert by_thirds(tmp_path, ComparisonEntry(name="rnn", arch="rnn")).falls is None


def test_the_claim_where_the_run_shows_it() -> None:
    found = [result("rnn", 95, 12, 3), result("luong", 100, 100, 100), result("transformer", 100, 99, 98)]
    assert verdict(found, NAMES) == [
        "RNN, one fixed vector reads 95 % of the shortest third and 3 % of the longest: "
        "it falls with length.",
        "RNN + Luong attention reads 100 % of the shortest third and 100 % of the longest: no fall is seen.",
        "Transformer reads 100 % of the shortest third and 98 % of the longest: no fall is seen.",
        "So one fixed vector holds a short date and loses a long one; with attention, length hardly matters.",
    ]


@pytest.mark.parametrize(
    ("rnn", "luong", "transformer", "said"),
    [
        (
            (1, 0, 0),
            (100, 100, 100),
            (100, 100, 100),
            "This run does not show what attention changes: RNN, one fixed vector reads too little.",
        ),
        (
            (40, 5, 0),
            (100, 100, 100),
            (100, 100, 100),
            "This run does not show what attention changes: RNN, one fixed vector reads too little.",
        ),
        (
            (100, 100, 99),
            (100, 100, 100),
            (100, 100, 100),
            "This run does not show what attention changes: RNN, one fixed vector does not fall, RNN + Luong "
            "attention is not better on the longest third and Transformer is not better on the longest "
            "third.",
        ),
        (
            (95, 12, 3),
            (100, 100, 100),
            (90, 30, 4),
            "This run does not show what attention changes: Transformer is not better on the longest third.",
        ),
        (
            (95, 12, 3),
            (100, 100, 100),
            (100, 90, 70),
            "So one fixed vector loses what a long date says. Transformer fell, too, but less: "
            "by 30 points, RNN, one fixed vector by 92.",
        ),
        (
            (60, 30, 20),
            (100, 100, 100),
            (100, 90, 45),
            "This run does not show what attention changes: Transformer falls by 55 points, as far as RNN, "
            "one fixed vector.",
        ),
        (
            (70, 30, 0),
            (100, 100, 100),
            (100, 60, 30),
            "This run does not show what attention changes: Transformer falls by 70 points, as far as RNN, "
            "one fixed vector.",
        ),
        (
            (50, 30, 5),  # half of the shortest third is enough
            (100, 100, 100),
            (100, 99, 98),
            "So one fixed vector holds a short date and loses a long one; with attention, length hardly "
            "matters.",
        ),
    ],
)
def test_a_run_that_comes_out_otherwise_says_so(
    rnn: tuple[int, ...], luong: tuple[int, ...], transformer: tuple[int, ...], said: str
) -> None:
    found = [result("rnn", *rnn), result("luong", *luong), result("transformer", *transformer)]
    assert verdict(found, NAMES)[-1] == said


@pytest.mark.parametrize(
    ("thirds", "said"),
    [
        ((0, 0, 0), "has not learned to read even the shortest third: 0 % of it are right"),
        ((30, 30, 30), "has not learned to read even the shortest third: 30 % of it are right"),
        ((50, 50, 50), "reads 50 % of the shortest third and 50 % of the longest: no fall is seen"),
        ((50, 5, 0), "reads 50 % of the shortest third and 0 % of the longest: it falls with length"),
        ((40, 5, 0), "falls from 40 % to 0 %, and reads less than half of the shortest third"),
        ((95, 12, 3), "reads 95 % of the shortest third and 3 % of the longest: it falls with length"),
        ((100, 99, 94), "reads 100 % of the shortest third and 94 % of the longest: too near to tell a fall"),
        ((97, 97, 99), "reads 97 % of the shortest third and 99 % of the longest: no fall is seen"),
    ],
)
def test_the_course_of_each(thirds: tuple[int, ...], said: str) -> None:
    assert verdict([result("transformer", *thirds)], NAMES)[0] == f"Transformer {said}."


def test_one_alone_shows_no_difference() -> None:
    alone = "it takes one with attention and one without"
    said = f"This run does not show what attention changes: {alone}."
    assert verdict([result("rnn", 95, 12, 3)], NAMES)[-1] == said
    assert verdict([result("luong", 95, 95, 95)], NAMES)[-1] == said


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return open_demo(tmp_path_factory.mktemp("demo") / "out")


def test_all_three_have_the_same_terms(opened: Any) -> None:
    """What the screen and the documents say is the same for all, read from the settings of each."""
    assert [entry.arch for entry in opened.entries] == list(ARCHS)
    settings = [entry.settings for entry in opened.entries]
    own = {"training.lr", "training.log_every"}  # the log is written by the clock, so by each model's speed
    for key in settings[0]:
        if key.split(".")[0] in ("data", "text", "training", "decoding", "seed") and key not in own:
            assert all(one[key] == settings[0][key] for one in settings), key
    assert {one["training.max_steps"] for one in settings} == {TUNED[DATA].steps}
    assert {one["training.threads"] for one in settings} == {1}
    assert len({one["model.bidirectional"] for one in settings[:2]} | {True}) == 1
    counts = parameter_counts(opened).values()
    assert max(counts) / min(counts) < 1.05
    assert settings[2]["model.positions"] == "sinusoidal"
    assert len(opened.entries) == AT_ONCE
    assert (opened.options.growth, opened.options.focus) == (False, False)


def test_time_or_another_seed(tmp_path: Path) -> None:
    timed = open_demo(tmp_path / "timed", seconds=5.0, seed=7)
    assert timed.request.budget == Budget("time", 5.0)
    assert [entry.name for entry in timed.entries] == list(ARCHS)
    assert {entry.seed for entry in timed.entries} == {7}


def test_the_one_with_attention_shows_where_it_looked() -> None:
    text, nothing = look_inside(load("demo/rnn", "cpu"), "5. März 2024")
    assert (text, nothing) == ("2024-03-05", None)
    text, found = look_inside(load("demo/luong", "cpu"), "5. März 2024")
    assert found is not None
    assert "".join(found.target[:-1]).strip() == text == "2024-03-05"
    assert "".join(found.source[:-1]).strip() == "5. März 2024"
