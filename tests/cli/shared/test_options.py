from typing import Any

import click
import pytest
from click.testing import CliRunner

from jumok.cli.main import COMMANDS, cli
from jumok.cli.shared.options import ENGINES, SEARCH, check_drawing, given_options, say_once
from jumok.config import DecodingConfig
from jumok.decoding import opening
from jumok.errors import ConfigError


def test_the_options_are_settings_of_decoding_in_their_order() -> None:
    given: dict[str, Any] = {}

    @click.command()
    @SEARCH
    def command(**options: Any) -> None:
        given.update(given_options(options))

    words = ["--mbr", "8", "--utility", "rouge1", "--temperature", "0.7", "--top-k", "0", "--top-p", "0.9"]
    assert CliRunner().invoke(command, [*words, "--seed", "3"]).exit_code == 0
    assert given.pop("engine") == "auto"
    assert DecodingConfig(**given).draws == 8
    assert [one.name for one in command.params][4:10] == list(given)


def test_only_what_was_set_is_given() -> None:
    options = {"beam": None, "sample": False, "ban": (), "mbr": 0, "prefix": "a", "long": "cut"}
    assert given_options(options) == {"mbr": 0, "prefix": "a", "long": "cut"}


@pytest.mark.parametrize("number", ["-1", "257"])
def test_draws_are_bounded(number: str) -> None:
    found = CliRunner().invoke(click.command()(SEARCH(lambda **_: None)), ["--mbr", number])
    assert found.exit_code == 2
    assert f"{number} is not in the range 0<=x<=256" in found.output


@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "seed"])
def test_what_draws_is_refused_in_a_search(name: str) -> None:
    usual, asked = DecodingConfig(), {name: 1}
    check_drawing({}, usual)
    check_drawing({"sample": True, **asked}, usual)
    check_drawing({"mbr": 8, "utility": "rouge1", **asked}, usual)
    option = f"--{name.replace('_', '-')}"
    with pytest.raises(ConfigError) as caught:
        check_drawing(asked, usual)
    assert str(caught.value) == f"{option} changes nothing in a search\n  add --mbr N to draw answers"
    for drawing_one in (DecodingConfig(mbr=4), DecodingConfig(sample=True)):  # as a folder may say
        check_drawing(asked, drawing_one)
        with pytest.raises(
            ConfigError, match=f"{option} changes nothing in a search\n  add --sample or --mbr"
        ):
            check_drawing({**asked, "beam": 2}, drawing_one, "--sample or --mbr N")


def test_what_draws_are_compared_by_is_refused_without_a_choice() -> None:
    check_drawing({"utility": "rouge1"}, DecodingConfig(mbr=4))
    with pytest.raises(ConfigError) as caught:
        check_drawing({"utility": "rouge1", "sample": True}, DecodingConfig(mbr=4))
    assert (
        str(caught.value) == "--utility changes nothing without --mbr\n  add --mbr N to choose among N draws"
    )


def test_the_option_knows_every_engine() -> None:
    assert ENGINES == opening.ENGINES


def test_a_note_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    note = say_once(quiet=False)
    note("it is slow")
    note("it is slow")
    note("it is old")
    assert capsys.readouterr().err == "note: it is slow\nnote: it is old\n"
    say_once(quiet=True)("it is slow")
    assert capsys.readouterr().err == ""


def test_a_second_value_of_a_single_option_is_refused() -> None:
    """Every command and every option that takes one value; those that may be repeated, and switches, may."""
    tried = 0
    with click.Context(cli, **cli.context_settings) as group:
        for name in COMMANDS:
            made = cli.get_command(group, name)
            assert made is not None
            for param in (one for one in made.params if isinstance(one, click.Option)):
                words = [param.opts[0], *["1"] * (0 if param.is_flag else param.nargs)] * 2
                context = click.Context(
                    made, parent=group, info_name=name
                )  # the group names the help options
                if param.multiple or param.is_flag:
                    made.make_parser(context).parse_args(args=words)
                    continue
                tried += 1
                with pytest.raises(ConfigError) as caught:
                    made.parse_args(context, words)
                expected = (
                    f"{param.opts[0]} is given 2 times, and it takes one value\n  leave out all but one"
                )
                assert str(caught.value).startswith(expected)
    assert tried > 90
