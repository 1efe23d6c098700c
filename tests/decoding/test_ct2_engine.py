from importlib import util
from pathlib import Path

import pytest
from tests.decoding.conftest import TINY, untrained

from jumok.checkpoint.manifest import MANIFEST
from jumok.decoding.ct2_engine import as_answer, is_broken, is_exported
from jumok.decoding.translator import Translator, load
from jumok.errors import ConfigError, ModelError
from jumok.text.tokenizer import EOS

needs_package = pytest.mark.skipif(util.find_spec("ctranslate2") is None, reason="no ctranslate2")

TEXTS = ["a man rides a horse.", "", "the dog", "나는 어제", "one two three four one"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from jumok.export import ctranslate2
    from jumok.export.format import Options
    from jumok.export.make import manifest

    folder = tmp_path_factory.mktemp("ct2")
    ctranslate2.write(untrained(TINY["transformer"]), folder, Options())
    (folder / MANIFEST).write_bytes(manifest(folder))
    return folder


@needs_package
@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3}, {"beam": 3, "n_best": 2}])
def test_translations_are_near_those_of_torch(exported: Path, options: dict[str, int]) -> None:
    assert is_exported(exported)
    translator, whole = load(exported), Translator(untrained(TINY["transformer"]))
    assert translator.engine["name"] == "ctranslate2"
    found, wanted = (one.translate(TEXTS, **options) for one in (translator, whole))
    same = [one.text == other.text for one, other in zip(found, wanted, strict=True)]
    assert sum(same) >= (len(TEXTS) if options["beam"] == 1 else len(TEXTS) - 2)  # its beam has other rules
    for one, other, equal in zip(found, wanted, same, strict=True):
        if equal:
            assert one.score_per_token == pytest.approx(other.score_per_token, abs=1e-4)


@needs_package
def test_scores_are_those_of_torch(exported: Path) -> None:
    translator, whole = load(exported, engine="ctranslate2"), Translator(untrained(TINY["transformer"]))
    targets = ["the man", "a", "", "나는", "one"]
    for one, other in zip(translator.score(TEXTS, targets), whole.score(TEXTS, targets), strict=True):
        assert one.score_per_token == pytest.approx(other.score_per_token, abs=1e-4)


@needs_package
def test_what_it_lacks_is_an_error(exported: Path) -> None:
    translator = load(exported)
    for what in ("ban", "require"):
        with pytest.raises(ConfigError, match=f"the ctranslate2 engine has no {what}"):
            translator.translate("a man", **{what: "a"})
    with pytest.raises(ConfigError, match="the ctranslate2 engine has no weights for torch"):
        _ = translator.model
    with pytest.raises(ConfigError, match="the ctranslate2 engine has no shortlist"):
        load(exported).translate("a", shortlist=True)


@needs_package
def test_a_folder_that_was_not_exported(tmp_path: Path) -> None:
    assert not is_exported(tmp_path)
    with pytest.raises(
        ModelError, match="is no folder for ctranslate2\n  make one: jumok export ctranslate2"
    ):
        load(tmp_path, engine="ctranslate2")


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumok.decoding.ct2_engine.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"needs the package ctranslate2\n  pip install 'jumok\[ct2\]'"):
        load(tmp_path, engine="ctranslate2")


def test_answers_have_their_end_apart() -> None:
    whole = as_answer((260, 261, EOS), (-1.0, -2.0, -3.0))
    assert (whole.ids, whole.log_probs, whole.finished) == ((260, 261), (-1.0, -2.0, -3.0), True)
    cut = as_answer((260, 261), (-1.0, -2.0, -3.0))
    assert (cut.ids, cut.log_probs, cut.finished) == ((260, 261), (-1.0, -2.0), False)


def test_bytes_that_make_no_character_are_broken() -> None:
    assert not is_broken([4 + byte for byte in "나a".encode()])
    assert is_broken([4 + 0xEB, 300])
    assert not is_broken([300, EOS])
