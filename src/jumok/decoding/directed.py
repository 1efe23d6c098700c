"""Which of its directions a translator is asked for. No torch."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from jumok.config import RunConfig
from jumok.decoding.jobs import Request
from jumok.errors import ConfigError
from jumok.text.frame import Direction
from jumok.text.tokenizer import Tokenizers


class Directed:
    """The part of a translator that knows its languages."""

    tokenizers: Tokenizers
    config: RunConfig

    @property
    def directions(self) -> tuple[Direction, ...]:
        """From which language into which it translates; one without codes where its folder does not say."""
        data = self.config.data
        return self.tokenizers.frame.directions or (Direction(data.source_language, data.target_language),)

    def towards(self, to: str = "", from_language: str = "") -> Self:
        """The same translator for one of its directions; nothing is copied.

        What is left out must follow from the rest. A model of one direction knows no other.
        """
        if not self.tokenizers.frame.languages:
            self._check_only(to, from_language)
            return self
        now = self.tokenizers.direction
        if now != Direction() and not (to or from_language):
            return self
        chosen = self.tokenizers.frame.choose(from_language, to or now.target)
        if chosen == now:
            return self
        other = copy.copy(self)
        other.tokenizers = self.tokenizers.towards(chosen)
        data = replace(self.config.data, source_language=chosen.source, target_language=chosen.target)
        other.config = replace(self.config, data=data)
        return other

    def directed(self, request: Request) -> Self:
        """The same translator for the direction of a request."""
        return self.towards(request.to, request.from_language)

    def asked_in(self, options: Mapping[str, Any] | None) -> Self:
        """The same translator for the direction that the options of a call name, if they do."""
        said = options or {}
        return self.towards(said.get("to") or "", said.get("from_language") or "")

    def _check_only(self, to: str, from_language: str) -> None:
        [own] = self.directions
        for name, code, mine in (("to", to, own.target), ("from_language", from_language, own.source)):
            if code and code.strip().lower() != mine.lower():
                knows = f"this model translates {own} and nothing else"
                raise ConfigError(
                    f"{name}={code!r}: {knows if any(own) else 'this model does not say its languages'}",
                    hint=f"leave out {name}",
                    code="unknown_language",
                    field=name,
                )
