"""Are documents sound after they were written? 500 generated and real ones, opened again by other programs.

    python -m benchmarks.document_formats --libreoffice            # writes benchmarks/document_formats.json
    python -m benchmarks.document_formats --each 5 --real DOCUMENTS     # fewer made, and your own

Each document is written three times: without answers (all parts have the bytes they had), with its own texts
(it has the same segments) and with its texts in capitals. The last is opened by a library that is not ours,
and Office documents are turned into PDF by LibreOffice without a window. Needs, besides the extra `dev`,
`pip install odfpy pysubs2` and `apt install libreoffice-writer libreoffice-calc libreoffice-impress`.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import docx
import openpyxl
import polib
import pptx
import pysubs2
import yaml
from odf.opendocument import load as load_odf

from jumok.errors import Error
from jumok.formats.known import by_suffix, format_of
from jumok.formats.segments import MarkedText

HERE = Path(__file__).parent
WORDS = [
    "the",
    "small",
    "house",
    "on",
    "hill",
    "keeps",
    "Müller",
    "&",
    "Söhne",
    "서울",
    "東京",
    "مرحبا",
    "it's",
    "<so>",
    "“here”",
    "12",
    "50%",
    "naïve",
    "plan",
    "of",
    "work",
]
OFFICE = {".docx": ".odt", ".xlsx": ".ods", ".pptx": ".odp"}


def sentence(draw: random.Random) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randint(2, 14))).capitalize() + draw.choice(
        [".", "!", "?", ""]
    )


def make_docx(draw: random.Random, path: Path) -> None:
    document = docx.Document()
    for _ in range(draw.randint(1, 12)):
        match draw.randrange(4):
            case 0:
                document.add_heading(sentence(draw), draw.randint(0, 3))
            case 1:
                table = document.add_table(2, 2)
                for cell in table._cells:
                    cell.text = sentence(draw)
            case _:
                paragraph = document.add_paragraph()
                for _ in range(draw.randint(1, 5)):
                    run = paragraph.add_run(sentence(draw) + draw.choice([" ", "\t", "\n"]))
                    run.bold, run.italic = draw.choice([None, True]), draw.choice([None, True])
    document.sections[0].header.paragraphs[0].text = sentence(draw)
    document.save(str(path))


def make_pptx(draw: random.Random, path: Path) -> None:
    show = pptx.Presentation()
    for _ in range(draw.randint(1, 4)):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = sentence(draw)
        frame = slide.placeholders[1].text_frame
        for _ in range(draw.randint(1, 4)):
            run = frame.add_paragraph().add_run()
            run.text, run.font.bold = sentence(draw), draw.choice([None, True])
        slide.notes_slide.notes_text_frame.text = sentence(draw)
    show.save(str(path))


def make_xlsx(draw: random.Random, path: Path) -> None:
    book = openpyxl.Workbook()
    for _ in range(draw.randint(1, 20)):
        book.active.append([sentence(draw), draw.random(), "=B1*2", draw.choice(WORDS)])
    book.save(path)


def make_epub(draw: random.Random, path: Path) -> None:
    from tests.formats.test_epub import BOOK, CHAPTER, CONTAINER, CONTENTS

    body = "".join(f"<p>{escaped(sentence(draw))} <em>{escaped(sentence(draw))}</em></p>" for _ in range(9))
    parts = {
        "OEBPS/book.opf": BOOK,
        "OEBPS/toc.ncx": CONTENTS,
        "META-INF/container.xml": CONTAINER,
        "style.css": "p {}",
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        for name, text in parts.items():
            archive.writestr(name, text)
        archive.writestr("OEBPS/chapter 1.xhtml", CHAPTER.replace("<pre>", body + "<pre>"))


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def text_of(kind: str, draw: random.Random) -> str:
    """A file of one of the formats that are text."""
    many = [sentence(draw) for _ in range(draw.randint(1, 20))]
    match kind:
        case "po":
            entries = (f'msgid {json.dumps(one, ensure_ascii=False)}\nmsgstr ""\n' for one in many)
            return 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n' + "\n".join(entries)
        case "srt" | "vtt":
            mark = "," if kind == "srt" else "."
            cues = (
                f"{n + 1}\n00:{n:02}:01{mark}000 --> 00:{n:02}:03{mark}000\n{one.replace('<so>', 'so')}\n"
                for n, one in enumerate(many)
            )
            return ("WEBVTT\n\n" if kind == "vtt" else "") + "\n".join(cues)
        case "json" | "arb":
            return json.dumps(
                {f"k{n}": one for n, one in enumerate(many)},
                indent=draw.choice([None, 2, 4]),
                ensure_ascii=draw.choice([True, False]),
            )
        case "yaml":
            return yaml.safe_dump(
                {"en": {f"k{n}": one for n, one in enumerate(many)}},
                allow_unicode=True,
                default_style=draw.choice([None, "'", '"', "|"]),
            )
        case "csv" | "tsv":
            out = io.StringIO()
            csv.writer(out, delimiter="\t" if kind == "tsv" else ",").writerows(
                [["id", "text"], *enumerate(many)]
            )
            return out.getvalue()
        case "properties":
            return "".join(f"key.{n} = {one}\n" for n, one in enumerate(many))
        case "android":
            strings = (
                f'<string name="s{n}">{escaped(one).replace(chr(39), chr(92) + chr(39))}</string>\n'
                for n, one in enumerate(many)
            )
            return f"<resources>\n{''.join(strings)}</resources>\n"
        case _:
            empty = '<translation type="unfinished"></translation>'
            messages = (f"<message><source>{escaped(one)}</source>{empty}</message>" for one in many)
            return f"<!DOCTYPE TS>\n<TS><context><name>c</name>{''.join(messages)}</context></TS>\n"


TEXTS = ("po", "srt", "vtt", "json", "arb", "yaml", "csv", "tsv", "properties", "android", "ts")
PACKAGES = ("docx", "pptx", "xlsx", "odt", "ods", "odp", "epub")
MAKERS: dict[str, Callable[[random.Random, Path], None]] = {
    ".docx": make_docx,
    ".pptx": make_pptx,
    ".xlsx": make_xlsx,
    ".epub": make_epub,
}


def generate(folder: Path, each: int) -> None:
    """`each` documents of every format; OpenDocument ones are made by LibreOffice."""
    draw = random.Random(18)
    for number in range(each):
        for suffix, make in MAKERS.items():
            make(draw, folder / f"made-{number}{suffix}")
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


def opened(path: Path, kind: str) -> None:  # noqa: C901 - one case for each library
    """By a library that is not ours; raises what it raises."""
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


def parts(data: bytes) -> Any:
    if not data.startswith(b"PK"):
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def check(path: Path, kind: str, out: Path) -> str:
    """What is wrong with a document after writing, or nothing; `out` is the one in capitals."""
    format = format_of(path, f"{kind}:text" if kind in ("csv", "tsv") else kind)
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
    if len(list(format.read(out))) != len(found):
        return "another number of segments"
    opened(out, kind)
    return ""


def capitals(marked: MarkedText) -> MarkedText:
    text = "".join(one.upper() if len(one.upper()) == 1 else one for one in marked.text)
    return MarkedText(text, marked.tags)


def long_document(folder: Path) -> dict[str, float]:
    """A Word document of 500 pages: seconds to read and to write it, and how much memory that took more."""
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
before, start = memory(), time.perf_counter()
count = sum(1 for _ in format.read(path))
read = time.perf_counter() - start
with path.with_suffix(".out").open("wb") as out:
    format.write(path, out, (one.source for one in format.read(path)))
print(count, read, time.perf_counter() - start - read, memory() - before)
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
    parser.add_argument("--each", type=int, default=28, help="generated documents of each format")
    parser.add_argument("--real", type=Path, nargs="*", default=[], help="folders with documents of any kind")
    parser.add_argument("--libreoffice", action="store_true", help="turn Office documents into PDF as well")
    parser.add_argument("--out", type=Path, default=HERE / "document_formats.json")
    options = parser.parse_args()
    start = time.time()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder, options.each)
        for number, path in enumerate(
            path for root in options.real for path in sorted(root.rglob("*")) if path.is_file()
        ):
            if (known := by_suffix(path)) and known.name in (
                *TEXTS,
                "docx",
                "pptx",
                "xlsx",
                "odt",
                "ods",
                "odp",
                "epub",
            ):
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
