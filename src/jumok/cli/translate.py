"""`jumok translate`: one line in, one line out."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast

import click

from jumok.cli.shared import explained
from jumok.cli.shared.console import progress_display, say, to_json
from jumok.cli.shared.document import FORMS, Form, document_order
from jumok.cli.shared.memory import memory_for
from jumok.cli.shared.options import (
    ERRORS,
    GLOSSARY,
    MODEL,
    SEARCH,
    check_drawing,
    choice,
    command,
    count,
    given_options,
    loading_of,
    say_once,
    several,
    switch,
    text,
    with_glossary,
)
from jumok.cli.shared.output import open_output
from jumok.cli.shared.sentences import look_at
from jumok.cli.shared.tally import AnswerTally
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.decoding.results import Hypothesis, Translation
    from jumok.decoding.translator import Translator
    from jumok.model import Model
    from jumok.progress import Progress

Errors = Literal["strict", "replace"]

BLOCK = 1024  # lines that are read, sorted by length and answered together

EXAMPLES = """
  jumok translate -m runs/en-de "A man is riding a horse."
  jumok translate -m runs/en-de -i test.en -o test.de --beam 5
  echo "Hello." | jumok translate -m runs/en-de --n-best 3 --json
  jumok translate -m runs/en-de "A man is riding a horse." --align --attention horse.html
  jumok translate -m runs/en-de -i report.html -o report.de.html
  jumok translate -m runs/several --to fr "A man is riding a horse."
"""


@command(
    EXAMPLES,
    json="An object per line, as --format json; of a document its report.",
    quiet="No progress and no summary.",
)
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@MODEL
@text("-i", "--input", "source", metavar="FILE", help="Text, one per line, or a document; - is stdin.")
@text("--context", metavar="FILE", help="The texts ask about this file, or text.")
@click.option("-o", "--output", default="-", metavar="FILE", help="Write here; .gz is packed [stdout].")
@count("--n-best", help="Answers per text.")
@count("--max-len", help="Most tokens of an answer.")
@click.option("--min-len", type=click.IntRange(min=0), metavar="N", help="Fewest tokens of an answer.")
@click.option("--no-repeat-ngram", type=click.IntRange(min=0), metavar="N", help="No N tokens twice.")
@switch("--loops", help="Do not cut answers that go round in circles.")
@switch("--sample", help="Draw answers at random.")
@SEARCH
@click.option("--prefix", metavar="TEXT", help="Answers begin with this.")
@several("--ban", metavar="TEXT", help="Appears in no answer; may be repeated.")
@several("--require", metavar="TEXT", help="Appears in every answer; may be repeated.")
@GLOSSARY
@switch("--align", help="Add ' ||| 0-0 1-2': words of the text and of the answer.")
@text("--attention", metavar="FILE", help="Where it looked, as .html or .trace.")
@switch("--with-model", help="The .html holds the model, too: its readers can change the text.")
@switch("--stream", help="Write answers as they grow, as far as sure; --beam 1: at once.")
@switch("--scores", help="Add a tab and the log-probability to each line.")
@text(
    "--memory", metavar="FILE", help="Reuse translations: TMX, TSV, PO, XLIFF, …; --json shows similar ones."
)
@switch("--confidence", help="Mark doubtful words ⟨?so⟩; add a tab and P(a person changes the line).")
@choice("--format", "form", of=FORMS, metavar="FORMAT", help="Lines: text, moses, json; or a document's.")
@switch("--all", "all_segments", help="A document's translated entries, too.")
@choice("--sentences", of=["auto", "as-is", "split"], help="Sentences one by one [auto: as the lines are].")
@switch("--no-protect", help="Placeholders, URLs and code are text like any other.")
@ERRORS
@switch("--line-buffered", help="Answer each line as it comes [on a terminal].")
def translate(
    texts: tuple[str, ...],
    model: str,
    source: str,
    context: str,
    output: str,
    *,
    errors: Errors,
    line_buffered: bool,
    all_segments: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Translate text, files or standard input: one line in, one line out, blank lines included.

    A line of several sentences is translated sentence by sentence, and laid out as it was; a file that has
    one sentence on each line is taken as it is. Options of the search that are not given are those of the
    model. --attention with a folder that exists writes a page for each line into it, or for each sentence.

    A document (HTML, Markdown, XLIFF, …; not .txt) becomes the file of -o; given again, the command goes on.
    """
    if texts and source:
        raise ConfigError("both TEXT and -i FILE are given", hint="choose one of them")
    form, memory = options.pop("form"), options.pop("memory")
    order = document_order(source, output, form, all_segments=all_segments, as_json=as_json, quiet=quiet)
    shown = {name: options.pop(name) for name in ("scores", "align", "attention", "with_model", "stream")}
    loading = loading_of(options, quiet=quiet)
    search = asked_search(options, quiet=quiet)
    if order is not None:
        order.check({**shown, "context": context, "n-best": search.get("n_best")})
        return order.translate(model, loading, search, memory)
    usual: Form = "moses" if search.get("n_best", 1) > 1 else "text"
    writer = AnswerWriter("json" if as_json else form or usual, search, **shown, model=model, quiet=quiet)
    writer.check(output, memory)
    lines, total = open_lines(texts, source, errors, quiet=quiet)
    if context:
        lines = about(lines, context)
    if writer.attention and not Path(writer.attention).is_dir():
        lines = explained.only_line(lines, writer.attention)
    translator = writer.load(model, loading).asked_in(search)
    check_drawing(search, translator.config.decoding, "--sample or --mbr N")
    search |= memory_for(translator, memory)
    if context and not quiet:
        import_module("jumok.cli.shared.conversation").warn_context(translator, context)
    block = 1 if line_buffered or (output == "-" and sys.stdout.isatty() and not source) else BLOCK
    if not texts and block > 1 and search.get("sentences", "auto") == "auto":
        look, lines = look_at(lines, translator)
        search["sentences"] = look.sentences
        if look.told and not quiet and (source or look.several):
            say(str(look))
    began, tally = time.monotonic(), AnswerTally()
    with open_output(output) as file, progress_display(quiet=quiet or not source) as report:
        for result in writer.write(translator, lines, file, block, lambda what, n, _: report(what, n, total)):
            tally.add(result)
    for note in tally.notes(memory=bool(memory)) if not quiet else ():
        say(note)
    if not quiet and (source or output != "-"):
        say(tally.summary(time.monotonic() - began, writer.engine(translator)))


