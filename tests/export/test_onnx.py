"""ONNX folders of the models that come with the package, and the program in their README as it is written."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.decoding.conftest import TINY, untrained

import jumok
from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.model import LoadedModel
from jumok.config import DataConfig, RnnConfig, RunConfig, TextConfig, TransformerConfig
from jumok.decoding.batched import search
from jumok.decoding.jobs import Job, token_spellings
from jumok.errors import LimitError
from jumok.export import onnx
from jumok.export.format import WriteOptions
from jumok.models.build import build_model
from jumok.text.tokenizer import Tokenizers, train_tokenizer

TRAINED = Path(jumok.__file__).parent / "trained"
TEXTS = ["3 May 2021", "2021년 3월 4일", "  5. Mai\t1999", "</s> 12", "the first of april 1999", ""]


def written(loaded: LoadedModel, folder: Path) -> Path:
    onnx.write(loaded, folder, WriteOptions())
    return folder


def program(folder: Path, texts: list[str]) -> list[str]:
    """What the program in the README prints, one line for each text; it may use neither jumok nor torch."""
    [code] = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    code = code.replace('"path/to/this/folder"', repr(str(folder)))
    code += 'assert not {"jumok", "torch"} & set(sys.modules)\n'
    command = [sys.executable, "-I", "-X", "utf8", "-c", code, *texts]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def greedy_texts(loaded: LoadedModel, texts: list[str]) -> list[str]:
    """Our own greedy answers, whole characters or not: the program does not know which byte may follow."""
    tokenizers, config = loaded.tokenizers, replace(loaded.config.decoding, beam=1)
    jobs = [Job(tuple(tokenizers.source.encode(tokenizers.tidy_source(text)))) for text in texts]
    found = search(loaded.model, jobs, config, token_spellings(tokenizers.target))
    return [tokenizers.target.decode(best.ids) for best, *_ in found]


@pytest.mark.parametrize("arch", ["rnn", "luong", "transformer"])
def test_a_trained_model_gives_the_same_answers(arch: str, tmp_path: Path) -> None:
    loaded = load_model(TRAINED / arch)
    answerer = onnx.open(written(loaded, tmp_path))
    jobs = [Job(tuple(ids)) for ids in loaded.tokenizers.source.encode_many(TEXTS[:5])]
    for beam in (1, 2):
        config = replace(loaded.config.decoding, beam=beam)
        ours = [
            best for best, *_ in search(loaded.model, jobs, config, token_spellings(loaded.tokenizers.target))
        ]
        theirs = answerer.answer(
            [job.source for job in jobs], [job.limit(config) for job in jobs], beam=beam, length_penalty=1.0
        )
        assert [one.ids for one in theirs] == [one.ids for one in ours]
        assert [one.finished for one in theirs] == [one.finished for one in ours]
        assert [one.score for one in theirs] == pytest.approx([one.score for one in ours], abs=1e-4)


@pytest.mark.parametrize("arch", ["luong", "transformer"])
def test_the_readme_translates_without_jumok(arch: str, tmp_path: Path) -> None:
    loaded = load_model(TRAINED / arch)
    assert program(written(loaded, tmp_path), TEXTS) == greedy_texts(loaded, TEXTS)


def test_the_readme_knows_letters_and_two_vocabularies(tmp_path: Path) -> None:
    lines = ["나는 어제 영화를 봤다", "너는 내일 책을 읽는다", "한국어 문장이다"] * 4
    text = TextConfig(vocabulary=340, jamo=True, shared=False)
    source, target = train_tokenizer(lines, text), train_tokenizer([*lines, "다른 말 조금"] * 2, text)
    base = untrained(TINY["rnn"])
    config = replace(base.config, text=text)
    model = build_model(config.model, source.size, target.size, shared=False)
    model.target_embedding.weight.data[4:260] = 0  # no bytes: which may follow which is not in the program
    model.target_embedding.weight.data[260:] *= 9
    loaded = LoadedModel(Tokenizers(source, target), config, Path("small"), {}, model=model.eval())
    folder = written(loaded, tmp_path)
    assert (folder / "source_tokenizer.json").exists()
    answers = program(folder, lines[:2])
    assert answers == greedy_texts(loaded, lines[:2])
    assert any("가" <= character <= "힣" for character in "".join(answers))


def test_every_architecture_that_reads_text_and_does_not_copy_can_be_written() -> None:
    for model in (RnnConfig(), TransformerConfig(positions="rotary", norm="none")):
        assert onnx.check(RunConfig(model=model)) == []
    assert onnx.check(RunConfig(data=DataConfig(images="pictures.zip"))) == [
        "it reads pictures, and only models that read text are written as ONNX"
    ]
    assert onnx.check(RunConfig(model=TransformerConfig(copy=True))) == [
        "it points at its source (model.copy=true), and the graphs do not"
    ]


def test_answers_stay_within_a_learned_table(tmp_path: Path) -> None:
    model = TransformerConfig(
        width=16,
        heads=2,
        feedforward=8,
        encoder_layers=1,
        decoder_layers=1,
        positions="learned",
        max_positions=13,
    )
    written(untrained(model), tmp_path)
    assert '"max_new_tokens": 13' in (tmp_path / "config.json").read_text()


def test_it_takes_as_many_threads_as_torch_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    sessions = onnx.OnnxAnswerer(written(untrained(TINY["rnn"]), tmp_path)).sessions
    assert {one.get_session_options().intra_op_num_threads for one in sessions.values()} == {3}


def test_weights_that_no_file_can_hold_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx, "MOST", 1000)
    with pytest.raises(LimitError, match="bytes, and a file of ONNX holds at most 1,000"):
        onnx.write(untrained(TINY["rnn"]), tmp_path, WriteOptions())
    assert list(tmp_path.iterdir()) == []
