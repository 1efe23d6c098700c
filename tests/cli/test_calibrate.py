"""`jumok calibrate`, and what `jumok translate --confidence` then says."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from jumok.checkpoint.bundled import bundled
from jumok.cli.calibrate import calibrate, describe
from jumok.cli.translate import translate
from jumok.data.builtin import builtin_corpus
from jumok.errors import ConfigError, DataError

TEXT = "the 11th of June in 98"  # which the bundled rnn gets wrong


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model without a calibration, and beside it 150 dates with what they should become."""
    root = tmp_path_factory.mktemp("calibrate")
    rows = [texts for _, texts in zip(range(150), builtin_corpus("dates", "valid").texts(), strict=False)]
    for name, column in (("val.src", 0), ("val.tgt", 1)):
        (root / name).write_text("".join(f"{texts[column]}\n" for texts in rows), encoding="utf-8")
    model = Path(shutil.copytree(bundled()["rnn"], root / "rnn"))
    (model / "confidence.json").unlink()
    return model


def run(command: object, folder: Path, *words: object) -> Result:
    result = CliRunner().invoke(command, ["-m", str(folder), *map(str, words)])  # type: ignore[arg-type]
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_model_is_calibrated_and_then_says_its_doubts(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"(?s)not been calibrated.*jumok calibrate -m \S*rnn -s SOURCE"):
        run(translate, folder, "--confidence", TEXT)
    files = ["-s", folder.parent / "val.src", "-t", folder.parent / "val.tgt"]
    result = run(calibrate, folder, *files, "--beam", 2)
    assert re.search(r"calibrated on 1,[45]\d\d words in 150 sentences", result.stdout)
    assert "of these are among the most doubtful fifth" in result.stdout
    assert f"kept in {folder}/confidence.json" in result.stderr
    told = json.loads(run(calibrate, folder, *files, "--json").stdout)
    assert told["fitted"]["sentences"] == 150
    assert told["file"] == str(folder / "confidence.json")
    assert told["words"]["found"] > 0.5
    assert run(calibrate, folder, *files, "-q").output == ""


def test_doubtful_words_are_marked_and_the_line_has_its_probability() -> None:
    result = run(translate, bundled()["rnn"], "--confidence", TEXT, "5. März 2024")
    doubtful, sure = result.stdout.splitlines()
    assert doubtful == "1971-06-⟨?12⟩\t0.88"
    text, change = sure.split("\t")
    assert text == "2024-03-05"
    assert float(change) < 0.1


def test_beside_scores_and_in_json() -> None:
    both = run(translate, bundled()["rnn"], "--confidence", "--scores", TEXT).stdout.rstrip("\n").split("\t")
    assert both == ["1971-06-⟨?12⟩", "-1.4965", "0.88"]
    told = json.loads(run(translate, bundled()["rnn"], "--confidence", "--json", TEXT).stdout)
    assert told["text"] == "1971-06-12"
    assert [told["text"][slice(*word["text"])] for word in told["confidence"]["words"]] == [
        "1971",
        "-",
        "06",
        "-",
        "12",
    ]
    assert told["confidence"]["words"][-1]["change"] > 0.5 > told["confidence"]["words"][0]["change"]
    assert "confidence" not in json.loads(run(translate, bundled()["rnn"], "--json", TEXT).stdout)


def test_what_cannot_be_had_together() -> None:
    with pytest.raises(ConfigError, match="--confidence has no place in the moses form"):
        run(translate, bundled()["rnn"], "--confidence", "--n-best", 2, TEXT)
    with pytest.raises(ConfigError, match="--stream and --confidence cannot be had together"):
        run(translate, bundled()["rnn"], "--confidence", "--stream", TEXT)
    with pytest.raises(ConfigError, match="calibrated for answers that are searched"):
        run(translate, bundled()["rnn"], "--confidence", "--sample", TEXT)


def test_a_handful_is_refused_and_the_folder_left_alone(folder: Path) -> None:
    before = sorted(one.name for one in folder.iterdir())
    (folder.parent / "few.tsv").write_text("5. März 2024\t2024-03-05\n" * 3, encoding="utf-8")
    with pytest.raises(DataError, match="15 words in 3 sentences, too few to calibrate on"):
        run(calibrate, folder, "-s", folder.parent / "few.tsv", "--columns", "1,2")
    assert sorted(one.name for one in folder.iterdir()) == before


def test_a_model_is_given_the_head_that_aligns_best(tmp_path: Path, folder: Path) -> None:
    model = Path(shutil.copytree(bundled()["transformer"], tmp_path / "model"))
    files = ["-s", folder.parent / "val.src", "-t", folder.parent / "val.tgt"]
    result = run(calibrate, model, *files, "--align")
    assert re.fullmatch(
        r"(the mean|head \d) of layer \d looks where the IBM models do for \S+% of the tokens; "
        r"the mean of the last layer for \S+%\n",
        result.stdout,
    )
    assert f"kept in {model}/alignment.json" in result.stderr
    told = json.loads(run(calibrate, model, *files, "--align", "--json").stdout)
    assert told["agreement"] >= told["mean_agreement"]
    with pytest.raises(ConfigError, match="this model cannot align"):
        run(calibrate, folder, *files, "--align")


def test_what_was_learned_in_words() -> None:
    found: Any = SimpleNamespace(
        words=SimpleNamespace(changed=0.1234, found=0.5, most=0.9995, error=0.0123),
        calibration=SimpleNamespace(fitted={"words": 12_000, "sentences": 1_500}),
    )
    assert (
        describe(found)
        == """\
calibrated on 12,000 words in 1,500 sentences
of the half that the other half had not seen:
  12.3% of the words are not as in the reference
  50.0% of these are among the most doubtful fifth (at most 100.0% can be)
  probabilities are off by 1.2% on average (expected calibration error)"""
    )
