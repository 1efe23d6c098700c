"""How a corpus is read: a chunk at a time, its habits learned from a part, and what is told in words."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.data.pairs import PairsCorpus
from tests.data.pictures import write_pictures

from jumok.data import reader as module
from jumok.data.alignment import Alignment, PairSample, Span, Stretch
from jumok.data.corpus import open_corpus
from jumok.data.findings import Finding
from jumok.data.pictures import with_pictures
from jumok.data.reader import CorpusReader, examine, picture_faults, survey
from jumok.data.survey import Survey

TEN = PairsCorpus(lines=[("ab", str(n)) for n in range(10)])
STRETCHES = tuple(Stretch(100 * n + 1, 100 * n + 50, n) for n in range(1, 5))
BEHIND = (
    "from line 101 to 150 the target is 1 line behind the source; "
    "from line 201 to 250 the target is 2 lines behind the source; "
    "from line 301 to 350 the target is 3 lines behind the source"
)
CHANCE = "of the pairs fit no better than pairs by chance"


@pytest.mark.parametrize(
    ("chunk", "text", "sizes"),
    [(3, 1_000, [3, 3, 3, 1]), (5, 1_000, [5, 5]), (99, 15, [6, 4]), (99, 14, [5, 5]), (99, 1_000, [10])],
)
def test_so_many_pairs_or_characters_are_looked_at_together(
    monkeypatch: pytest.MonkeyPatch, chunk: int, text: int, sizes: list[int]
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    monkeypatch.setattr(module, "CHUNK_TEXT", text)
    chunks = list(CorpusReader(TEN).chunks())
    assert [len(one.numbers) for one in chunks] == sizes
    assert [number for one in chunks for number in one.numbers] == list(range(1, 11))
    assert [text for one in chunks for text in one.targets] == [str(n) for n in range(10)]
    told: list[tuple[str, int, int | None]] = []
    survey(TEN, part="valid", progress=lambda *report: told.append(report))
    read = [*np.cumsum(sizes).tolist(), 10]
    assert [done for _, done, _ in told] == read
    assert {what for what, _, _ in told} == {"reading valid"}
    assert [total for _, _, total in told] == [None] * len(sizes) + [10]


@pytest.mark.parametrize(("pairs", "text"), [(4, 1_000), (1_000, 11)])
def test_the_habits_of_a_corpus_are_those_of_its_first_pairs(
    monkeypatch: pytest.MonkeyPatch, pairs: int, text: int
) -> None:
    """Of four pairs here, or of more than eleven characters, three in each."""
    monkeypatch.setattr(module, "SAMPLE", pairs)
    monkeypatch.setattr(module, "SAMPLE_TEXT", text)
    monkeypatch.setattr(module, "CHUNK", 1)
    reader = CorpusReader(TEN)
    waiting = []
    for chunk in reader.chunks():
        reader.add(chunk)
        waiting.append((len(reader.waiting), reader.profile is not None))
    assert waiting == [(1, False), (2, False), (3, False), *[(0, True)] * 7]


def test_a_corpus_of_a_hundred_pairs_is_not_very_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CorpusReader, "align", lambda _: Alignment())  # which takes its time
    for pairs, part, kinds in ((99, "train", ["few"]), (100, "train", []), (99, "valid", [])):
        lines = [(f"source {n}", f"target {n}") for n in range(pairs)]
        found = survey(PairsCorpus(lines=lines), part=part).findings
        assert [(one.kind, one.count, one.lines) for one in found] == [(kind, pairs, ()) for kind in kinds]


@pytest.mark.parametrize(
    ("alignment", "found"),
    [
        (Alignment(), []),
        (
            Alignment(STRETCHES[:3], example="a ↔ b (line 102)"),
            [Finding("shifted", "p", 150, (101, 201, 301), f"{BEHIND}: a ↔ b (line 102)")],
        ),
        (Alignment(STRETCHES), [Finding("shifted", "p", 200, (101, 201, 301, 401), f"{BEHIND}; …")]),
        (
            Alignment((), 0.5, (3, 7)),
            [Finding("strangers", "p", 200, (3, 7), f"about 50% {CHANCE}")],
        ),
        (
            Alignment(STRETCHES[:1], 0.51, (3, 7)),
            [
                Finding("shifted", "p", 50, (101,), BEHIND.split(";")[0]),
                Finding("unrelated", "p", 178, (3, 7), f"about 51% {CHANCE}"),  # of the other 350
            ],
        ),
        (
            Alignment((), 0.999, (3,), "target"),
            [
                Finding(
                    "sorted",
                    "p",
                    400,
                    (),
                    f"about 100% {CHANCE}, and the target is in alphabetical order",
                )
            ],
        ),
    ],
)
def test_what_the_order_of_lines_shows_is_said_in_words(alignment: Alignment, found: list[Finding]) -> None:
    hashes = np.arange(1, 401, dtype=np.uint64)
    part = Survey(400, 0, 0, 0, 0, 0, hashes, hashes, part="p", alignment=alignment)
    assert list(module._order(part)) == found


def test_four_places_at_most_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    doubtful: list[Span] = [(n, n) for n in range(1, 7)]
    asked: list[tuple[Span, ...]] = []
    monkeypatch.setattr(PairSample, "doubtful", lambda *_: doubtful)

    def judge(sample: PairSample) -> Alignment:
        asked.append(sample.spans)
        return Alignment()

    monkeypatch.setattr(module, "judge", judge)
    assert survey(TEN).alignment == Alignment()
    assert asked == [(), tuple(doubtful[:4])]


def test_pictures_are_tried_and_named_by_what_is_wrong(tmp_path: Path) -> None:
    images, captions = write_pictures(tmp_path, 3)
    (Path(images) / "1.png").write_bytes(b"no picture")
    with Path(captions).open("a", encoding="utf-8") as file:
        file.write("../2.png\toutside\nmissing.png\tmissing\n2.png\t\n")
    corpus = with_pictures(open_corpus(captions), images)
    names = ["0.png", "1.png", "2.png", "../2.png", "missing.png", "2.png"]
    assert picture_faults(corpus, names) == {1: "bad_image", 3: "outside", 4: "no_image"}
    found = {one.kind: one.lines for one in examine(corpus).findings}
    assert found == {"outside": (4,), "no_image": (5,), "bad_image": (2,), "blank_side": (6,), "few": ()}


def test_a_finding_tells_its_first_ten_lines() -> None:
    found = survey(PairsCorpus(lines=[("same", "same")] * 30))
    kinds = {one.kind: (one.count, one.lines) for one in found.findings if one.kind != "few"}
    assert kinds["duplicate"] == (29, tuple(range(2, 12)))
    again = replace(found, unit="row", part="b")
    (leak,) = [one for one in module._leaks(again, replace(found, part="a")) if one.kind == "leak"]
    assert (leak.count, leak.lines, leak.example) == (30, tuple(range(1, 11)), "b row 1 is a line 1")
