"""jumok inspect: the card, attention, shapes and cost of real model folders, and every view of a trace."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result
from tests.explain.conftest import built

from jumok.checkpoint.model import save_model
from jumok.cli.inspect import EXAMPLES, inspect
from jumok.cli.serve import SCREENS
from jumok.config import (
    DataConfig,
    DecodingConfig,
    LuongConfig,
    ModelConfig,
    RnnConfig,
    RunConfig,
    TextConfig,
    TransformerConfig,
)
from jumok.errors import ConfigError, DataError, LimitError, ModelError
from jumok.models.build import build_model
from jumok.text.tokenizer import Tokenizers, train_tokenizer

__all__ = ["built"]

TEXT = "3 May 2024"
MODELS: dict[str, ModelConfig] = {
    "rnn": RnnConfig(width=16),
    "luong": LuongConfig(width=16),
    "transformer": TransformerConfig(
        width=16, heads=2, feedforward=32, encoder_layers=2, decoder_layers=2, positions="learned",
        max_positions=40,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one small model of each architecture, fresh from the random generator."""
    root = tmp_path_factory.mktemp("models")
    both = train_tokenizer(["3 May 2024", "2024-05-03", "5월 3일"], TextConfig(kind="char", vocabulary=400))
    tokenizers = Tokenizers(both, both)
    for name, model in MODELS.items():
        torch.manual_seed(0)
        weights = build_model(model, both.size, both.size, shared=True).state_dict()
        config = RunConfig(
            model=model,
            text=TextConfig(kind="char"),
            data=DataConfig(name="dates", source_language="en", target_language="iso"),
            decoding=DecodingConfig(max_len=12),
        )
        save_model(
            root / name, weights, config, tokenizers, {"step": 1200, "metric": "exact", "score": 99.25}
        )
    return root


def run(*args: object, env: dict[str, str | None] | None = None) -> Result:
    clean: dict[str, str | None] = {"NO_COLOR": None, "FORCE_COLOR": None, "COLORTERM": None}
    result = CliRunner().invoke(inspect, list(map(str, args)), env=clean | (env or {}))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run_json(*args: object) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(*args, "--json").stdout)
    return answer


def test_card_says_what_the_model_is(folder: Path) -> None:
    lines = run("-m", folder / "transformer").stdout.splitlines()
    rows = dict(line.split(maxsplit=1) for line in lines)
    assert rows["architecture"] == (
        "transformer · 2+2 layers · width 16 · 2 heads · feed-forward 32 · post-norm · learned positions · "
        "tied output"
    )
    assert rows["vocabulary"].endswith("shared tokens (char)")
    assert rows["languages"] == "en → iso"
    assert rows["data"] == "dates"
    assert rows["training"] == "step 1,200"
    assert rows["score"] == "exact 99.25 in validation"
    assert len(rows["fingerprint"]) == 64
    assert rows["folder"].startswith(str(folder / "transformer"))


@pytest.mark.parametrize("name", MODELS)
def test_card_as_json(folder: Path, name: str) -> None:
    card = run_json("-m", folder / name)
    assert card["model"]["arch"] == name
    assert card["parameters"] > 0
    assert card["bytes"] > 4 * card["parameters"]
    assert run("-m", folder / name, "-q").stdout == f"{name} {card['parameters']} {card['fingerprint']}\n"


def test_attention_of_the_models_own_translation(folder: Path) -> None:
    found = run_json("-m", folder / "transformer", "--text", TEXT)
    assert found["source"] == TEXT
    attention = found["attention"]
    assert (attention["layers"], attention["heads"]) == (2, 2)
    assert attention["source"] == [*TEXT, "</s>"]
    assert len(attention["weights"][0][0]) == len(attention["target"])


def test_attention_of_a_given_target(folder: Path) -> None:
    lines = run("-m", folder / "luong", "--text", TEXT, "--target", "2024-05-03").stdout.splitlines()
    assert lines[0] == "2024-05-03"
    assert lines[2].startswith("cross · layer 1 · one head · tokens      specials folded: </s> 0.")
    assert lines[3] == "   3 ␣ M a y ␣ 2 0 2 4"
    assert [line[0] for line in lines[4:14]] == list("2024-05-03")
    assert lines[14].startswith("strongest: ")
    assert lines[15].startswith("weight: ")


