import click
import pytest
from click.testing import CliRunner

from jumok.cli.shared.drawing import OPTIONS, check_drawing, drawing
from jumok.config import DecodingConfig
from jumok.errors import ConfigError


def test_the_options_are_settings_of_decoding_in_their_order() -> None:
    asked: dict[str, object] = {}

    @click.command()
    @drawing
    def command(**options: object) -> None:
        asked.update(options)

    words = ["--mbr", "8", "--utility", "rouge1", "--temperature", "0.7", "--top-k", "5", "--top-p", "0.9"]
    assert CliRunner().invoke(command, [*words, "--seed", "3"]).exit_code == 0
    assert DecodingConfig(**asked).draws == 8
    assert [one.name for one in command.params] == ["mbr", "utility", "temperature", "top_k", "top_p", "seed"]
    assert len(command.params) == len(OPTIONS)


@pytest.mark.parametrize("number", ["-1", "257"])
def test_draws_are_bounded(number: str) -> None:
    found = CliRunner().invoke(click.command()(drawing(lambda **_: None)), ["--mbr", number])
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
