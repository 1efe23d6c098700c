"""Fields of requests whose bound is one of the server's limits, whatever that was set to at the start."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from jumok.server.gates.limits import DEFAULTS, Limits

T = TypeVar("T")

IN_FORCE: ContextVar[Limits] = ContextVar("limits", default=DEFAULTS)
"""Of the server whose request is being read: schemas are shared by all servers of a process."""

WORDS = {"string": "maxLength", "array": "maxItems", "object": "maxProperties"}


@contextmanager
def within(limits: Limits) -> Iterator[None]:
    """Read and describe requests by these limits while the block lasts."""
    before = IN_FORCE.set(limits)
    try:
        yield
    finally:
        IN_FORCE.reset(before)


@dataclass(frozen=True, slots=True)
class AtMost:
    """The field is at most the limit of this name, or below it: a number, or how long something is."""

    limit: str
    below: bool = False

    @property
    def most(self) -> int:
        return int(getattr(IN_FORCE.get(), self.limit))

    def check(self, value: T) -> T:
        """The value; one beyond the limit is refused in the words that pydantic has for it."""
        most = self.most
        match value:
            case int() if self.below and value >= most:
                raise PydanticKnownError("less_than", {"lt": most})
            case int() if value > most:
                raise PydanticKnownError("less_than_equal", {"le": most})
            case str() if len(value) > most:
                raise PydanticKnownError("string_too_long", {"max_length": most})
            case list() | dict() if len(value) > most:
                kind = "List" if isinstance(value, list) else "Dictionary"
                told = {"field_type": kind, "max_length": most, "actual_length": len(value)}
                raise PydanticKnownError("too_long", told)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        made = handler(schema)
        made[WORDS.get(made["type"], "exclusiveMaximum" if self.below else "maximum")] = self.most
        return made
