"""`jumok chat` from a pipe: one line in, one line out, drawn with a seed that is told."""

import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jumok.checkpoint.bundled import bundled
from jumok.cli.chat import EXAMPLES, chat
from jumok.errors import ConfigError, DataError, LimitError
from jumok.model import Model, load

DATE = "den 5 mars 2024 kl. 14:30"


@pytest.fixture(scope="module")
def model() -> Model:
    return load("demo/transformer", "cpu")


def run(*args: str, stdin: str = "", model: str = "demo/transformer") -> Result:
    result = CliRunner().invoke(chat, ["-m", model, "--device", "cpu", *args], input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_every_line_is_answered_by_itself(model: Model) -> None:
    result = run("--greedy", stdin=f"{DATE}\n\nhello\r\n")
    assert result.stdout.split("\n") == [
        model.translate(DATE, beam=1).text,
        "",
        model.translate("hello", beam=1).text,
        "",
    ]
    assert result.stderr == ""


def test_a_seed_is_told_and_draws_the_same_answer_again(model: Model) -> None:
    options = {"sample": True, "temperature": 2.0, "top_p": 1.0, "max_len": 12}
    words = ["--temperature", "2", "--top-p", "1", "--max-len", "12", "--seed", "7", "--json"]
    first = run(*words, stdin="hello\nhello\nhello\n")
    assert run(*words, stdin="hello\nhello\nhello\n").stdout == first.stdout
    lines = [json.loads(line) for line in first.stdout.splitlines()]
    assert [line["seed"] for line in lines] == [7, 8, 9]
    assert len({line["text"] for line in lines}) > 1  # asking again is answered otherwise
    for line in lines:
        assert line["text"] == model.translate("hello", seed=line["seed"], **options).text
    assert list(lines[0]) == [
        "line", "message", "src", "text", "score", "score_per_token", "tokens", "finished", "seed",
    ]  # fmt: skip


def test_a_context_goes_before_the_question(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("The lamp\nis on.\n", encoding="utf-8")
    for given in (str(notes), "The lamp is on."):
        result = run("--context", given, "--json", "--greedy", stdin="Is it?\n\n")
        told, blank = (json.loads(line) for line in result.stdout.splitlines())
        assert told["src"] == "\u241e Is it? \u241f The lamp is on."
        assert (told["message"], told["context"]) == ("Is it?", "The lamp is on.")
        assert (blank["src"], blank["text"], told["seed"]) == ("", "", None)


@pytest.mark.parametrize("option", ["--temperature=0.5", "--top-k=3", "--top-p=0.5", "--seed=3"])
def test_chance_and_greedy_exclude_each_other(option: str) -> None:
    name = option.partition("=")[0]
    with pytest.raises(ConfigError, match=f"{name} changes nothing with --greedy"):
        run("--greedy", option)


def test_what_cannot_be_is_refused_before_the_first_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"decoding.temperature=0.0 cannot work"):
        run("--temperature", "0")
    with pytest.raises(ConfigError, match=r"there is no file notes\.txt"):
        run("--context", "notes.txt")
    (tmp_path / "blank.txt").write_text(" \n", encoding="utf-8")
    with pytest.raises(ConfigError, match="the context is blank"):
        run("--context", str(tmp_path / "blank.txt"))
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(DataError, match="byte 0xE9 is not UTF-8"):
        run("--context", str(tmp_path / "latin.txt"))


def test_a_line_too_long_is_named_and_cut_only_when_asked(model: Model) -> None:
    long = "1 " * 400
    with pytest.raises(LimitError, match="tokens, and this model takes") as caught:
        run("--greedy", stdin=f"hello\n{long}\n")
    assert caught.value.where == "line 2 of standard input"
    cut = run("--greedy", "--long", "cut", stdin=f"{long}\n").stdout
    assert cut == model.translate(long, beam=1, long="cut").text + "\n"
    with pytest.raises(LimitError, match="tokens, and this model takes"):
        run("--greedy", "--context", long, stdin="Which?\n")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where the models of the examples are."""
    (tmp_path / "runs").mkdir()
    for name in ("chat", "answers"):
        (tmp_path / "runs" / name).symlink_to(bundled()["transformer"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", [one.strip() for one in EXAMPLES.splitlines() if "jumok" in one])
def test_the_examples_run(line: str, place: Path) -> None:
    before, _, command = line.rpartition("| ")
    words = shlex.split(command)
    assert words[:2] == ["jumok", "chat"]
    result = CliRunner().invoke(chat, words[2:], input="How are you?\n")
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1), result.stderr
    assert before in ("", 'echo "How are you?" ')


@pytest.fixture
def terminal() -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """A chat on a terminal of its own."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "jumok", "chat", "-m", "demo/luong", "--greedy", "--device", "cpu"]
    child = subprocess.Popen(
        words,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "dumb", "OMP_NUM_THREADS": "1"},
        # Whoever runs the tests in the background has SIGINT ignored, and children would inherit that.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    os.close(theirs)
    yield ours, child
    child.kill()
    child.wait()
    os.close(ours)


def read_until(terminal: int, wanted: str) -> str:
    """What the terminal shows until this appears."""
    shown = b""
    while wanted.encode() not in shown:
        assert select.select([terminal], [], [], 60)[0], shown
        shown += os.read(terminal, 4096)
    return shown.decode()


@pytest.mark.slow
def test_a_conversation_on_a_terminal(terminal: tuple[int, "subprocess.Popen[bytes]"]) -> None:
    screen, child = terminal
    assert "luong · " in read_until(screen, "> ")
    os.write(screen, f"{DATE}\n".encode())
    assert "2024-03-05T14:30" in read_until(screen, "14:30\r\n> ")
    os.write(screen, b"/attention\n")
    assert "cross · layer 1" in read_until(screen, "> ")
    os.write(screen, b"/attnetion\n")
    assert "did you mean '/attention'?" in read_until(screen, "'?\r\n> ")
    child.send_signal(signal.SIGINT)
    while not select.select([screen], [], [], 5)[0]:  # readline sees it only while it waits for a key
        child.send_signal(signal.SIGINT)
    assert "Ctrl-D ends it" in read_until(screen, "it\r\n> ")
    os.write(screen, b"/quit\n")
    assert child.wait(timeout=60) == 0
