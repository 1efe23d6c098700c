"""jumok evaluate: how good are the translations, how fast, and is the difference real."""

import json
import re
import shlex
from dataclasses import asdict, dataclass
from os.path import abspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from jumok.cli.console import progress_display, say
from jumok.errors import ConfigError, DataError, RunError, ThresholdError

if TYPE_CHECKING:
    from jumok.data.builtin import Split
    from jumok.evaluation.lengths import Bins
    from jumok.evaluation.report import Evaluation
    from jumok.evaluation.significance import Comparison

EXAMPLES = """\b
Examples:
  jumok evaluate -m runs/en-de -s test.en -t test.de
  jumok evaluate -m runs/en-de -s test.en -t test.de --metric bleu,bleu-lc,chrf --beam 5
  jumok evaluate -m runs/rnn -m runs/transformer --data dates --metric exact --bins thirds
  jumok evaluate --hypotheses out.de -t test.de --metric bleu,chrf,ter --json
"""


@dataclass(frozen=True)
class TestSet:
    """What is translated and what it should become; sources are None when only outputs are scored."""

    name: str
    sources: list[str] | None
    references: list[str]
    language: str


@click.command(epilog=EXAMPLES)
@click.option(
    "-m", "--model", "models", multiple=True, metavar="MODEL", help="Model or run; repeat to compare."
)
@click.option(
    "-s", "--source", default="", metavar="FILE", help="Source lines; or TSV, JSONL with both sides."
)
@click.option("-t", "--target", default="", metavar="FILE", help="Reference lines.")
@click.option("--data", default="", metavar="NAME", help="A built-in data set instead of files.")
@click.option(
    "--split", type=click.Choice(["train", "valid", "test"]), default="test", help="Part of --data [test]."
)
@click.option("--hypotheses", multiple=True, metavar="FILE", help="Score this output; repeat to compare.")
@click.option(
    "--metric",
    default="bleu,chrf",
    metavar="NAMES",
    help="Of bleu, bleu-lc, chrf (chrF++), chrf-char, ter, exact, wer, cer, per, rouge, ppl [bleu,chrf].",
)
@click.option("--by-length/--no-by-length", default=True, help="The first metric by source length [on].")
@click.option(
    "--bins", default="", metavar="BINS", help="words, thirds, or shortest lengths such as 1,11,21."
)
@click.option("--beam", type=click.IntRange(min=1), metavar="N", help="Hypotheses per sentence; 1 is greedy.")
@click.option("--length-penalty", type=float, metavar="X", help="Above 0 favours longer answers.")
@click.option(
    "--lang", default="", metavar="CODE", help="Target language, for BLEU's words [from file name]."
)
@click.option("--bootstrap", type=click.IntRange(min=0), default=1000, metavar="N", help="Resamples [1000].")
@click.option("--min-bleu", type=float, metavar="X", help="Exit with code 4 when a BLEU is below X.")
@click.option("--device", default=None, metavar="NAME", help="cpu, cuda [the best there is].")
@click.option("-o", "--output", default="", metavar="FILE", help="Also write the JSON to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema eval/1) instead of the table.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the first metric's value, a line per system.")
def evaluate(
    models: tuple[str, ...],
    source: str,
    target: str,
    data: str,
    split: str,
    hypotheses: tuple[str, ...],
    metric: str,
    *,
    by_length: bool,
    bins: str,
    beam: int | None,
    length_penalty: float | None,
    lang: str,
    bootstrap: int,
    min_bleu: float | None,
    device: str | None,
    output: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """BLEU, chrF and more, by sentence length, with 95 % intervals.

    Several systems are compared by paired bootstrap, each with the one before it. A run folder also keeps the
    result as JSON in its folder eval/.
    """
    from jumok.evaluation.evaluate import compare_evaluations
    from jumok.evaluation.metrics import check_names

    if not models and not hypotheses:
        raise ConfigError(
            "nothing to evaluate", hint="name a model with -m MODEL, or an output file with --hypotheses FILE"
        )
    if output and not Path(abspath(output)).parent.is_dir():
        raise ConfigError(f"there is no folder for --output {output}", hint="make the folder first")
    wanted = [name.strip() for name in metric.split(",") if name.strip()]
    names = check_names([*wanted, "bleu"] if min_bleu is not None else wanted)
    test = read_test_set(source, target, data, split, lang, need_sources=bool(models))
    options: dict[str, Any] = {
        "metrics": names,
        "by_length": by_length,
        "bins": read_bins(bins),
        "bootstrap": bootstrap,
        "data": test.name,
        "language": test.language,
    }
    decode = given(beam=beam, length_penalty=length_penalty)
    with progress_display(quiet=quiet) as progress:
        evaluations = [
            *evaluate_models(models, test, options | {"progress": progress} | decode, device),
            *score_files(hypotheses, test, options | {"progress": progress}),
        ]
        comparisons = compare_evaluations(evaluations)
    result = as_one_object(evaluations, comparisons)
    if output and output != "-":
        write_json(Path(output), result)
    show(evaluations, comparisons, result if as_json or output == "-" else None, quiet=quiet)
    if not quiet and not as_json and (command := explorer(models)):
        say(f"hint: {command}")
    check_threshold(evaluations, min_bleu)


def given(**options: Any) -> dict[str, Any]:
    """The options that the user has set."""
    return {name: value for name, value in options.items() if value is not None}


def read_test_set(
    source: str, target: str, data: str, split: str, language: str, *, need_sources: bool
) -> TestSet:
    """The test set that the options name; an empty one is refused."""
    from jumok.data.builtin import builtin_corpus, builtin_info
    from jumok.data.corpus import open_corpus, read_lines

    if data and (source or target):
        raise ConfigError(f"both --data {data} and files are given", hint="choose one of them")
    if data:
        corpus = builtin_corpus(data, cast("Split", split))
        language = language or builtin_info(data).target_language
        name = f"{data}-{split}"
    elif source:
        corpus, name = open_corpus(source, target), _stem(source)
    elif target and not need_sources:
        references = list(read_lines(target))
        if not references:
            raise DataError("the test set is empty", where=target, code="empty")
        return TestSet(_stem(target), None, references, language or _suffix(target))
    else:
        raise ConfigError("no test set is given", hint="add -s FILE -t FILE, or --data NAME")
    pairs = list(corpus.pairs())
    return TestSet(name, [a for a, _ in pairs], [b for _, b in pairs], language or _suffix(target))


def evaluate_models(
    models: tuple[str, ...], test: TestSet, options: dict[str, Any], device: str | None
) -> "list[Evaluation]":
    """Translate the test set with each model in turn; a run folder keeps its result."""
    if not models:
        return []
    from jumok.decoding.translator import load
    from jumok.evaluation.evaluate import evaluate as evaluate_translator

    found = []
    for model, name in zip(models, _names(models), strict=True):
        sources = test.sources or []
        found.append(evaluate_translator(load(model, device), sources, test.references, name=name, **options))
        if is_run(Path(model)):
            keep(Path(model), found[-1])
    return found


def score_files(files: tuple[str, ...], test: TestSet, options: dict[str, Any]) -> "list[Evaluation]":
    """Score output files that exist already."""
    from jumok.data.corpus import read_lines
    from jumok.evaluation.evaluate import score_texts

    found = []
    for file, name in zip(files, _names(files), strict=True):
        lines = list(read_lines(file))
        if len(lines) != len(test.references):
            raise DataError(
                f"{file} has {len(lines):,} lines and the test set {test.name} has {len(test.references):,}",
                hint="line n of one must answer line n of the other: look for a missing or a broken line",
                code="unequal_lines",
            )
        found.append(score_texts(lines, test.references, test.sources, name=name, **options))
    return found


def read_bins(text: str) -> "Bins":
    """`words`, `thirds`, or numbers with commas between them."""
    match text:
        case "":
            return None
        case "words" | "thirds":
            return text
        case _ if re.fullmatch(r"\d+(,\d+)*", text):
            return [int(number) for number in text.split(",")]
        case _:
            raise ConfigError(f"--bins {text} cannot be read", hint="say words, thirds, or numbers: 1,11,21")


def as_one_object(evaluations: "list[Evaluation]", comparisons: "list[Comparison]") -> dict[str, Any]:
    """Schema eval/1 for one system; for several, a list of them with the comparisons."""
    if len(evaluations) == 1:
        return evaluations[0].to_dict()
    return {
        "schema": "evals/1",
        "evaluations": [one.to_dict() for one in evaluations],
        "comparisons": [asdict(one) for one in comparisons],
    }


def show(
    evaluations: "list[Evaluation]",
    comparisons: "list[Comparison]",
    result: dict[str, Any] | None,
    *,
    quiet: bool,
) -> None:
    """The result on stdout, in one of its three forms; notes on stderr."""
    from jumok.evaluation.table import draw_table

    if result is not None:
        click.echo(json.dumps(result, ensure_ascii=False, allow_nan=False))
    elif quiet:
        for one in evaluations:
            click.echo(f"{next(iter(one.metrics.values())).value:.2f}")
    else:
        click.echo(draw_table(evaluations, comparisons))
        for note in dict.fromkeys(note for one in evaluations for note in one.notes):
            say(f"note: {note}")


def explorer(models: tuple[str, ...]) -> str:
    """The command that shows these results in the explorer; "" unless all are runs of one folder."""
    runs = [Path(model) for model in models]
    parents = {run.parent for run in runs if is_run(run)}
    if len(parents) != 1 or not all(map(is_run, runs)):
        return ""
    return f"jumok serve {shlex.join(models)} --runs {shlex.quote(str(*parents))} --open /quality"


def is_run(folder: Path) -> bool:
    return (folder / "config.toml").is_file()


def keep(run: Path, evaluation: "Evaluation") -> None:
    """Store the result in the run's folder; a folder that cannot be written only costs a warning."""
    folder, name = run / "eval", re.sub(r"[^\w.-]+", "-", evaluation.data)
    file = folder / f"{name}.json"
    try:
        folder.mkdir(exist_ok=True)
        write_json(file, evaluation.to_dict())
    except (OSError, RunError) as error:
        say(f"warning: {file} could not be written: {error}")


def write_json(path: Path, result: dict[str, Any]) -> None:
    from jumok.checkpoint.folder import replace_file

    replace_file(path, json.dumps(result, ensure_ascii=False, allow_nan=False, indent=1).encode() + b"\n")


def check_threshold(evaluations: "list[Evaluation]", min_bleu: float | None) -> None:
    """Refuse systems below the stated BLEU, after everything has been printed."""
    below = [
        f"{one.model} has {one.metrics['bleu'].value:.2f}"
        for one in evaluations
        if min_bleu is not None and one.metrics["bleu"].value < min_bleu
    ]
    if below:
        raise ThresholdError(f"BLEU is below --min-bleu {min_bleu:g}: {', '.join(below)}", code="min_bleu")


def _names(paths: tuple[str, ...]) -> list[str]:
    """The last part of each path, or the whole path where that would be ambiguous."""
    names = [Path(abspath(path)).name if path != "-" else path for path in paths]
    return [
        name if names.count(name) == 1 else path.rstrip("/") for path, name in zip(paths, names, strict=True)
    ]


def _stem(path: str) -> str:
    return "stdin" if path == "-" else Path(path).name.removesuffix(".gz").split(".")[0] or "test"


def _suffix(path: str) -> str:
    """The two-letter language that a file name such as test.ko.gz ends with, or nothing."""
    suffix = Path(path.removesuffix(".gz")).suffix.removeprefix(".").lower()
    return suffix if len(suffix) == 2 else ""
