"""Packages as Argos Translate reads them: field by field, and through the calls that it makes itself."""

import json
import zipfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ctranslate2 as theirs
import pytest
import sentencepiece
from tests.decoding.conftest import COPYING, TINY, untrained

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.checkpoints import load_model
from jumok.config import RunConfig, TextConfig
from jumok.errors import ConfigError
from jumok.export import argos
from jumok.export.format import WriteOptions
from jumok.export.make import ExportOrder, export_model
from jumok.export.parity import USUAL
from jumok.export.sample import find_sample


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A package of the bundled model, and its certificate."""
    loaded = load_model(bundled()["transformer"])
    out = tmp_path_factory.mktemp("argos") / "dates.argosmodel"
    order = ExportOrder("argos", out, thresholds=USUAL["float32"], languages=("mul=Many", "iso=ISO 8601"))
    return out, export_model(loaded, order, find_sample(loaded.config.data, most=30))


@pytest.fixture(scope="module")
def installed(made: tuple[Path, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `install_from_path` leaves in the folder of packages."""
    place = tmp_path_factory.mktemp("packages")
    with zipfile.ZipFile(made[0]) as package:
        package.extractall(place)
    [folder] = place.iterdir()  # each folder there is taken for one package
    return folder


def test_the_package_has_what_the_loader_looks_for(installed: Path) -> None:
    assert installed.name == "translate-mul_iso-1_0"
    about = json.loads((installed / "metadata.json").read_text(encoding="utf-8"))
    assert (about["from_code"], about["from_name"]) == ("mul", "Many")
    assert (about["to_code"], about["to_name"]) == ("iso", "ISO 8601")
    assert about["type"] == "translate"
    assert about["package_version"] == "1.0"
    assert "target_prefix" not in about  # it would be given to the decoder as a first token
    assert {path.name for path in installed.iterdir()} == {
        "metadata.json",
        "model",
        "sentencepiece.model",
        "minisbd",
        "README.md",
        "certificate.json",
    }
    [splitter] = (installed / "minisbd").iterdir()
    assert splitter.name == "mul.onnx"
    assert "Many - ISO 8601" in (installed / "README.md").read_text(encoding="utf-8")


