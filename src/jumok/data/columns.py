"""One line of a TSV or one object to its texts: the source, then its target, or several references.

Without further words a TSV line has two columns, and an object has one of the usual forms, or keys that say
what they are. Which columns or keys to read can be told: `1,3` of a TSV, `body,subject` of objects, and
`1,2+` for all columns from the second.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from textwrap import shorten
from typing import Any

from jumok.data.headers import language_of, usual_sides
from jumok.data.questions import holds_question, read_question
from jumok.errors import ConfigError, DataError, nearest
from jumok.formats.lines import nul_error
from jumok.text.normalize import check_surrogates

Texts = tuple[str, ...]
Reader = Callable[[str, str], Texts]
"""`read(line, where)`; `where` is for messages."""
ObjectReader = Callable[[Mapping[str, Any], str], Texts]

FORMS = (
    'a line is {"src": "…", "tgt": "…"}, {"translation": {"en": "…", "de": "…"}} or '
    '{"context": "…", "question": "…", "answer": "…"}; other keys: --columns body,subject'
)


def line_reader(kind: str, columns: str = "") -> Reader:
    """How a line of a ".tsv" or ".jsonl" file is read; `columns` are names with commas between them."""
    if kind == ".jsonl":
        read = object_reader(columns)
        return lambda line, where: read(_object(line, where), where)
    if not columns:
        return split_tsv
    *first, last = column_names(columns)
    places = [_place(name, columns) for name in (*first, last.removesuffix("+"))]
    if len(set(places)) < len(places):
        raise bad_columns(columns, "a column is named twice")
    return partial(take_columns, places=places, more=last.endswith("+"))


def object_reader(columns: str = "") -> ObjectReader:
    """How an object is read: of JSON, or a unit of a file whose texts have names."""
    return partial(take_keys, names=column_names(columns)) if columns else split_object


def column_names(columns: str) -> list[str]:
    """The names in `columns`, at least two."""
    names = [name.strip() for name in columns.split(",")]
    if len(names) < 2 or not all(names):
        raise bad_columns(columns, "two are needed, source and target")
    if len(set(names)) < len(names):
        raise bad_columns(columns, "a column is named twice")
    return names


def is_number(name: str) -> bool:
    """Whether a column is told by its number."""
    return name.isascii() and name.isdigit() and 0 < int(name) < 10_000


def _place(name: str, columns: str) -> int:
    if not is_number(name):
        raise bad_columns(
            columns, f"{name!r} is no column of a TSV, whose columns are numbers from 1, or names"
        )
    return int(name) - 1


def bad_columns(columns: str, reason: str) -> ConfigError:
    return ConfigError(
        f"columns={columns} cannot work: {reason}",
        hint="give for example --columns 1,3 for a TSV, or --columns body,subject where columns have names",
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


def split_object(value: Mapping[str, Any], where: str) -> Texts:
    """The two texts of an object in one of the usual forms, or under keys such as `fr` and `en`."""
    if isinstance(value.get("translation"), dict):
        sides = list(value["translation"].values())
    elif holds_question(value):
        _check_texts([side for side in value.values() if isinstance(side, str)], where)
        return read_question(value, where)
    else:
        texts = [name for name, text in value.items() if isinstance(text, str)]
        sides = [value[name] for name in usual_sides(texts)]
    if len(sides) != 2 or not all(isinstance(side, str) for side in sides):
        raise _other_keys(value, where)
    return _check_texts(sides, where)


def known_texts(value: Mapping[str, Any]) -> dict[str, Any]:
    """What an object holds, and what stands under its key "translation"."""
    inner = value.get("translation")
    return {**inner, **value} if isinstance(inner, dict) else dict(value)


def _other_keys(value: Mapping[str, Any], where: str) -> DataError:
    """An object in another form: which of its keys hold texts, and how to choose among them."""
    known = known_texts(value)
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


def find_name(wanted: str, names: Iterable[str]) -> str:
    """The name that is meant: itself, in other capitals, or of that language, as `en-us` by `en`; else ""."""
    known = list(names)
    if wanted in known:
        return wanted
    plain, same = wanted.lower(), [name for name in known if name.lower() == wanted.lower()]
    same = same or [name for name in known if language_of(name) == plain]
    return same[0] if same else ""


def take_keys(value: Mapping[str, Any], where: str, *, names: Sequence[str]) -> Texts:
    """The texts under these keys of the object, or of the one under its key "translation"."""
    known, texts = known_texts(value), []
    for place, name in enumerate(names):
        key = find_name(name, known)
        if place > 1 and known.get(key) is None:  # a further reference may be missing
            continue
        if not key:
            message, hint = f'the object has no "{name}"', nearest(name, known)
        elif not isinstance(known[key], str):
            message, hint = f'"{name}" is not a text', "name keys that hold texts"
        else:
            texts.append(known[key])
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
