"""Documents of every format, made of random sentences with what makes each format difficult."""

import csv
import io
import json
import random
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import docx
import openpyxl
import pptx
import yaml

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


def inline(draw: random.Random, pairs: Sequence[tuple[str, str]]) -> str:
    """A sentence of XML or HTML, parts of which stand in markup."""
    marks = [*pairs, ("", ""), ("", "")]
    parts = (draw.choice(marks) for _ in range(draw.randint(1, 4)))
    return " ".join(f"{begin}{escaped(sentence(draw))}{end}" for begin, end in parts)


def page(draw: random.Random) -> str:
    pairs = [("<b>", "</b>"), ('<a href="x" title="the house">', "</a>"), ("<code>", "</code>"), ("<br>", "")]
    texts = [inline(draw, pairs) for _ in range(draw.randint(1, 20))]
    blocks = "".join(
        draw.choice(
            [f"<p>{one}</p>\n", f"<ul><li>{one}</li></ul>", f"<table><tr><td>{one}</td></tr></table>\n"]
        )
        for one in texts
    )
    picture = '<img src="p.png" alt="a small house">'
    return f"<!DOCTYPE html>\n<html><head><title>Plan</title></head><body>{blocks}{picture}</body></html>\n"


def markdown(draw: random.Random) -> str:
    marks = ["{}", "**{}**", "*{}*", "[{}](http://x.y/z)", "`{}` and", "![{}](p.png)"]
    texts = (
        " ".join(draw.choice(marks).format(sentence(draw).replace("<so>", "so")) for _ in range(3))
        for _ in range(9)
    )
    blocks = ["{}", "# {}", "- {}\n- one more", "1. {}", "> {}", "| a | b |\n|---|---|\n| 1 | two |\n\n{}"]
    return "\n\n".join(draw.choice(blocks).format(one) for one in texts) + "\n\n```\ncode\n```\n"


def xliff(draw: random.Random) -> str:
    if draw.random() < 0.5:
        pairs = [('<g id="1">', "</g>"), ('<x id="2"/>', ""), ('<ph id="3">%s</ph>', "")]
        units = "".join(
            f'<trans-unit id="{n}">\n <source>{inline(draw, pairs)}</source></trans-unit>\n' for n in range(9)
        )
        head = '<file source-language="en" target-language="de" datatype="plaintext" original="a"><body>'
        return f'<xliff version="1.2">{head}{units}</body></file></xliff>\n'
    pairs = [('<pc id="1">', "</pc>"), ('<ph id="2"/>', "")]
    units = "".join(
        f'<unit id="u{n}"><segment><source>{inline(draw, pairs)}</source></segment></unit>\n'
        for n in range(9)
    )
    name = "urn:oasis:names:tc:xliff:document:2.0"
    head = f'<xliff xmlns="{name}" version="2.0" srcLang="en" trgLang="de">'
    return f'{head}<file id="f">{units}</file></xliff>\n'


def memory(draw: random.Random) -> str:
    pairs = [('<hi type="b">', "</hi>"), ("<ph>x</ph>", ""), ('<bpt i="1">b</bpt>', '<ept i="1">/b</ept>')]
    units = (
        f'<tu><tuv xml:lang="en"><seg>{inline(draw, pairs)}</seg></tuv></tu>\n'
        for _ in range(draw.randint(1, 20))
    )
    return f'<tmx version="1.4"><header srclang="en"/><body>\n{"".join(units)}</body></tmx>\n'


def text_of(kind: str, draw: random.Random) -> str:  # noqa: C901 - one case for each format
    """A file of one of the formats that are text."""
    many = [sentence(draw) for _ in range(draw.randint(1, 20))]
    match kind:
        case "html":
            return page(draw)
        case "md":
            return markdown(draw)
        case "txt":
            return "\n".join(one + draw.choice(["", "\n", "\n\n  - "]) for one in many)
        case "xliff":
            return xliff(draw)
        case "tmx":
            return memory(draw)
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


TEXTS = "html md txt xliff tmx po srt vtt json arb yaml csv tsv properties android ts".split()  # noqa: SIM905
MAKERS: dict[str, Callable[[random.Random, Path], None]] = {
    ".docx": make_docx,
    ".pptx": make_pptx,
    ".xlsx": make_xlsx,
    ".epub": make_epub,
}
