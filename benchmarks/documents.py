"""Documents: are tags put where people put them, is the markup whole, and what does it cost?

    apt-get download libreoffice-help-de libreoffice-help-en-us     # Debian; then: dpkg-deb -x FILE help
    python benchmarks/documents.py MODEL help/usr/share/libreoffice/help [--train train.de] [--json FILE]

The help of LibreOffice has the same paragraphs in both languages, with markup on both sides and ids that say
which belong together. Gold are those with markup around a part of the text, the same on both sides.

Placement: MODEL reads the German paragraph and is made to write the English one, word by word, so that its
links are between these two texts; then the tags of the German are moved, and each pair of a tag and an
English word counts. Tags of one kind in one paragraph are one, for nobody says which is which; those around
a whole paragraph do not count. Beside it, on the same links, Bergamot's way (each word has the tags of the
source word that it is linked to), and Argos's way (what a tag encloses is translated by itself, and looked
for in the translation of the whole).

Whole pages, and the paragraphs as XLIFF, TMX and Markdown, are then translated: the words between tags beside
those of the plain text, the elements of input and output as other parsers count them, and the time of the
processor, the mean of several turns: neighbours on the machine disturb it least.
"""

import argparse
import gzip
import html
import json
import os
import platform
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

from jumok.decoding.results import TextLink
from jumok.decoding.translator import Translator, load
from jumok.documents.evidence import words_of
from jumok.documents.projection import project
from jumok.documents.translate import translate_document
from jumok.formats.html_page import marked_text
from jumok.formats.html_tokens import html_tokens
from jumok.formats.known import format_of
from jumok.formats.segments import Languages, MarkedText, Tag
from jumok.formats.xml_inline import xml_of

TURNS = 3
PARAGRAPH = re.compile(r'<(p|h\d)\b[^>]*\bid="((?:par|hd)_id\w+)"[^>]*>(.*?)</\1>', re.DOTALL)
Kind = tuple[str, str]
Words = set[tuple[Kind, int]]


@dataclass(frozen=True)
class Pair:
    """A paragraph in both languages."""

    where: str
    source: MarkedText
    target: MarkedText


def kind_of(tag: Tag) -> Kind:
    """By what a tag is known on both sides: its name, and its class or where it leads."""
    token = next(html_tokens(tag.open))
    values = {name: value.text for name, value in token.attributes.items()}
    place = re.sub(r"^(?:de|en-US)/", "", values.get("href", ""))
    return token.name, values.get("class", "") or place


def read_paragraphs(path: Path) -> Iterator[tuple[str, MarkedText]]:
    for _, name, inner in PARAGRAPH.findall(path.read_text(encoding="utf-8")):
        if "switchinline" in inner or "<br" in inner:
            continue
        found = marked_text((token, token.raw) for token in html_tokens(inner))
        tags = tuple(tag for tag in found.tags if not tag.is_point)
        whole = tidy(MarkedText(found.text, tags))
        inner = (tag for tag in whole.tags if 0 < tag.end - tag.begin < len(whole.text))
        yield name, MarkedText(whole.text, tuple(inner))


def tidy(marked: MarkedText) -> MarkedText:
    """Without the white space at the ends."""
    before = len(marked.text) - len(marked.text.lstrip())
    text = marked.text.strip()

    def inside(place: int) -> int:
        return min(max(place - before, 0), len(text))

    tags = (Tag(inside(tag.begin), inside(tag.end), tag.open, tag.close) for tag in marked.tags)
    return MarkedText(text, tuple(tags))


def plain(text: str) -> str:
    """Letters and digits only: two texts that differ in nothing else are one."""
    return "".join(filter(str.isalnum, text.lower()))


