import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result

from jumok.checkpoint.model import save_model
from jumok.cli.score import score
from jumok.config import RnnConfig, RunConfig, TextConfig
from jumok.decoding.translator import Translator, load
from jumok.errors import DataError
from jumok.models.build import build_model
from jumok.text.tokenizer import Tokenizers, train_tokenizer

SOURCES, TARGETS = ["a man", "the dog", ""], ["나는", "영화를 봤다", ""]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = TextConfig(vocabulary=320)
    tokenizer = train_tokenizer(["a man rides a horse.", "나는 영화를 봤다"] * 3, text)
    torch.manual_seed(1)
    config = RnnConfig(width=16)
    model = build_model(config, tokenizer.size, tokenizer.size, shared=True)
    run = RunConfig(model=config, text=text)
    place = tmp_path_factory.mktemp("model") / "tiny"
    return save_model(place, model.state_dict(), run, Tokenizers(tokenizer, tokenizer), {})


def run(folder: Path, *args: str, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(score, ["-m", str(folder), "--device", "cpu", *args], input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_one_number_for_each_pair(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("".join(f"{line}\n" for line in SOURCES))
    (tmp_path / "t").write_text("".join(f"{line}\n" for line in TARGETS))
    result = run(folder, "-s", str(tmp_path / "s"), "-t", str(tmp_path / "t"))
    expected = [one.score for one in load(folder, "cpu").score(SOURCES, TARGETS)]
    assert [float(line) for line in result.stdout.splitlines()] == pytest.approx(expected, abs=1e-5)
    assert result.stderr == ""


def test_tsv_on_standard_input_and_every_token_in_json(folder: Path) -> None:
    result = run(folder, "--json", stdin="a man\t나는\nthe dog\t봤다\n")
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["source"], first["target"], second["target"]) == ("a man", "나는", "봤다")
    assert sum(token["logprob"] for token in first["tokens"]) == pytest.approx(first["score"])
    assert first["tokens"][-1]["text"] == "</s>"


def test_unequal_files(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("a\n")
    with pytest.raises(DataError, match="has 2 lines and .* has 1"):
        run(folder, "-s", str(tmp_path / "s"), "-t", str(tmp_path / "t"))


def test_named_columns(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("1\ta man\t나는\n2\tthe dog\t봤다\n")
    result = run(folder, "-s", str(tmp_path / "a.tsv"), "--columns", "2,3", "--json")
    assert [json.loads(line)["target"] for line in result.stdout.splitlines()] == ["나는", "봤다"]


@pytest.mark.parametrize(
    ("words", "asked"),
    [((), ("", "")), (("--to", "ko"), ("ko", "")), (("--to", "ko", "--from", "en"), ("ko", "en"))],
)
def test_the_direction_is_the_one_that_was_asked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], asked: tuple[str, str]
) -> None:
    found, plain = [], Translator.towards

    def towards(self: Translator, target: str, source: str = "") -> Translator:
        found.append((target, source))
        return plain(self, "", "")

    monkeypatch.setattr(Translator, "towards", towards)
    assert run(folder, *words, stdin="a man\t나는\n").exit_code == 0
    assert asked in found