def test_its_own_calls_translate(installed: Path) -> None:
    """As in `apply_packaged_translation` and `SentencePieceTokenizer` of argostranslate 1.11."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(installed / "sentencepiece.model"))
    translator = theirs.Translator(str(installed / "model"), intra_threads=1)
    texts = ["5. März 2024", "1998년 3월 24일 화요일", "May 3, 2021"]
    results = translator.translate_batch(
        [pieces.encode(text, out_type=str) for text in texts],
        target_prefix=None,
        replace_unknowns=True,
        max_batch_size=32,
        batch_type="tokens",
        beam_size=4,
        num_hypotheses=4,
        length_penalty=0.2,
        return_scores=True,
    )
    found = [pieces.decode_pieces(result.hypotheses[0]).replace("▁", " ") for result in results]
    assert found == ["2024-03-05", "1998-03-24", "2021-05-03"]


def test_the_certificate_counts_sentences_that_are_cut_alike(made: tuple[Path, dict[str, Any]]) -> None:
    _, result = made
    assert result["passed"]
    assert result["greedy"]["equal"] == result["sentences"] == 30
    assert result["tokens"] == {"sentences": 30, "equal": 30, "differences": []}


def test_the_certificate_says_what_argos_itself_answers_and_who_was_asked(
    made: tuple[Path, dict[str, Any]], installed: Path
) -> None:
    part = made[1]["argos"]
    assert part["sentences"] == 30
    assert 0 < part["equal"] <= 30
    assert part["bleu"]["exported"] == pytest.approx(part["bleu"]["reference"] + part["bleu"]["difference"])
    assert part["bleu"]["low"] <= part["bleu"]["difference"] <= part["bleu"]["high"]
    library = find_spec("argostranslate") is not None
    assert part["by"].startswith(
        "argostranslate " if library else "the calls of Argos Translate 1.11; the lib"
    )
    texts = ["5. März 2024", "1998년 3월 24일 화요일"]
    by, found = argos.as_argos(installed, texts)
    assert by == part["by"]
    assert found == argos.by_its_calls(installed, texts) == ["2024-03-05", "1998-03-24"]


def test_other_cuts_are_listed(installed: Path) -> None:
    loaded = load_model(bundled()["transformer"])
    sample = replace(find_sample(loaded.config.data, most=1), sources=["5. März▁2024", "May"], references=())
    [one] = argos.more(loaded, installed, sample)["tokens"]["differences"]
    assert one["source"] == "5. März▁2024"
    assert one["ours"] != one["theirs"]


def test_a_package_needs_languages(tmp_path: Path) -> None:
    loaded = untrained(TINY["transformer"])
    assert argos.metadata(loaded, ("", ""))["from_name"] == "English"
    assert argos.metadata(loaded, ("", "tlh=Klingon"))["to_name"] == "Klingon"
    with pytest.raises(ConfigError, match="the code of its language, not 'two words'\n  give --to CODE"):
        argos.metadata(loaded, ("", "two words"))
    nameless = replace(
        loaded, config=replace(loaded.config, data=replace(loaded.config.data, source_language=""))
    )
    with pytest.raises(ConfigError, match="a package needs languages\n  give --from CODE"):
        argos.write(nameless, tmp_path, WriteOptions())
    assert list(tmp_path.iterdir()) == []


def test_what_sentencepiece_cannot_do_is_refused() -> None:
    def reasons(**text: Any) -> list[str]:
        return argos.check(RunConfig(model=TINY["transformer"], text=TextConfig(**text)))

    assert reasons() == reasons(kind="char") == []
    [word] = reasons(kind="word")
    assert "text.kind=word" in word
    [jamo] = reasons(jamo=True)
    assert "text.jamo=true" in jamo
    [shared] = reasons(shared=False)
    assert "one vocabulary for both languages" in shared
    assert argos.check(RunConfig(model=COPYING)) == [
        "CTranslate2 has no pointing at the source (model.copy=true)"
    ]
    assert len(argos.check(RunConfig(model=TINY["rnn"], text=TextConfig(jamo=True)))) == 2


def test_everything_that_is_said_about_a_package(tmp_path: Path) -> None:
    about = argos.metadata(untrained(TINY["transformer"]), ("de", "pt_br=Brasil = 2"))
    assert about == {
        "package_version": "1.0",
        "argos_version": "1.11.0",
        "from_code": "de",
        "from_name": "German",
        "to_code": "pt_br",
        "to_name": "Brasil = 2",
        "type": "translate",
    }
    assert argos.readme(about).startswith("# German - Brasil = 2\n\nA model of jumok ")
    assert "for Argos Translate 1.11.0 and later, and for LibreTranslate." in argos.readme(about)
    (tmp_path / "folder" / "model").mkdir(parents=True)
    (tmp_path / "folder" / "model" / "config.json").write_text("{}")
    (tmp_path / "folder" / "metadata.json").write_text(json.dumps({**about, "package_version": "1.0.3"}))
    argos.to_file(tmp_path / "folder", tmp_path / "out.argosmodel")
    with zipfile.ZipFile(tmp_path / "out.argosmodel") as package:
        name = "translate-de_pt_br-1_0_3"
        assert package.namelist() == [f"{name}/metadata.json", f"{name}/model/config.json"]
        assert {one.compress_type for one in package.infolist()} == {zipfile.ZIP_DEFLATED}


@pytest.mark.parametrize("word", ["d", "deut", "de-", "de-a", "de-abcde", "de/x", "de-x1", "../de"])
def test_codes_that_name_no_language_are_refused(word: str) -> None:
    with pytest.raises(ConfigError, match="a package needs the code of its language, not ") as refused:
        argos.language(word, "--to")
    assert refused.value.hint == "give --to CODE or CODE=NAME, such as de=German"


def test_a_code_without_a_name_is_its_own_name() -> None:
    assert argos.language("xx-Latn", "--to") == ("xx-Latn", "xx-Latn")
    assert argos.language("ko=", "--to") == ("ko", "Korean")
