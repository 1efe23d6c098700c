"""Pairs that a client has sent: written to files, and looked at as `jumok check` looks at files."""

import tempfile
from dataclasses import replace
from pathlib import Path

from jumok.data.corpus import open_corpus
from jumok.data.findings import Finding
from jumok.data.reader import examine
from jumok.server.gates.problems import Problem, bad_field
from jumok.server.trainer.schema import FindingOut, PairsOut, PairsRequest

UNREADABLE = {"empty", "unequal_lines", "bad_row", "no_pairs", "bad_encoding", "nul"}
"""Kinds of findings at which jumok train stops; the other errors are for people to judge."""


def sides(body: PairsRequest) -> dict[str, str]:
    """The texts by the endings of their files; 422 unless there is one column of pairs, or two columns."""
    if body.pairs is not None:
        if body.source is not None or body.target is not None:
            raise bad_field("pairs", "give either pairs, or source and target")
        return {"tsv": body.pairs}
    for side in ("source", "target"):
        if getattr(body, side) is None:
            raise bad_field(side, "give pairs, or source and target")
    return {"source.txt": body.source or "", "target.txt": body.target or ""}


def write_pairs(folder: Path, name: str, texts: dict[str, str]) -> list[Path]:
    """Files that jumok train reads, made anew: a name that is taken is an OSError."""
    paths = [folder / f"{name}.{ending}" for ending in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text.replace("\r\n", "\n").rstrip("\n") + "\n" * bool(text.strip("\r\n")))
    return paths


def look_at(body: PairsRequest) -> PairsOut:
    """What is wrong with the pairs, line by line."""
    with tempfile.TemporaryDirectory(prefix="jumok-pairs-") as folder:
        paths = write_pairs(Path(folder), "pairs", sides(body))
        corpus = open_corpus(*map(str, paths))
        names = ("source", "target") if len(paths) > 1 else ("pairs", "")
        report = examine(replace(corpus, names=names))
    return PairsOut(
        pairs=report.train.usable,
        findings=list(map(finding_out, report.findings)),
        trainable=not any(one.kind in UNREADABLE for one in report.findings) and report.train.usable > 1,
    )


def finding_out(found: Finding) -> FindingOut:
    """A finding without the options of a command line."""
    advice = "; ".join(part for part in found.advice.split("; ") if "--" not in part)
    return FindingOut(
        kind=found.kind,
        severity=found.severity,
        title=found.title,
        advice=advice,
        count=found.count,
        lines=list(found.lines),
        example=found.example,
    )


def refuse_unreadable(found: PairsOut) -> None:
    """422 for pairs at which jumok train would stop, with the first reason and its line."""
    if found.trainable:
        return
    worst = next((one for one in found.findings if one.kind in UNREADABLE), None)
    if worst is None:
        raise Problem(422, "bad_pairs", f"{found.pairs} pairs are too few to learn from: two are the least")
    where = f", line {worst.lines[0]:,}" if worst.lines else ""
    raise Problem(422, "bad_pairs", f"{worst.title}{where}: {worst.example or worst.advice}")