def test_layers_heads_and_words_are_chosen(folder: Path) -> None:
    model = ("-m", folder / "transformer", "--text", TEXT, "--target", "2024-05-03")
    assert "cross · layer 1 · head 2 · tokens" in run(*model, "--layer", 1, "--head", 2).stdout
    assert (
        "enc_self · mean of 2 layers · mean of 2 heads"
        in run(*model, "--kind", "enc_self", "--layer", "mean").stdout
    )
    words = run(*model, "--words").stdout.splitlines()
    assert words[3].split() == ["3", "May", "2024"]
    assert [line.split()[0] for line in words[4:9]] == ["2024", "-", "05", "-", "03"]
    assert run(*model, "--words", "-q").stdout.startswith("strongest: ")


def test_colour_follows_the_usual_rules(folder: Path) -> None:
    model = ("-m", folder / "luong", "--text", TEXT, "--target", "2024")
    assert "\x1b" not in run(*model).stdout
    assert "\x1b[48;5;" in run(*model, env={"FORCE_COLOR": "1"}).stdout
    assert "\x1b[48;2;" in run(*model, env={"FORCE_COLOR": "1", "COLORTERM": "truecolor"}).stdout
    assert "\x1b[48;5;" in run(*model, "--style", "colour").stdout
    assert "tenths" in run(*model, "--style", "digits").stdout


def test_a_model_without_attention_says_why(folder: Path) -> None:
    text = run("-m", folder / "rnn", "--text", TEXT, "--target", "2024").stdout
    assert "This model has no attention: its encoder squeezes the source into one fixed vector" in text
    found = run_json("-m", folder / "rnn", "--text", TEXT)
    assert found["attention"] is None
    assert "fixed vector" in found["reason"]
    luong = run("-m", folder / "luong", "--text", TEXT, "--kind", "dec_self").stdout
    assert "This model has no dec_self attention: its encoder and decoder are recurrent." in luong


def test_shapes_join_layers_that_are_the_same(folder: Path) -> None:
    lines = run("-m", folder / "transformer", "--shapes", TEXT, "--target", "2024").stdout.splitlines()
    assert lines[0] == "[B,S] int64 → [B,S,D] → … → [B,T,V] float32"
    assert lines[1].startswith("B=1  S=11  D=16  H=2  d_k=8  F=32  T=5")
    assert "encoder layer 2  the same" in lines
    assert run("-m", folder / "rnn", "--shapes", TEXT, "-q").stdout == f"{lines[0]}\n"
    rows = run_json("-m", folder / "transformer", "--shapes", TEXT, "--target", "2024")["rows"]
    assert [row["stage"] for row in rows].count("encoder layer 2") == 13
    assert rows[-2]["shape"][:2] == [1, 5]
    assert rows[-1]["shape"] == []


NOTE = """
[model]
arch = "luong"
width = 256
bidirectional = false

[text]
vocabulary = 10000
"""


