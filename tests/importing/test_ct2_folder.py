from pathlib import Path

import pytest
from tests.importing.conftest import Make
from tests.importing.ct2 import converted, without_end

import jumok
from jumok.checkpoint.contents import read_contents
from jumok.errors import ModelError
from jumok.importing.model import import_model
from jumok.text.frame import Frame


@pytest.mark.parametrize("quantization", [None, "float16", "int8", "int16"])
@pytest.mark.parametrize("family", ["marian", "t5", "mt5"])
def test_scores_are_those_of_ctranslate2(
    family: str, quantization: str | None, brought: Make, lines: Path, tmp_path: Path
) -> None:
    """Codes stand for the numbers that CTranslate2 takes them for when it computes in float32."""
    folder = converted(brought(family), tmp_path / "ct2", quantization)
    result = import_model(folder, tmp_path / "ours", source=lines)
    assert result["passed"]
    assert result["largest_score_difference"] < 1e-4
    assert result["compared_with"].startswith("ctranslate2 ")


def test_a_tokenizer_may_lie_elsewhere_and_must_lie_somewhere(brought: Make, tmp_path: Path) -> None:
    folder = converted(brought("marian"), tmp_path / "ct2")
    for name in ("source.spm", "target.spm"):
        (folder / name).unlink()
    with pytest.raises(ModelError, match="the folder has no tokenizer: spiece.model and .* are missing"):
        import_model(folder, tmp_path / "ours")
    import_model(folder, tmp_path / "ours", tokenizer=brought("marian"))
    assert jumok.load(tmp_path / "ours").translate("a term", beam=1).tokens


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of ours, written for CTranslate2."""
    folder = tmp_path_factory.mktemp("exported") / "ct2"
    jumok.export_model("demo/transformer", "ctranslate2", folder, sentences=3)
    return folder


def test_out_and_in_again_gives_the_same_answers(exported: Path, tmp_path: Path) -> None:
    texts = ["4. November 1942", "on May 2, 2001", "2020-01-01"]
    (tmp_path / "dates").write_text("\n".join(texts))
    result = import_model(exported, tmp_path / "ours", source=tmp_path / "dates")
    assert result["largest_score_difference"] < 1e-4  # the library itself adds the end of a source
    ours, before = jumok.load(tmp_path / "ours"), jumok.load("demo/transformer")
    again = ours.translate(texts, sentences="as-is")
    assert [one.text for one in again] == [one.text for one in before.translate(texts, sentences="as-is")]


def test_sources_without_an_end_are_read_as_ctranslate2_reads_them(
    exported: Path, lines: Path, tmp_path: Path
) -> None:
    import shutil

    folder = without_end(Path(shutil.copytree(exported, tmp_path / "ct2")))
    result = import_model(folder, tmp_path / "ours", source=lines)
    assert result["largest_score_difference"] < 1e-4
    assert read_contents(tmp_path / "ours").tokenizers.frame == Frame(source=("…",))
    answers = [
        [
            one.text
            for one in jumok.load(tmp_path / "ours", engine=engine).translate(["May 2, 2001", "1. 1. 2020"])
        ]
        for engine in ("torch", "native")
    ]
    assert answers[0] == answers[1]


def test_another_model_of_ctranslate2_is_refused(brought: Make, tmp_path: Path) -> None:
    folder = converted(brought("marian"), tmp_path / "ct2")
    path = folder / "model.bin"
    data = path.read_bytes().replace(b"TransformerSpec\0", b"WhisperSpecific\0", 1)
    path.write_bytes(data)
    with pytest.raises(ModelError, match="this is a WhisperSpecific of CTranslate2, no encoder-decoder"):
        import_model(folder, tmp_path / "ours")


def test_a_vocabulary_of_another_model_is_refused(brought: Make, tmp_path: Path) -> None:
    folder = converted(brought("marian"), tmp_path / "ct2")
    (folder / "shared_vocabulary.json").write_text('["</s>", "<unk>", "a"]')
    with pytest.raises(ModelError, match=r"the vocabulary has 3 tokens, and the model \d+ rows"):
        import_model(folder, tmp_path / "ours")
