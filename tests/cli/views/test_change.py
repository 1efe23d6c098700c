"""A what-if in words: both answers, the difference, and where they part."""

from pathlib import Path

from tests.cli.views.conftest import TEXT

from jumok.cli.views.change import change_text, diff, parts, spelt, with_change
from jumok.cli.views.look import Asked, look
from jumok.cli.views.view import View
from jumok.decoding.results import Token
from jumok.explain.what_if import WhatIf
from jumok.text.tokenizer import EOS


def asked(*words: str, model: str = "transformer") -> WhatIf:
    found = look(Asked(Path(f"demo/{model}"), TEXT, ops=words)).change
    assert found is not None
    return found


def test_an_answer_that_changes() -> None:
    words = ("force_prefix text=2025", "require text=07")
    change = asked(*words)
    lines = change_text(change, words, colour=False).splitlines()
    assert lines[:2] == ["what if   force_prefix text=2025", "          require text=07"]
    assert lines[2].split() == ["as", "it", "is", "2024-03-05T14:30", "log", "p", "-0.0002"]
    assert lines[3].startswith("edited    2025-")
    assert f"({change.edited.score - change.baseline.score:+.4f})" in lines[3]
    assert lines[4].startswith("diff      202[-4-]{+5+}")
    assert lines[5] == "parts     at token 4: '4' became '5'"
    assert lines[6].startswith("          the edited model gives the answer as it is log p -")


def test_an_answer_that_stays() -> None:
    change = asked("ban text=x")
    assert parts(change) == "nowhere: the answers are the same"
    assert diff(change, colour=False) == "2024-03-05T14:30"


def test_colour_marks_what_went_and_what_came() -> None:
    assert "\x1b[9;31m4\x1b[0m\x1b[32m5\x1b[0m" in diff(asked("force_prefix text=2025"), colour=True)


def test_the_view_of_the_edited_trace_comes_after() -> None:
    change = asked("ban text=x")
    view = with_change(View({"target": "y"}, "the view", "line"), change, ["ban text=x"], colour=False)
    assert view.text.endswith("\n\nthe view")
    assert view.line == "2024-03-05T14:30"
    assert view.plain["target"] == "y"
    assert view.plain["what_if"]["interventions"] == [{"op": "ban", "text": ["x"]}]


def test_bytes_are_spelt_as_characters_and_the_end_is_not() -> None:
    tokens = [Token(one, 9, 0.0) for one in (" a", "<0xEC>", "<0x98>", "<0x81>")]
    assert spelt([*tokens, Token("</s>", EOS, 0.0)]) == " a영"
