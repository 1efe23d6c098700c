"""jumok evaluate on files: table, JSON, thresholds, and every error by its text."""

import json
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from sacrebleu.metrics.bleu import BLEU

from jumok.checkpoint.model import save_model
from jumok.cli.evaluate import (
    EXAMPLES,
    _suffix,
    check_given,
    check_threshold,
    explorer,
    read_bins,
    read_references,
)
from jumok.cli.evaluate import _names as names_of
from jumok.cli.main import main
from jumok.config import DecodingConfig, RnnConfig, RunConfig, TextConfig
from jumok.errors import ConfigError, DataError, ThresholdError
from jumok.models.build import build_model
from jumok.native.library import available
from jumok.seals import unsealed
from jumok.text.tokenizer import Tokenizers, train_tokenizer

REFERENCES = [f"the cat number {i} sat on the mat" for i in range(40)]
WORSE = [line.replace("cat", "dog") if i % 2 else line for i, line in enumerate(REFERENCES)]
BETTER = [line.replace("cat", "dog") if i % 9 == 0 else line for i, line in enumerate(REFERENCES)]
SOURCES = [f"고양이 {i} 번이 매트에 앉았다 " + "아주 " * (i % 20) for i in range(40)]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small test set and two outputs, as the working directory."""
    contents = {"test.ko": SOURCES, "test.en": REFERENCES, "worse.en": WORSE, "better.en": BETTER}
    for name, lines in contents.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "empty.en").write_text("")
    (tmp_path / "short.en").write_text("one\ntwo\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", *words])
    return int(stop.value.code or 0)


def test_an_output_file_is_scored_without_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--hypotheses", "better.en", "-s", "test.ko", "-t", "test.en", "--bootstrap", "50") == 0
    lines = capsys.readouterr().out.split("\n")
    expected = BLEU().corpus_score(BETTER, [REFERENCES]).score
    assert lines[0].split() == ["model", "BLEU", "95", "%", "chrF++", "1–10", "11–20", "21–30"]
    assert lines[1].split()[:2] == ["better.en", f"{expected:.1f}"]
    assert lines[2] == "BLEU by source words   * fewer than 30 sentences"
    assert lines[3].startswith(
        "BLEU    nrefs:1|bs:50|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:"
    )


def test_two_outputs_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--hypotheses", "worse.en", "--hypotheses", "better.en", "-t", "test.en"]
    assert run(*words, "--bootstrap", "100") == 0
    out = capsys.readouterr().out
    assert "better.en vs worse.en: +" in out
    assert " BLEU, p = 0.010 (100 resamples)" in out


def test_mistakes_are_counted_by_kind_and_word(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--hypotheses", "worse.en", "-s", "test.ko", "-t", "test.en", "--bootstrap", "0", "--mistakes"]
    assert run(*words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == [
        "worse.en: 20 of 40 answers have mistakes",
        "  words: wrong 20",
        "  missed: cat 20 of 40",
    ]
    assert run(*words, "--json") == 0
    found = json.loads(capsys.readouterr().out)["mistakes"]
    assert found["kinds"] == {"wrong": 20}
    assert found["words"][0]["instead"] == [["dog", 20]]


def test_json_is_schema_eval_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run("--hypotheses", "better.en", "-s", "test.ko", "-t", "test.en", "--json", "--bootstrap", "0") == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "eval/1"
    assert found["data"]["name"] == "test"
    assert found["by_length"]["unit"] == "source_words"


def test_json_of_several_holds_the_comparisons(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--hypotheses", "worse.en", "--hypotheses", "better.en", "-t", "test.en", "--metric", "exact"]
    assert run(*words, "--json", "--bootstrap", "20", "-o", "out.json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(Path("out.json").read_text())
    assert [one["model"] for one in found["evaluations"]] == ["worse.en", "better.en"]
    [comparison] = found["comparisons"]
    assert (comparison["metric"], comparison["baseline"], comparison["delta"]) == ("exact", "worse.en", 37.5)


def test_several_reference_files(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--hypotheses", "better.en", "-s", "test.ko", "-t", "test.en", "-t", "better.en"]
    assert run(*words, "--metric", "exact,bleu", "--json", "--bootstrap", "0") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"]["exact"]["value"] == 100
    assert {one["signature"].split("|")[0] for one in found["metrics"].values()} == {"nrefs:2"}
    assert run("--hypotheses", "worse.en", "-t", "test.en", "-t", "worse.en", "--metric", "exact", "-q") == 0
    assert capsys.readouterr().out == "100.00\n"


def test_further_columns_are_references(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        f"{s}\t{r}\t{b if i % 2 else ''}\n"
        for i, (s, r, b) in enumerate(zip(SOURCES, REFERENCES, BETTER, strict=True))
    ]
    Path("test.tsv").write_text("".join(rows), encoding="utf-8")
    words = ["--hypotheses", "better.en", "-s", "test.tsv", "--metric", "exact", "--bootstrap", "0", "--json"]
    for columns, nrefs in (("1,2", "nrefs:1"), ("1,2,3", "nrefs:var"), ("1,2+", "nrefs:var")):
        assert run(*words, "--columns", columns) == 0
        assert json.loads(capsys.readouterr().out)["metrics"]["exact"]["signature"].startswith(nrefs)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("-t", "test.en", "-t", "short.en"), 3, "test.en has 40 lines and short.en has 2"),
        (("-s", "test.ko", "-t", "test.en", "-t", "short.en"), 3, "test.ko has 40 lines and short.en has 2"),
        (("-t", "test.en", "-t", "empty.en"), 3, "the test set is empty"),
        (("-t", "test.en", "--columns", "1,2"), 2, "--columns are those of -s FILE"),
        (("--data", "dates", "--columns", "1,2"), 2, "both --data dates and files are given"),
        (("-s", "two.tsv", "--columns", "1,2,9"), 3, "no line has more than one reference in columns 1,2,9"),
    ],
)
def test_references_that_do_not_fit(
    words: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("two.tsv").write_text("a\tb\n")
    assert run("--hypotheses", "better.en", *words) == code
    assert message in capsys.readouterr().err


def test_the_explorer_is_offered_for_runs_of_one_folder(tmp_path: Path) -> None:
    for name in ("runs/a", "runs/b c", "others/d"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.toml").touch()
    (tmp_path / "runs" / "model").mkdir()
    assert explorer(("runs/a",)) == "jumok serve runs/a --runs runs --open /quality"
    assert explorer(("runs/a", "runs/b c")) == "jumok serve runs/a 'runs/b c' --runs runs --open /quality"
    assert explorer(("runs/a", "others/d")) == ""
    assert explorer(("runs/a", "runs/model")) == ""
    assert explorer(()) == ""


def test_quiet_prints_only_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--hypotheses", "better.en", "-t", "test.en", "--metric", "exact,wer", "-q") == 0
    assert capsys.readouterr() == ("87.50\n", "")


def test_a_dash_writes_the_json_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--hypotheses", "better.en", "-t", "test.en", "-o", "-", "--bootstrap", "0") == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "eval/1"


def test_the_bins_can_be_chosen_or_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "--hypotheses",
        "better.en",
        "-s",
        "test.ko",
        "-t",
        "test.en",
        "--metric",
        "exact",
        "--bootstrap",
        "0",
    ]
    assert run(*words, "--bins", "thirds") == 0
    assert "exact by source characters" in capsys.readouterr().out
    assert run(*words, "--bins", "1,8") == 0
    assert capsys.readouterr().out.split("\n")[0].split() == ["model", "exact", "1–7", "8+"]
    assert run(*words, "--no-by-length") == 0
    assert "by source" not in capsys.readouterr().out


def test_bins_are_words_thirds_or_numbers() -> None:
    assert [read_bins(text) for text in ("", "words", "thirds", "1,5")] == [None, "words", "thirds", [1, 5]]
    with pytest.raises(
        ConfigError, match="--bins ten cannot be read\n  say words, thirds, or numbers: 1,11,21"
    ):
        read_bins("ten")


def test_the_language_comes_from_the_file_name_or_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    Path("test.zh").write_text("我看了电影\n", encoding="utf-8")
    assert run("--hypotheses", "test.zh", "-t", "test.zh", "--bootstrap", "0") == 0
    assert "|tok:zh|" in capsys.readouterr().out
    assert run("--hypotheses", "test.zh", "-t", "test.zh", "--bootstrap", "0", "--lang", "en") == 0
    assert "|tok:13a|" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "code"), [("a/test.ko.gz", "ko"), ("test.DE", "de"), ("test.txt", ""), ("-", "")]
)
def test_only_two_letters_at_the_end_of_a_name_are_a_language(file: str, code: str) -> None:
    assert _suffix(file) == code


def test_a_search_for_what_is_finished_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--hypotheses", "better.en", "-t", "test.en", "--length-penalty", "1") == 2
    assert capsys.readouterr().err == (
        "error: --length-penalty is for a model, and --hypotheses are finished\n"
        "  leave out --length-penalty\n"
    )


def test_a_missing_tokenizer_is_noted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_ko_mecab.MeCab", None)
    assert run("--hypotheses", "test.ko", "-t", "test.ko", "--bootstrap", "0") == 0
    out, err = capsys.readouterr()
    assert "|tok:13a|" in out
    assert err.startswith("note: BLEU used the tokenizer 13a: ko-mecab is not installed")


def test_a_bleu_below_the_threshold_ends_with_code_4(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--hypotheses", "worse.en", "-t", "test.en", "--metric", "exact", "--bootstrap", "0"]
    assert run(*words, "--min-bleu", "99") == 4
    out, err = capsys.readouterr()
    assert out.startswith("model")
    assert err.startswith("error: BLEU is below --min-bleu 99: worse.en has ")
    assert run(*words, "--min-bleu", "10") == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "error: nothing to evaluate\n  name a model with -m MODEL, or an output file"),
        (["--hypotheses", "better.en"], 2, "error: no test set is given\n  add -s FILE -t FILE"),
        (["-m", "model", "-t", "test.en"], 2, "error: no test set is given"),
        (
            ["-m", "model", "--data", "dates", "-s", "test.ko"],
            2,
            "error: both --data dates and files are given",
        ),
        (
            ["--hypotheses", "better.en", "-t", "test.en", "--metric", "blue"],
            2,
            "error: unknown metric 'blue'",
        ),
        (
            ["--hypotheses", "better.en", "-t", "test.en", "--metric", "ppl"],
            2,
            "error: perplexity needs a model",
        ),
        (
            ["--hypotheses", "short.en", "-t", "test.en"],
            3,
            "error: short.en has 2 lines and the test set test has 40\n  line n of one must answer",
        ),
        (
            ["--hypotheses", "empty.en", "-t", "empty.en"],
            3,
            "error: the test set is empty\n  empty.en\n",
        ),
        (["--hypotheses", "better.en", "-s", "test.ko", "-t", "short.en"], 3, "short.en"),
        (["--hypotheses", "better.en", "-t", "missing.en"], 3, "missing.en"),
        (["--hypotheses", "missing.en", "-t", "test.en"], 3, "missing.en"),
        (["--hypotheses", "better.en", "--data", "dat"], 2, "dates"),
        (
            ["--hypotheses", "better.en", "-t", "test.en", "-o", "no/out.json"],
            2,
            "error: there is no folder for --output no/out.json\n  make the folder first",
        ),
    ],
)
def test_mistakes_are_explained(
    words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == code
    out, err = capsys.readouterr()
    assert message in err
    assert "Traceback" not in err
    assert out == ""


@pytest.fixture
def run_folder(files: Path) -> Path:
    """A run whose model was never trained and answers with a few pieces."""
    config = RunConfig(
        model=RnnConfig(width=8),
        text=TextConfig(vocabulary=300),
        decoding=DecodingConfig(max_len=4, beam=1),
    )
    tokenizer = train_tokenizer(REFERENCES + SOURCES, config.text)
    torch.manual_seed(0)
    model = build_model(config.model, tokenizer.size, tokenizer.size, shared=True)
    folder = files / "runs" / "en-de"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "config.toml").write_text("")
    checkpoint = folder / "checkpoints" / "step-00000001"
    save_model(checkpoint, model.state_dict(), config, Tokenizers(tokenizer, tokenizer), {})
    return folder


def test_a_real_model_is_evaluated_and_the_run_keeps_the_result(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["-m", str(run_folder), "-s", "test.ko", "-t", "test.en", "--beam", "2", "--bootstrap", "10"]
    words += ["--length-penalty", "0.5"]
    assert run(*words, "--metric", "chrf,ppl,bleu,bleu-lc", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found == unsealed(json.loads((run_folder / "eval" / "test.json").read_text(encoding="utf-8")))
    assert found["model"] == "en-de"
    assert (found["decode"]["beam"], found["decode"]["length_penalty"]) == (2, 0.5)
    assert "case:mixed" in found["metrics"]["bleu"]["signature"]
    assert "case:lc" in found["metrics"]["bleu-lc"]["signature"]
    assert found["decode"]["max_len"] == 4
    assert found["speed"]["sentences_per_s"] > 0
    assert 1 < found["metrics"]["ppl"]["value"] < 5000
    assert run(*words) == 0  # again, as a table
    assert "tok/s" in capsys.readouterr().out.split("\n")[0]


def test_the_best_of_many_draws_is_evaluated_and_can_be_drawn_again(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["-m", str(run_folder), "-s", "test.ko", "-t", "test.en", "--bootstrap", "0", "--json"]
    drawn = ["--mbr", "5", "--utility", "rouge1", "--temperature", "0.7", "--top-k", "50", "--top-p", "0.9"]
    found = []
    for seed, budget in ((3, 4096), (3, 64), (4, 64)):
        assert run(*words, *drawn, "--seed", str(seed), "--batch-tokens", str(budget)) == 0
        found.append(json.loads(capsys.readouterr().out))
        options = {"mbr": 5, "utility": "rouge1", "temperature": 0.7, "top_k": 50, "top_p": 0.9, "seed": seed}
        assert found[-1]["decode"].items() >= {**options, "batch_tokens": budget}.items()
        assert found[-1]["speed"]["engine"]["name"] == ("native" if available() else "torch")
    assert found[0]["examples"] == found[1]["examples"] != found[2]["examples"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--temperature", "0.7"),
            "--temperature changes nothing in a search\n  add --mbr N to draw answers",
        ),
        (("--seed", "3", "--beam", "2"), "--seed changes nothing in a search\n  add --mbr N to draw answers"),
        (("--utility", "chrf"), "--utility changes nothing without --mbr\n  add --mbr N to choose among N"),
        (("--mbr", "4", "--beam", "2"), "beam and mbr cannot be had together\n  mbr draws its answers by"),
    ],
)
def test_options_that_change_nothing_are_refused(
    words: tuple[str, ...], message: str, run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("-m", str(run_folder), "-s", "test.ko", "-t", "test.en", *words) == 2
    assert message in capsys.readouterr().err


def test_a_run_that_cannot_keep_the_result_only_warns(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run_folder / "eval").write_text("a file where the folder should be")
    assert run("-m", str(run_folder), "-s", "test.ko", "-t", "test.en", "-q", "--bootstrap", "0") == 0
    out, err = capsys.readouterr()
    assert float(out) >= 0
    assert err.startswith(f"warning: {run_folder / 'eval' / 'test.json'} could not be written: ")


def test_a_model_and_an_output_file_are_compared(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["-m", str(run_folder), "--hypotheses", "better.en", "-s", "test.ko", "-t", "test.en"]
    assert run(*words, "--bootstrap", "20") == 0
    assert "better.en vs en-de: +" in capsys.readouterr().out


def test_a_missing_model_is_said_before_anything_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-m", "nowhere", "-s", "test.ko", "-t", "test.en") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "nowhere" in err


@pytest.mark.parametrize("example", [line.strip() for line in EXAMPLES.split("\n") if "  jumok " in line])
def test_the_examples_of_the_help_work(
    example: str, run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("rnn", "transformer", "several"):
        (run_folder.parent / name).symlink_to(run_folder)
    for name in ("test.de", "out.de"):
        Path(name).write_text(Path("better.en").read_text())
    for name in ("test.tsv", "test.de-en.tsv", "test.fr-en.tsv"):
        Path(name).write_text("a\tb\nc\td\n")
    command, verb, *words = shlex.split(example)
    assert (command, verb) == ("jumok", "evaluate")
    assert run(*words) == 0
    out = capsys.readouterr().out
    assert "nrefs:1|bs:1000|" in out
    assert ("transformer vs rnn: +0.0 exact, p = 1.000" in out) == ("runs/rnn" in example)


def test_an_ensemble_is_one_system_among_others(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("-m", "demo/rnn", "-m", "demo/rnn+demo/luong", "--data", "dates", "--split", "valid")
    run(*words, "--metric", "exact", "--beam", "1", "--json", "--bootstrap", "0")
    one, both = json.loads(capsys.readouterr().out)["evaluations"]
    assert (one["model"], both["model"]) == ("rnn", "rnn+luong")
    assert both["metrics"]["exact"]["value"] > one["metrics"]["exact"]["value"] + 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "nothing to evaluate\n  name a model with -m MODEL, or an output file with --hypotheses FILE"),
        (
            {"hypotheses": ("a",), "search": {"beam": 4}},
            "--beam is for a model, and --hypotheses are finished\n  leave out --beam",
        ),
        (
            {"models": ("m",), "output": "none/a.json"},
            "there is no folder for --output none/a.json\n  make the folder first",
        ),
        ({"models": ("m",), "hypotheses": ("a",), "search": {"beam": 4}}, ""),
        ({"hypotheses": ("a",), "output": "a.json"}, ""),
        ({"models": ("m",), "output": "-"}, ""),
    ],
)
def test_work_for_nothing_is_refused_before_it_begins(words: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"models": (), "hypotheses": (), "output": "", "search": {}, **words}
    if not message:
        assert check_given(**given) is None  # type: ignore[func-returns-value]
        return
    with pytest.raises(ConfigError) as caught:
        check_given(**given)
    assert str(caught.value) == message


def test_a_blank_line_of_a_further_reference_is_none_but_one_is_left(files: Path) -> None:
    for name, lines in {"a": ["a1", " ", "a3"], "b": ["b1", "b2", ""], "c": ["", " ", "c3"]}.items():
        (files / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert read_references(("a", "b", "c")) == [("a1", "b1"), ("b2",), ("a3", "c3")]
    assert read_references(("c", "c")) == [("",), (" ",), ("c3", "c3")]
    with pytest.raises(DataError) as caught:
        read_references(("a", "short.en"))
    assert str(caught.value) == (
        "a has 3 lines and short.en has 2\n"
        "  line n of one must answer line n of the other: look for a missing or a broken line"
    )
    with pytest.raises(DataError, match="the test set is empty\n  empty.en"):
        read_references(("a", "empty.en"))


def test_systems_are_called_by_the_end_of_their_paths_unless_two_are_alike() -> None:
    assert names_of(("runs/a", "runs/b/", "-")) == ["a", "b", "-"]
    assert names_of(("one/a", "two/a/", "two/b")) == ["one/a", "two/a", "b"]
    assert names_of(("runs/a+runs/b",)) == ["a+b"]


def test_every_system_below_the_threshold_is_named() -> None:
    scores = {"good": 30.0, "bad": 12.345, "worse": 29.99}
    systems: Any = [
        SimpleNamespace(model=name, metrics={"bleu": SimpleNamespace(value=value)})
        for name, value in scores.items()
    ]
    assert check_threshold(systems, None) is None  # type: ignore[func-returns-value]
    assert check_threshold(systems[:1], 30.0) is None  # type: ignore[func-returns-value]
    with pytest.raises(ThresholdError) as caught:
        check_threshold(systems, 30.0)
    assert caught.value.message == "BLEU is below --min-bleu 30: bad has 12.35, worse has 29.99"
    assert caught.value.code == "min_bleu"
