"""Are documents sound after they were written? Generated and real ones, opened again by other programs.

    python -m benchmarks.document_formats --libreoffice            # writes benchmarks/document_formats.json
    python -m benchmarks.document_formats --packages 5 --texts 50 --real FOLDER   # fewer made, and your own

Each document is written three times: without answers (all parts have the bytes they had), with its own texts
(it has the same segments) and with its texts in capitals. The last is opened by a library that is not ours,
and Office documents are turned into PDF by LibreOffice without a window. Needs, besides the extra `dev`,
`pip install html5lib odfpy pysubs2` and
`apt install libreoffice-writer libreoffice-calc libreoffice-impress`.
"""

import argparse
import csv
import io
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import docx
import html5lib
import markdown_it
import openpyxl
import polib
import pptx
import pysubs2
import yaml
from benchmarks.made_documents import MAKERS, TEXTS, sentence, text_of
from odf.opendocument import load as load_odf

from jumok.errors import DataError, Error
from jumok.formats.known import by_suffix, format_of
from jumok.formats.segments import Languages, MarkedText

HERE = Path(__file__).parent
OFFICE = {".docx": ".odt", ".xlsx": ".ods", ".pptx": ".odp"}
PACKAGES = ("docx", "pptx", "xlsx", "odt", "ods", "odp", "epub")


def generate(folder: Path, packages: int, texts: int) -> None:
    """So many documents of every format; OpenDocument ones are made by LibreOffice."""
    draw = random.Random(18)
    for number in range(packages):
        for suffix, make in MAKERS.items():
            make(draw, folder / f"made-{number}{suffix}")
    for number in range(texts):
        for kind in TEXTS:
            name = f"made-{number}.strings.xml" if kind == "android" else f"made-{number}.{kind}"
            (folder / name).write_bytes(text_of(kind, draw).encode())
    for suffix, other in OFFICE.items():
        convert(sorted(folder.glob(f"made-*{suffix}")), other[1:], folder)


def convert(files: list[Path], kind: str, folder: Path) -> None:
    """By LibreOffice, which opens a file as people do."""
    if files:
        command = ["soffice", "--headless", "--convert-to", kind, "--outdir", str(folder), *map(str, files)]
        subprocess.run(command, check=True, capture_output=True, timeout=900)


def opened(path: Path, kind: str) -> int:  # noqa: C901 - one case for each library
    """By a library that is not ours: of how much it complains. Raises what it raises."""
    match kind:
        case "docx":
            docx.Document(str(path))
        case "pptx":
            pptx.Presentation(str(path))
        case "xlsx":
            openpyxl.load_workbook(path)
        case "odt" | "ods" | "odp":
            load_odf(str(path))
        case "epub":
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if name.endswith((".xhtml", ".opf", ".ncx")):
                        ElementTree.fromstring(archive.read(name))
        case "html":
            parser = html5lib.HTMLParser()
            parser.parse(path.read_bytes())
            return len(parser.errors)
        case "md" | "txt":
            markdown_it.MarkdownIt("gfm-like", {"linkify": False}).parse(path.read_text("utf-8"))
        case "po":
            polib.pofile(str(path))
        case "srt" | "vtt":
            pysubs2.load(str(path))
        case "json" | "arb":
            json.loads(path.read_bytes())
        case "yaml":
            list(yaml.safe_load_all(path.read_bytes()))
        case "csv" | "tsv":
            list(csv.reader(io.StringIO(path.read_bytes().decode(), newline=""), strict=True))
        case "properties":
            assert all(
                "=" in line
                for line in path.read_text("utf-8").splitlines()
                if line.strip()[:1] not in ("", "#", "!")
            )
        case _:
            ElementTree.fromstring(path.read_bytes())
    return 0


def readable(path: Path, kind: str) -> None:
    """DataError: the other library does not read the original either."""
    try:
        opened(path, kind)
    except Exception as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        raise DataError(f"another library does not read the original: {said[:80]}") from None


def parts(data: bytes) -> Any:
    if not data.startswith(b"PK"):
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def check(path: Path, kind: str, out: Path) -> str:
    """What is wrong with a document after writing, or nothing; `out` is the one in capitals."""
    languages = Languages("en", "de") if kind in ("tmx", "xliff") else Languages()
    format = format_of(path, f"{kind}:text" if kind in ("csv", "tsv") else kind, languages)
    found = list(format.read(path))
    data = io.BytesIO()
    format.write(path, data, iter([None] * len(found)))
    if parts(data.getvalue()) != parts(path.read_bytes()):
        return "bytes differ without answers"
    with out.open("wb") as file:
        format.write(path, file, iter([one.source for one in found]))
    if [one.source for one in format.read(out)] != [one.source for one in found]:
        return "segments differ with their own texts"
    with out.open("wb") as file:
        format.write(path, file, (capitals(one.source) for one in found))
    missing = len(found) - len(list(format.read(out)))
    lines = kind == "html" and any("<br" in tag.open.lower() for one in found for tag in one.source.tags)
    if missing > 0 or (missing < 0 and not lines):  # a line that begins with a capital is a text of its own
        return "another number of segments"
    return "another library complains more" if opened(out, kind) > opened(path, kind) else ""


