"""Files to tokenizer and stores: without leakage, made once, and again when something changed."""

import errno
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumok.config import RunConfig
from jumok.data.reader import examine
from jumok.data.variants import PendingStores
from jumok.errors import ConfigError, DataError, RunError
from jumok.evaluation.lengths import count_lengths
from jumok.run.corpora import open_corpora, read_corpora
from jumok.run.prepare import Prepared, prepare
from jumok.settings import nest, parse_config
from jumok.text.normalize import tidy
from jumok.text.tokenizer import Tokenizer


def write(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def config_for(folder: Path, sources: list[str], targets: list[str], **more: Any) -> RunConfig:
    flat = {
        "data.source": write(folder / "a.src", sources),
        "data.target": write(folder / "a.tgt", targets),
        "data.hold_out": 3,
        "text.vocabulary": 300,
        **{name.replace("__", "."): value for name, value in more.items()},
    }
    return parse_config(nest(flat))


def prepare_in(
    folder: Path, config: RunConfig, on_survey: Callable[[], None] = lambda: None, *, background: bool = False
) -> Prepared:
    corpora = open_corpora(config)

    def found() -> Any:
        on_survey()
        others = {"valid": corpora.valid} if corpora.valid else {}
        return examine(corpora.train, others=others, strict=True, keep=True)

    return prepare(
        folder,
        corpora,
        config,
        found,
        fingerprint=corpora.fingerprint,
        processes=1,
        background=background,
    )


def texts(prepared: Prepared) -> list[tuple[str, str]]:
    """What the training store holds, as text again."""
    store, both = prepared.train, prepared.tokenizers
    return [
        (both.source.decode(store.source(row).tolist()), both.target.decode(store.target(row).tolist()))
        for row in range(len(store))
    ]


SOURCES = [f"the number {i}" for i in range(30)]
TARGETS = [f"die Zahl {i}" for i in range(30)]


def test_all_pairs_are_in_training_or_in_validation(tmp_path: Path) -> None:
    prepared = prepare_in(tmp_path / "data", config_for(tmp_path, SOURCES, TARGETS))
    assert sorted([*texts(prepared), *prepared.valid_pairs]) == sorted(zip(SOURCES, TARGETS, strict=True))
    assert len(prepared.valid) == len(prepared.valid_pairs) == 3
    assert prepared.tokenizers.shared


line = st.text("ab ", max_size=3)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(repeated=st.lists(st.tuples(line, line), max_size=12), unique=st.integers(4, 6))
def test_no_validation_text_is_trained_on(
    repeated: list[tuple[str, str]], unique: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("data")
    pairs = repeated + [(f"c {i}", f"d {i}") for i in range(unique)] + repeated
    config = config_for(folder, [source for source, _ in pairs], [target for _, target in pairs])
    prepared = prepare_in(folder / "data", config)
    assert len(prepared.valid_pairs) == 3
    trained = texts(prepared)
    assert not {source for source, _ in prepared.valid_pairs} & {source for source, _ in trained}
    assert not {target for _, target in prepared.valid_pairs} & {target for _, target in trained}


def files_in(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_second_call_reads_back_what_the_first_made(tmp_path: Path) -> None:
    config, surveys = config_for(tmp_path, SOURCES, TARGETS), []
    first = prepare_in(tmp_path / "data", config, lambda: surveys.append(1))
    before = files_in(tmp_path / "data")
    second = prepare_in(tmp_path / "data", config, lambda: surveys.append(1))
    assert files_in(tmp_path / "data") == before
    assert surveys == [1]
    assert second.train.fingerprint == first.train.fingerprint
    assert second.valid_pairs == first.valid_pairs
    assert second.tokenizers.fingerprint == first.tokenizers.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"text__kind": "char"},
        {"text__vocabulary": 310},
        {"text__shared": False},
        {"text__dropout": 0.1},
        {"data__max_length": 64},
        {"data__hold_out": 4},
        {"seed": 7},
    ],
    ids=str,
)
def test_changed_settings_make_everything_again(change: dict[str, Any], tmp_path: Path) -> None:
    prepare_in(tmp_path / "data", config_for(tmp_path, SOURCES, TARGETS))
    surveys: list[int] = []
    again = prepare_in(
        tmp_path / "data", config_for(tmp_path, SOURCES, TARGETS, **change), lambda: surveys.append(1)
    )
    fresh = prepare_in(tmp_path / "fresh", config_for(tmp_path, SOURCES, TARGETS, **change))
    assert surveys == [1]
    assert again.train.fingerprint == fresh.train.fingerprint
    assert again.valid_pairs == fresh.valid_pairs


