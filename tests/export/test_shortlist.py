"""The shortlist of an export: where it is learned from, its certificate, and translating with it."""

import json
import shutil
from pathlib import Path

import pytest

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.folder import dump_json
from jumok.config import DataConfig
from jumok.decoding.translator import load
from jumok.errors import ConfigError, DataError, ModelError, ThresholdError
from jumok.export.make import ExportOrder, check_order, export_model, manifest
from jumok.export.parity import Thresholds
from jumok.export.sample import find_sample
from jumok.export.shortlist import encoded, training_data, write_shortlist
from jumok.native.library import available, why_not
from jumok.native.shortlist import FILE

needs_library = pytest.mark.skipif(not available(), reason=why_not())
PAIRS = [
    ("5. März 2024", "2024-03-05"),
    ("2024년 3월 5일", "2024-03-05"),
    ("June 11, 1998", "1998-06-11"),
    ("7 mai 2016", "2016-05-07"),
] * 3


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few pairs to learn from."""
    path = tmp_path_factory.mktemp("data") / "some.tsv"
    path.write_text("".join(f"{left}\t{right}\n" for left, right in PAIRS), encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=["int8", "float32"])
def exported(
    request: pytest.FixtureRequest, table: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict]:
    """A folder with a shortlist, and its certificate."""
    loaded = load_model(bundled()["transformer"])
    out = tmp_path_factory.mktemp("out") / "model"
    corpus = training_data(loaded.config.data, [str(table)])
    order = ExportOrder("native", out, request.param, shortlist=corpus, listed=Thresholds(agreement=0.5))
    return out, export_model(loaded, order, find_sample(loaded.config.data, str(table), most=4))


@needs_library
def test_the_certificate_has_a_part_of_its_own(exported) -> None:
    folder, result = exported
    assert json.loads((folder / "certificate.json").read_text(encoding="utf-8")) == result
    part = result["shortlist"]
    assert part["passed"]
    assert 1 < part["mean_length"] < part["vocabulary"] == 800
    assert part["greedy"]["token_agreement"] == 1.0
    assert part["bleu"]["reference"] == result["bleu"]["reference"]
    assert part["thresholds"] == {"agreement": 0.5}


@needs_library
def test_translating_with_it(exported) -> None:
    folder, _ = exported
    translator = load(folder, "cpu")
    texts = ["5. März 2024", "", "June 11, 1998", "ξ"]
    plain, listed = translator.translate(texts), translator.translate(texts, shortlist=True)
    assert [one.text for one in plain[:3]] == [one.text for one in listed[:3]]
    assert plain[0].score < listed[0].score <= 0  # of fewer pieces each has a larger share
    assert [translator.translate(text, shortlist=True) for text in texts] == listed
    assert translator.translate("7 mai", shortlist=True, prefix="Zz").text.startswith("Zz")


@needs_library
def test_torch_has_none(exported) -> None:
    folder, _ = exported
    translator = load(folder, "cpu")
    message = "a shortlist is for the native engine, and torch computes here\n  leave out"
    with pytest.raises(ConfigError, match=message):
        translator.translate("7 mai", shortlist=True, no_repeat_ngram=2)
    with pytest.raises(ConfigError, match=message):
        list(load(folder, "cpu", engine="torch").stream("7 mai", shortlist=True))
    with pytest.raises(ConfigError, match="the native engine has no no_repeat_ngram"):
        load(folder, "cpu", engine="native").translate("7 mai", shortlist=True, no_repeat_ngram=2)


@needs_library
def test_a_folder_without_one_says_what_to_do() -> None:
    translator = load(bundled()["transformer"], "cpu")
    with pytest.raises(
        ConfigError, match="transformer has no shortlist\n  make a folder with one: jumok export"
    ):
        translator.translate("7 mai", shortlist=True)


@needs_library
def test_one_that_nothing_vouches_for_is_refused(exported, tmp_path: Path) -> None:
    folder = shutil.copytree(exported[0], tmp_path / "copy")
    fields = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    del fields["shortlist"]
    (folder / "certificate.json").write_bytes(dump_json(fields))
    (folder / "MANIFEST.json").write_bytes(manifest(folder))
    translator = load(folder, "cpu")
    assert translator.translate("7 mai 2016").text
    with pytest.raises(ModelError, match="no certificate says how well"):
        translator.translate("7 mai 2016", shortlist=True)


@needs_library
def test_damage_is_found_when_it_is_read(exported, tmp_path: Path) -> None:
    folder = shutil.copytree(exported[0], tmp_path / "copy")
    data = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ModelError, match=r"shortlist\.safetensors"):
        load(folder, "cpu").translate("7 mai 2016", shortlist=True)


@needs_library
def test_one_that_changes_too_much_fails(table: Path, tmp_path: Path) -> None:
    loaded = load_model(bundled()["transformer"])
    few = tmp_path / "few.tsv"
    few.write_text("a\tb\n", encoding="utf-8")
    order = ExportOrder(
        "native", tmp_path / "out", "int8", shortlist=training_data(loaded.config.data, [str(few)])
    )
    with pytest.raises(ThresholdError, match=r"with its shortlist [0-9.]+% of the tokens agree, 90\.0% must"):
        export_model(loaded, order, find_sample(loaded.config.data, str(table), most=4))
    assert (tmp_path / "out.failed" / FILE).is_file()


def test_only_native_has_one(table: Path, tmp_path: Path) -> None:
    loaded = load_model(bundled()["rnn"])
    order = ExportOrder("onnx", tmp_path / "out", shortlist=training_data(loaded.config.data, [str(table)]))
    with pytest.raises(
        ConfigError, match="onnx has no shortlist\n  leave out --shortlist, or export to native"
    ):
        check_order(order, loaded.config)


def test_where_the_data_is(table: Path, tmp_path: Path) -> None:
    assert training_data(DataConfig(name="dates")).name == "train.tsv.gz"
    assert training_data(DataConfig(source=str(table))).source == str(table)
    given = training_data(DataConfig(name="dates"), [str(table), str(table)])
    assert (given.source, given.target) == (str(table), str(table))
    with pytest.raises(ConfigError, match="there is nothing to learn a shortlist from"):
        training_data(DataConfig(source=str(tmp_path / "gone"), target=str(table)))
    with pytest.raises(ConfigError, match="3 files are given for the shortlist"):
        training_data(DataConfig(), ["a", "b", "c"])


def test_long_and_empty_pairs_are_left_out(tmp_path: Path) -> None:
    loaded = load_model(bundled()["transformer"])
    path = tmp_path / "some.tsv"
    path.write_text("\t2024\nmai\t\nmai\t2024\n" + "x" * 300 + "\t2024\n", encoding="utf-8")
    corpus = training_data(DataConfig(), [str(path)])
    [(left, right)] = encoded(corpus, loaded.tokenizers, 10)
    assert loaded.tokenizers.source.decode(left).strip() == "mai"
    assert loaded.tokenizers.target.decode(right).strip() == "2024"


def test_nothing_to_learn_from(tmp_path: Path) -> None:
    loaded = load_model(bundled()["transformer"])
    path = tmp_path / "blank.tsv"
    path.write_text("\t2024\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"blank\.tsv has no pairs to learn a shortlist from"):
        write_shortlist(loaded, tmp_path, training_data(DataConfig(), [str(path)]))


def test_pairs_of_exactly_the_limit_are_taken(tmp_path: Path) -> None:
    loaded = load_model(bundled()["transformer"])
    path = tmp_path / "some.tsv"
    path.write_text("5. Mai 2024\t2024-05-05\n", encoding="utf-8")
    corpus = training_data(DataConfig(), [str(path)])
    [(left, right)] = encoded(corpus, loaded.tokenizers, 1000)
    longer, shorter = max(len(left), len(right)), min(len(left), len(right))
    assert shorter < longer
    assert list(encoded(corpus, loaded.tokenizers, longer)) == [(left, right)]
    assert list(encoded(corpus, loaded.tokenizers, longer - 1)) == []
    path.write_text(
        "2024-05-05\t5. Mai 2024\n", encoding="utf-8"
    )  # the longer side on the right, or on the left
    assert list(encoded(corpus, loaded.tokenizers, longer - 1)) == []
