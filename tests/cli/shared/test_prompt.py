"""The commands of a chat, as a person types them; the terminal itself is tested in test_chat.py."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from jumok.cli.shared.conversation import Conversation
from jumok.cli.shared.prompt import COMMANDS, HELP, Prompt, complete
from jumok.errors import ConfigError
from jumok.model import Model, load

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def model() -> Model:
    return load("demo/luong", "cpu")


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
    for part in ("error: decoding.top_p=7", "pieces, and this model takes", "/quit or Ctrl-D ends it"):
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
    assert "cross · layer 1 · one head · pieces" in plain
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
    assert set(COMMANDS) == {*prompt.commands, "/quit"}


def test_tab_completes_commands() -> None:
    assert [complete("/s", n) for n in range(3)] == ["/seed", "/set", None]
    assert complete("hello", 0) is None
