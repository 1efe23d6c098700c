import pytest

from jumok.cli.shared.engine import NAMES, engine_words, noted
from jumok.decoding.engines import ENGINES


def test_the_option_knows_every_engine() -> None:
    assert NAMES == ENGINES


def test_a_line_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    note = noted(quiet=False)
    note("it is slow")
    note("it is slow")
    note("it is old")
    assert capsys.readouterr().err == "note: it is slow\nnote: it is old\n"
    noted(quiet=True)("it is slow")
    assert capsys.readouterr().err == ""


def test_an_engine_in_words() -> None:
    assert engine_words({"name": "native", "type": "int8", "level": "vnni"}) == "native int8 vnni"
