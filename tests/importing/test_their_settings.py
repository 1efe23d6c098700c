import pytest

from jumok.errors import ModelError
from jumok.importing.their_settings import ACTIVATIONS, TheirSettings


def test_values_of_a_wrong_type_are_refused_by_their_names() -> None:
    said = TheirSettings({"a": 3, "b": "x", "c": True, "d": 2.5, "e": [4, 5]}, "here")
    assert said.number("z", "a") == 3
    assert said.number("z", usual=7) == 7
    assert said.flag("c", usual=False)
    assert said.token("e") == 4
    assert said.token("z") is None
    with pytest.raises(ModelError, match="config.json should have a whole number as b, and says 'x'"):
        said.number("b")
    with pytest.raises(ModelError, match="should have a whole number as c, and says 'True'"):
        said.number("c")
    with pytest.raises(ModelError, match="should have a whole number as z, and says nothing"):
        said.number("z")
    with pytest.raises(ModelError, match="should have true or false as a, and says '3'"):
        said.flag("a", usual=True)
    with pytest.raises(ModelError, match="should have a number from 0 to 1 as d, and says '2.5'"):
        said.share("d", 0.1)
    with pytest.raises(ModelError, match="should have the number of a token as b"):
        said.token("b")


def test_an_unknown_activation_gets_the_nearest_name() -> None:
    said = TheirSettings({}, "here")
    assert said.activation("swish") == "silu"
    assert set(ACTIVATIONS.values()) == {"relu", "gelu", "gelu_tanh", "silu"}
    with pytest.raises(
        ModelError, match="the activation 'gelu_nwe' is unknown\n  here\n  did you mean 'gelu_new'"
    ):
        said.activation("gelu_nwe")


def test_numbers_and_shares_up_to_their_limits() -> None:
    said = TheirSettings({"a": -1, "b": 1 << 40, "c": 0, "d": 0.0, "e": 1, "f": 0.999, "g": None}, "here")
    assert [said.number(name) for name in "abc"] == [-1, 1 << 40, 0]
    assert said.number("a", "b", usual=5) == -1  # the first that is there
    assert said.number("g", "b") == 1 << 40
    assert (said.share("d", 0.5), said.share("c", 0.5), said.share("f", 0.5)) == (0.0, 0.0, 0.999)
    assert said.share("z", 0.5) == 0.5
    assert isinstance(said.share("c", 0.5), float)
    assert said.flag("g", usual=True)
    assert not said.flag("g", usual=False)
    for name, value in (("a", -2), ("b", (1 << 40) + 1)):
        with pytest.raises(ModelError, match=f"a whole number as {name}, and says '{value}'"):
            TheirSettings({name: value}, "here").number(name, usual=1)
    for share in (1, -0.1, True, "0.1"):
        with pytest.raises(ModelError, match=f"a number from 0 to 1 as e, and says '{share}'"):
            TheirSettings({"e": share}, "here").share("e", 0.5)


def test_tokens_are_whole_numbers_or_the_first_of_a_list() -> None:
    said = TheirSettings({"a": 0, "b": [7, 8], "c": [], "d": True, "e": ["x"], "f": 1.0}, "here", "x.json")
    assert (said.token("a"), said.token("b"), said.token("z")) == (0, 7, None)
    for name, value in (("c", r"\[\]"), ("d", "True"), ("e", "x"), ("f", "1.0")):
        with pytest.raises(
            ModelError, match=f"x.json should have the number of a token as {name}, and says '{value}'"
        ):
            said.token(name)


def test_both_sides_are_alike() -> None:
    said = TheirSettings({"left": 4, "right": 4, "other": 5}, "here")
    assert said.same("left", "right") == 4
    with pytest.raises(ModelError, match="left=4 and other=5 differ, and here both sides are alike in this"):
        said.same("left", "other")


def test_what_a_file_says_is_shown_shortened() -> None:
    with pytest.raises(ModelError) as refused:
        TheirSettings({"a": "x" * 50}, "here").number("a")
    assert str(refused.value) == (
        f"config.json should have a whole number as a, and says '{'x' * 40}'\n  here\n"
        "  the file is damaged, or of another kind of model"
    )
    with pytest.raises(ModelError, match=f"the activation '{'y' * 40}' is unknown"):
        TheirSettings({}, "here").activation("y" * 50)
