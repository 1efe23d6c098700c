"""A cleaned copy beside the original."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.data.parallel import parallel

from jumok.data.clean import CleanedCopy, clean_name, clean_names, fix, keys_of
from jumok.data.corpus import Corpus, open_corpus
from jumok.data.reader import examine
from jumok.errors import DataError

Pairs = list[tuple[str, str]]
ROWS = [
    ("one", "eins"),
    ("two\u2028too", "zwei\x07"),
    ("", "drei"),
    ("one", "eins"),
    ("four", "four"),
    ("5", "5"),
]


def save(folder: Path, pairs: Pairs) -> Corpus:
    for side, name in enumerate(("train.en", "train.de")):
        (folder / name).write_text(
            "".join(pair[side] + "\n" for pair in pairs), encoding="utf-8", newline="\n"
        )
    return open_corpus(str(folder / "train.en"), str(folder / "train.de"))


def clean(corpus: Corpus, **others: Corpus) -> CleanedCopy:
    return fix(corpus, examine(corpus, others=others))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("train.en", "train.clean.en"),
        ("data.v2/train.en.gz", "data.v2/train.clean.en.gz"),
        ("pairs.tsv", "pairs.clean.tsv"),
        ("a.b.jsonl", "a.b.clean.jsonl"),
        ("train", "train.clean"),
        (".hidden", ".hidden.clean"),
    ],
)
def test_the_copy_is_named_after_the_original(name: str, wanted: str) -> None:
    assert clean_name(name) == wanted


def test_progress_ends_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the last lines hold no pair."""
    monkeypatch.setattr("jumok.data.reader.CHUNK", 2)
    corpus = save(tmp_path, [("one", "eins"), ("two", "zwei"), ("x", "y")])
    (tmp_path / "train.en").write_bytes(b"one\ntwo\n\xff\n")
    told = list[tuple[str, int, int | None]]()
    fix(corpus, examine(corpus, others={}), progress=lambda *one: told.append(one))
    assert told == [("clean", 2, 3), ("clean", 3, 3)]


def test_bad_pairs_are_dropped_and_strays_removed(tmp_path: Path) -> None:
    cleaned = clean(save(tmp_path, ROWS))
    assert (tmp_path / "train.clean.en").read_text(encoding="utf-8") == "one\ntwo too\n5\n"
    assert (tmp_path / "train.clean.de").read_text(encoding="utf-8") == "eins\nzwei\n5\n"
    assert cleaned.files == (f"{tmp_path}/train.clean.en", f"{tmp_path}/train.clean.de")
    assert (cleaned.kept, cleaned.changed) == (3, 1)
    assert cleaned.dropped == {"blank_side": 1, "duplicate": 1, "copied": 1}
    assert json.loads(json.dumps(cleaned.to_dict()))["kept"] == 3


def test_the_original_is_not_touched(tmp_path: Path) -> None:
    corpus = save(tmp_path, ROWS)
    before = corpus.fingerprint()
    clean(corpus)
    assert corpus.fingerprint() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "train.clean.de", "train.clean.en", "train.de", "train.en",
    ]  # fmt: skip


def test_undecodable_pairs_are_dropped(tmp_path: Path) -> None:
    corpus = save(tmp_path, ROWS)
    (tmp_path / "train.en").write_bytes(b"one\n\xff\xfe\n3\n1\n4\n5\n")
    assert clean(corpus).dropped["bad_encoding"] == 1


