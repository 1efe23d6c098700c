"""jumok check: what is wrong with a corpus, with line numbers."""

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from jumok.cli.shared.console import print_json, progress_display, say
from jumok.cli.shared.options import COLUMNS, command, several, switch, text
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from jumok.data.clean import CleanedCopy
    from jumok.data.corpus import Corpus
    from jumok.data.reader import CheckReport
    from jumok.progress import Progress

EXAMPLES = """
  jumok check train.en train.de
  jumok check --source train.en --target train.de --valid valid.en valid.de --fix
  jumok check pairs.tsv.gz --json
  jumok check memory.tmx --columns en,de
  jumok check captions.tsv --images photos.zip
"""

PAIR = (str, str)


@command(EXAMPLES, json="Print one JSON object.", quiet="Print only the number of errors and warnings.")
@click.argument("source", required=False, default="")
@click.argument("target", required=False, default="")
@text("--source", "named_source", metavar="FILE", help="SOURCE, named as in jumok train.")
@text("--target", "named_target", metavar="FILE", help="TARGET, named as in jumok train.")
@click.option("--valid", nargs=2, type=PAIR, metavar="SRC TGT", help="Validation files, to look for leaks.")
@click.option("--test", nargs=2, type=PAIR, metavar="SRC TGT", help="Test files, to look for leaks.")
@several("--data", metavar="NAME|FILE:…", help="A built-in set with all splits; or each of several corpora.")
@several("--valid-data", metavar="FILE:…", help="Validation files of several corpora, to look for leaks.")
@text("--images", metavar="PATH", help="Folder or zip: the sources are names of pictures.")
@COLUMNS
@switch("--fix", help="Write a cleaned copy beside it (train.clean.en); of TMX, CSV and such as JSONL.")
@switch("--force", help="Let --fix replace an earlier cleaned copy.")
def check(
    source: str, target: str, *, fix: bool, force: bool, as_json: bool, quiet: bool, **places: Any
) -> int:
    """Say what is wrong with the pairs of SOURCE and TARGET, with line numbers.

    SOURCE alone is a file with both sides: TSV, JSONL, CSV, JSON, TMX, XLIFF, PO, parquet, or a zip file of
    OPUS. The exit code is 3 when there are errors, 0 when
    there is nothing worse than warnings.
    """
    from jumok.data.clean import clean_names
    from jumok.data.clean import fix as write_clean_copy
    from jumok.data.reader import examine

    source, target = _named(source, target, places)
    mixture = _mixture(places.pop("valid_data"), places, source, target, fix=fix)
    if fix and places["data"]:
        raise ConfigError("--fix cannot change a built-in data set", hint="leave out --fix")
    if fix and places["images"]:
        raise ConfigError("--fix cannot repair pictures", hint="leave out --fix, and see to what is listed")
    if mixture is None:
        corpus, others = _corpora(source, target, **places)
    if fix:
        clean_names(corpus, force=force)  # refuse now, not after a long look
    with progress_display(quiet=quiet or as_json) as progress:
        report = mixture(progress) if mixture else examine(corpus, others=others, progress=progress)
    if quiet and not as_json:
        click.echo(_verdict(report))
    elif not as_json:
        _print_report(report)
    cleaned = None
    if fix:
        with progress_display(quiet=quiet or as_json) as progress:
            cleaned = write_clean_copy(corpus, report, force=force, progress=progress)
    if as_json:
        print_json(report.to_dict() | {"fixed": cleaned.to_dict() if cleaned else None})
    elif cleaned and not quiet:
        _print_cleaned(cleaned)
    elif not places["data"] and not quiet and any("--fix" in finding.advice for finding in report.findings):
        say("hint: --fix writes a cleaned copy beside the original")
    return 3 if report.has_errors else 0


def _named(source: str, target: str, places: dict[str, Any]) -> tuple[str, str]:
    """The two files, however they were named."""
    named = {
        "--source": (source, places.pop("named_source")),
        "--target": (target, places.pop("named_target")),
    }
    for option, (given, name) in named.items():
        if given and name:
            raise ConfigError(f"both {given} and {option} {name} are given", hint="choose one of them")
    source, target = (given or name for given, name in named.values())
    return source, target


