"""JSON as a corpus: an array of objects, read one by one, or an object that holds two catalogues.

An array may be of any length; a catalogue is held in memory, and so may not be.
"""

import codecs
import json
from collections.abc import Iterable, Iterator
from typing import Any

from jumok.errors import DataError
from jumok.formats.lines import check_head
from jumok.formats.units import MOST_TEXT, NamedTexts

MOST_OBJECT = 8 * MOST_TEXT  # characters of one object of an array
MOST_CATALOGUE = 64 << 20  # characters of a file that is not an array
SPACE = " \t\r\n"
HINT = (
    'a JSON corpus is an array of objects, [{"src": "…", "tgt": "…"}, …], or an object of two catalogues, '
    '{"en": {"greeting": "…"}, "de": {"greeting": "…"}}'
)


class JsonText:
    """The text of a file as far as it has been read, and a place in it."""

    def __init__(self, blocks: Iterable[bytes], name: str) -> None:
        self.blocks, self.name, self.text, self.place, self.line = iter(blocks), name, "", 0, 1
        self.decoder, self.begun = codecs.getincrementaldecoder("utf-8")(), False

    def more(self) -> bool:
        """Read another block; False at the end."""
        block = next(self.blocks, None)
        if block and not self.begun:
            check_head(block, self.name)
            block, self.begun = block.removeprefix(codecs.BOM_UTF8), True
        self.line += self.text.count("\n", 0, self.place)
        self.text, self.place = self.text[self.place :], 0
        try:
            self.text += self.decoder.decode(block or b"", final=block is None)
        except UnicodeDecodeError as error:
            raise self.fault(
                f"byte 0x{error.object[error.start]:02X} is not UTF-8", "convert the file"
            ) from None
        return block is not None

    def peek(self) -> str:
        """The next character that is no white space, "" at the end; it is not taken."""
        while True:
            while self.place < len(self.text) and self.text[self.place] in SPACE:
                self.place += 1
            if self.place < len(self.text):
                return self.text[self.place]
            if not self.more():
                return ""

    def value(self, most: int) -> Any:
        """The value that begins here; more is read until it is whole."""
        whole = False
        while True:
            try:
                value, end = json.JSONDecoder().raw_decode(self.text, self.place)
                if end < len(self.text) or whole:  # a number at the end of a block may go on
                    self.place = end
                    return value
            except json.JSONDecodeError as error:
                if whole:
                    place = self.line + self.text.count("\n", 0, error.pos)
                    message = f"not JSON: {error.msg[0].lower()}{error.msg[1:]}"
                    raise DataError(
                        message, where=f"{self.name}:{place}", hint=HINT, code="bad_json"
                    ) from None
            except RecursionError:
                raise self.fault("nested too deeply") from None
            if len(self.text) - self.place > most:
                raise self.fault(f"a value of more than {most:,} characters, or one that does not end")
            size = len(self.text) - self.place
            while not whole and len(self.text) - self.place < 2 * size + 1:
                whole = not self.more()

    def fault(self, message: str, hint: str = HINT) -> DataError:
        line = self.line + self.text.count("\n", 0, self.place)
        return DataError(message, where=f"{self.name}:{line}", hint=hint, code="bad_json")


def read_json(blocks: Iterable[bytes], name: str) -> Iterator[NamedTexts]:
    """The objects of an array, or the entries that two catalogues share.

    DataError: the file is no JSON from some place on, or is in neither form.
    """
    source = JsonText(blocks, name)
    match source.peek():
        case "[":
            return _items(source)
        case "{":
            return _members(source.value(MOST_CATALOGUE), source)
        case "":
            return iter(())
        case _:
            raise source.fault("neither an array nor an object")


def _items(source: JsonText) -> Iterator[NamedTexts]:
    source.place += 1
    number, after = 0, source.peek()
    while after != "]":
        number += 1
        value = source.value(MOST_OBJECT)
        if isinstance(value, dict):
            yield NamedTexts(number, value)
        else:
            where = f"{source.name}, object {number}"
            fault = DataError(f"not an object but {_kind(value)}", where=where, hint=HINT, code="bad_json")
            yield NamedTexts(number, {}, fault)
        after = source.peek()
        if after == ",":
            source.place += 1
            source.peek()
        elif after != "]":
            raise source.fault("the array does not end" if not after else "no comma between two objects")
    source.place += 1
    if source.peek():
        raise source.fault(
            "something follows the array", "one array is one corpus; a JSON object a line is .jsonl"
        )


def _members(value: dict[str, Any], source: JsonText) -> Iterator[NamedTexts]:
    if source.peek():
        raise source.fault("something follows the object", "one object on each line is JSONL: call it .jsonl")
    arrays = [
        one for one in value.values() if isinstance(one, list) and any(isinstance(x, dict) for x in one)
    ]
    if len(arrays) == 1:  # {"version": …, "data": [{…}, …]}
        return (
            NamedTexts(number, one) for number, one in enumerate(arrays[0], start=1) if isinstance(one, dict)
        )
    catalogues = {name: one for name, one in value.items() if isinstance(one, dict)}
    if len(catalogues) < 2:
        raise source.fault("an object that holds neither an array of objects nor two catalogues")
    return _entries({name: dict(_leaves(one)) for name, one in catalogues.items()})


def _entries(catalogues: dict[str, dict[str, str]]) -> Iterator[NamedTexts]:
    """What the catalogues say under each key that the first of them has."""
    for number, key in enumerate(next(iter(catalogues.values())), start=1):
        yield NamedTexts(number, {name: texts.get(key, "") for name, texts in catalogues.items()})


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The texts inside objects and arrays, each with the way that leads to it."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in inside:
            yield from _leaves(one, f"{path}\0{key}")


def _kind(value: object) -> str:
    match value:
        case str():
            return "a text"
        case list():
            return "an array"
        case None:
            return "null"
        case bool():
            return "true or false"
        case _:
            return "a number"