def capitals(marked: MarkedText) -> MarkedText:
    text = "".join(one.upper() if len(one.upper()) == 1 else one for one in marked.text)
    return MarkedText(text, marked.tags)


def long_document(folder: Path) -> dict[str, float]:
    """A Word document of 500 pages: processor seconds to read and to write it, and the memory that took."""
    document = docx.Document()
    draw = random.Random(500)
    for _ in range(500 * 12):
        paragraph = document.add_paragraph(" ".join(sentence(draw) for _ in range(4)))
        paragraph.add_run(sentence(draw)).bold = True
    document.save(str(folder / "long.docx"))
    code = """
import sys, time
from pathlib import Path
from jumok.formats.docx import DocxFormat

def memory():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

path, format = Path(sys.argv[1]), DocxFormat()
before, start = memory(), time.process_time()
count = sum(1 for _ in format.read(path))
read = time.process_time() - start
with path.with_suffix(".out").open("wb") as out:
    format.write(path, out, (one.source for one in format.read(path)))
print(count, read, time.process_time() - start - read, memory() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder / "long.docx")], capture_output=True, text=True, check=True
    )
    count, read, write, more = map(float, done.stdout.split())
    with zipfile.ZipFile(folder / "long.docx") as archive:
        size = archive.getinfo("word/document.xml").file_size / 2**20
    return {"segments": count, "xml_mib": size, "read_s": read, "write_s": write, "more_memory_mib": more}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packages", type=int, default=28, help="made of each format that is packed")
    parser.add_argument("--texts", type=int, default=500, help="made of each format that is text")
    parser.add_argument("--real", type=Path, nargs="*", default=[], help="folders with documents of any kind")
    parser.add_argument("--libreoffice", action="store_true", help="turn Office documents into PDF as well")
    parser.add_argument("--out", type=Path, default=HERE / "document_formats.json")
    options = parser.parse_args()
    start = time.time()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder, options.packages, options.texts)
        for number, path in enumerate(
            path for root in options.real for path in sorted(root.rglob("*")) if path.is_file()
        ):
            if (known := by_suffix(path)) and known.name in (*TEXTS, *PACKAGES):
                ending = next(one for one in known.suffixes if path.name.lower().endswith(one))
                shutil.copy(path, folder / f"real-{number}.{ending.lstrip('.')}")
        rows, faults = measure(folder, libreoffice=options.libreoffice)
        found = {
            "formats": rows,
            "faults": faults,
            "long": long_document(folder),
            "seconds": time.time() - start,
        }
    totals = [sum(row[key] for row in rows.values()) for key in ("made", "real", "sound", "pdf_asked", "pdf")]
    found |= dict(zip(("made", "real", "sound", "pdf_asked", "pdf"), totals, strict=True))
    options.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(json.dumps(found, indent=1, ensure_ascii=False))


def measure(folder: Path, *, libreoffice: bool) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Every document of a folder; how many of each format are sound, and what is wrong with the others."""
    rows: dict[str, dict[str, int]] = {}
    faults: list[str] = []
    (folder / "out").mkdir()
    for path in sorted(one for one in folder.iterdir() if one.is_file()):
        known = by_suffix(path)
        assert known is not None, path
        row = rows.setdefault(
            known.name, dict.fromkeys(("made", "real", "refused", "sound", "pdf_asked", "pdf"), 0)
        )
        try:
            if path.name.startswith("real"):
                readable(path, known.name)
            wrong = check(path, known.name, folder / "out" / path.name)
        except Error as error:
            if path.name.startswith("real"):  # not a sound document to begin with
                row["refused"] += 1
                faults.append(f"{path.name} refused: {str(error).splitlines()[0]}")
                (folder / "out" / path.name).unlink(missing_ok=True)
                continue
            wrong = str(error)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        row["made" if path.name.startswith("made") else "real"] += 1
        row["sound"] += not wrong
        if wrong:
            faults.append(f"{path.name}: {wrong}")
    if libreoffice:
        for suffix in (*OFFICE, *OFFICE.values()):
            files = sorted((folder / "out").glob(f"*{suffix}"))
            pdf = folder / f"pdf{suffix}"
            convert(files, "pdf", pdf)
            rows[suffix[1:]] |= {"pdf_asked": len(files), "pdf": len(list(pdf.glob("*.pdf")))}
    return rows, faults


if __name__ == "__main__":
    main()