def test_changed_text_and_broken_off_work_are_made_again(tmp_path: Path) -> None:
    prepare_in(tmp_path / "data", config_for(tmp_path, SOURCES, TARGETS))
    other = prepare_in(tmp_path / "data", config_for(tmp_path, SOURCES, [f"{text}!" for text in TARGETS]))
    assert all(target.endswith("!") for _, target in [*texts(other), *other.valid_pairs])
    (tmp_path / "data" / "prepared.json").unlink()
    (tmp_path / "data" / "tokenizer.json").write_text("half of it")
    again = prepare_in(tmp_path / "data", config_for(tmp_path, SOURCES, TARGETS))
    assert len(again.train) == 27


def test_a_trained_model_keeps_its_tokenizers(tmp_path: Path) -> None:
    first = prepare_in(tmp_path / "data", config_for(tmp_path, SOURCES, TARGETS))
    config = config_for(tmp_path, [f"{text} ✓" for text in SOURCES], TARGETS)
    corpora = open_corpora(config)
    again = prepare(
        tmp_path / "data",
        corpora,
        config,
        lambda: read_corpora(corpora),
        fingerprint=corpora.fingerprint,
        tokenizers=first.tokenizers,
    )
    assert again.tokenizers.fingerprint == first.tokenizers.fingerprint
    assert all(source.endswith(" ✓") for source, _ in texts(again))


def test_old_pairs_are_read_back_with_the_new(tmp_path: Path) -> None:
    old = write(tmp_path / "old.tsv", [f"an old number {n}\tdie alte Zahl {n}" for n in range(60)])
    more = {"start__model": "m", "start__keep": old, "start__keep_share": 0.5}
    config = config_for(tmp_path, SOURCES, TARGETS, **more)
    corpora = open_corpora(config)

    def made(read: Callable[[], Any]) -> Prepared:
        print = corpora.fingerprint
        return prepare(tmp_path / "data", corpora, config, read, fingerprint=print, processes=1)

    first, again = made(lambda: read_corpora(corpora)), made(lambda: pytest.fail("it is there already"))
    assert first.kept is not None
    assert again.kept is not None
    assert again.kept.valid_pairs == first.kept.valid_pairs
    assert [one.fingerprint for one in again.stores] == [one.fingerprint for one in first.stores]
    assert len(again.for_epoch(1)) == len(first.for_epoch(1)) > len(again.train)


def test_separate_vocabularies(tmp_path: Path) -> None:
    prepared = prepare_in(tmp_path / "data", config_for(tmp_path, SOURCES, TARGETS, text__shared=False))
    assert not prepared.tokenizers.shared
    assert (tmp_path / "data" / "target_tokenizer.json").exists()
    assert sorted([*texts(prepared), *prepared.valid_pairs]) == sorted(zip(SOURCES, TARGETS, strict=True))


def test_zero_pairs_to_hold_out_means_the_usual_number(tmp_path: Path) -> None:
    prepared = prepare_in(tmp_path / "data", config_for(tmp_path, SOURCES, TARGETS, data__hold_out=0))
    assert len(prepared.valid_pairs) == 10


def test_validation_files_are_used_as_they_are(tmp_path: Path) -> None:
    config = config_for(
        tmp_path,
        SOURCES,
        TARGETS,
        data__valid_source=write(tmp_path / "v.src", ["one  more", "", "the last"]),
        data__valid_target=write(tmp_path / "v.tgt", ["noch eine", "x", "die letzte"]),
    )
    prepared = prepare_in(tmp_path / "data", config)
    assert prepared.valid_pairs == (("one more", "noch eine"), ("the last", "die letzte"))
    assert len(prepared.train) == 30


def test_validation_files_without_text(tmp_path: Path) -> None:
    config = config_for(
        tmp_path,
        SOURCES,
        TARGETS,
        data__valid_source=write(tmp_path / "v.src", ["", " "]),
        data__valid_target=write(tmp_path / "v.tgt", ["x", "y"]),
    )
    with pytest.raises(DataError, match="v.src \\+ v.tgt has no pair with text on both sides"):
        prepare_in(tmp_path / "data", config)


