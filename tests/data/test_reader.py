"""One pass over a corpus: its figures, its tidied texts, and every fault named with its line."""

import json
import re
from pathlib import Path
from random import Random

import pytest
from tests.data.pairs import Pairs, PairsCorpus
from tests.data.parallel import parallel

from jumok.data import alignment
from jumok.data import reader as module
from jumok.data.builtin import builtin_corpus
from jumok.data.clean import fix
from jumok.data.corpus import Corpus, open_corpus
from jumok.data.findings import KINDS, Finding
from jumok.data.reader import CheckReport, examine, read_several, survey
from jumok.data.survey import Survey
from jumok.errors import DataError


def look(pairs: Pairs) -> Survey:
    return survey(PairsCorpus(lines=pairs))


def test_figures_are_of_the_tidied_text() -> None:
    found = look([("a  man ", "ein Mann"), ("", "nichts"), ("the dog", " \t"), ("a man", "ein Mann")])
    assert (found.pairs, found.usable) == (4, 2)
    assert (found.source_characters, found.target_characters) == (17, 22)
    assert (found.source_words, found.target_words) == (6, 5)
    assert found.words == 11
    assert found.source_hashes[0] == found.source_hashes[3] != found.source_hashes[2]
    assert found.source_hashes[1] == 0 == found.target_hashes[2]


def test_the_length_leaves_out_one_pair_in_a_hundred() -> None:
    pairs = [("x" * (10 + i % 5), "y") for i in range(995)] + [("x", "y" * 5000)] * 5
    assert look(pairs).longest == 14


def test_reading_reports_its_end() -> None:
    seen = []
    survey(PairsCorpus(lines=[("a", "b")] * 3), progress=lambda *report: seen.append(report))
    assert seen[-1] == ("reading train", 3, 3)


def test_tidied_texts_are_kept_when_asked() -> None:
    pairs = [("a  man ", "ein Mann"), ("", "nichts")]
    assert look(pairs).texts is None
    kept = survey(PairsCorpus(lines=pairs), keep=True).texts
    assert kept is not None
    assert list(kept) == list(kept) == [("a man", "ein Mann"), ("", "nichts")]


def test_an_empty_corpus_is_refused() -> None:
    with pytest.raises(
        DataError, match="train.src \\+ train.tgt is empty\n  train.src\n  give files with one sentence"
    ):
        look([])


@pytest.fixture(scope="module")
def healthy() -> Pairs:
    return list(dict(builtin_corpus("homeassistant-ko-en", "test").pairs()).items())[:600]


def save(folder: Path, name: str, pairs: Pairs) -> Corpus:
    paths = [folder / f"{name}.ko", folder / f"{name}.en"]
    for side, path in enumerate(paths):
        path.write_bytes(b"".join(pair[side].encode("utf-8", "surrogateescape") + b"\n" for pair in pairs))
    return open_corpus(str(paths[0]), str(paths[1]))


def finding(report: CheckReport, kind: str) -> Finding:
    (found,) = [finding for finding in report.findings if finding.kind == kind]
    return found


def test_nothing_is_wrong_with_a_healthy_corpus(tmp_path: Path, healthy: Pairs) -> None:
    report = examine(save(tmp_path, "train", healthy))
    assert report.findings == ()
    assert not report.has_errors
    assert report.parts[0].pairs == 600


@pytest.mark.parametrize(
    ("kind", "pair"),
    [
        ("blank_side", ("", "Some words")),
        ("blank_side", ("몇 마디", " \u00a0 ")),
        ("blank_both", ("", "")),
        ("copied", ("Left as it was", "Left as it was")),
        ("swapped", ("Please enter the serial port settings", "시리얼 포트 설정을 입력하십시오")),
        (
            "odd_length",
            ("짧은 문장", "This goes on and on, far longer than the other side could ever be " * 3),
        ),
        ("control", ("이름\x07", "Name of it")),
        ("nul", ("이름\0", "Name of it")),
        ("line_break", ("이름\u2028 둘", "Name of it")),
        ("replacement", ("이름\ufffd", "Name of it")),
        ("bad_encoding", ("이름\udcff", "Name of it")),
    ],
)
def test_one_bad_pair_is_found_by_its_line(
    tmp_path: Path, healthy: Pairs, kind: str, pair: tuple[str, str]
) -> None:
    report = examine(save(tmp_path, "train", [*healthy[:250], pair, *healthy[250:]]))
    found = finding(report, kind)
    assert (found.count, found.lines, found.part) == (1, (251,), "train")
    assert [f.kind for f in report.findings] == [kind]
    assert report.has_errors == (KINDS[kind].severity == "error")