def asked_search(options: dict[str, Any], *, quiet: bool) -> dict[str, Any]:
    """The options of the search that were given."""
    search = with_glossary(given_options(options), quiet=quiet)
    return {**search, "protect": False} if search.pop("no_protect", False) else search


@dataclass(frozen=True)
class AnswerWriter:
    """How answers are found and written."""

    form: Form
    search: dict[str, Any]
    """Options of the search."""
    scores: bool = False
    align: bool = False
    attention: str = ""
    with_model: bool = False
    model: str = ""
    """As it was named."""
    stream: bool = False
    quiet: bool = False

    def engine(self, model: "Translator") -> dict[str, str]:
        """What computes the answers."""
        if self.attention or (self.align and not model.aligns):
            return model.seeing("attention").engine
        return model.engine_for(**self.search)

    def traces(self, model: "Translator") -> bool:
        """Whether answers are traced: attention is asked for, or links of a model that has none."""
        return bool(self.attention) or (self.align and not model.aligns)

    def check(self, output: str, memory: str = "") -> None:
        """Refuse what cannot be had together."""
        for name, given in {
            "--stream": self.stream,
            "--align": self.align,
            "--attention": self.attention,
        }.items():
            if memory and given:
                raise ConfigError(
                    f"--memory and {name} cannot be had together",
                    hint=f"leave out --memory: {name} shows how the model translates, and a memory does not",
                )
        if self.attention:
            explained.check_place(self.attention)
        if self.with_model and "+" in self.model:
            raise ConfigError("--with-model: a page cannot run an ensemble", hint="name one model")
        if self.with_model and Path(self.attention).suffix != ".html":
            raise ConfigError(
                "--with-model belongs to a page of attention", hint="add --attention FILE, a name with .html"
            )
        doubts = bool(self.search.get("confidence"))
        for name, given in {"--align": self.align, "--confidence": doubts}.items():
            if given and self.form == "moses":
                hint = "add --json or --format text"
                raise ConfigError(f"{name} has no place in the moses form", hint=hint)
        others = {
            "-o": output != "-",
            "--align": self.align,
            "--attention": bool(self.attention),
            "--scores": self.scores,
            "--confidence": doubts,
            "--n-best": self.form == "moses",
        }
        for name, given in others.items():
            if self.stream and given:
                raise ConfigError(
                    f"--stream and {name} cannot be had together",
                    hint="leave out --stream: the whole answer has more to tell",
                )

    def load(self, path: str, loading: dict[str, Any]) -> "Translator":
        """The model: one that can be looked into only if that is asked for, for it takes torch."""
        module = "jumok.model" if self.attention else "jumok.decoding.translator"
        load: Callable[..., Translator] = import_module(module).load
        model = load(path, **loading)
        if not self.attention and self.traces(model):
            load = import_module("jumok.model").load
            model = load(path, **loading | {"note": say_once(quiet=True)})
        return model

    def write(
        self, model: "Translator", lines: Iterable[str], file: IO[bytes], block: int, progress: "Progress"
    ) -> "Iterator[Translation]":
        """Write every answer, and give it back."""
        if self.stream:
            grow = explained.write_events if self.form == "json" else explained.write_growing
            yield from grow(model, lines, file, self.search)
            return
        results: Iterable[Translation]
        asked = {**self.search, "align": self.align and model.aligns}
        if self.traces(model):
            results = explained.traced(cast("Model", model), lines, block, asked, progress)
        else:
            results = model.translate_iter(lines, block=block, progress=progress, **asked)
        for number, result in enumerate(results, start=1):
            file.write(self.line(number, result, model).encode() + b"\n")
            if number % block == 0:
                file.flush()
            yield result

    def line(self, number: int, result: "Translation", model: "Translator") -> str:
        """One answer as a line, and its attention in its place."""
        links = explained.align(result, model) if self.align else {}
        if self.attention:
            from jumok.explain.traced import TracedTranslation

            assert isinstance(result, TracedTranslation)
            if self.with_model:
                explained.keep_page(self.attention, result, self.model, quiet=self.quiet)
            else:
                explained.keep_attention(self.attention, number, result, quiet=self.quiet)
        match self.form:
            case "json":
                more = [answer_fields(answer) for answer in result.alternatives]
                about = {"line": number, "src": result.source, **answer_fields(result), **links}
                more_of = {"matches": [*map(asdict, result.matches)], "terms": [*map(asdict, result.terms)]}
                about |= {name: found for name, found in more_of.items() if found}
                return to_json(about | ({"alternatives": more} if more else {}))
            case "moses":
                return "\n".join(
                    f"{number - 1} ||| {answer.text} ||| {answer.score:.4f}" for answer in result.hypotheses
                )
            case _:
                doubts = result.confidence
                text = marked(result) if doubts else result.text
                text += f"\t{result.score:.4f}" if self.scores else ""
                text += f"\t{doubts.change:.2f}" if doubts else ""
                return f"{text} ||| {links['align']}" if self.align else text


