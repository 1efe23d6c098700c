"""One line of a TSV or JSONL file to its texts: the source, then its target, or several references.

Without further words a TSV line has two columns, and a JSONL line is one of three objects. Which columns or
keys to read can be told: `1,3` of a TSV, `body,subject` of JSONL, and `1,2+` for all columns from the second.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from textwrap import shorten
from typing import Any

from jumok.data.questions import holds_question, read_question
from jumok.errors import ConfigError, DataError, nearest
from jumok.text.normalize import check_surrogates

Texts = tuple[str, ...]
Reader = Callable[[str, str], Texts]
"""`read(line, where)`; `where` is for messages."""

FORMS = (
    'a line is {"src": "…", "tgt": "…"}, {"translation": {"en": "…", "de": "…"}} or '
    '{"context": "…", "question": "…", "answer": "…"}; other keys: --columns body,subject'
)


def line_reader(kind: str, columns: str = "") -> Reader:
    """How a line of a ".tsv" or ".jsonl" file is read; `columns` are names with commas between them."""
    if not columns:
        return split_json if kind == ".jsonl" else split_tsv
    names = [name.strip() for name in columns.split(",")]
    if len(names) < 2 or not all(names):
        raise _bad_columns(columns, "two are needed, source and target")
    if kind == ".jsonl":
        places: list[int] = []
        read: Reader = partial(take_keys, names=names)
    else:
        *first, last = names
        places = [_place(name, columns) for name in (*first, last.removesuffix("+"))]
        read = partial(take_columns, places=places, more=last.endswith("+"))
    if any(len(set(known)) < len(known) for known in (names, places)):
        raise _bad_columns(columns, "a column is named twice")
    return read


def _place(name: str, columns: str) -> int:
    if not (name.isascii() and name.isdigit() and 0 < int(name) < 10_000):
        raise _bad_columns(columns, f"{name!r} is no column of a TSV, whose columns are numbers from 1")
    return int(name) - 1


def _bad_columns(columns: str, reason: str) -> ConfigError:
    return ConfigError(
        f"columns={columns} cannot work: {reason}",
        hint="give for example --columns 1,3 for a TSV, or --columns body,subject for JSONL",
        code="bad_columns",
    )


def split_tsv(line: str, where: str) -> Texts:
    """The two columns of a line."""
    columns = line.split("\t")
    if len(columns) != 2:
        more = "; which of them to read: --columns 1,2 (data.columns)" if len(columns) > 2 else ""
        hint = f"a line is source, tab, target: no quoting, and no tab inside a sentence{more}"
        raise DataError(f"{_count(columns)} instead of 2", where=where, hint=hint, code="bad_columns")
    return tuple(columns)


def take_columns(line: str, where: str, *, places: Sequence[int], more: bool) -> Texts:
    """The columns at these places, and with `more` all behind the last; further references may be missing."""
    columns = line.split("\t")
    missing = max(places[:2])
    if missing >= len(columns):
        missing = next(place for place in places if place >= len(columns))
        hint = "columns are counted from 1 and separated by tabs: check --columns (data.columns)"
        message = f"{_count(columns)}, and no column {missing + 1}"
        raise DataError(message, where=where, hint=hint, code="bad_columns")
    found = [columns[place] for place in places if place < len(columns)]
    return _with_references(found + (columns[places[-1] + 1 :] if more else []))


def _with_references(texts: Sequence[str]) -> Texts:
    """The source and its references, without blank ones, but for the first if all are blank."""
    source, *references = texts
    return (source, *([text for text in references if text.strip()] or references[:1]))


def _count(columns: Sequence[str]) -> str:
    return f"{len(columns)} column{'s' if len(columns) > 1 else ''}"


def split_json(line: str, where: str) -> Texts:
    """The two texts of an object in one of the usual forms."""
    value = _object(line, where)
    if isinstance(value.get("translation"), dict):
        sides = list(value["translation"].values())
    elif holds_question(value):
        _check_texts([side for side in value.values() if isinstance(side, str)], where)
        return read_question(value, where)
    else:
        sides = [value.get("src"), value.get("tgt")]
    if len(sides) != 2 or not all(isinstance(side, str) for side in sides):
        raise _other_keys(value, where)
    return _check_texts(sides, where)


def _other_keys(value: dict[str, Any], where: str) -> DataError:
    """An object in another form: which of its keys hold texts, and how to choose among them."""
    known = (value["translation"] if isinstance(value.get("translation"), dict) else {}) | value
    names = [name for name, text in known.items() if isinstance(text, str) and "," not in name]
    if len(names) < 2:
        return DataError("the object does not hold two texts", where=where, hint=FORMS, code="bad_json")
    keys = ", ".join(f'"{shorten(name, 40, placeholder="…")}"' for name in names[:8]) + ", …" * (
        len(names) > 8
    )
    return DataError(
        f'the object does not hold "src" and "tgt"; its texts are {keys}',
        where=where,
        hint=f"name the source and the target: --columns {names[0]},{names[1]}",
        code="bad_json",
    )


def take_keys(line: str, where: str, *, names: Sequence[str]) -> Texts:
    """The texts under these keys of the object, or of the one under its key "translation"."""
    value = _object(line, where)
    known = (value["translation"] if isinstance(value.get("translation"), dict) else {}) | value
    texts = []
    for place, name in enumerate(names):
        if place > 1 and known.get(name) is None:  # a further reference may be missing
            continue
        if name not in known:
            message, hint = f'the object has no "{name}"', nearest(name, known)
        elif not isinstance(known[name], str):
            message, hint = f'"{name}" is not a text', "name keys that hold texts"
        else:
            texts.append(known[name])
            continue
        raise DataError(message, where=where, hint=hint, code="bad_columns")
    return _with_references(_check_texts(texts, where))


def _object(line: str, where: str) -> dict[str, Any]:
    reason = ""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        value = None
        reason = f" ({error.msg if isinstance(error, json.JSONDecodeError) else 'nested too deeply'})"
    if not isinstance(value, dict):
        raise DataError(f"not a JSON object{reason}", where=where, hint=FORMS, code="bad_json")
    return value


def _check_texts(texts: Sequence[str], where: str) -> Texts:
    for text in texts:
        if "\0" in text:
            raise nul_error(where)
        try:
            check_surrogates(text)
        except DataError as error:
            error.where = where
            raise
    return tuple(texts)


def nul_error(where: str) -> DataError:
    """A NUL where text should be."""
    return DataError(
        "a NUL byte, which no text has", where=where, hint="the file is damaged or binary", code="nul_byte"
    )