def test_gzip_tsv_stays_gzip_tsv(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\nalone\na\tb\n"))
    cleaned = clean(open_corpus(str(path)))
    assert gzip.decompress((tmp_path / "pairs.clean.tsv.gz").read_bytes()) == b"a\tb\n"
    assert cleaned.dropped == {"bad_row": 1, "duplicate": 1}


def test_the_names_of_columns_stay(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("en\tde\nA long sentence\tEin langer Satz\n", encoding="utf-8")
    clean(open_corpus(str(path)))
    assert (tmp_path / "pairs.clean.tsv").read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


def test_a_file_without_any_pair_is_not_cleaned(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(DataError, match="1 column instead of 2") as caught:
        clean(open_corpus(str(tmp_path / "pairs.tsv")))
    assert caught.value.code == "no_pairs"


def test_objects_have_the_languages_for_keys_where_these_are_two(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("en,de,en-us,x\na,b,c,d\n", encoding="utf-8")
    found = [keys_of(open_corpus(str(path), columns=f"en,{name}")) for name in ("de", "en-us", "x")]
    assert found == [("en", "de"), ("src", "tgt"), ("src", "tgt")]
    assert keys_of(open_corpus(str(path), columns="x,en")) == ("src", "tgt")


def test_jsonl_stays_jsonl(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"translation": {"ko": "하나\\n", "en": "one"}}\n', encoding="utf-8")
    clean(open_corpus(str(path)))
    assert (tmp_path / "pairs.clean.jsonl").read_text(encoding="utf-8") == '{"ko": "하나 ", "en": "one"}\n'


def test_held_out_pairs_are_taken_out_of_train(tmp_path: Path) -> None:
    path = tmp_path / "valid.tsv"
    path.write_text("one\teins\n", encoding="utf-8")
    cleaned = clean(save(tmp_path, [("one", "eins"), ("two", "zwei")]), valid=open_corpus(str(path)))
    assert cleaned.dropped == {"leak": 1}


def test_an_earlier_copy_is_kept_unless_forced(tmp_path: Path) -> None:
    corpus = save(tmp_path, ROWS)
    (tmp_path / "train.clean.de").write_text("mine", encoding="utf-8")
    report = examine(corpus)
    with pytest.raises(DataError, match=r"train\.clean\.de exists already"):
        clean_names(corpus)
    with pytest.raises(DataError, match=r"train\.clean\.de exists already") as caught:
        fix(corpus, report)
    assert caught.value.hint == "move it away, or add --force to replace it"
    assert (tmp_path / "train.clean.de").read_text(encoding="utf-8") == "mine"
    assert fix(corpus, report, force=True).kept == 3
    assert (tmp_path / "train.clean.de").read_text(encoding="utf-8") == "eins\nzwei\n5\n"


def test_unequal_files_cannot_be_cleaned(tmp_path: Path) -> None:
    corpus = save(tmp_path, ROWS)
    (tmp_path / "train.de").write_text("eins\n", encoding="utf-8")
    with pytest.raises(DataError, match="has 6 lines and .*has 1: which belong together") as caught:
        clean(corpus)
    assert caught.value.code == "unequal_lines"
    assert not (tmp_path / "train.clean.en").exists()


def test_a_pipe_has_no_place_beside_it(tmp_path: Path) -> None:
    corpus = save(tmp_path, ROWS)
    piped = Corpus(corpus.source, corpus.target, names=("standard input", ""))
    with pytest.raises(DataError, match="came through a pipe") as caught:
        clean(piped)
    assert caught.value.hint == "save the corpus to a file first"


def test_a_failure_leaves_no_half_written_file(tmp_path: Path) -> None:
    corpus = save(tmp_path, ROWS * 2)
    report = examine(corpus)
    (tmp_path / "train.de").unlink()
    with pytest.raises(DataError, match="no such file"):
        fix(corpus, report)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.en"]


side = st.text(st.sampled_from("ab 1\0\x07\x85\u2028\r\t가"), max_size=5)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(side, side), max_size=9))
def test_a_cleaned_copy_has_nothing_left_to_clean(tmp_path: Path, pairs: Pairs) -> None:
    corpus = save(tmp_path, pairs)
    cleaned = fix(corpus, examine(corpus), force=True)
    again = examine(open_corpus(*cleaned.files))
    assert {finding.kind for finding in again.findings} <= {"few", "empty", "many_targets"}
    assert cleaned.kept + sum(cleaned.dropped.values()) == len(pairs)
    assert again.parts[0].pairs == cleaned.kept


def test_only_what_is_said_is_repaired(tmp_path: Path) -> None:
    """Lines out of step and endless ones go, misread text is read again; all else stays as it was."""
    sources, targets = parallel(400)
    targets.insert(200, "nothing of the kind")
    pairs = list(zip(sources, targets[:400], strict=True))
    misread = "Ein Café".encode().decode("latin-1")
    kept = [("stone &amp; tile", "<b>Stein</b> und Ziegel"), ("ALL OF IT IN CAPITALS", "in kleinen Lettern")]
    pairs[10:10] = [*kept, ("a café", misread), ("word " * 1_200, "Wort " * 1_200)]
    corpus = save(tmp_path, pairs)
    cleaned = fix(corpus, examine(corpus))
    assert cleaned.dropped == {"long_line": 1, "shifted": 200}
    assert cleaned.changed == 1
    left = list(open_corpus(*cleaned.files).pairs())
    assert left == [*pairs[:12], ("a café", "Ein Café"), *pairs[14:204]]