@pytest.mark.parametrize(
    ("kind", "pair"),
    [
        ("html", ("이름 &amp; 값", "Name <b>and</b> value")),
        ("misread", ("이름", "Cafe".replace("e", "é").encode().decode("latin-1"))),
        ("capitals", ("시리얼 포트 설정", "SERIAL PORT SETTINGS")),
        ("long_line", ("낱말 " * 1_200, "a word or two " * 600)),
    ],
)
def test_one_spoilt_pair_is_found_by_its_line(
    tmp_path: Path, healthy: Pairs, kind: str, pair: tuple[str, str]
) -> None:
    report = examine(save(tmp_path, "train", [*healthy[:250], pair, *healthy[250:]]))
    assert [f.kind for f in report.findings] == [kind]
    found = finding(report, kind)
    assert (found.count, found.lines, found.severity) == (1, (251,), "warning")
    assert found.example.startswith(pair[0][:10])


def test_lines_in_another_language_are_found(tmp_path: Path) -> None:
    pairs = list(builtin_corpus("homeassistant-ko-en", "train").pairs())[:6_000]
    german = "Bitte geben Sie das Kennwort noch einmal ein und drücken Sie dann auf Weiter"
    report = examine(save(tmp_path, "train", [*pairs[:250], (pairs[250][0], german), *pairs[251:]]))
    assert 251 in finding(report, "foreign").lines


def test_a_shift_is_an_error_that_names_its_lines(tmp_path: Path) -> None:
    sources, targets = parallel(900)
    targets.insert(300, "nothing of the kind")
    report = examine(save(tmp_path, "train", list(zip(sources, targets[:900], strict=True))))
    found = finding(report, "shifted")
    assert (found.count, found.lines) == (600, (301,))
    assert found.example == (
        "from line 301 to 900 the target is 1 line behind the source: "
        f"{sources[300]} ↔ {targets[301]} (line 302)"
    )
    assert report.has_errors
    assert "600 lines out of step" in report.summary()