def gold(folder: Path, seen: set[str], most: int) -> list[Pair]:
    """Paragraphs with the same markup on both sides, around a part of the text; none that was trained on."""
    found, texts = list[Pair](), set[str]()
    for german in sorted((folder / "de" / "text").rglob("*.html")):
        english = folder / "en-US" / german.relative_to(folder / "de")
        if not english.exists():
            continue
        theirs = dict(read_paragraphs(english))
        for name, source in read_paragraphs(german):
            target = theirs.get(name)
            if target is None or plain(source.text) in seen or source.text in texts or len(source.text) > 400:
                continue
            kinds = [Counter(map(kind_of, side.tags)) for side in (source, target)]
            if source.tags and kinds[0] == kinds[1] and source.text != target.text:
                texts.add(source.text)
                found.append(Pair(f"{german.stem} {name}", source, target))
    step = max(1, len(found) // most)
    return found[::step][:most]


def words_in(marked: MarkedText, words: Sequence[tuple[int, int]]) -> Words:
    """Each kind of tag with each word that it has."""
    return {
        (kind_of(tag), n)
        for tag in marked.tags
        for n, (begin, end) in enumerate(words)
        if tag.begin <= begin and end <= tag.end
    }


def bergamot(pair: Pair, links: Sequence[TextLink], words: Sequence[tuple[int, int]]) -> Words:
    """Each word has the tags of the source token that its surest token is linked to."""
    found: Words = set()
    for n, (begin, end) in enumerate(words):
        own = [link for link in links if link.target[0] < end and link.target[1] > begin]
        if own:
            source = max(own, key=lambda link: link.weight).source
            middle = (source[0] + source[1]) // 2
            found |= {(kind_of(tag), n) for tag in pair.source.tags if tag.begin <= middle < tag.end}
    return found


def argos(pair: Pair, alone: dict[str, str], words: Sequence[tuple[int, int]]) -> Words:
    """Where the translation of what a tag encloses stands in the translation of the whole."""
    found: Words = set()
    for tag in pair.source.tags:
        text = alone[pair.source.text[tag.begin : tag.end].strip()]
        begin = pair.target.text.find(text) if text else -1
        if begin >= 0:
            end = begin + len(text)
            found |= {(kind_of(tag), n) for n, (a, b) in enumerate(words) if begin <= a and b <= end}
    return found


@dataclass
class Score:
    """Right, placed and wanted pairs of a tag and a word."""

    right: int = 0
    placed: int = 0
    wanted: int = 0
    whole: int = 0
    """Paragraphs in which every tag has exactly its words."""

    def add(self, found: Words, wanted: Words) -> None:
        self.right += len(found & wanted)
        self.placed += len(found)
        self.wanted += len(wanted)
        self.whole += found == wanted

    def figures(self, count: int) -> dict[str, float]:
        precision, recall = self.right / max(1, self.placed), self.right / max(1, self.wanted)
        f1 = 2 * precision * recall / max(1e-9, precision + recall)
        return {"f1": f1, "precision": precision, "recall": recall, "whole": self.whole / max(1, count)}


def placement(model: Translator, pairs: Sequence[Pair]) -> dict[str, Any]:
    """F1 of each way to place tags, on the same links."""
    ours, theirs, found_alone = Score(), Score(), Score()
    inner = {pair.source.text[tag.begin : tag.end].strip() for pair in pairs for tag in pair.source.tags}
    texts = sorted(inner)
    alone = {text: one.text for text, one in zip(texts, model.translate(texts, beam=1), strict=True)}
    # The target is given as a prefix, so that the links are those of the target as people wrote it.
    forced = model.translate(
        [pair.source.text for pair in pairs],
        prefix=[pair.target.text for pair in pairs],
        sentences="as-is",
        long="cut",
        align=True,
        beam=1,
        protect=False,
        max_len=1000,
    )
    count = 0
    for pair, answer in zip(pairs, forced, strict=True):
        text = pair.target.text
        if not answer.text.startswith(text):
            continue
        links = [link for link in answer.links if link.target[1] <= len(text)]
        words = words_of(text)
        wanted = words_in(pair.target, words)
        count += 1
        ours.add(words_in(project(pair.source, text, links).target, words), wanted)
        theirs.add(bergamot(pair, links, words), wanted)
        found_alone.add(argos(pair, alone, words), wanted)
    scores = {"jumok": ours, "bergamot": theirs, "argos": found_alone}
    return {"paragraphs": count, **{name: score.figures(count) for name, score in scores.items()}}


def elements(text: str) -> Counter[str]:
    """How often each element begins, as html.parser of the standard library counts them."""
    from html.parser import HTMLParser

    found: Counter[str] = Counter()

    class Counting(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found[tag] += 1

        def handle_endtag(self, tag: str) -> None:
            found[f"/{tag}"] += 1

    parser = Counting()
    parser.feed(text)
    parser.close()
    return found


def xml_elements(text: str) -> Counter[str]:
    return Counter(element.tag for element in ElementTree.fromstring(text).iter())


def markdown_elements(text: str) -> Counter[str]:
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inner = [one for token in tokens for one in token.children or []]
    return Counter(one.type for one in [*tokens, *inner] if one.type not in ("text", "softbreak"))


def generated(pairs: Sequence[Pair]) -> dict[str, str]:
    """The paragraphs as documents of other formats."""

    def inline(marked: MarkedText, name: str = "g", key: str = "id") -> str:
        numbered = enumerate(marked.tags, start=1)
        tags = (Tag(t.begin, t.end, f'<{name} {key}="{n}">', f"</{name}>") for n, t in numbered)
        return xml_of(MarkedText(marked.text, tuple(tags)))

    units = "\n".join(
        f'<trans-unit id="{n}"><source>{inline(pair.source)}</source></trans-unit>'
        for n, pair in enumerate(pairs)
    )
    entries = "\n".join(
        f'<tu><tuv xml:lang="de"><seg>{inline(pair.source, "hi", "x")}</seg></tuv></tu>' for pair in pairs
    )
    file = f'<file source-language="de" original="a" datatype="plaintext"><body>{units}</body></file>'
    bold = (
        "".join(
            f"**{html.unescape(part)}**" if n % 2 else part for n, part in enumerate(first_tag(pair.source))
        )
        for pair in pairs
    )
    return {
        "a.xlf": f'<xliff version="1.2">{file}</xliff>',
        "a.tmx": f'<tmx version="1.4"><header srclang="de"/><body>{entries}</body></tmx>',
        "a.md": "\n\n".join(re.sub(r"[\[\]_`<>\\|#*]+(?!\*)", "", line) for line in bold),
    }


def first_tag(marked: MarkedText) -> tuple[str, str, str]:
    tag = marked.tags[0]
    inside = marked.text[tag.begin : tag.end]
    begin = tag.begin + len(inside) - len(inside.lstrip())
    end = begin + len(inside.strip())
    return marked.text[:begin], marked.text[begin:end], marked.text[end:]


def whole_documents(model: Translator, folder: Path, pairs: Sequence[Pair], pages: int) -> dict[str, Any]:
    """Real pages and generated documents: is their markup whole, and are the words those of plain text?"""
    counters: dict[str, Callable[[str], Counter[str]]] = {
        ".html": elements, ".xlf": xml_elements, ".tmx": xml_elements, ".md": markdown_elements
    }  # fmt: skip
    every = sorted((folder / "de" / "text").rglob("*.html"))
    real = every[:: max(1, len(every) // pages)][:pages]
    whole, same, words, plain_seconds, seconds = Counter[str](), 0, 0, 0.0, 0.0
    count: Counter[str] = Counter()
    data = model.config.data
    languages = Languages(data.source_language, data.target_language)
    with TemporaryDirectory() as place:
        sources = list(real)
        for n in range(0, len(pairs), 10):
            for name, text in generated(pairs[n : n + 10]).items():
                sources.append(Path(place) / f"{n}{Path(name).suffix}")
                sources[-1].write_text(text, encoding="utf-8")
        for path in sources:
            target = Path(place) / f"target{path.suffix}"
            segments = [one.source.text.strip() for one in format_of(path, None, languages).read(path)]
            texts = [text for text in segments if any(map(str.isalpha, text))]
            for _ in range(TURNS):
                began = time.process_time()
                plain = model.translate(texts)
                middle = time.process_time()
                written = list[str]()
                translate_document(
                    model, path, target,
                    watch=lambda _, answer, to=written: to.append(
                        answer.target.text if answer.target else ""
                    ),
                )  # fmt: skip
                seconds += time.process_time() - middle
                plain_seconds += middle - began
            expected = Counter(word for one in plain for word in one.text.split())
            got = Counter(word for text in written for word in text.split())
            same, words = same + (expected & got).total(), words + max(expected.total(), got.total())
            before, after = (counters[path.suffix](one.read_text(encoding="utf-8")) for one in (path, target))
            for name in ("g", "hi", "tuv", "seg"):  # each target has what its source has
                if name in before:
                    before[name] *= 2
            if "trans-unit" in before:
                before["target"] = before["trans-unit"]
            count[path.suffix] += 1
            whole[path.suffix] += before == after
    return {
        "documents": {
            suffix[1:]: {"count": count[suffix], "whole": whole[suffix]} for suffix in sorted(count)
        },
        "words_as_plain": same / max(1, words),
        "seconds": seconds / TURNS,
        "plain_seconds": plain_seconds / TURNS,
        "times_plain": seconds / max(1e-9, plain_seconds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("help", type=Path)
    parser.add_argument("--train", type=Path, help="German lines that the model was trained on; .gz")
    parser.add_argument("--most", type=int, default=500, help="paragraphs")
    parser.add_argument("--pages", type=int, default=40, help="whole pages")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    seen: set[str] = set()
    if options.train:
        raw = options.train.read_bytes()
        lines = (gzip.decompress(raw) if options.train.suffix == ".gz" else raw).decode().splitlines()
        seen = set(map(plain, lines))
    pairs = gold(options.help, seen, options.most)
    model = load(options.model)
    result = {
        "command": f"python {' '.join(sys.argv)}",
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "kept": "all that the command computed",
        "model": Path(options.model).name,
        "fingerprint": model.info.get("fingerprint", "")[:16],
        "engine": model.engine,
        "python": platform.python_version(),
        "placement": placement(model, pairs),
        "whole": whole_documents(model, options.help, pairs[:100], options.pages),
    }
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