def open_lines(
    texts: tuple[str, ...], source: str, errors: Errors, *, quiet: bool
) -> tuple[Iterable[str], int | None]:
    """The lines to translate and how many they are, if that can be known.

    A file is read through once before the work begins: then a bad byte is found before an hour is spent. A
    pipe can be read only once.
    """
    from jumok.data.corpus import read_lines

    if texts:
        return texts, len(texts)
    if source and source != "-":
        once = Path(source).exists() and not Path(source).is_file()
        count = None if once else sum(1 for _ in read_lines(source, encoding_errors=errors))
        return read_lines(source, encoding_errors=errors), count
    if sys.stdin.isatty() and not quiet:
        say("reading standard input; Ctrl-D ends it")
    return read_lines("-", encoding_errors=errors), None


def about(lines: Iterable[str], context: str) -> Iterator[str]:
    """The lines as questions about the context, a file or a text; a blank one stays blank."""
    from jumok.cli.shared.conversation import read_context
    from jumok.data.questions import join_question

    text = read_context(context)
    return (join_question(line, text) if line.strip() else line for line in lines)


def answer_fields(answer: "Hypothesis") -> dict[str, Any]:
    """The fields of one answer in JSON; the end of the sentence is no token here."""
    from jumok.text.tokenizer import EOS

    spans = [asdict(one) for one in answer.sentences]
    doubts = asdict(answer.confidence) if answer.confidence else None
    return {
        "text": answer.text,
        "score": answer.score,
        "score_per_token": answer.score_per_token,
        "tokens": [token.text for token in answer.tokens if token.id != EOS],
        "finished": answer.finished,
        **({"sentences": spans} if spans else {}),
        **({"confidence": doubts} if doubts else {}),
    }


def marked(answer: "Hypothesis") -> str:
    """The text of an answer with its doubtful words as `⟨?word⟩`."""
    text = answer.text
    for begin, end in reversed(
        [word.text for word in answer.confidence.doubtful] if answer.confidence else []
    ):
        text = f"{text[:begin]}⟨?{text[begin:end]}⟩{text[end:]}"
    return text
