"""jumok evaluate: how good are the translations, how fast, and is the difference real."""

import re
import shlex
from dataclasses import asdict, dataclass
from os.path import abspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumok.cli.shared.console import print_json, progress_display, say, to_json
from jumok.cli.shared.options import (
    GLOSSARY,
    SEARCH,
    check_drawing,
    choice,
    command,
    flag,
    given_options,
    loading_of,
    several,
    text,
    with_glossary,
)
from jumok.errors import ConfigError, DataError, RunError, ThresholdError
from jumok.formats.files import split_packing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jumok.data.corpus import Corpus
    from jumok.evaluation.lengths import Bins
    from jumok.evaluation.report import Evaluation, Significance

EXAMPLES = """
  jumok evaluate -m runs/en-de -s test.en -t test.de
  jumok evaluate -m runs/en-de -s test.en -t test.de --metric bleu,chrf --beam 5 --mistakes
  jumok evaluate -m runs/rnn -m runs/transformer --data dates --metric exact --bins thirds
  jumok evaluate --hypotheses out.de -t test.de --metric bleu,chrf,ter --json
  jumok evaluate -m runs/en-de -s test.tsv --metric rouge --mbr 16 --utility rouge1
  jumok evaluate -m runs/several --data test.de-en.tsv:de-en:both --data test.fr-en.tsv:fr-en
"""


TEST_SET = ("source", "targets", "columns", "images", "data", "split", "lang")
"""Options that say what is translated and what it should become."""


@dataclass(frozen=True)
class TestSet:
    """What is translated and what it should become, in one way or several; sources are None when only
    outputs are scored."""

    name: str
    sources: list[str] | None
    references: list[tuple[str, ...]]
    language: str
    pictures: bool = False  # the sources are names of pictures, and have no length
    direction: tuple[str, str] = ("", "")  # from which language into which, where a file says so


@command(
    EXAMPLES,
    json="Print JSON (schema eval/1) instead of the table.",
    quiet="Print only the first metric's value, a line per system.",
)
@several("-m", "--model", "models", metavar="MODEL", help="Model, run or A+B; repeat to compare.")
@text("-s", "--source", metavar="FILE", help="Source lines; or a file with both sides (TSV, CSV, TMX, …).")
@several("-t", "--target", "targets", metavar="FILE", help="Reference lines; repeat for several.")
@text("--columns", metavar="LIST", help="Columns, keys or languages; more are references.")
@text("--images", metavar="PATH", help="Folder or zip: sources are names of pictures.")
@several("--data", metavar="NAME|FILE:…", help="A built-in set; or FILE:de-en, repeated: each direction.")
@choice("--split", of=["train", "valid", "test"], default="test", help="Part of --data [test].")
@several("--hypotheses", metavar="FILE", help="Score this output; repeat to compare.")
@click.option(
    "--metric",
    default="bleu,chrf",
    metavar="NAMES",
    help="Of bleu, bleu-lc, chrf (chrF++), chrf-char, ter, exact, wer, cer, per, rouge, ppl [bleu,chrf].",
)
@click.option("--by-length/--no-by-length", default=True, help="The first metric by source length [on].")
@click.option("--mistakes", is_flag=True, help="Also tell what kinds of mistakes there are.")
@text("--bins", metavar="BINS", help="words, thirds, or shortest lengths such as 1,11,21.")
@SEARCH
@GLOSSARY
@text("--lang", metavar="CODE", help="Target language, for BLEU's words [from file name].")
@click.option("--bootstrap", type=click.IntRange(min=0), default=1000, metavar="N", help="Resamples [1000].")
@click.option("--min-bleu", type=float, metavar="X", help="Exit with code 4 when a BLEU is below X.")
@text("-o", "--output", metavar="FILE", help="Also write the JSON to this file.")
def evaluate(
    models: tuple[str, ...], hypotheses: tuple[str, ...], *, as_json: bool, quiet: bool, **options: Any
) -> None:
    """BLEU, chrF and more, by sentence length, with 95 % intervals.

    Several systems are compared by paired bootstrap, each with the one before it. A run folder also keeps the
    result as JSON in its folder eval/.
    """
    from jumok.evaluation.evaluate import compare_evaluations, with_mistakes
    from jumok.evaluation.metrics import check_names

    names = ("metric", "by_length", "bins", "bootstrap", "min_bleu", "output", "mistakes")
    metric, by_length, bins, bootstrap, min_bleu, output, mistakes = (options.pop(name) for name in names)
    places = {name: options.pop(name) for name in TEST_SET}
    loading = loading_of(options, quiet=quiet)
    search = with_glossary(given_options(options), quiet=quiet)
    check_given(models, hypotheses, output, search)
    wanted = [name.strip() for name in metric.split(",") if name.strip()]
    metrics = check_names([*wanted, "bleu"] if min_bleu is not None else wanted)
    tests = read_test_sets(places, need=bool(models), files=hypotheses)
    sets: list[list[Evaluation]] = []
    with progress_display(quiet=quiet) as progress:
        for test in tests:
            measuring: dict[str, Any] = {
                "metrics": metrics,
                "by_length": by_length and not test.pictures and len(tests) == 1,
                "bins": read_bins(bins),
                "bootstrap": bootstrap,
                "data": test.name,
                "language": test.language,
                "progress": progress,
            }
            asking = {**measuring, "mistakes": mistakes}
            found = [*evaluate_models(models, test, asking, search, loading, several=len(tests) > 1)]
            scored = score_files(hypotheses, test, measuring)
            sets.append([*found, *(with_mistakes(one) if mistakes else one for one in scored)])
        comparisons = [one for found in sets for one in compare_evaluations(found)]
    evaluations = [evaluation for found in sets for evaluation in found]
    plain = [evaluation.to_dict() for evaluation in evaluations]
    several_of = {"evaluations": plain, "comparisons": [asdict(one) for one in comparisons]}
    result = plain[0] if len(plain) == 1 else {"schema": "evals/1", **several_of}
    if output and output != "-":
        write_json(Path(output), result)
    show(evaluations, comparisons, result if as_json or output == "-" else None, quiet=quiet)
    if not quiet and not as_json and (command := explorer(models)):
        say(f"hint: {command}")
    check_threshold(evaluations, min_bleu)


