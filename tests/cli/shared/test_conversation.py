"""A conversation: seeds that count, settings that change or do not, and the trace of a turn."""

import sys
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tests.explain.seeing import seeing

from jumok.cli.shared.conversation import (
    COMMANDS,
    HELP,
    Conversation,
    Prompt,
    Turn,
    complete,
    edit_lines,
    read_context,
    warn_context,
)
from jumok.config import TextConfig
from jumok.errors import ConfigError
from jumok.model import Model, load
from jumok.text.tokenizer import train_tokenizer

DRAWN = {"sample": True, "temperature": 2.0, "top_p": 1.0, "seed": 5, "max_len": 10, "long": "error"}


@pytest.fixture(scope="module")
def model() -> Model:
    return load("demo/luong", "cpu")


@pytest.fixture
def talk(model: Model) -> Conversation:
    return Conversation(model, dict(DRAWN))


def test_parts_make_the_answer(talk: Conversation) -> None:
    *parts, turn = talk.stream("den 5 mars 2024")
    assert isinstance(turn, Turn)
    assert "".join(str(part) for part in parts) == turn.answer.text
    assert talk.turns == [turn]


def test_each_turn_takes_the_next_seed_until_it_is_set(talk: Conversation) -> None:
    seeds = [talk.ask("hello").options["seed"] for _ in range(3)]
    first = talk.turns[0].answer.text
    talk.change("seed=5")
    again = talk.ask("hello")
    assert (seeds, again.options["seed"], again.answer.text, talk.seed) == ([5, 6, 7], 5, first, 6)


def test_a_turn_keeps_what_shows_its_attention(talk: Conversation) -> None:
    turn = talk.ask("hello")
    talk.change("temperature=0.1")
    assert turn.traced.text == turn.answer.text
    assert turn.traced.attention.cross is not None


def test_settings_take_their_type(talk: Conversation) -> None:
    for word in ("temperature=0.7", "top_k = 3", "sample=false", "long=cut"):
        talk.change(word)
    assert talk.options == DRAWN | {"temperature": 0.7, "top_k": 3, "sample": False, "long": "cut"}
    assert "seed" not in talk.ask("hello").options or talk.options["sample"] is False


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("temperature", "/set takes name=value, not 'temperature'"),
        ("temprature=1", "no setting is called 'temprature'"),
        ("temperature=warm", "decoding.temperature='warm': should be a valid number"),
        ("temperature=0", "decoding.temperature=0"),
        ("top_p=2", "decoding.top_p=2"),
        ("long=never", "long='never' is unknown"),
        ("n_best=3", "no setting is called 'n_best'"),
    ],
)
def test_a_wrong_setting_changes_nothing(talk: Conversation, word: str, message: str) -> None:
    before: dict[str, Any] = dict(talk.options)
    with pytest.raises(ConfigError) as caught:
        talk.change(word)
    assert message in str(caught.value)
    assert talk.options == before


def test_a_context_is_a_file_or_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("\ufeffone\ntwo  three\n", encoding="utf-8")
    assert read_context("notes.txt") == "one two three"
    assert read_context("It is on.") == "It is on."
    assert read_context("a word. " * 2000) == ("a word. " * 2000).strip()
    assert read_context("") == ""
    assert read_context("~no-one-of-this-name was here.") == "~no-one-of-this-name was here."
    for missing in ("note.txt", "folder/notes"):
        with pytest.raises(ConfigError, match=f"there is no file {missing}"):
            read_context(missing)


def test_a_model_of_pictures_is_told_apart_before_the_first_message() -> None:
    with pytest.raises(ConfigError, match="describes pictures and reads no messages") as caught:
        Conversation(seeing(), dict(DRAWN))
    assert "jumok translate" in caught.value.hint


