"""JSON bodies, read strictly: UTF-8, finite numbers, unique keys, whole characters, bounded depth."""

import json
import math
from typing import Any

from jumok.server.gates.limits import DEFAULTS
from jumok.server.gates.problems import Problem

DIGITS = 19  # of a whole number in 64 bits


def read_json(body: bytes, depth: int = DEFAULTS.depth) -> Any:
    """The value of a JSON body; what is wrong with any other is a Problem that never repeats the body."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise bad("bad_utf8", f"the body is not UTF-8: byte {error.start}") from None
    if text.startswith("\ufeff"):
        raise bad("bad_json", "the body begins with a byte-order mark")
    try:
        value = json.loads(
            text,
            object_pairs_hook=unique,
            parse_float=finite,
            parse_int=whole,
            parse_constant=refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise bad("bad_json", f"the body is not JSON: character {error.pos}") from None
    except RecursionError:
        raise too_deep(depth) from None
    check(value, depth)
    return value


def bad(code: str, detail: str) -> Problem:
    return Problem(400, code, detail)


def too_deep(depth: int) -> Problem:
    return bad("bad_json", f"the body has more than {depth} lists or objects inside each other")


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; two members of one name would leave it open which one counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise bad("bad_json", "an object has the same name twice")
    return found


def finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise bad("bad_number", "a number is too large")
    return number


def whole(digits: str) -> int:
    if len(digits.lstrip("-")) > DIGITS:
        raise bad("bad_number", "a whole number is too large")
    return int(digits)


def refuse_constant(name: str) -> Any:
    raise bad("bad_number", "NaN and Infinity are not numbers of JSON")


def check(value: Any, depth: int) -> None:
    """Refuse lone surrogates, which are halves of characters, and values that are nested too deeply."""
    level, waiting = 0, [value]
    while waiting:
        level += 1
        inner: list[Any] = []
        for one in waiting:
            if isinstance(one, str):
                check_text(one)
            elif isinstance(one, dict):
                inner.extend(one)
                inner.extend(one.values())
            elif isinstance(one, list):
                inner.extend(one)
        if level > depth and any(isinstance(one, dict | list) for one in waiting):
            raise too_deep(depth)
        waiting = inner


def check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise bad("bad_utf8", "a text has half of a surrogate pair") from None