def test_shapes_of_a_model_that_is_only_described_are_the_table_of_the_note(tmp_path: Path) -> None:
    (tmp_path / "model.toml").write_text(NOTE)
    words = ("--shapes", "--config", tmp_path / "model.toml", "--batch", "32", "--source-length", "10")
    found = run_json(*words)
    assert found["sizes"] == {"B": 32, "S": 10, "D": 256, "N": 1, "C": 1, "T": 10, "V": 10000}
    assert [(row["operation"].split(" ")[0], row["shape"]) for row in found["rows"]] == [
        ("ids", [32, 10]),
        ("X,", [32, 10, 256]),
        ("H,", [32, 10, 256]),
        ("h_final,", [32, 1, 1, 256]),
        ("ids,", [32, 10]),
        ("y,", [32, 10, 256]),
        ("s_t", [32, 10, 256]),
        ("E_t", [32, 10, 10]),
        ("α_t", [32, 10, 10]),
        ("c_t", [32, 10, 256]),
        ("[c_t;", [32, 10, 512]),
        ("s̃_t", [32, 10, 256]),
        ("logits", [32, 10, 10000]),
        ("p", [32, 10, 10000]),
        ("loss", []),
    ]
    lengths = run_json(*words, "--target-length", "7")["sizes"]
    assert (lengths["S"], lengths["T"]) == (10, 7)
    assert "one number" in run(*words).stdout


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-m", "x", "--shapes"], "--shapes of which text?"),
        (["-m", "x", "--shapes", "a", "--batch", "2"], "--batch goes with --config"),
        (["--config", "x.toml"], "--config goes with --shapes"),
        (["--shapes", "a", "--config", "x.toml"], "--config describes a model that is not trained"),
        (["-m", "x", "--shapes", "--config", "x.toml"], "--config describes a model that is not trained"),
        (["--shapes", "--config", "x.toml"], "there is no configuration file x.toml"),
    ],
)
def test_shapes_are_of_a_text_or_of_a_description(words: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        run(*words)


@pytest.mark.parametrize("name", MODELS)
def test_cost_is_predicted_and_counted(folder: Path, name: str) -> None:
    cost = run_json("-m", folder / name, "--cost", "--lengths", "10,20,500")
    assert cost["parameters"]["predicted"] == cost["parameters"]["measured"]
    assert [c["source_length"] for c in cost["lengths"]] == [10, 20, 500]
    assert [c["measured_flops"] for c in cost["lengths"][:2]] == [c["flops"] for c in cost["lengths"][:2]]
    assert cost["lengths"][2]["measured_flops"] is None


def test_cost_as_a_table_says_how_it_grows(folder: Path) -> None:
    text = run("-m", folder / "transformer", "--cost").stdout
    assert "attention     4·D·(N_e·S² + N_d·T² + N_d·T·S)" in text
    assert "(up to 40 tokens)" in text
    assert "it grows with the square of the length" in text
    assert "all parts grow in proportion to the length" in run("-m", folder / "rnn", "--cost").stdout


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (["--layer", "3"], "--layer 3: this model has 2 layers here", "a number from 1 to 2, last or mean"),
        (["--head", "0"], "--head 0: this model has 2 heads here", "a number from 1 to 2, mean"),
        (["--head", "last"], "--head last: this model has 2 heads here", "from 1 to 2"),
        (["--cost"], "--text and --cost cannot be shown together", "ask one at a time"),
        (["--lengths", "5"], "--lengths goes with --cost", ""),
    ],
)
def test_wrong_options_are_refused(folder: Path, args: list[str], message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as error:
        run("-m", folder / "transformer", "--text", TEXT, *args)
    assert error.value.message == message
    assert hint in error.value.hint


@pytest.mark.parametrize("option", [["--words"], ["--layer", "1"], ["--style", "digits"]])
def test_options_of_attention_need_a_text(folder: Path, option: list[str]) -> None:
    with pytest.raises(ConfigError, match=f"{option[0]} goes with --text"):
        run("-m", folder / "rnn", *option)
    with pytest.raises(ConfigError, match="--target goes with --text or --shapes"):
        run("-m", folder / "rnn", "--target", "x")


@pytest.mark.parametrize("lengths", ["", "a", "10,0", "10,-1", "10,,20"])
def test_wrong_lengths_are_refused(folder: Path, lengths: str) -> None:
    with pytest.raises(ConfigError, match="is no list of lengths"):
        run("-m", folder / "rnn", "--cost", "--lengths", lengths)


def test_texts_that_cannot_be_shown_are_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="the text is empty"):
        run("-m", folder / "luong", "--text", "  ")
    with pytest.raises(LimitError, match="position 41 has no learned row: .* Shorten it"):
        run("-m", folder / "transformer", "--shapes", "3" * 41)
    with pytest.raises(LimitError, match="the target has 1,025 tokens, more than 1,024"):
        run("-m", folder / "luong", "--text", TEXT, "--target", "2" * 1025)


def test_a_missing_model_is_named(folder: Path) -> None:
    with pytest.raises(ModelError, match="there is no model folder") as error:
        run("-m", folder / "transformr")
    assert error.value.hint == "did you mean 'transformer'?"


@pytest.mark.usefixtures("built")
def test_every_example_of_the_help_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = [shlex.split(line)[2:] for line in EXAMPLES.splitlines() if line.startswith("  jumok inspect")]
    assert len(examples) == 6
    (tmp_path / "model.toml").write_text(NOTE)
    for words in examples:
        assert run(*(word.replace("runs/en-de", "demo/luong") for word in words)).exit_code == 0
    assert (tmp_path / "horse.html").is_file()


DATE = "den 5 mars 2024 kl. 14:30"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("view", ["heat", "steps"])
def test_every_view_of_every_architecture_as_text_json_and_line(name: str, view: str) -> None:
    words = ("-m", f"demo/{name}", "--text", DATE, "--view", view)
    text = run(*words).stdout
    assert "\x1b" not in text
    found = run_json(*words)
    assert found["source"] == DATE
    assert found["target"] == ("2024-04-03T15:30" if name == "rnn" else "2024-03-05T14:30")
    line = run(*words, "-q").stdout
    assert line.strip()
    assert line.count("\n") == 1