def test_where_a_shift_begins_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten blocks five are looked at; the shift begins in one that is not."""
    monkeypatch.setattr(alignment, "SAMPLE", 1_000)
    sources, targets = parallel(2_000)
    targets.insert(1_050, "nothing of the kind")
    report = examine(save(tmp_path, "train", list(zip(sources, targets[:2_000], strict=True))))
    found = finding(report, "shifted")
    assert found.lines == (1_051,)
    assert found.example.startswith("from line 1,051 to 2,000 ")


@pytest.mark.parametrize(("shares", "kind"), [(0.45, "strangers"), (0.6, "unrelated")])
def test_more_than_half_of_the_pairs_by_chance_are_an_error(tmp_path: Path, shares: float, kind: str) -> None:
    sources, targets = parallel(2_000)
    wrong = int(2_000 * shares)
    targets[:wrong] = Random(0).sample(targets[:wrong], wrong)
    order = Random(1).sample(range(2_000), 2_000)
    pairs = [(sources[n], targets[n]) for n in order]
    report = examine(save(tmp_path, "train", pairs))
    assert finding(report, kind).count == pytest.approx(wrong, abs=100)
    assert report.has_errors == (kind == "unrelated")


def test_pairs_by_chance_and_a_sorted_side_are_told(tmp_path: Path) -> None:
    sources, targets = parallel(1_000)
    other = Random(0).sample(targets, 1_000)
    strangers = finding(examine(save(tmp_path, "a", list(zip(sources, other, strict=True)))), "unrelated")
    assert strangers.severity == "error"
    assert 900 <= strangers.count <= 1_000
    assert re.match("about (9.|100)% of the pairs fit no better than pairs by chance", strangers.example)
    report = examine(save(tmp_path, "b", list(zip(sources, sorted(targets), strict=True))))
    assert finding(report, "sorted").example.endswith("and the target is in alphabetical order")
    assert report.has_errors


def test_a_file_of_other_keys_names_them_and_offers_no_repair(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "body": "a", "subject": "b"}\n' * 30)
    corpus = open_corpus(str(path))
    report = examine(corpus)
    found = finding(report, "no_pairs")
    assert found.count == 30
    assert found.example == (
        f'{path}:1: the object does not hold "src" and "tgt"; its texts are "body", "subject". '
        "name the source and the target: --columns body,subject"
    )
    assert not any("--fix" in f.advice for f in report.findings)
    with pytest.raises(DataError, match="no line is a pair: .*--columns body,subject"):
        fix(corpus, report)
    assert [*tmp_path.iterdir()] == [path]


def test_one_line_of_other_keys_is_one_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"src": "a", "tgt": "b"}\n{"body": "a", "subject": "b"}\n')
    assert finding(examine(open_corpus(str(path))), "bad_row").lines == (2,)


def test_repeats_name_the_line_that_they_repeat(tmp_path: Path, healthy: Pairs) -> None:
    pairs = [*healthy, healthy[4], (healthy[6][0], "Quite another thing")]
    report = examine(save(tmp_path, "train", pairs))
    duplicate, other = finding(report, "duplicate"), finding(report, "many_targets")
    assert (duplicate.lines, duplicate.example) == ((601,), "line 601 repeats line 5")
    assert (other.lines, other.example) == ((602,), "line 602 has the source of line 7")
    assert other.severity == "info"


def test_white_space_does_not_hide_a_repeat(tmp_path: Path, healthy: Pairs) -> None:
    spaced = (f" {healthy[0][0]} ", healthy[0][1])
    report = examine(save(tmp_path, "train", [*healthy, spaced]))
    assert finding(report, "duplicate").lines == (601,)


def test_only_the_first_lines_are_kept(tmp_path: Path, healthy: Pairs) -> None:
    report = examine(save(tmp_path, "train", healthy + [("", "text")] * 40))
    found = finding(report, "blank_side")
    assert found.count == 40
    assert found.lines == tuple(range(601, 611))


def test_unequal_files_name_both_counts_and_a_suspect(tmp_path: Path, healthy: Pairs) -> None:
    corpus = save(tmp_path, "train", healthy)
    lines = (tmp_path / "train.en").read_text(encoding="utf-8").split("\n")
    del lines[300]
    (tmp_path / "train.en").write_text("\n".join(lines), encoding="utf-8")
    report = examine(corpus)
    found = finding(report, "unequal_lines")
    assert found.severity == "error"
    assert found.count == 1
    assert abs(found.lines[0] - 301) < 15
    assert f"{tmp_path}/train.ko has 600 lines and {tmp_path}/train.en has 599; " in found.example


def test_leaks_into_valid_and_test_are_found(tmp_path: Path, healthy: Pairs) -> None:
    train = save(tmp_path, "train", healthy[:400])
    valid = save(tmp_path, "valid", [*healthy[400:500], healthy[9]])
    test = save(tmp_path, "test", [(healthy[3][0], "Quite another thing"), *healthy[500:]])
    report = examine(train, others={"valid": valid, "test": test})
    leak, shared = finding(report, "leak"), finding(report, "shared_source")
    assert (leak.part, leak.lines, leak.example) == ("valid", (101,), "valid line 101 is train line 10")
    assert (shared.part, shared.lines) == ("test", (1,))
    assert [part.part for part in report.parts] == ["train", "valid", "test"]


def test_sides_given_in_the_wrong_order_are_noticed(tmp_path: Path, healthy: Pairs) -> None:
    train = save(tmp_path, "train", healthy[:500])
    valid = save(tmp_path, "valid", [(en, ko) for ko, en in healthy[500:]])
    assert finding(examine(train, others={"valid": valid}), "swapped").count > 80


def test_an_empty_corpus_is_an_error(tmp_path: Path) -> None:
    report = examine(save(tmp_path, "train", []))
    assert [f.kind for f in report.findings] == ["empty"]
    assert report.has_errors


def test_a_corpus_of_one_line_can_be_examined(tmp_path: Path) -> None:
    report = examine(save(tmp_path, "train", [("하나", "one")]))
    assert [(f.kind, f.count) for f in report.findings] == [("few", 1)]
    assert not report.has_errors


def test_one_empty_file_is_unequal(tmp_path: Path) -> None:
    corpus = save(tmp_path, "train", [("하나", "one")])
    (tmp_path / "train.en").write_bytes(b"")
    found = finding(examine(corpus), "unequal_lines")
    assert found.lines == (1,)


def test_the_worst_comes_first_and_the_report_is_plain_data(tmp_path: Path, healthy: Pairs) -> None:
    pairs = [*healthy, healthy[0], ("", ""), ("a\0", "b")]
    data = examine(save(tmp_path, "train", pairs)).to_dict()
    assert [f["severity"] for f in data["findings"]] == ["error", "warning", "info"]
    assert data["counts"] == {"error": 1, "warning": 1, "info": 1}
    assert json.loads(json.dumps(data)) == data
    assert set(data["findings"][0]) == {
        "kind", "severity", "part", "title", "count", "lines", "example", "advice", "unit",
    }  # fmt: skip


def test_progress_ends_with_all_lines(tmp_path: Path, healthy: Pairs) -> None:
    seen: list[tuple[str, int, int | None]] = []
    examine(save(tmp_path, "train", healthy), progress=lambda *report: seen.append(report))
    assert seen[-1] == ("reading train", 600, 600)


def test_training_sees_what_a_check_sees(tmp_path: Path, healthy: Pairs) -> None:
    odd = [("", "text"), healthy[0], ("Left as it was", "Left as it was"), ("bell\a", "Bell rings")]
    train = save(tmp_path, "train", [*healthy[:500], *odd])
    valid = {"valid": save(tmp_path, "valid", [*healthy[500:], healthy[3]])}
    check, training = (examine(train, others=valid, strict=strict) for strict in (False, True))
    assert {f.kind for f in check.findings} == {"blank_side", "duplicate", "copied", "control", "leak"}
    assert training.findings == check.findings
    assert training.summary() == (
        "504 pairs; 5 worth a look (1 control characters, 1 blank on one side, 1 source copied to target, "
        "1 repeated pairs, 1 valid pairs also in train)"
    )


FEW = PairsCorpus(lines=[("one", "eins"), ("two", "zwei"), ("one", "eins"), ("one", "uno")])
SAME = PairsCorpus(lines=[("same text", "same text"), ("", "x")])
OTHER = PairsCorpus(lines=[("one", "eins"), ("two", "drei"), ("same text", "same text")])


def told(report: CheckReport) -> list[tuple[str, str, tuple[int, ...], str]]:
    assert all(found.count == len(found.lines) or found.kind == "few" for found in report.findings)
    return [(found.kind, found.part, found.lines, found.example) for found in report.findings]


@pytest.mark.parametrize("alone", [(), ("b",)])
def test_several_corpora_are_read_as_what_they_are(alone: tuple[str, ...]) -> None:
    """Each by its own habits and name; text in one language is no pair, so that nothing is copied."""
    report = read_several({"a": FEW, "b": SAME}, {"valid": OTHER}, alone=alone)
    copied = [("copied", "b", (1,), "same text ↔ same text")]
    assert told(report) == [
        ("duplicate", "a", (3,), "line 3 repeats line 1"),
        *([] if alone else copied),
        ("blank_side", "b", (2,), " ↔ x"),
        ("copied", "valid", (3,), "same text ↔ same text"),
        ("leak", "valid", (1,), "valid line 1 is a line 1"),
        ("leak", "valid", (3,), "valid line 3 is b line 1"),
        ("many_targets", "a", (4,), "line 4 has the source of line 1"),
        ("shared_source", "valid", (2,), "valid line 2 is a line 2"),
    ]
    assert ([part.part for part in report.parts], report.has_errors) == (["a", "b", "valid"], False)


def test_a_summary_counts_what_is_worth_a_look() -> None:
    report = examine(FEW, others={"valid": OTHER})
    assert told(report) == [
        ("few", "train", (), ""),
        ("duplicate", "train", (3,), "line 3 repeats line 1"),
        ("copied", "valid", (3,), "same text ↔ same text"),
        ("leak", "valid", (1,), "valid line 1 is train line 1"),
        ("many_targets", "train", (4,), "line 4 has the source of line 1"),
        ("shared_source", "valid", (2,), "valid line 2 is train line 2"),
    ]
    assert report.summary() == (
        "4 pairs, which is very few; 3 worth a look (1 repeated pairs, 1 valid source copied to target, "
        "1 valid pairs also in train)"
    )
    plain = report.to_dict()
    assert plain["counts"] == {"error": 0, "warning": 4, "info": 2}
    files = {"source": "train.src", "target": "train.tgt"}
    assert plain["parts"] == [{"name": "train", **files, "pairs": 4}, {"name": "valid", **files, "pairs": 3}]
    assert survey(PairsCorpus(), strict=False).longest == 0


def test_a_healthy_corpus_needs_no_summary_and_a_small_one_does(tmp_path: Path, healthy: Pairs) -> None:
    assert examine(save(tmp_path, "train", [*healthy, ("", "")])).summary() == ""  # an info is no matter
    assert examine(save(tmp_path, "train", healthy[:60])).summary() == "60 pairs, which is very few"


def test_strict_reading_stops_where_a_check_goes_on(tmp_path: Path, healthy: Pairs) -> None:
    corpus = save(tmp_path, "train", [*healthy, ("이름\udcff", "Name of it")])
    with pytest.raises(DataError, match=r"byte 0xFF is not UTF-8\n  .*train\.ko:601:7"):
        examine(corpus, strict=True)
    found = finding(examine(corpus), "bad_encoding")
    assert found.example == f"{tmp_path}/train.ko:601:7: byte 0xFF is not UTF-8"


@pytest.mark.parametrize("chunk", [1, 7, 100_000])
def test_chunks_change_nothing(
    tmp_path: Path, healthy: Pairs, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [*healthy[:300], ("", "text"), *healthy[300:], healthy[0], (healthy[1][1], healthy[1][0])]
    whole = examine(save(tmp_path, "train", pairs))
    monkeypatch.setattr(module, "CHUNK", chunk)
    again = examine(save(tmp_path, "train", pairs))
    assert again.findings == whole.findings
    assert {f.kind for f in whole.findings} == {"blank_side", "duplicate", "swapped"}
    for name in ("pairs", "words", "longest", "source_characters", "lines"):
        assert getattr(again.train, name) == getattr(whole.train, name)
    assert again.train.numbers.tolist() == list(range(1, len(pairs) + 1))
