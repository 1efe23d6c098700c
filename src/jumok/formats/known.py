"""The formats that can be translated, and which of them a file has."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from jumok.errors import ConfigError, DataError, nearest
from jumok.formats.encoding import encoding_of
from jumok.formats.segments import DocumentFormat, Languages

UNKNOWN = Languages()
LOOKED_AT = 4096  # bytes at the beginning


@dataclass(frozen=True, slots=True)
class KnownFormat:
    """A format by name, without the libraries that it needs: those are imported when it is used."""

    name: str
    suffixes: tuple[str, ...]
    home: str
    """Its module in this folder and its class."""

    def load(self, languages: Languages, columns: str = "") -> DocumentFormat:
        """The format itself; `columns` are those of a table. ConfigError: a library of it is missing."""
        module, made = self.home.split(".")
        try:
            kind = getattr(import_module(f"jumok.formats.{module}"), made)
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"documents of the format {self.name} need {error.name}, which is not installed",
                hint="pip install 'jumok[documents]'",
                code="missing_library",
            ) from None
        if columns and self.name not in TABLES:
            hint = f"columns are chosen in {' and '.join(TABLES)}"
            raise ConfigError(f"{self.name} has no columns: {columns!r}", hint=hint, code="no_column")
        chosen = {"columns": tuple(filter(None, columns.split(",")))} if columns else {}
        format: DocumentFormat = kind(languages, **chosen)
        return format


TABLES = ("csv", "tsv")
FORMATS = (
    KnownFormat("html", (".html", ".htm", ".xhtml"), "html_page.HtmlFormat"),
    KnownFormat("md", (".md", ".markdown"), "markdown.MarkdownFormat"),
    KnownFormat("txt", (".txt",), "plain.PlainFormat"),
    KnownFormat("tmx", (".tmx",), "tmx.TmxFormat"),
    KnownFormat("xliff", (".xlf", ".xliff", ".mxliff", ".sdlxliff"), "xliff.XliffFormat"),
    KnownFormat("docx", (".docx", ".docm", ".dotx", ".dotm"), "docx.DocxFormat"),
    KnownFormat("pptx", (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"), "pptx.PptxFormat"),
    KnownFormat("xlsx", (".xlsx", ".xlsm", ".xltx", ".xltm"), "xlsx.XlsxFormat"),
    KnownFormat("odt", (".odt", ".ott"), "opendocument.OdtFormat"),
    KnownFormat("ods", (".ods", ".ots"), "opendocument.OdsFormat"),
    KnownFormat("odp", (".odp", ".otp"), "opendocument.OdpFormat"),
    KnownFormat("epub", (".epub",), "epub.EpubFormat"),
    KnownFormat("po", (".po", ".pot"), "po.PoFormat"),
    KnownFormat("srt", (".srt",), "subtitles.SrtFormat"),
    KnownFormat("vtt", (".vtt",), "subtitles.VttFormat"),
    KnownFormat("json", (".json",), "json_catalogue.JsonFormat"),
    KnownFormat("arb", (".arb",), "json_catalogue.ArbFormat"),
    KnownFormat("yaml", (".yaml", ".yml"), "yaml_catalogue.YamlFormat"),
    KnownFormat("csv", (".csv",), "csv_table.CsvFormat"),
    KnownFormat("tsv", (".tsv", ".tab"), "csv_table.TsvFormat"),
    KnownFormat("android", ("strings.xml", "plurals.xml", "arrays.xml"), "android.AndroidFormat"),
    KnownFormat("properties", (".properties",), "properties.PropertiesFormat"),
    KnownFormat("ts", (".ts",), "qt_ts.TsFormat"),
)


def names() -> list[str]:
    """The names of all formats."""
    return sorted(known.name for known in FORMATS)


def by_suffix(path: Path) -> KnownFormat | None:
    """The format whose extension a path has; None for an extension that says nothing."""
    name = path.name.lower()
    return next((known for known in FORMATS if name.endswith(known.suffixes)), None)


def by_name(name: str) -> KnownFormat:
    """The format of this name. ConfigError: there is none."""
    for known in FORMATS:
        if known.name == name:
            return known
    hint = nearest(name, names())
    raise ConfigError(f"there is no format {name!r}", hint=hint, code="unknown_format")


def format_of(path: Path, name: str | None = None, languages: Languages = UNKNOWN) -> DocumentFormat:
    """The format of a file: as it is named, else by its extension, else by its content.

    Behind the name of a table's format stand the columns that are translated: `csv:title,text`.
    ConfigError: no such format, or one of its libraries is missing. DataError: the file does not tell.
    """
    if name is not None:
        name, _, columns = name.partition(":")
        return by_name(name).load(languages, columns)
    known = by_suffix(path) or by_content(path)
    if known is None:
        raise DataError(
            f"{path.name} does not say what format it has",
            where=str(path),
            hint=f"name it with --format: {', '.join(names())}",
            code="unknown_format",
        )
    return known.load(languages)


def by_content(path: Path) -> KnownFormat | None:
    """The format that the content of a file shows; None where it could be several."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        start = file.read(LOOKED_AT)
    name = zip_format(path) if start.startswith(b"PK\x03\x04") else text_format(start)
    return next((known for known in FORMATS if known.name == name), None)


def zip_format(path: Path) -> str | None:
    """What a zip file holds, told by the names inside."""
    import zipfile  # takes a while, and help must not wait for it

    try:
        with zipfile.ZipFile(path) as archive:
            inside = set(archive.namelist())
            kind = archive.open("mimetype").read(LOOKED_AT) if "mimetype" in inside else b""
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, ValueError):
        return None
    if kind.startswith(b"application/epub"):
        return "epub"
    office = {b"text": "odt", b"spreadsheet": "ods", b"presentation": "odp"}
    for word, name in office.items():
        if kind.startswith(b"application/vnd.oasis.opendocument." + word):
            return name
    parts = {"word/document.xml": "docx", "ppt/presentation.xml": "pptx", "xl/workbook.xml": "xlsx"}
    return next((name for part, name in parts.items() if part in inside), None)


def text_format(start: bytes) -> str | None:
    """What text begins like this."""
    encoding = encoding_of(start)
    text = start[len(encoding.mark) :].decode(encoding.name, "ignore").lstrip().lower()
    if text.startswith("<"):
        marks = {"<xliff": "xliff", "<tmx": "tmx", "<!doctype html": "html", "<html": "html"}
        marks |= {"<ts": "ts", "<resources": "android"}
        return next((name for mark, name in marks.items() if mark in text), None)
    if text.startswith(("{", "[")):
        return "json"
    if text.startswith("webvtt"):
        return "vtt"
    return "po" if text.startswith(("msgid ", "msgctxt ")) or "\nmsgid " in text else None