def check_given(
    models: tuple[str, ...], hypotheses: tuple[str, ...], output: str, search: dict[str, Any]
) -> None:
    """Refuse to work for nothing, before the work begins."""
    if search and hypotheses and not models:
        name = flag(next(iter(search)))
        raise ConfigError(f"{name} is for a model, and --hypotheses are finished", hint=f"leave out {name}")
    if not (models or hypotheses):
        raise ConfigError(
            "nothing to evaluate", hint="name a model with -m MODEL, or an output file with --hypotheses FILE"
        )
    if output and not Path(abspath(output)).parent.is_dir():
        raise ConfigError(f"there is no folder for --output {output}", hint="make the folder first")


def read_test_sets(places: dict[str, Any], *, need: bool, files: tuple[str, ...]) -> list[TestSet]:
    """The test set; or one for each direction of several files, as `jumok train` has them."""
    from jumok.run.corpora import named_data

    given = named_data(places["data"])
    if not given.get("data.corpora"):
        return [read_test_set({**places, "data": given.get("data.name", "")}, need=need)]
    if files or any(places[name] for name in ("source", "targets", "columns", "images", "lang")):
        raise ConfigError("several test sets are given by --data alone", hint="leave out the other files")
    from jumok.cli.shared.test_sets import read_directions

    return [
        read_corpora([corpus], f"{name} {direction}", direction.target, direction)
        for name, corpus, direction in read_directions(given["data.corpora"])
    ]


def read_test_set(places: dict[str, Any], *, need: bool) -> TestSet:
    """The test set in these files, or a part of a built-in one; an empty one is refused, and so is one
    without sources that we need."""
    from jumok.data.builtin import builtin_corpus, builtin_info
    from jumok.data.corpus import open_corpus
    from jumok.data.pictures import with_pictures

    source, targets, columns, images, data, split, lang = (places[name] for name in TEST_SET)
    if data:
        if source or targets or columns or images:
            raise ConfigError(f"both --data {data} and files are given", hint="choose one of them")
        language = lang or builtin_info(data).target_language
        return read_corpora([builtin_corpus(data, split)], f"{data}-{split}", language)
    language = lang or _suffix(targets[0] if targets else "")
    if not source and targets and not need:
        if columns:
            raise ConfigError("--columns are those of -s FILE", hint="leave out --columns")
        return TestSet(_stem(targets[0]), None, read_references(targets), language)
    if not source:
        raise ConfigError("no test set is given", hint="add -s FILE -t FILE, or --data NAME")
    first = open_corpus(source, targets[0] if targets else "", columns=columns)
    # Others read the same source: what came through a pipe is a file by now.
    corpora = [first, *(open_corpus(first.source, target) for target in targets[1:])]
    if images:
        corpora = [with_pictures(corpus, images) for corpus in corpora]
    if first.note:
        say(f"data: {first.note}")
    told = first.form.languages
    test = read_corpora(corpora, _stem(source), language or told[1], told)
    if columns.count(",") > 1 and max(map(len, test.references)) == 1:
        raise DataError(
            f"no line has more than one reference in columns {columns}",
            where=source,
            hint="columns are counted from 1: check --columns",
            code="bad_columns",
        )
    return test


def read_corpora(
    corpora: "Sequence[Corpus]", name: str, language: str, direction: tuple[str, str] = ("", "")
) -> TestSet:
    """The sources of the first corpus, and the references of all."""
    from jumok.data.pictures import PictureCorpus

    texts = [list(corpus.texts()) for corpus in corpora]
    references = [
        tuple(text for _, *right in line for text in right if text.strip()) or line[0][1:2]
        for line in zip(*texts, strict=True)
    ]
    pictures = isinstance(corpora[0], PictureCorpus)
    sources = [source for source, *_ in texts[0]]
    return TestSet(name, sources, references, language, pictures, direction)