def _mixture(
    valid: tuple[str, ...], places: dict[str, Any], source: str, target: str, *, fix: bool
) -> "Callable[[Progress], CheckReport] | None":
    """How several corpora are looked at; None where one is, whose name then is all that --data says."""
    from jumok.run.corpora import named_data, open_corpora
    from jumok.settings import check_given

    given = {key: value for key, value in named_data(places["data"], valid).items() if value}
    places["data"] = given.get("data.name")
    if "data.corpora" not in given:
        if valid:
            raise ConfigError("--valid-data is for several corpora", hint="give each by --data, or --valid")
        return None
    if source or target or any(places[name] for name in ("valid", "test", "images", "columns")):
        raise ConfigError("several corpora are given by --data alone", hint="leave out the other files")
    if fix:
        raise ConfigError("--fix takes one corpus at a time", hint="leave out --data, and name the files")
    from jumok.run.mixture import look_at_mixture

    mixture = open_corpora(check_given(given)).mixture
    assert mixture is not None
    return partial(look_at_mixture, mixture)


def _corpora(
    source: str, target: str, *, data: str | None, images: str, columns: str, **others: tuple[str, str] | None
) -> "tuple[Corpus, dict[str, Corpus]]":
    """The corpus to examine, and those to compare it with."""
    from jumok.data.builtin import builtin_corpus
    from jumok.data.corpus import open_corpus
    from jumok.data.pictures import with_pictures

    if columns and (data or target):
        raise ConfigError("--columns are those of one file with both sides", hint="leave out --columns")
    if data and source:
        raise ConfigError(f"both --data {data} and {source} are given", hint="choose one of them")
    if data:
        valid, test = builtin_corpus(data, "valid"), builtin_corpus(data, "test")
        return builtin_corpus(data, "train"), {"valid": valid, "test": test}
    if not source:
        raise ConfigError("nothing to check", hint="name the files: jumok check train.en train.de")

    def read(source: str, target: str) -> "Corpus":
        corpus = open_corpus(source, target, columns="" if target else columns)
        return with_pictures(corpus, images) if images else corpus

    return read(source, target), {name: read(*pair) for name, pair in others.items() if pair}


def _print_report(report: "CheckReport") -> None:
    for part in report.parts:
        files = " ↔ ".join(filter(None, part.files))
        click.echo(f"{part.part:7} {min(part.lines):>10,} pairs   {files}")
        if part.note:
            click.echo(f"{'':19}{part.note}")
    click.echo()
    for finding in report.findings:
        part_name = f"{finding.part}: " if len(report.parts) > 1 else ""
        click.echo(f"{finding.severity:7} {finding.count:>10,} {part_name}{finding.title}")
        if finding.lines:
            more = " …" if finding.count > len(finding.lines) and finding.kind != "unequal_lines" else ""
            click.echo(f"{'':19}{finding.unit} {', '.join(f'{line:,}' for line in finding.lines)}{more}")
        for text_line in filter(None, (finding.example, finding.advice)):
            click.echo(f"{'':19}{text_line}")
    click.echo(_verdict(report))


def _print_cleaned(cleaned: "CleanedCopy") -> None:
    from jumok.data.findings import KINDS

    dropped = ", ".join(f"{count:,} {KINDS[kind].title}" for kind, count in cleaned.dropped.items())
    click.echo(f"cleaned copy: {' '.join(cleaned.files)}")
    click.echo(f"  {cleaned.kept:,} pairs kept, {cleaned.changed:,} of them with characters put right")
    click.echo(f"  dropped: {dropped or 'none'}")
    if cleaned.keys:
        click.echo(f"  written as objects with the keys {' and '.join(cleaned.keys)}, and nothing else")


def _verdict(report: "CheckReport") -> str:
    severities = [finding.severity for finding in report.findings]
    counts = {word: severities.count(word) for word in ("error", "warning")}
    kinds = [f"{n} kind{'s' * (n != 1)} of {word}" for word, n in counts.items() if n]
    return ", ".join(kinds) or "nothing wrong"
