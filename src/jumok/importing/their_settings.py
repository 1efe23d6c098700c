"""The settings of another program's model, read one by one: a wrong type or value is refused by its name."""

from collections.abc import Mapping
from typing import Any

from jumok.architectures import Activation
from jumok.errors import ModelError, nearest

ACTIVATIONS: Mapping[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
MOST = 1 << 40  # far above any size that is read; architectures.MOST has the limits


class TheirSettings:
    """A JSON object with settings, and the file it came from."""

    def __init__(self, fields: Mapping[str, Any], where: str, name: str = "config.json") -> None:
        self.fields, self.where, self.name = fields, where, name

    def number(self, *names: str, usual: int | None = None) -> int:
        """A whole number under the first of these names that is there."""
        for name in names:
            value = self.fields.get(name)
            if value is not None:
                if type(value) is not int or not -1 <= value <= MOST:
                    raise self.wrong(name, value, "a whole number")
                return value
        if usual is None:
            raise self.wrong(names[0], None, "a whole number")
        return usual

    def token(self, name: str) -> int | None:
        """The number of a token, if it is said; of several the first."""
        value = self.fields.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if value is None or type(value) is int:
            return value
        raise self.wrong(name, value, "the number of a token")

    def flag(self, name: str, *, usual: bool) -> bool:
        value = self.fields.get(name)
        if value is None:
            return usual
        if not isinstance(value, bool):
            raise self.wrong(name, value, "true or false")
        return value

    def share(self, name: str, usual: float) -> float:
        value = self.fields.get(name, usual)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise self.wrong(name, value, "a number from 0 to 1")
        return float(value)

    def same(self, left: str, right: str) -> int:
        """A number that both sides must have alike."""
        first, second = self.number(left), self.number(right)
        if first != second:
            raise ModelError(
                f"{left}={first} and {right}={second} differ, and here both sides are alike in this",
                where=self.where,
                hint="a model with two different halves cannot be imported",
                code="unsupported",
            )
        return first

    def activation(self, value: object) -> Activation:
        """Our name for an activation."""
        if not isinstance(value, str) or value not in ACTIVATIONS:
            raise ModelError(
                f"the activation {str(value)[:40]!r} is unknown",
                where=self.where,
                hint=nearest(str(value)[:40], ACTIVATIONS),
                code="unsupported",
            )
        return ACTIVATIONS[value]

    def wrong(self, name: str, value: object, wanted: str) -> ModelError:
        said = "says nothing" if value is None else f"says {str(value)[:40]!r}"
        return ModelError(
            f"{self.name} should have {wanted} as {name}, and {said}",
            where=self.where,
            hint="the file is damaged, or of another kind of model",
            code="bad_settings",
        )
