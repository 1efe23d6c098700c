"""Markdown: only words change, and what is read again has the same structure."""

from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from tests.formats.copies import as_source, capitals, texts, written

from jumok.errors import LimitError
from jumok.formats import markdown
from jumok.formats.markdown import MarkdownFormat
from jumok.formats.segments import MarkedText

FORMAT = MarkdownFormat()
ROOT = Path(__file__).parents[2]


def file(tmp_path: Path, text: str) -> Path:
    (tmp_path / "a.md").write_bytes(text.encode())
    return tmp_path / "a.md"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# Titel *x* ##\n", "# TITEL *X* ##\n"),
        ("Titel\n===\n", "TITEL\n===\n"),
        ("---\ntitle: nie\n---\n\ntext\n", "---\ntitle: nie\n---\n\nTEXT\n"),
        ("```sh\nnie\n```\n\n    nie\n", "```sh\nnie\n```\n\n    nie\n"),
        ("> a **b\n> c** d  \n> e\n", "> A **B C** D  \n> E\n"),
        ("- [x] getan\n  1. eins\n", "- [x] GETAN\n  1. EINS\n"),
        ("- \\[ ] kein *Kasten*\n", "- \\[ ] KEIN *KASTEN*\n"),
        ("> [!TIP]\n> zwei\n> Zeilen\n", "> [!TIP]\n> ZWEI ZEILEN\n"),
        ("> \\[!TIP] kein\n\na \\[^1] b\n", "> \\[!TIP] KEIN\n\nA \\[^1] B\n"),
        ('[text](u "t") und <https://x.y>\n', '[TEXT](u "t") UND <https://x.y>\n'),
        ("[x]: u 'nie'\n\n[x] [a][x] [x][]\n", "[x]: u 'nie'\n\n[X][x] [A][x] [X][x]\n"),
        ("![Bild](s.png) mit `co_de`\n", "![BILD](s.png) MIT `CO_DE`\n"),
        ("[![Bild](s)](u)\n", "[![BILD](s)](u)\n"),
        ("| a | b |\n|---|---|\n| *c* | d \\| e |\n", "| A | B |\n|---|---|\n| *C* | D \\| E |\n"),
        ("a\\*b &amp; c &lt;d> snake_case 2 * 3\n", "A\\*B & C \\<D> SNAKE_CASE 2 * 3\n"),
        ("<div>\n<p>html <b>fett</b></p>\n</div>\n", "<div>\n<p>HTML <b>FETT</b></p>\n</div>\n"),
        ("ein <b>fett</b> wort[^1]\n\n[^1]: note\n", "EIN <b>FETT</b> WORT[^1]\n\n[^1]: note\n"),
        ("[^1]: eine note\n", "[^1]: EINE NOTE\n"),
        ("zeile\r\nzwei\r\n", "ZEILE ZWEI\r\n"),
        ("~~alt~~ _neu_ __stark__\n", "~~ALT~~ _NEU_ __STARK__\n"),
        ("``a ` b`` und [x](<a b> (t))\n", "``A ` B`` UND [X](<a b> (t))\n"),
    ],
)  # fmt: skip
def test_what_is_translated(tmp_path: Path, before: str, after: str) -> None:
    assert written(FORMAT, file(tmp_path, before)).decode() == before
    assert written(FORMAT, file(tmp_path, before), capitals).decode() == after


def test_texts_and_where_they_stand(tmp_path: Path) -> None:
    text = "---\na: b\n---\n# Titel\n\nzwei\nZeilen ![ein Bild](s)\n\n<p>html\n<b>zwei</b></p>\n\n"
    text += "| a | b |\n|---|---|\n| c | d |\n\n> - drin\n\n<p title='x'>\nEnde"
    assert [(one.source.text, one.where) for one in FORMAT.read(file(tmp_path, text))] == [
        ("Titel", "line 4"),
        ("zwei Zeilen ", "line 6"),
        ("ein Bild", "line 6, image"),
        ("html zwei", "line 9"),
        ("a", "line 12"),
        ("b", "line 12"),
        ("c", "line 14"),
        ("d", "line 14"),
        ("drin", "line 16"),
        ("x", "line 18, title"),
        ("Ende", "line 19"),
    ]


def structure(text: str) -> list[str]:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    found = []
    for token in parser.parse(text, {}):
        found.append(token.type)
        found += [
            f"{one.type} {one.attrs.get('href', '')}{one.attrs.get('src', '')}"
            for one in token.children or []
            if one.type not in ("text", "softbreak")
        ]
    return found


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("docs/*.md"))[:12] + [ROOT / "README.md"], ids=lambda path: path.name
)
def test_real_pages_keep_their_bytes_and_their_structure(path: Path) -> None:
    text = path.read_bytes().decode()
    assert written(FORMAT, path).decode() == text
    copy = written(FORMAT, path, as_source).decode()
    assert structure(copy) == structure(text)


@pytest.mark.parametrize(
    "text", ["# kein Titel", "- keine Liste", "1. keine Zahl", "> kein Zitat", "*a* [b](c) `d` <e>"]
)
def test_words_that_look_like_markup_are_none(tmp_path: Path, text: str) -> None:
    result = written(FORMAT, file(tmp_path, "wort\n"), lambda _: MarkedText(text)).decode()
    parsed = MarkdownIt("commonmark").parse(result)
    assert [token.type for token in parsed] == ["paragraph_open", "inline", "paragraph_close"]
    assert "".join(one.content for one in parsed[1].children or []) == text
    assert {one.type for one in parsed[1].children or []} == {"text"}


def test_a_carriage_return_ends_a_line_as_it_does_for_the_parser(tmp_path: Path) -> None:
    before = "# eins\r\rzwei\r*drei*\r\n\r\n| a\r| b |\n|---|---|\n| c\r | d |\n- [ \r] vier\n"
    path = file(tmp_path, before)
    assert written(FORMAT, path).decode() == before
    assert written(FORMAT, path, capitals).decode().startswith("# EINS\r\rZWEI *DREI*\r\n\r\n")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "LARGEST", 1 << 20)
    with pytest.raises(LimitError, match="a.md has 2 MiB, and a file may have 1"):
        texts(FORMAT, file(tmp_path, "x" * (2 << 20)))
