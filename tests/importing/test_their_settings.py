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