def read_references(files: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The lines of these files, side by side; a blank line of a further file is none."""
    from jumok.data.corpus import read_lines

    sides = [list(read_lines(file)) for file in files]
    for file, side in zip(files, sides, strict=True):
        if not side:
            raise DataError("the test set is empty", where=file, code="empty")
        check_pair(files[0], sides[0], file, side)
    return [tuple(filter(str.strip, line)) or line[:1] for line in zip(*sides, strict=True)]


def check_pair(name: str, lines: "Sequence[object]", other: str, others: "Sequence[object]") -> None:
    """Refuse files that cannot belong together line by line."""
    if len(lines) != len(others):
        raise DataError(
            f"{name} has {len(lines):,} lines and {other} has {len(others):,}",
            hint="line n of one must answer line n of the other: look for a missing or a broken line",
            code="unequal_lines",
        )


def evaluate_models(
    models: tuple[str, ...],
    test: TestSet,
    measuring: dict[str, Any],
    search: dict[str, Any],
    loading: dict[str, Any],
    *,
    several: bool = False,
) -> "Iterator[Evaluation]":
    """Translate the test set, one of several perhaps, with each model; a run folder keeps its result."""
    if not models:
        return
    from jumok.decoding.translator import load
    from jumok.evaluation.evaluate import evaluate as evaluate_translator
    from jumok.text.frame import Direction

    for model, name in zip(models, _names(models), strict=True):
        sources, translator = test.sources or [], load(model, **loading)
        check_drawing(search, translator.config.decoding)
        if translator.tokenizers.frame.languages and all(test.direction) and "to" not in search:
            source, target = test.direction  # as the file says
            translator = translator.towards(target, source)
        called = f"{name} {Direction(*test.direction)}" if several else name
        found = evaluate_translator(translator, sources, test.references, name=called, **measuring, **search)
        if is_run(Path(model)):
            keep(Path(model), found)
        yield found


def score_files(files: tuple[str, ...], test: TestSet, measuring: dict[str, Any]) -> "Iterator[Evaluation]":
    """Score output files that exist already."""
    from jumok.data.corpus import read_lines
    from jumok.evaluation.evaluate import score_texts

    for file, name in zip(files, _names(files), strict=True):
        lines = list(read_lines(file))
        check_pair(file, lines, f"the test set {test.name}", test.references)
        yield score_texts(
            lines, test.references, test.sources, name=name, pictures=test.pictures, **measuring
        )


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


def show(
    evaluations: "list[Evaluation]",
    comparisons: "list[Significance]",
    result: dict[str, Any] | None,
    *,
    quiet: bool,
) -> None:
    """The result on stdout, in one of its three forms; notes on stderr."""
    from jumok.evaluation.report import draw_table

    if result is not None:
        print_json(result)
    elif quiet:
        for evaluation in evaluations:
            click.echo(f"{next(iter(evaluation.metrics.values())).value:.2f}")
    else:
        click.echo(draw_table(evaluations, comparisons))
        for note in dict.fromkeys(note for evaluation in evaluations for note in evaluation.notes):
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
    from jumok.seals import sealed

    folder, name = run / "eval", re.sub(r"[^\w.-]+", "-", evaluation.data)
    file = folder / f"{name}.json"
    try:
        folder.mkdir(exist_ok=True)
        write_json(file, sealed(evaluation.to_dict()))
    except (OSError, RunError) as error:
        say(f"warning: {file} could not be written: {error}")


def write_json(path: Path, result: dict[str, Any]) -> None:
    from jumok.checkpoint.folder import replace_file

    replace_file(path, to_json(result, indent=1).encode() + b"\n")


def check_threshold(evaluations: "list[Evaluation]", min_bleu: float | None) -> None:
    """Refuse systems below the stated BLEU, after everything has been printed."""
    below = [
        f"{evaluation.model} has {evaluation.metrics['bleu'].value:.2f}"
        for evaluation in evaluations
        if min_bleu is not None and evaluation.metrics["bleu"].value < min_bleu
    ]
    if below:
        raise ThresholdError(f"BLEU is below --min-bleu {min_bleu:g}: {', '.join(below)}", code="min_bleu")


def _names(paths: tuple[str, ...]) -> list[str]:
    """The last part of each path, or the whole path where that would be ambiguous."""
    from jumok.decoding.ensembles import PLUS, member_folders

    names = [
        PLUS.join(Path(abspath(one)).name for one in member_folders(path)) if path != "-" else path
        for path in paths
    ]
    return [
        name if names.count(name) == 1 else path.rstrip("/") for path, name in zip(paths, names, strict=True)
    ]


def _stem(path: str) -> str:
    return "stdin" if path == "-" else split_packing(Path(path).name)[0].split(".")[0] or "test"


def _suffix(path: str) -> str:
    """The two-letter language that a file name such as test.ko.gz ends with, or nothing."""
    suffix = Path(split_packing(path)[0]).suffix.removeprefix(".").lower()
    return suffix if len(suffix) == 2 else ""
