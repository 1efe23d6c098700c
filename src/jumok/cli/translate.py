"""`jumok translate`: one line in, one line out."""

import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from jumok.cli.console import progress_display, say
from jumok.cli.output import open_output
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.decoding.translator import Hypothesis, Translation

BLOCK = 1024  # lines that are read, sorted by length and answered together

EXAMPLES = """\b
Examples:
  jumok translate -m runs/en-de "A man is riding a horse."
  jumok translate -m runs/en-de -i test.en -o test.de --beam 5
  echo "Hello." | jumok translate -m runs/en-de --n-best 3 --json
"""


@click.command(epilog=EXAMPLES)
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("-m", "--model", required=True, metavar="MODEL", help="Run or model folder.")
@click.option("-i", "--input", "source", default="", metavar="FILE", help="Text, one per line; - is stdin.")
@click.option("-o", "--output", default="-", metavar="FILE", help="Write here; .gz is packed [stdout].")
@click.option("--beam", type=click.IntRange(min=1), metavar="N", help="Hypotheses per text; 1 is greedy.")
@click.option("--n-best", type=click.IntRange(min=1), metavar="N", help="Answers per text.")
@click.option("--length-penalty", type=float, metavar="X", help="Above 0 favours longer answers.")
@click.option("--max-len", type=click.IntRange(min=1), metavar="N", help="Most pieces of an answer.")
@click.option("--min-len", type=click.IntRange(min=0), metavar="N", help="Fewest pieces of an answer.")
@click.option("--no-repeat-ngram", type=click.IntRange(min=0), metavar="N", help="No N pieces twice.")
@click.option("--sample", is_flag=True, help="Draw answers at random.")
@click.option("--temperature", type=float, metavar="X", help="Below 1 draws more probable pieces.")
@click.option("--top-k", type=click.IntRange(min=0), metavar="N", help="Draw from the N best pieces.")
@click.option("--top-p", type=float, metavar="X", help="Draw from the best pieces with probability X.")
@click.option("--seed", type=int, metavar="N", help="The same seed draws the same answers.")
@click.option("--prefix", metavar="TEXT", help="Answers begin with this.")
@click.option("--ban", multiple=True, metavar="TEXT", help="Appears in no answer; may be repeated.")
@click.option("--require", multiple=True, metavar="TEXT", help="Appears in every answer; may be repeated.")
@click.option("--scores", is_flag=True, help="Add a tab and the log-probability to each line.")
@click.option("--format", "form", type=click.Choice(["text", "moses", "json"]), help="[text; n-best: moses]")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json: an object per line.")
@click.option(
    "--long", type=click.Choice(["split", "cut", "error"]), help="Text too long for the model [split]."
)
@click.option("--batch-tokens", type=click.IntRange(min=1), metavar="N", help="Size of a batch, in pieces.")
@click.option("--errors", type=click.Choice(["strict", "replace"]), default="strict", help="Bytes not UTF-8.")
@click.option("--device", metavar="NAME", help="cpu, cuda [the best there is].")
@click.option("--line-buffered", is_flag=True, help="Answer each line as it comes [on a terminal].")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary.")
@click.help_option("-h", "--help")
def translate(
    texts: tuple[str, ...],
    model: str,
    source: str,
    output: str,
    *,
    form: Literal["text", "moses", "json"] | None,
    scores: bool,
    as_json: bool,
    errors: Literal["strict", "replace"],
    device: str | None,
    line_buffered: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Translate text, files or standard input: one line in, one line out, blank lines included.

    Options of the search that are not given are those of the model.
    """
    if texts and source:
        raise ConfigError("both TEXT and -i FILE are given", hint="choose one of them")
    asked = check_options(options)
    write_line = choose_form(form, asked, as_json=as_json, scores=scores)
    lines, total = open_lines(texts, source, errors, quiet=quiet)
    from jumok.decoding.translator import load

    translator = load(model, device)
    block = 1 if line_buffered or (output == "-" and sys.stdout.isatty() and not source) else BLOCK
    began, count, pieces = time.monotonic(), 0, 0
    with open_output(output) as file, progress_display(quiet=quiet or not source) as report:
        results = translator.translate_iter(
            lines, block=block, progress=lambda what, done, _: report(what, done, total), **asked
        )
        for count, result in enumerate(results, start=1):
            file.write(write_line(count, result).encode() + b"\n")
            pieces += len(result.tokens)
            if count % block == 0:
                file.flush()
    if not quiet and (source or output != "-"):
        seconds = time.monotonic() - began
        say(f"{count:,} lines · {seconds:.1f} s · {pieces / max(seconds, 1e-9):,.0f} pieces/s")


def check_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given."""
    asked = {
        name: value
        for name, value in options.items()
        if value is not None and value is not False and value != ()
    }
    for name in ("temperature", "top_k", "top_p", "seed"):
        if name in asked and not options["sample"]:
            raise ConfigError(
                f"--{name.replace('_', '-')} changes nothing in a search", hint="add --sample to draw answers"
            )
    return asked


def open_lines(
    texts: tuple[str, ...], source: str, errors: Literal["strict", "replace"], *, quiet: bool
) -> tuple[Iterable[str], int | None]:
    """The lines to translate and how many they are, if that can be known.

    A file is read through once before the work begins: then a bad byte is found before an hour is spent.
    """
    from jumok.data.corpus import read_lines

    if texts:
        return texts, len(texts)
    if source and source != "-":
        return read_lines(source, encoding_errors=errors), count_lines(source, errors)
    if sys.stdin.isatty() and not quiet:
        say("reading standard input; Ctrl-D ends it")
    return read_lines("-", encoding_errors=errors), None


def count_lines(path: str, errors: Literal["strict", "replace"]) -> int | None:
    """The number of lines of a file; None for a pipe, which can be read only once."""
    from jumok.data.corpus import read_lines

    if Path(path).exists() and not Path(path).is_file():
        return None
    return sum(1 for _ in read_lines(path, encoding_errors=errors))


def choose_form(
    form: Literal["text", "moses", "json"] | None, asked: dict[str, Any], *, as_json: bool, scores: bool
) -> "Callable[[int, Translation], str]":
    """How a result becomes a line; several answers are in moses form unless another is asked for."""
    if as_json and form not in (None, "json"):
        raise ConfigError(f"both --json and --format {form} are given", hint="choose one of them")
    several = asked.get("n_best", 1) > 1
    match "json" if as_json else form or ("moses" if several else "text"):
        case "json":
            return json_line
        case "moses":
            return moses_lines
        case _:
            return scored_line if scores else text_line


def text_line(number: int, result: "Translation") -> str:
    return result.text


def scored_line(number: int, result: "Translation") -> str:
    return f"{result.text}\t{result.score:.4f}"


def moses_lines(number: int, result: "Translation") -> str:
    return "\n".join(f"{number - 1} ||| {one.text} ||| {one.score:.4f}" for one in result.hypotheses)


def json_line(number: int, result: "Translation") -> str:
    line: dict[str, Any] = {"line": number, "src": result.source, **answer_fields(result)}
    if result.alternatives:
        line["alternatives"] = [answer_fields(one) for one in result.alternatives]
    return json.dumps(line, ensure_ascii=False, allow_nan=False)


def answer_fields(answer: "Hypothesis") -> dict[str, Any]:
    """The fields of one answer in JSON; the end of the sentence is no token here."""
    from jumok.text.tokenizer import EOS

    return {
        "text": answer.text,
        "score": answer.score,
        "score_per_token": answer.score_per_token,
        "tokens": [token.text for token in answer.tokens if token.id != EOS],
        "finished": answer.finished,
    }