def test_a_context_for_a_model_that_never_met_one_is_said(
    model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    warn_context(model, "The lamp is on.")
    assert "not trained on questions with a context" in capsys.readouterr().err


def test_a_model_that_reads_contexts_and_has_none_is_said(
    model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    warn_context(model, "")
    assert capsys.readouterr().err == ""
    taught = train_tokenizer(["\u241e who rides \u241f a man rides"] * 20, TextConfig(vocabulary=300))
    other = copy(model)
    other.tokenizers = replace(model.tokenizers, source=taught)
    warn_context(other, "")
    assert "answers questions about a context, and has none" in capsys.readouterr().err


Captured = pytest.CaptureFixture[str]


@pytest.fixture
def prompt(model: Model) -> Prompt:
    return Prompt(Conversation(model, {"sample": True, "seed": 1, "temperature": 0.5, "long": "error"}))


def run(prompt: Prompt, monkeypatch: pytest.MonkeyPatch, *lines: str | type[BaseException]) -> None:
    """Types the lines, and then Ctrl-D."""
    todo = [*lines, EOFError]

    def typed(_: str) -> str:
        line = todo.pop(0)
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setattr("builtins.input", typed)
    prompt.run()
    assert not todo or "/quit" in lines


def test_a_message_is_answered_and_a_blank_line_is_not(
    prompt: Prompt, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    run(prompt, monkeypatch, "den 5 mars 2024", "", "  ")
    captured = capsys.readouterr()
    assert captured.out == "2024-03-05\n"
    assert captured.err.startswith("luong · luong · ")
    assert len(prompt.conversation.turns) == 1


def test_mistakes_are_told_and_it_goes_on(
    prompt: Prompt, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    run(prompt, monkeypatch, "/set top_p=7", "1 " * 500, KeyboardInterrupt, "/atention", "/quit", "never")
    said = capsys.readouterr().err
    for part in ("error: decoding.top_p=7", "tokens, and this model takes", "/quit or Ctrl-D ends it"):
        assert part in said
    assert "error: there is no command /atention\n  did you mean '/attention'?" in said
    assert not prompt.conversation.turns


def test_an_answer_may_be_stopped(prompt: Prompt, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def stopped(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(prompt, "take", stopped)
    run(prompt, monkeypatch, "hello")
    assert "…stopped" in capsys.readouterr().err


def test_attention_of_the_last_answer(prompt: Prompt, capsys: Captured, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing has been answered yet"):
        prompt.take("/attention")
    prompt.take("den 5 mars 2024")
    prompt.take("/attention")
    plain = capsys.readouterr().out
    prompt.take("/attention words layer=1 head=1")
    words = capsys.readouterr().out
    assert "cross · layer 1 · one head · tokens" in plain
    assert " · words" in words
    assert "strongest: " in plain
    prompt.take(f"/attention {tmp_path}/a.html")
    assert (tmp_path / "a.html").stat().st_size > 100_000
    for wrong, message in (
        ("rows=1", "/attention does not know 'rows'"),
        ("layer=9", "--layer 9: this model has 1 layer here"),
        ("nowhere/a.html", "cannot write nowhere/a.html"),
    ):
        with pytest.raises(ConfigError, match=message):
            prompt.take(f"/attention {wrong}")


def test_a_model_without_attention_says_why(capsys: Captured) -> None:
    prompt = Prompt(Conversation(load("demo/rnn", "cpu"), {"sample": False, "beam": 1}))
    prompt.take("den 5 mars 2024")
    prompt.take("/attention")
    assert "This model has no attention" in capsys.readouterr().out


def test_the_greeting_names_the_run(
    prompt: Prompt, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr("builtins.input", Mock(side_effect=EOFError))
    prompt.run(name="small-talk")
    assert capsys.readouterr().err.startswith("small-talk · ")


def test_context_settings_and_seed(prompt: Prompt, capsys: Captured) -> None:
    prompt.take("/context")
    prompt.take("/context The lamp is on.")
    prompt.take("Is it on?")
    assert prompt.conversation.turns[-1].answer.source == "\u241e Is it on? \u241f The lamp is on."
    prompt.take("/context off")
    prompt.take("/set temperature=0.7 top_k=4")
    prompt.take("/seed 9")
    prompt.take("/set sample=false")
    prompt.take("/seed")
    assert capsys.readouterr().err.splitlines() == [
        "no context",
        "warning: this model was not trained on questions with a context",
        "context: The lamp is on.",
        "no context",
        "sample=true temperature=0.7 top_k=4 seed=1 long=error",
        "the next answer is drawn with seed 9",
        "sample=false temperature=0.7 top_k=4 seed=9 long=error",
        "answers are not drawn: /set sample=true",
    ]


def test_help_names_every_command(prompt: Prompt, capsys: Captured) -> None:
    prompt.take("/help")
    said = capsys.readouterr().err
    assert all(line in said for line in HELP)
    assert all(callable(getattr(prompt, name[1:])) for name in COMMANDS if name != "/quit")


def test_tab_completes_commands() -> None:
    assert [complete("/s", n) for n in range(3)] == ["/seed", "/set", None]
    assert complete("hello", 0) is None


def test_keys_and_history_are_those_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Apple's has another way of saying that Tab completes; where there is none, nothing is asked of it."""
    for doc, said in (
        ("GNU readline", "tab: complete"),
        ("libedit", "bind ^I rl_complete"),
        (None, "tab: complete"),
    ):
        system = Mock(__doc__=doc)
        monkeypatch.setitem(sys.modules, "readline", system)
        edit_lines()
        system.set_completer_delims.assert_called_once_with(" ")
        system.set_completer.assert_called_once_with(complete)
        system.parse_and_bind.assert_called_once_with(said)
    monkeypatch.setitem(sys.modules, "readline", None)
    assert edit_lines() is None  # type: ignore[func-returns-value]


def test_a_long_context_is_shown_in_part_and_quiet_says_no_greeting(
    prompt: Prompt, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    for length, shown in ((200, "a" * 200), (201, f"{'a' * 200}…")):
        prompt.take(f"/context {'a' * length}")
        assert capsys.readouterr().err.splitlines()[-1] == f"context: {shown}"
    monkeypatch.setattr("builtins.input", Mock(side_effect=EOFError))
    prompt.run(quiet=True)
    assert capsys.readouterr().err == "\n"


def test_help_is_a_table(prompt: Prompt, capsys: Captured) -> None:
    prompt.take("/help")
    lines = capsys.readouterr().err.splitlines()
    assert [line[39:41] != "  " and line[38] == " " for line in lines] == [True] * len(HELP)
    assert lines[-1] == "/quit" + " " * 34 + "the end, as Ctrl-D"


def test_each_part_of_an_answer_is_seen_at_once(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr("jumok.cli.shared.conversation.click.echo", lambda text, *, nl: seen.append(text))
    monkeypatch.setattr(sys, "stdout", Mock(flush=lambda: seen.append("|")))
    prompt.take("den 5 mars 2024")
    assert seen[1::2] == ["|"] * (len(seen) // 2)
    assert "".join(seen[::2]) == "2024-03-05\n"