def test_a_length_that_leaves_no_pair(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no pair is left of 27: .*\n  raise data.max_length"):
        prepare_in(tmp_path / "data", config_for(tmp_path, SOURCES, TARGETS, data__max_length=1))


@pytest.mark.parametrize(
    ("given_settings", "message"),
    [
        ({}, "there is no data to learn from\n  give --source FILE --target FILE"),
        ({"data.name": "dates", "data.source": "x"}, "--data and --source exclude each other"),
        ({"data.name": "dates", "data.valid_source": "x"}, "--data and --valid-source exclude each other"),
        ({"data.name": "date"}, "no built-in data set is called 'date'\n  did you mean 'dates'?"),
        ({"data.source": "a.tsv", "data.valid_target": "x"}, "--valid-target is given without"),
        (
            {"data.name": "dates", "text.kind": "char", "text.dropout": 0.1},
            "text.dropout=0.1 cannot work: only tokens of kind bpe have merges\n  set text.kind",
        ),
    ],
)
def test_settings_that_name_no_data(given_settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_corpora(parse_config(nest(given_settings)))
    assert message in str(caught.value)


def test_a_built_in_set_has_its_own_validation() -> None:
    corpora = open_corpora(parse_config({"data": {"name": "dates"}}))
    assert corpora.valid is not None
    one, other = corpora.fingerprint.split("+")
    assert (one, other) == (corpora.train.fingerprint(), corpora.valid.fingerprint())


def older_note(folder: Path) -> None:
    """As in a folder that an older version made: nothing is said of its files."""
    note = folder / "prepared.json"
    told = {key: value for key, value in json.loads(note.read_text()).items() if key not in ("files", "seal")}
    note.write_text(json.dumps(told))


def test_the_lengths_of_the_training_sources_are_counted_and_kept(tmp_path: Path) -> None:
    sources = [*SOURCES, "a very long source " * 20, "", "one"]
    targets = [*TARGETS, "eine lange", "leer", "eins"]
    config = config_for(tmp_path, sources, targets, data__max_length=40)
    prepared = prepare_in(tmp_path / "data", config)
    trained = [source for source, _ in texts(prepared)]
    assert len(trained) == 28  # of 33: three are held out, one is too long, one is blank
    assert prepared.lengths == count_lengths(trained, 28)
    again = prepare_in(tmp_path / "data", config)
    assert again.lengths == prepared.lengths
    (tmp_path / "data" / "lengths.json").unlink()
    older_note(tmp_path / "data")
    assert prepare_in(tmp_path / "data", config).lengths is None


def test_of_many_sources_a_part_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumok.run.prepare.COUNTED", 9)
    lengths = prepare_in(tmp_path / "data", config_for(tmp_path, SOURCES, TARGETS)).lengths
    assert lengths is not None
    assert (lengths.pairs, lengths.counted) == (27, 9)
    assert lengths.bars["source_words"].to_list() == [[3, 3, 27]]


def test_with_dropout_each_epoch_has_its_own_pieces(tmp_path: Path) -> None:
    plain = prepare_in(tmp_path / "plain", config_for(tmp_path, SOURCES, TARGETS))
    assert plain.variants == ()
    assert plain.for_epoch(3) is plain.train
    config = config_for(tmp_path, SOURCES, TARGETS, text__dropout=0.3)
    prepared = prepare_in(tmp_path / "data", config)
    assert prepared.train.fingerprint == plain.train.fingerprint
    assert prepared.valid.fingerprint == plain.valid.fingerprint
    assert len({one.fingerprint for one in (prepared.train, *prepared.variants)}) == 9
    for epoch in range(20):
        assert prepared.for_epoch(epoch) is prepared.variants[epoch % 8]
        assert texts(replace(prepared, train=prepared.for_epoch(epoch))) == texts(prepared)
    again = prepare_in(tmp_path / "again", config)
    assert [one.fingerprint for one in again.variants] == [one.fingerprint for one in prepared.variants]


def test_all_is_made_when_it_returns_unless_the_rest_may_follow(tmp_path: Path) -> None:
    config = config_for(tmp_path, SOURCES, TARGETS, text__dropout=0.3)
    corpora, folder = open_corpora(config), tmp_path / "data"
    read, print = lambda: read_corpora(corpora), corpora.fingerprint
    made = prepare(folder, corpora, config, read, fingerprint=print, processes=1)
    assert isinstance(made.variants, tuple)
    assert isinstance(prepare_in(tmp_path / "later", config, background=True).variants, PendingStores)


def test_variants_in_the_background_are_the_same_and_complete_it(tmp_path: Path) -> None:
    config = config_for(tmp_path, SOURCES, TARGETS, text__dropout=0.3)
    prepared = prepare_in(tmp_path / "data", config)
    later = prepare_in(tmp_path / "later", config, background=True)
    assert later.train.fingerprint == prepared.train.fingerprint
    assert [one.fingerprint for one in later.variants] == [one.fingerprint for one in prepared.variants]
    assert later.for_epoch(9) is later.variants[1]
    before = files_in(tmp_path / "later")
    again = prepare_in(tmp_path / "later", config, background=True)
    assert files_in(tmp_path / "later") == before
    assert [one.fingerprint for one in again.variants] == [one.fingerprint for one in prepared.variants]


def test_variants_that_cannot_be_written_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("jumok.run.prepare.build_variants", full)
    config = config_for(tmp_path, SOURCES, TARGETS, text__dropout=0.3)
    prepared = prepare_in(tmp_path / "data", config, background=True)
    with pytest.raises(RunError, match="cannot write the prepared data: no space left on device"):
        prepared.for_epoch(0)
    assert not (tmp_path / "data" / "prepared.json").exists()  # so it is all made again


def test_a_text_too_large_for_memory_is_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_for(tmp_path, SOURCES, TARGETS)
    kept = prepare_in(tmp_path / "kept", config)
    monkeypatch.setattr("jumok.data.survey.IN_MEMORY", 1)
    read = prepare_in(tmp_path / "read", config)
    assert read.train.fingerprint == kept.train.fingerprint
    assert read.valid_pairs == kept.valid_pairs


def test_each_side_has_its_own_kind_of_pieces(tmp_path: Path) -> None:
    phonemes = [" ".join(f"P{letter}" for letter in source.replace(" ", "")) for source in SOURCES]
    config = config_for(tmp_path, SOURCES, phonemes, text__kind="char", text__target_kind="word")
    prepared = prepare_in(tmp_path / "data", config)
    both = prepared.tokenizers
    assert (both.text_source.kind, both.target.kind, both.shared) == ("char", "word", False)
    assert texts(prepare_in(tmp_path / "data", config)) == texts(prepared)
    source, target = prepared.valid_pairs[0]
    assert len(both.source.encode(source)) == len(source)
    assert len(both.target.encode(target)) == len(target.split())


def test_korean_letters_are_learned(tmp_path: Path) -> None:
    korean = [f"{source} 한국" for source in SOURCES]
    prepared = prepare_in(tmp_path / "data", config_for(tmp_path, korean, TARGETS, text__jamo=True))
    assert prepared.tokenizers.target.jamo
    assert all(source.endswith("한국") for source, _ in texts(prepared))


def test_long_sources_are_cut_and_long_targets_are_not(tmp_path: Path) -> None:
    long = [f"{source} {'word ' * 40}" for source in SOURCES]
    config = config_for(tmp_path, long, TARGETS, data__max_length=20, data__long="cut")
    prepared = prepare_in(tmp_path / "data", config)
    assert len(prepared.train) == len(SOURCES) - 3
    assert max(prepared.train.source_lengths.max(), prepared.valid.source_lengths.max()) <= 20
    with pytest.raises(DataError, match="no pair is left"):
        prepare_in(tmp_path / "data", replace(config, data=replace(config.data, long="skip")))


def test_settings_that_are_not_used_leave_the_note_of_earlier_versions(tmp_path: Path) -> None:
    prepare_in(tmp_path / "data", config_for(tmp_path, SOURCES, TARGETS))
    note = json.loads((tmp_path / "data" / "prepared.json").read_text())
    assert note.keys() == {"data", "text", "max_length", "hold_out", "seed", "files", "seal"}
    assert note["text"].keys() == {"kind", "vocabulary", "shared"}


def test_columns_are_those_of_files_with_both_sides(tmp_path: Path) -> None:
    rows = [f"{i}\t{s}\t{t}" for i, (s, t) in enumerate(zip(SOURCES, TARGETS, strict=True))]
    flat: dict[str, Any] = {"data.source": write(tmp_path / "a.tsv", rows), "data.columns": "2,3"}
    corpora = open_corpora(parse_config(nest(flat)))
    assert list(corpora.train.pairs())[1] == (SOURCES[1], TARGETS[1])
    side = write(tmp_path / "v.src", SOURCES)
    split = flat | {"data.valid_source": side, "data.valid_target": side}
    assert next(iter(open_corpora(parse_config(nest(split))).valid.pairs())) == (SOURCES[0],) * 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given_settings", "message"),
    [
        ({"data.source": "a.tsv", "data.columns": "1,2,3"}, "training reads two columns, source and target"),
        ({"data.source": "a.tsv", "data.columns": "1,2+"}, "training reads two columns, source and target"),
        ({"data.source": "a", "data.target": "b", "data.columns": "1,2"}, "and none is given"),
        ({"data.name": "dates", "data.columns": "1,2"}, "and none is given"),
    ],
)
def test_columns_that_training_cannot_use(given_settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_corpora(parse_config(nest(given_settings)))
    assert message in str(caught.value)
    assert caught.value.code == "bad_columns"


@pytest.mark.parametrize("kind", ["bpe", "word"])
@pytest.mark.parametrize("in_memory", [1 << 20, 1])
def test_a_text_is_tidied_once_and_each_word_encoded_once(
    kind: str, in_memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tidied: Counter[str] = Counter()
    encoded: list[str] = []
    encode = Tokenizer.encode_tidied

    def counting_tidy(text: str) -> str:
        tidied[text] += 1
        return tidy(text)

    def counting_encode(self: Tokenizer, texts: Iterable[str]) -> list[list[int]]:
        encoded.extend(texts := list(texts))
        return encode(self, texts)

    for module in [module for name, module in sys.modules.items() if name.startswith("jumok.")]:
        if getattr(module, "tidy", None) is tidy:
            monkeypatch.setattr(module, "tidy", counting_tidy)
    monkeypatch.setattr(Tokenizer, "encode_tidied", counting_encode)
    monkeypatch.setattr("jumok.data.survey.IN_MEMORY", in_memory)
    valid = {
        "data__valid_source": write(tmp_path / "v.src", [f"one  more {i}" for i in range(5)]),
        "data__valid_target": write(tmp_path / "v.tgt", [f"noch  eine {i}" for i in range(5)]),
    }
    sources = [f"a  number {i}" for i in range(30)]
    config = config_for(tmp_path, sources, TARGETS, text__kind=kind, **valid)
    prepared = prepare_in(tmp_path / "data", config)
    assert len(prepared.train) == 30
    raw = [*sources, *TARGETS, *(f"one  more {i}" for i in range(5)), *(f"noch  eine {i}" for i in range(5))]
    assert tidied == Counter(raw)
    train = {word for text in [*sources, *TARGETS] for word in text.split()}
    checked = {f"{mark} {n}" for mark in ["one more", "noch eine"] for n in range(5)}
    seen_in_valid = {word for text in checked for word in text.split()}
    assert sorted(encoded) == sorted([*train, *seen_in_valid])  # each store meets each of its words once


@pytest.mark.parametrize(
    "name",
    ["train/source.ids", "train/header.json", "valid/target.offsets", "valid.tsv", "tokenizer.json"],
)
def test_a_file_that_was_changed_is_made_again_with_a_word(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = config_for(tmp_path, SOURCES, TARGETS)
    before = prepare_in(tmp_path / "data", config)
    pairs, file = texts(before), tmp_path / "data" / name
    data = file.read_bytes()
    file.write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
    assert texts(prepare_in(tmp_path / "data", config)) == pairs
    assert caplog.messages == [f"{file} has changed since it was made: the data is prepared again"]
    assert file.read_bytes() == data
    caplog.clear()
    (tmp_path / "data" / "prepared.json").write_bytes(b"{")
    assert texts(prepare_in(tmp_path / "data", config)) == pairs
    assert caplog.messages == []


def test_files_beside_the_prepared_data_do_not_matter(tmp_path: Path) -> None:
    config = config_for(tmp_path, SOURCES, TARGETS)
    prepare_in(tmp_path / "data", config)
    (tmp_path / "data" / ".note").write_text("mine")
    prepare_in(tmp_path / "data", config)
    assert (tmp_path / "data" / ".note").exists()


def test_an_older_folder_with_a_broken_text_is_an_error_that_says_so(tmp_path: Path) -> None:
    config = config_for(tmp_path, SOURCES, TARGETS)
    prepare_in(tmp_path / "data", config)
    older_note(tmp_path / "data")
    (tmp_path / "data" / "valid.tsv").write_bytes(b"\xff\t\n")
    with pytest.raises(DataError, match="the prepared data cannot be read") as caught:
        prepare_in(tmp_path / "data", config)
    assert caught.value.hint == "remove the folder: it is made again from the corpus"