@pytest.mark.parametrize(("view", "screen"), [("beam", "/beam"), ("influence", "/translate")])
def test_a_view_that_moved_to_the_page_says_where_it_is(view: str, screen: str) -> None:
    with pytest.raises(ConfigError, match=f"--view {view}: .* is shown on the page") as error:
        run("-m", "demo/luong", "--text", DATE, "--view", view)
    assert f"jumok serve MODEL --open {screen}" in error.value.hint
    assert screen in SCREENS


def test_a_what_if_stands_before_the_view_of_the_edited_trace() -> None:
    words = ("-m", "demo/transformer", "--text", DATE, "--what-if", "ban text=2024-03")
    lines = run(*words).stdout.splitlines()
    assert lines[0] == "what if   ban text=2024-03"
    assert lines[1].startswith("as it is  2024-03-05T14:30")
    edited = lines[2].split()[1]
    assert edited != "2024-03-05T14:30"
    assert lines[4] == edited
    assert lines[6].startswith("cross · ")
    found = run_json(*words)
    assert found["what_if"]["interventions"] == [{"op": "ban", "text": ["2024-03"]}]
    assert found["what_if"]["edited"]["text"] == found["target"] == edited
    assert run(*words, "-q").stdout == f"{edited}\n"


def test_a_saved_trace_is_opened_without_the_model(tmp_path: Path) -> None:
    file = tmp_path / "date.trace"
    said = run("-m", "demo/luong", "--text", DATE, "-o", file)
    assert said.stdout == ""
    assert said.stderr.startswith(f"{file}  ")
    assert said.stderr.endswith("kB  every number; jumok inspect --trace opens it\n")
    for words in (["--words"], ["--view", "steps", "--q", "6"]):
        again = run("--trace", file, *words).stdout
        assert again == run("-m", "demo/luong", "--text", DATE, *words).stdout


def test_a_file_is_told_as_json(tmp_path: Path) -> None:
    file = tmp_path / "date.csv"
    found = run_json("-m", "demo/luong", "--text", DATE, "-o", file)
    assert (found["file"], found["bytes"]) == (str(file), file.stat().st_size)
    assert len(found["trace"]) == 16
    assert run("-m", "demo/luong", "--text", DATE, "-o", file, "-q").output == ""


def test_a_text_that_is_too_long_is_cut_and_that_is_said() -> None:
    long = run("-m", "demo/luong", "--text", "1 " * 300)
    assert "warning: source cut from 300 to " in long.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "which model?"),
        (["--trace", "x", "--text", "y"], "--text and --trace cannot be shown together"),
        (["--trace", "x", "-m", "y"], "-m goes with --text or --shapes or --cost"),
        (["--trace", "x", "--what-if", "no_scale kind=cross"], "--what-if goes with --text"),
        (["-m", "x", "-o", "y.html"], "-o goes with --text or --trace"),
        (["-m", "x", "--text", "y", "--q", "1"], "--q goes with --view steps"),
        (["-m", "x", "--text", "y", "--view", "steps", "--k", "1"], "--k goes with --q"),
        (["-m", "x", "--text", "y", "--view", "steps", "--words"], "--words goes with --view heat"),
        (["-m", "x", "--text", "y", "--target", "z", "--what-if", "x"], "--what-if and --target cannot be"),
        (["-m", "x", "--text", "y", "-o", "y.svg"], "-o y.svg: '.svg' is no form of a trace"),
        (["-m", "x", "--text", "y", "-o", "/nowhere/y.csv"], "cannot write /nowhere/y.csv: No such file"),
    ],
)
def test_options_that_do_not_go_together_are_refused_before_any_work(args: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        run(*args)
    assert error.value.message.startswith(message)


@pytest.mark.parametrize("option", ["--q", "--k", "--beam"])
def test_numbers_below_one_are_refused(option: str) -> None:
    result = run("-m", "demo/luong", "--text", DATE, option, "0")
    assert result.exit_code == 2
    assert f"Invalid value for '{option}': 0 is not in the range x>=1." in result.stderr


def test_a_trace_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read the trace: No such file"):
        run("--trace", tmp_path / "none.trace")
    (tmp_path / "bad.trace").write_text("{}")
    with pytest.raises(DataError, match="not a trace of jumok"):
        run("--trace", tmp_path / "bad.trace")
