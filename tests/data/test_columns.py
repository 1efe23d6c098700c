"""Lines to texts: the usual two, or those that were named."""

import json
from typing import Any

import pytest

from jumok.data.columns import find_name, line_reader
from jumok.errors import ConfigError, DataError


@pytest.mark.parametrize(
    ("columns", "line", "texts"),
    [
        ("", "a\tb", ("a", "b")),
        ("1,3", "a\tb\tc", ("a", "c")),
        ("3, 1", "a\tb\tc\td", ("c", "a")),
        ("1,2,4", "a\tb\tc\td", ("a", "b", "d")),
        ("1,2,4", "a\tb", ("a", "b")),
        ("1,2,3", "a\tb", ("a", "b")),
        ("1,2,3", "a\t \tc", ("a", "c")),
        ("1,2,3", "a\t \t", ("a", " ")),
        ("1,2+", "a\tb\tc\t\td", ("a", "b", "c", "d")),
        ("1,2+", "a\tb", ("a", "b")),
    ],
)
def test_columns_of_a_tsv(columns: str, line: str, texts: tuple[str, ...]) -> None:
    assert line_reader(".tsv", columns)(line, "f:1") == texts


@pytest.mark.parametrize(
    ("columns", "value", "texts"),
    [
        ("", {"src": "a", "tgt": "b"}, ("a", "b")),
        ("", {"translation": {"en": "a", "de": "b"}}, ("a", "b")),
        ("", {"context": "c", "question": "q", "answer": "a"}, ("␞ q ␟ c", "a")),
        ("question,answer", {"context": "c", "question": "q", "answer": "a"}, ("q", "a")),
        ("de,en", {"translation": {"en": "a", "de": "b"}}, ("b", "a")),
        ("body,a,b", {"body": "s", "a": "x", "b": "y"}, ("s", "x", "y")),
        ("body,a,b", {"body": "s", "a": "x", "b": ""}, ("s", "x")),
        ("body,a,b", {"body": "s", "a": "x"}, ("s", "x")),
        ("body,a,b,c", {"body": "s", "a": "x", "c": "z"}, ("s", "x", "z")),
        ("body,a,b", {"body": "s", "a": "x", "b": None}, ("s", "x")),
    ],
)
def test_keys_of_jsonl(columns: str, value: dict[str, Any], texts: tuple[str, ...]) -> None:
    assert line_reader(".jsonl", columns)(json.dumps(value), "f:1") == texts


@pytest.mark.parametrize(
    ("kind", "columns", "line", "message", "hint"),
    [
        (".tsv", "", "a", "1 column instead of 2", "a line is source, tab, target"),
        (".tsv", "", "a\tb\tc", "3 columns instead of 2", "which of them to read: --columns 1,2 (data.col"),
        (".tsv", "1,3", "a\tb", "2 columns, and no column 3", "columns are counted from 1"),
        (".tsv", "3,1,2", "a", "1 column, and no column 3", "check --columns (data.columns)"),
        (".jsonl", "body,tgt", '{"boddy": "a", "tgt": "b"}', 'the object has no "body"', "did you mean 'bod"),
        (".jsonl", "a,b", '{"a": "x", "b": 3}', '"b" is not a text', "name keys that hold texts"),
        (".jsonl", "a,b", '{"a": "x", "b": null}', '"b" is not a text', "name keys that hold texts"),
        (".jsonl", "a,b", '{"a": "x\\u0000", "b": "y"}', "a NUL byte", "damaged or binary"),
        (".jsonl", "a,b", "[]", "not a JSON object", "other keys: --columns body,subject"),
        (".jsonl", "", '{"a": "x"}', "the object does not hold two texts", "other keys: --columns body,subj"),
        (
            ".jsonl",
            "",
            '{"id": 7, "body": "x", "subject": "y", "to": "z"}',
            'the object does not hold "src" and "tgt"; its texts are "body", "subject", "to"',
            "name the source and the target: --columns body,subject",
        ),
        (".jsonl", "", '{"x": "a", "y": "b"}', 'its texts are "x", "y"', "--columns x,y"),
        (".jsonl", "", json.dumps(dict.fromkeys("abcdefgh", "x")), ', "g", "h"', "--columns a,b"),
        (".jsonl", "", json.dumps(dict.fromkeys("abcdefghi", "x")), ', "g", "h", …', "--columns a,b"),
        (".jsonl", "", '{"context": "c", "question": "q", "answer": ""}', "the answer is empty", "a line is"),
        (".jsonl", "", '{"context": "\\ud800", "question": "q", "answer": "a"}', "lone surrogate", "half of"),
    ],
)
def test_lines_that_do_not_fit(kind: str, columns: str, line: str, message: str, hint: str) -> None:
    with pytest.raises(DataError) as caught:
        line_reader(kind, columns)(line, "f:12")
    assert message in caught.value.message
    assert caught.value.where == "f:12"
    # Nothing is left out that would fit, and only who has columns to choose from hears of the option.
    assert ("…" in caught.value.message) == ("…" in message)
    assert ("data.columns" in caught.value.hint) == (kind == ".tsv" and message != "1 column instead of 2")
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("kind", "columns", "reason"),
    [
        (".tsv", "1", "two are needed, source and target"),
        (".tsv", "1,", "two are needed, source and target"),
        (".tsv", "1,1", "a column is named twice"),
        (".tsv", "1,01", "a column is named twice"),
        (".tsv", "0,1", "'0' is no column of a TSV, whose columns are numbers from 1, or names"),
        (".tsv", "body,subject", "'body' is no column of a TSV"),
        (".tsv", "1+,2", "'1+' is no column of a TSV"),
        (".tsv", "1,²", "'²' is no column of a TSV"),
        (".tsv", "9999,10000", "'10000' is no column of a TSV"),
        (".jsonl", "a,a", "a column is named twice"),
    ],
)
def test_names_that_cannot_work(kind: str, columns: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        line_reader(kind, columns)
    assert caught.value.message.startswith(f"columns={columns} cannot work: {reason}")
    assert "--columns 1,3 for a TSV" in caught.value.hint


@pytest.mark.parametrize(
    ("wanted", "names", "found"),
    [
        ("en", ["EN", "en"], "en"),
        ("En", ["de", "EN", "en"], "EN"),
        ("en", ["de", "en-us", "en-gb"], "en-us"),
        ("x", ["de"], ""),
    ],
)
def test_names_are_found_in_any_capitals_and_languages_without_their_country(
    wanted: str, names: list[str], found: str
) -> None:
    assert find_name(wanted, names) == found
