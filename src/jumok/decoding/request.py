"""What one call asks of a translator, checked before any work begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from jumok.config import DecodingConfig
from jumok.errors import ConfigError, nearest
from jumok.text.normalize import tidy

Long = Literal["split", "cut", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of one call. Texts are tidied."""

    decoding: DecodingConfig
    prefix: str | tuple[str, ...] = ""
    """What answers begin with: one text for all, or one for each."""
    ban: tuple[str, ...] = ()
    """Texts that appear in no answer, not even inside a word."""
    require: tuple[str, ...] = ()
    """Texts that appear in every answer."""
    long: Long | None = None
    """What happens to a source with more tokens than the model learned from; None is as in training."""
    shortlist: bool = False
    """Only the target tokens of the model's shortlist are computed; the native engine has this."""

    def __post_init__(self) -> None:
        if self.long not in (None, *get_args(Long)):
            raise ConfigError(f"long={self.long!r} is unknown", hint=nearest(str(self.long), get_args(Long)))
        for name in ("ban", "require"):
            if not all(getattr(self, name)):
                raise ConfigError(f"{name} has an empty text", hint="give at least one character")
        prefixes = (self.prefix,) if isinstance(self.prefix, str) else self.prefix
        for banned in self.ban:
            for name, text in [("require", text) for text in self.require] + [
                ("prefix", p) for p in prefixes
            ]:
                if banned in text:
                    raise ConfigError(
                        f"ban={banned!r} and {name}={text!r} cannot both be kept",
                        hint="take the text out of one of them",
                    )

    def prefixes(self, count: int) -> list[str]:
        """The prefix of each of `count` texts."""
        if isinstance(self.prefix, str):
            return [self.prefix] * count
        if len(self.prefix) != count:
            raise ConfigError(
                f"there are {len(self.prefix)} prefixes for {count} texts",
                hint="give one prefix for all texts, or a list with one for each",
            )
        return list(self.prefix)


def make_request(defaults: DecodingConfig, options: Mapping[str, Any]) -> Request:
    """Options by name over a model's defaults; an unknown name is a TypeError that offers the nearest one."""
    decoding = {field.name for field in fields(DecodingConfig)}
    own = {field.name for field in fields(Request)} - {"decoding"}
    for name in options:
        if name not in decoding | own:
            raise TypeError(f"unknown option {name!r}; {nearest(name, decoding | own)}")
    given = {name: value for name, value in options.items() if name in decoding}
    chosen = replace(defaults, **one_way(defaults, given))
    asked = {name: value for name, value in options.items() if name in own}
    for name in ("ban", "require"):
        asked[name] = _texts(asked.get(name, ()))
    prefix = asked.get("prefix") or ""
    asked["prefix"] = tidy(prefix) if isinstance(prefix, str) else _texts(prefix)
    return Request(decoding=chosen, **asked)


def one_way(defaults: DecodingConfig, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the other ways to find an answer put aside, where they name one.

    A model's folder may say `sample` or `mbr`; a call that names a beam has it searched all the same. It gets
    as many answers as the folder says, or as many as there are.
    """
    asked = [name for name in ("beam", "sample", "mbr") if given.get(name)]
    if "mbr" in asked and len(asked) > 1:
        raise ConfigError(
            f"{asked[0]} and mbr cannot be had together",
            hint=f"mbr draws its answers by itself: leave out mbr or {asked[0]}",
        )
    aside: dict[str, Any] = {"sample": False, "mbr": 0} if asked else {}
    width = given.get("mbr") or given.get("beam")
    if isinstance(width, int) and not given.get("sample"):
        aside["n_best"] = max(1, min(defaults.n_best, width))
    return {**aside, **given}


def _texts(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return tuple(map(tidy, [given] if isinstance(given, str) else given or ()))
