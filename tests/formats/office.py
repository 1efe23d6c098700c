"""Small Office documents with everything that they may have, made by hand where no library makes it."""

import zipfile
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
from docx.oxml import parse_xml
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.comments import Comment
from openpyxl.worksheet.table import Table
from pptx.util import Inches

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def word_with(path: Path, *paragraphs: str) -> Path:
    """A Word document with these paragraphs, as XML."""
    document = docx.Document()
    for one in paragraphs:
        xml: Any = parse_xml(one.replace("<w:p>", f"<w:p {W} {R}>", 1))
        document.element.body.insert(-1, xml)
    document.save(str(path))
    return path


def word(path: Path) -> Path:
    """A Word document with what people have in theirs."""
    document = docx.Document()
    document.add_heading("A report of Müller & Sons", 0)
    mixed = document.add_paragraph("Plain and ")
    mixed.add_run("bold").bold = True
    mixed.add_run(" and ")
    mixed.add_run("italic\twith\ntabs").italic = True
    mixed.add_run(".")
    document.add_paragraph("First point", style="List Bullet")
    table = document.add_table(2, 2)
    for number, cell in enumerate(table._cells):
        cell.text = f"Cell {number}"
    document.sections[0].header.paragraphs[0].text = "The header"
    document.sections[0].footer.paragraphs[0].text = "The footer"
    document.add_comment(mixed.runs[0], "A remark here", author="Me")
    document.add_page_break()
    document.add_paragraph("42")
    document.add_paragraph("")
    document.save(str(path))
    return path


def slides(path: Path) -> Path:
    """A presentation with a table, notes and a line break."""
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "The title\vin two lines"
    frame = slide.placeholders[1].text_frame
    frame.text = "First point"
    runs = frame.add_paragraph()
    for text, bold in (("Some ", False), ("bold", True), (" words", False)):
        run = runs.add_run()
        run.text, run.font.bold = text, bold
    table = slide.shapes.add_table(1, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "Left cell", "12"
    slide.notes_slide.notes_text_frame.text = "Say this slowly"
    show.save(str(path))
    return path


def sheets(path: Path) -> Path:
    """A workbook with formulas, numbers, a table, rich text and a comment."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Data sheet"
    rows = [["Name", "Amount"], ["green apples ", 3], ["Line one\nline two", "=B2*2"], ['say "x" & <y>', 4.5]]
    for row in rows:
        sheet.append(row)
    sheet["D1"] = CellRichText("Some ", TextBlock(InlineFont(b=True), "bold"), " text")
    sheet["A2"].comment = Comment("Are they ripe?", "Me")
    sheet.add_table(Table(displayName="Fruit", ref="A1:B4"))
    book.save(path)
    return path


OFFICE_SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "style", "drawing", "manifest")
)


def open_document(path: Path, body: str, styles: str = "", manifest: str = "", kind: str = "text") -> Path:
    """An OpenDocument file with this content."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        head = '<?xml version="1.0" encoding="UTF-8"?>\n'
        archive.writestr(
            "content.xml",
            f"{head}<office:document-content {OFFICE_SPACES}><office:body><office:{kind}>{body}"
            f"</office:{kind}></office:body></office:document-content>",
        )
        archive.writestr(
            "styles.xml", f"{head}<office:document-styles {OFFICE_SPACES}>{styles}</office:document-styles>"
        )
        archive.writestr(
            "META-INF/manifest.xml",
            f"{head}<manifest:manifest {OFFICE_SPACES}>{manifest}</manifest:manifest>",
        )
        archive.writestr("Pictures/a.png", bytes(range(200)))
    return path
