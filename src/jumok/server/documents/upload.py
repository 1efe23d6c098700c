"""How a document arrives: the body as it is, or one file in a form; piece by piece to disk."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from jumok.server.gates.middleware import PARTS
from jumok.server.gates.problems import Problem, bad_field

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

FILE = "file"
"""The name of the field that holds the document, as LibreTranslate has it."""
FIELDS, FIELD_BYTES = 16, 64 * 1024
LONGEST_NAME = 255


@dataclass
class Upload:
    """What came: the name that the client gave the file, its size, and the other fields of the form."""

    name: str = ""
    size: int = 0
    fields: dict[str, str] = field(default_factory=dict)


async def receive_document(request: Request, path: Path, most: int) -> Upload:
    """Write the document of a request to `path`. 413: it has more than `most` bytes; 422: it is empty."""
    kind = request.headers.get("content-type", "")
    parts = kind.partition(";")[0].strip().lower() == PARTS
    with path.open("xb") as out:
        received = await receive_parts(request, kind, out, most) if parts else Upload()
        if not parts:
            async for piece in request.stream():
                received.size = grown(received.size, piece, most)
                out.write(piece)
    if received.size == 0:
        raise Problem(422, "empty_document", "the document is empty")
    return received


def grown(size: int, piece: bytes, most: int) -> int:
    """The size with one more piece; 413 beyond the limit."""
    if size + len(piece) > most:
        raise Problem(413, "too_large", f"a document may have {most:,} bytes")
    return size + len(piece)


async def receive_parts(request: Request, kind: str, out: IO[bytes], most: int) -> Upload:
    """The file and the fields of a form in parts (RFC 7578)."""
    boundary = parse_options_header(kind)[1].get(b"boundary", b"")
    if not boundary:
        raise Problem(400, "bad_parameter", "the form has no boundary")
    form = FormReader(out, most)
    try:
        parser = MultipartParser(boundary, form.callbacks())
        async for piece in nonempty(request.stream()):
            parser.write(piece)
        parser.finalize()
    except FormParserError:
        raise Problem(400, "bad_parameter", "the form's parts cannot be told apart") from None
    if not form.ended:
        raise Problem(400, "bad_parameter", "the form breaks off")
    if not form.files:
        raise bad_field(FILE, "the form has no file")
    form.upload.fields = {name: text_of(value) for name, value in form.values.items()}
    return form.upload


async def nonempty(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for piece in pieces:
        if piece:
            yield piece


def text_of(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise Problem(400, "bad_utf8", "the form is not UTF-8") from None


class FormReader:
    """Hears what the parser finds: the one file goes to `out`, the fields are kept, all within limits."""

    def __init__(self, out: IO[bytes], most: int) -> None:
        self.out, self.most = out, most
        self.upload = Upload()
        self.values: dict[str, bytes] = {}
        self.files, self.ended = 0, False
        self._parts = 0
        self._field: str | None = None
        self._file = False
        self._header, self._value = b"", b""
        self._headers: dict[bytes, bytes] = {}

    def callbacks(self) -> "MultipartCallbacks":
        """What the parser is told to call; it bounds the headers of a part itself."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._open,
            "on_part_data": self._data,
            "on_end": self._end,
        }

    def _begin(self) -> None:
        self._parts += 1
        self._headers, self._field, self._file = {}, None, False
        if self._parts > FIELDS:
            raise Problem(400, "bad_parameter", f"a form has at most {FIELDS} fields")

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header, self._value = b"", b""

    def _open(self) -> None:
        options = parse_options_header(self._headers.get(b"content-disposition", b""))[1]
        self._field = text_of(options.get(b"name", b""))
        if b"filename" not in options:
            self.values[self._field] = b""
            return
        if self._field != FILE or self.files:
            raise bad_field(FILE, "give one file, in the field of this name")
        self.files, self._file = 1, True
        self.upload.name = text_of(options[b"filename"])

    def _data(self, data: bytes, start: int, end: int) -> None:
        piece = data[start:end]
        if self._file:
            self.upload.size = grown(self.upload.size, piece, self.most)
            self.out.write(piece)
        elif self._field is not None:
            self.values[self._field] += piece
            if len(self.values[self._field]) > FIELD_BYTES:
                raise Problem(
                    400, "bad_parameter", f"a field of the form has more than {FIELD_BYTES:,} bytes"
                )

    def _end(self) -> None:
        self.ended = True


def shown_name(given: str) -> str:
    """A file's name as people and programs may see it: the last part, without signs that are not printed."""
    last = given.replace("\\", "/").rpartition("/")[2]
    plain = "".join(sign for sign in last if sign.isprintable()).strip(" .")  # the only space that is printed
    return plain[-LONGEST_NAME:].strip(" .") or "document"
