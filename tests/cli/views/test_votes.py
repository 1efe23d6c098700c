"""The view of votes: lines of a table, and what does not go with it."""

import json

import pytest
from click.testing import CliRunner

from jumok.cli.inspect import inspect
from jumok.cli.views.votes import votes_view
from jumok.errors import ConfigError

TEXT = "1998년 3월 24일 화요일 오후 8시 35분부터"


def test_a_line_for_each_token_with_the_wishes_of_those_who_differ() -> None:
    view = votes_view("demo/rnn+demo/luong", TEXT)
    head, _, columns, *lines = view.text.splitlines()
    answer = view.plain["target"]
    assert head == f"{TEXT} → {answer}"
    assert columns.split() == ["token", "together", "rnn", "luong", "other", "wishes"]
    steps = view.plain["steps"]
    assert len(lines) == len(steps) + 2
    for line, step in zip(lines, steps, strict=False):
        differing = [n for n, id in enumerate(step["favourites"]) if id != step["id"]]
        assert all(f"{('rnn', 'luong')[n]}: " in line for n in differing)
        assert (": " in line[20:]) == bool(differing) or step["text"].strip() == ":"
    assert view.line == "\t".join(
        [answer, *(f"{one['name']} {one['agrees']}/{len(steps)}" for one in view.plain["members"])]
    )
    assert list(view.table[0]) == ["step", "token", "id", "member", "probability"]
    assert len(view.table) == 1 + 3 * sum(len(step["candidates"]) for step in steps)


def test_inspect_shows_it_as_text_json_and_line() -> None:
    words = ["-m", "demo/rnn+demo/luong", "--text", TEXT, "--view", "votes"]
    text, plain, line = (CliRunner().invoke(inspect, [*words, *more]) for more in ([], ["--json"], ["-q"]))
    assert "its favourite was written" in text.stdout
    assert json.loads(plain.stdout)["mean"] == "probabilities"
    assert line.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--text", TEXT, "--layer", "1"], "--layer and --view votes cannot be shown together"),
        (["--text", TEXT, "-o", "x.html"], "-o and --view votes cannot be shown together"),
    ],
)
def test_what_does_not_go_with_votes_is_refused(more: list[str], message: str) -> None:
    result = CliRunner().invoke(inspect, ["-m", "demo/rnn", "--view", "votes", *more])
    assert isinstance(result.exception, ConfigError)
    assert result.exception.message == message
