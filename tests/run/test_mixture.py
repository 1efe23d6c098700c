"""Several corpora of a run: which languages they have, what is held out of all, and what is refused."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from jumok.config import DataConfig, RunConfig, TextConfig
from jumok.data.corpus_spec import CorpusSpec
from jumok.errors import ConfigError, DataError
from jumok.progress import silent
from jumok.run.corpora import Corpora, named_data, open_corpora, read_corpora, run_text
from jumok.run.mixture import look_at_mixture, open_mixture, streams_of
from jumok.run.prepare import Prepared, prepare, reopen
from jumok.text.frame import Direction

NUMBERS = {"de": ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]}
NUMBERS |= {"en": ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]}
NUMBERS |= {"fr": ["zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"]}


def said(number: int, language: str) -> str:
    return " ".join(NUMBERS[language][int(digit)] for digit in str(number))


def write(folder: Path, name: str, numbers: range, *languages: str, header: bool = False) -> str:
    lines = ["\t".join(languages)] if header else []
    lines += ["\t".join(said(number, language) for language in languages) for number in numbers]
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(folder / name)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    return {
        "de-en": write(tmp_path, "de-en.tsv", range(1000, 1200), "de", "en"),
        "fr-en": write(tmp_path, "fr-en.tsv", range(1100, 1180), "fr", "en"),
        "mono": write(tmp_path, "news.en", range(1150, 1300), "en"),
        "headed": write(tmp_path, "headed.tsv", range(2000, 2050), "fr", "en", header=True),
    }


def prepared(tmp_path: Path, *corpora: str, **data: object) -> Prepared:
    config = RunConfig(
        data=DataConfig(corpora=corpora, max_length=64, hold_out=40, **data),  # type: ignore[arg-type]
        text=TextConfig(vocabulary=400),
    )
    opened = open_corpora(config)
    folder = tmp_path / "data"
    return prepare(
        folder, opened, config, lambda: read_corpora(opened), fingerprint=opened.fingerprint, processes=1
    )


def texts(one: Prepared) -> list[tuple[str, str, str]]:
    """Every training pair: the tags of its source, and both texts."""
    source, target = one.tokenizers.source, one.tokenizers.target
    found = []
    for row in range(len(one.train)):
        ids = one.train.source(row).tolist()
        tags = source.pieces([i for i in ids if i in one.tokenizers.text_source.tags])
        found.append((" ".join(tags), source.decode(ids), target.decode(one.train.target(row).tolist())))
    return found


def test_both_directions_and_copies_with_tags(tmp_path: Path, files: dict[str, str]) -> None:
    one = prepared(
        tmp_path, f"{files['de-en']}:de-en:both", f"{files['fr-en']}:fr-en", f"{files['mono']}:en:copy"
    )
    assert one.tokenizers.frame.directions == (
        Direction("de", "en"),
        Direction("en", "de"),
        Direction("fr", "en"),
    )
    found = texts(one)
    sizes = one.train.corpora
    assert sum(sizes) == len(found)
    assert sizes[0] == sizes[1]
    first, second = found[: sizes[0]], found[sizes[0] : 2 * sizes[0]]
    assert [(b, a) for _, a, b in first] == [(a, b) for _, a, b in second]
    assert {tag for tag, *_ in first} == {"<2en>"}
    assert {tag for tag, *_ in second} == {"<2de>"}
    copied = found[-sizes[3] :]
    assert all(tag == "<2en>" and a == b for tag, a, b in copied)


def test_what_is_held_out_is_in_no_training_pair(tmp_path: Path, files: dict[str, str]) -> None:
    one = prepared(
        tmp_path, f"{files['de-en']}:de-en:both", f"{files['fr-en']}:fr-en", f"{files['mono']}:en:copy"
    )
    held = {source for source, _ in one.valid_pairs}
    assert not held & {source for _, source, _ in texts(one)}
    answers = {target for _, target in one.valid_pairs}
    copies = texts(one)[-one.train.corpora[3] :]
    assert not answers & {text for _, _, text in copies}, "text in one language does not tell the answers"
    assert set(one.ways) == set(one.tokenizers.frame.directions)
    assert one.ways[:3] != (one.ways[0],) * 3, "directions are mixed"
    assert sum(one.valid.corpora) == len(one.valid_pairs)


def test_a_second_call_reads_all_of_it_back(tmp_path: Path, files: dict[str, str]) -> None:
    corpora = (f"{files['de-en']}:de-en:3", f"{files['fr-en']}:en-fr")
    corpora = (corpora[0], f"{files['headed']}:1")
    one = prepared(tmp_path, *corpora)
    again = reopen(tmp_path / "data")
    assert again.mix == one.mix
    assert again.ways == one.ways
    assert again.valid_pairs == one.valid_pairs
    assert one.mix is not None
    assert not one.mix.is_plain
    for epoch in (0, 5):
        assert np.array_equal(one.for_epoch(epoch).source_offsets, again.for_epoch(epoch).source_offsets)
    shares = [int((one.mix.rows(0) < one.train.corpora[0]).sum()), len(one.mix.rows(0))]
    assert shares[0] / shares[1] == pytest.approx(0.75, abs=0.02)


def test_noise_is_the_source_of_text_that_is_to_be_put_right(tmp_path: Path, files: dict[str, str]) -> None:
    one = prepared(tmp_path, f"{files['de-en']}:de-en", f"{files['mono']}:denoise")
    last = texts(one)[-one.train.corpora[1] :]
    assert all(set(source.split()) - {"_"} <= set(target.split()) for _, source, target in last)
    assert sum(source != target for _, source, target in last) > len(last) / 2
    assert one.tokenizers.frame.tags == (), "one direction needs no tags"


def test_languages_by_headers_names_and_words(tmp_path: Path, files: dict[str, str]) -> None:
    write(tmp_path, "t.de", range(3), "de")
    write(tmp_path, "t.en", range(3), "en")
    lines = (files["headed"], f"{tmp_path}/t.de+{tmp_path}/t.en", f"{files['headed']}:en-fr")
    found = open_mixture(DataConfig(corpora=lines))
    assert [one.direction for one in found.train] == [("fr", "en"), ("de", "en"), ("en", "fr")]
    [first, _, turned] = [next(one.corpus.pairs()) for one in found.train]
    assert turned == (first[1], first[0]), "the words say which columns are read"


def test_weights_of_both_directions_are_shared(files: dict[str, str]) -> None:
    mixture = open_mixture(DataConfig(corpora=(f"{files['de-en']}:de-en:both:3", f"{files['fr-en']}:fr-en")))
    assert [(one.part, one.back, one.weight) for one in streams_of(mixture)] == [
        (0, False, 1.5),
        (0, True, 1.5),
        (1, False, 0.0),
    ]


def test_tags_of_sources(tmp_path: Path, files: dict[str, str]) -> None:
    one = prepared(tmp_path, f"{files['de-en']}:de-en", f"{files['fr-en']}:fr-en", tags="source")
    assert {tag for tag, *_ in texts(one)} == {"<de>", "<fr>"}
    with pytest.raises(ConfigError, match="data.tags=source needs languages"):
        prepared(tmp_path, files["de-en"], files["fr-en"], tags="source")


def test_languages_unknown_is_plain_text_without_tags(tmp_path: Path, files: dict[str, str]) -> None:
    one = prepared(tmp_path, f"{files['de-en']}:both")
    assert one.tokenizers.frame.tags == ()
    assert one.train.corpora[0] == one.train.corpora[1]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["{de-en}:de-en", "{fr-en}"], "de-en.tsv is de→en, and fr-en.tsv does not say what it is"),
        (["{de-en}:de-en", "{mono}:fr:copy"], "news.en is in 'fr', and pairs go into en"),
        (
            ["{de-en}:de-en:both", "{mono}:copy"],
            "news.en does not say its language, and pairs go into en, de",
        ),
        (["{mono}:en:copy"], "no corpus has pairs"),
        (["emoji-captions", "{de-en}"], "has pictures, and several corpora are of text"),
        (["{headed}:de-en"], "no column is called .de.; the first line has .fr., .en."),
        (["{de-en}:0"], "0 is no weight"),
        (["{de-en}:de-en", "{de-en}:de-en:2"], "is given twice"),
    ],
)
def test_what_cannot_be_learned_from_together(files: dict[str, str], lines: list[str], reason: str) -> None:
    given = tuple(line.format(**files) for line in lines)
    with pytest.raises((ConfigError, DataError), match=reason):
        open_mixture(DataConfig(corpora=given))


def test_validation_files_are_of_directions_that_are_learned(tmp_path: Path, files: dict[str, str]) -> None:
    valid = write(tmp_path, "valid.tsv", range(5000, 5030), "de", "en")
    one = prepared(tmp_path, f"{files['de-en']}:de-en", valid_corpora=(f"{valid}:de-en",))
    assert len(one.valid_pairs) == 30
    with pytest.raises(ConfigError, match="goes en→de, and no corpus does"):
        prepared(tmp_path, f"{files['de-en']}:de-en", valid_corpora=(f"{valid}:en-de",))
    with pytest.raises(ConfigError, match="validation pairs have no weight"):
        prepared(tmp_path, f"{files['de-en']}:de-en", valid_corpora=(f"{valid}:de-en:2",))


def test_leaks_are_found_by_corpus(tmp_path: Path, files: dict[str, str]) -> None:
    valid = write(tmp_path, "valid.tsv", range(1100, 1130), "fr", "en")
    data = DataConfig(
        corpora=(f"{files['de-en']}:de-en", f"{files['fr-en']}:fr-en", f"{files['mono']}:en:copy"),
        valid_corpora=(f"{valid}:fr-en",),
    )
    report = look_at_mixture(open_mixture(data), silent)
    leaks = [one for one in report.findings if one.kind == "leak"]
    assert [(one.count, f"{files['fr-en']}:fr-en" in one.example) for one in leaks] == [(30, True)]
    assert not [one for one in report.findings if one.kind == "copied"], "text in one language is no fault"
    assert len(report.parts) == 4


def test_several_and_one_exclude_each_other(files: dict[str, str]) -> None:
    for more, option in (({"source": "a"}, "--source"), ({"columns": "1,2"}, "--columns")):
        with pytest.raises(ConfigError, match=rf"several corpora \(--data\) and {option} exclude each other"):
            open_mixture(DataConfig(corpora=(files["de-en"],), **more))
    with pytest.raises(ConfigError, match=r"validation files of several corpora \(--valid\) are given"):
        open_corpora(RunConfig(data=DataConfig(valid_corpora=(files["de-en"],))))


def test_a_corpus_of_blanks_is_told(tmp_path: Path, files: dict[str, str]) -> None:
    (tmp_path / "blank.tsv").write_text(" \t \n" * 30)
    opened = open_corpora(
        RunConfig(data=DataConfig(corpora=(f"{files['de-en']}:de-en", f"{tmp_path}/blank.tsv:fr-en")))
    )
    with pytest.raises(DataError, match=r"blank.tsv has no pair with text on both sides"):
        read_corpora(opened)


def test_names_and_files(tmp_path: Path) -> None:
    assert named_data("dates") == {"data.name": "dates"}
    assert named_data(["dats"]) == {"data.name": "dats"}, "the error offers the nearest"
    assert named_data(["a.tsv"])["data.corpora"] == ["a.tsv"]
    assert named_data(["dates", "a.tsv:3"])["data.corpora"] == ["dates", "a.tsv:3"]


def test_packed_files_are_read(tmp_path: Path, files: dict[str, str]) -> None:
    packed = tmp_path / "x.tsv.gz"
    packed.write_bytes(gzip.compress(Path(files["de-en"]).read_bytes()))
    [one] = open_mixture(DataConfig(corpora=(f"{packed}:de-en:2",))).train
    assert one.spec == CorpusSpec(f"{packed}:de-en:2", str(packed), "", 2.0, Direction("de", "en"))
    assert len(list(one.corpus.pairs())) == 200


def test_text_of_one_corpus_is_as_before(tmp_path: Path, files: dict[str, str]) -> None:
    config = RunConfig(data=DataConfig(source=files["de-en"], hold_out=10))
    opened: Corpora = open_corpora(config)
    text = run_text(opened, read_corpora(opened), config)
    assert len(list(text.train())) == text.total == 190
    assert len(text.valid) == 10


def test_with_a_validation_file_every_pair_is_learned_from(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "valid.tsv").write_text("one\teins\ntwo\tzwei\n\tdrei\n", encoding="utf-8")
    config = RunConfig(data=DataConfig(source=files["de-en"], valid_source=str(tmp_path / "valid.tsv")))
    opened = open_corpora(config)
    text = run_text(opened, read_corpora(opened), config)
    assert len(list(text.train())) == text.total == 200
    assert [tuple(pair) for pair in text.valid] == [("one", "eins"), ("two", "zwei")]


def test_at_least_ten_pairs_of_a_small_corpus_are_held_out(files: dict[str, str]) -> None:
    """Its share of 12 would be 3."""
    config = RunConfig(
        data=DataConfig(corpora=(f"{files['de-en']}:de-en", f"{files['fr-en']}:fr-en"), hold_out=12)
    )
    opened = open_corpora(config)
    text = run_text(opened, read_corpora(opened), config)
    assert len(text.valid) == 10 + 10
