"""What `jumok translate` shows besides the text: alignments, attention in files, answers as they grow."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from jumok.cli.shared.console import say, to_json
from jumok.cli.shared.output import check_output
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.decoding.results import Translation
    from jumok.decoding.translator import Translator
    from jumok.explain.traced import TracedTranslation
    from jumok.model import Model
    from jumok.progress import Progress

BLOCK = 64  # lines whose attention is in memory at a time
FORMS = (".html", ".trace")


def traced(
    model: "Model", lines: Iterable[str], block: int, options: dict[str, Any], progress: "Progress"
) -> "Iterator[TracedTranslation]":
    """Translations with their traces, in order; few lines at a time."""
    rest, done = iter(lines), 0
    while some := list(islice(rest, min(block, BLOCK))):
        yield from model.translate(some, attention=True, **options)
        done += len(some)
        progress("translating", done, None)


def align(result: "Translation", model: "Translator") -> dict[str, Any]:
    """The links between words in Pharaoh's form, and the words they count from 0, through the whole text.

    A model without attention is aligned by influence, which takes its trace.
    """
    if model.aligns:
        from jumok.decoding.links import align_words

        found = align_words(result.source, result, model.tokenizers)
        return {"align": str(found), "words": {"src": list(found.source), "tgt": list(found.target)}}
    from jumok.explain.traced import TracedTranslation

    assert isinstance(result, TracedTranslation)
    traces = [part.trace for part in result.parts or (result,) if part.made is not None]
    cut = [one for trace in traces for one in trace.manifest["warnings"] if one["code"] == "source_truncated"]
    if not traces or cut:
        return {"align": "", "words": {"src": [], "tgt": []}}
    sides = {"src": "source", "tgt": "target"}
    words = {
        name: [word["text"] for one in traces for word in one.manifest[side]["words"] if "type" not in word]
        for name, side in sides.items()
    }
    return {"align": result.pharaoh("influence"), "words": words}


def check_place(path: str) -> None:
    """Refuse a place for attention that says no form or cannot be written to."""
    if Path(path).is_dir():
        return
    if Path(path).suffix not in FORMS:
        raise ConfigError(
            f"--attention {path}: the name says no form",
            hint="end it with .html or .trace, or name a folder that exists, for a page for each line",
        )
    check_output(path)


def only_line(lines: Iterable[str], path: str) -> list[str]:
    """The one line there is; a file has room for no more."""
    first = list(islice(iter(lines), 2))
    if len(first) > 1:
        raise ConfigError(
            f"--attention {path} takes one line, and there are more",
            hint="name a folder that exists, for a page for each line",
        )
    return first


def keep_attention(path: str, number: int, result: "TracedTranslation", *, quiet: bool) -> None:
    """Write the attention of one line to the file, or as pages into the folder; a blank line has none.

    A folder gets a page for each sentence of the line, a file the first.
    """
    if result.made is None:
        return
    place = Path(path)
    if place.is_dir():
        for k, part in enumerate(result.parts or (result,), start=1):
            part.save_html(place / (f"{number:06d}-{k}.html" if result.parts else f"{number:06d}.html"))
        return
    if place.suffix == ".html":
        result.save_html(place)
    else:
        result.save(place)
    if not quiet:
        say(f"attention: {path}" + (f" (sentence 1 of {len(result.parts)})" if result.parts else ""))


def keep_page(path: str, result: "TracedTranslation", model: str, *, quiet: bool) -> None:
    """Write the attention of one line as a page that computes: its readers can change the text."""
    from jumok.checkpoint.bundled import named_folder
    from jumok.explain.html import start_address, title_of
    from jumok.site.folder import SiteModel
    from jumok.site.one_file import one_page

    if result.made is None:
        return
    manifest = result.trace.manifest
    models = {manifest["model"]["name"]: SiteModel(named_folder(Path(model)), (manifest["source"]["text"],))}
    text = one_page(models, title=title_of(manifest), start=start_address("translate", manifest))
    Path(path).write_text(text, encoding="utf-8")
    if not quiet:
        say(f"attention: {path}, with the model: {len(text.encode()) / 1e6:.1f} MB")


def write_growing(
    model: "Translator", lines: Iterable[str], file: IO[bytes], options: dict[str, Any]
) -> "Iterator[Translation]":
    """Each answer as far as it is sure, on its line: what was written never changes."""
    for line in lines:
        for part in growing(model, line, options):
            file.write(part.encode() if isinstance(part, str) else b"\n")
            file.flush()
            if not isinstance(part, str):
                yield part


def growing(model: "Translator", line: str, options: dict[str, Any]) -> "Iterator[str | Translation]":
    """What to write next, again and again, and at the end the whole answer."""
    from jumok.decoding.stream import Final

    written = ""
    for event in model.stream(line, **options):
        if isinstance(event, Final):
            yield event.translation.text[len(written) :]
            yield event.translation
            return
        sure = event.text[: event.sure].rstrip("\ufffd")  # a character that is not whole
        if sure.startswith(written):
            yield sure[len(written) :]
            written = sure


def write_events(
    model: "Translator", lines: Iterable[str], file: IO[bytes], options: dict[str, Any]
) -> "Iterator[Translation]":
    """Each step as a JSON object on a line of its own, and at the end the whole answer."""
    from jumok.decoding.stream import Final

    for number, line in enumerate(lines, start=1):
        for event in model.stream(line, **options):
            kind, result = ("final", event.translation) if isinstance(event, Final) else ("partial", event)
            about = {"line": number, "type": kind, **result.to_dict()}
            file.write(to_json(about).encode() + b"\n")
            file.flush()
            if isinstance(event, Final):
                yield event.translation
