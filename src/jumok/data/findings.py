"""The kinds of faults that a corpus can have, and what was found of each, with line numbers."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "info"]
FIRST_LINES = 10  # line numbers kept for each finding


@dataclass(frozen=True, slots=True)
class Kind:
    """One thing that can be wrong: how bad it is, how it reads in a report, and what to do about it."""

    severity: Severity
    title: str
    advice: str


KINDS: dict[str, Kind] = {
    "empty": Kind("error", "no pairs", "check the file names; both files are empty"),
    "unequal_lines": Kind(
        "error",
        "unequal line counts",
        "line n of one file must translate line n of the other: look for a line break inside a sentence or a "
        "file that was cut off; this cannot be repaired automatically",
    ),
    "shifted": Kind(
        "error",
        "lines out of step",
        "a line is missing or too many where it begins: put it right, and check again; --fix drops these",
    ),
    "sorted": Kind(
        "error",
        "one side sorted by itself",
        "the order of its lines is lost: go back to the files as they were; --fix cannot repair this",
    ),
    "bad_encoding": Kind("error", "not valid UTF-8", "convert the file to UTF-8; --fix drops these pairs"),
    "bad_row": Kind(
        "error", "not a pair", "write one source and one target per line; --fix drops these lines"
    ),
    "no_pairs": Kind(
        "error",
        "no line is a pair",
        "tell which columns or keys hold the source and the target: --columns A,B",
    ),
    "no_image": Kind("error", "no such picture", "names are compared with their endings, and capitals count"),
    "outside": Kind(
        "error", "names that lead outside", "give names relative to the folder or zip of the pictures"
    ),
    "bad_image": Kind(
        "error", "pictures that cannot be read", "training would stop at them: copy them again"
    ),
    "nul": Kind("error", "NUL characters", "the file may be binary or UTF-16; --fix removes the characters"),
    "swapped": Kind(
        "warning",
        "sides swapped",
        "the source reads like a target and the other way round; --fix drops these",
    ),
    "copied": Kind(
        "warning", "source copied to target", "a model learns not to translate; --fix drops these"
    ),
    "blank_side": Kind("warning", "blank on one side", "training leaves them out; --fix drops these"),
    "odd_length": Kind(
        "warning", "odd length ratio", "these may not be translations of each other; --fix drops these"
    ),
    "long_line": Kind(
        "warning",
        "very long lines",
        "far longer than the others: is a line break missing? Training leaves out what data.max_length does "
        "not hold; --fix drops these",
    ),
    "strangers": Kind(
        "warning",
        "pairs that do not seem to belong together",
        "the lines named fit worst: look at them, and at how the pairs were made; --fix does not touch these",
    ),
    "unrelated": Kind(
        "error",
        "pairs that do not belong together",
        "is one side in another order, or far out of step? This is right only where no word of a source has "
        "its own in the target, as in a chat or a sum; --fix cannot repair it",
    ),
    "foreign": Kind(
        "warning",
        "lines that may be in another language",
        "hardly a word of them is known on that side; --fix does not touch these",
    ),
    "misread": Kind(
        "warning",
        "text read in the wrong encoding",
        "such as Ã© for é; --fix writes what was UTF-8 as it was meant, and leaves the rest",
    ),
    "html": Kind(
        "warning",
        "HTML entities or tags",
        "the model will learn to write them; --fix does not touch these",
    ),
    "capitals": Kind(
        "warning",
        "lines all in capitals",
        "words in capitals are other words to a model; --fix does not touch these",
    ),
    "duplicate": Kind(
        "warning", "repeated pairs", "repeats weigh more in training; --fix keeps the first of each"
    ),
    "leak": Kind(
        "warning",
        "pairs also in train",
        "scores will look better than they are; --fix takes them out of train",
    ),
    "line_break": Kind(
        "warning",
        "line breaks inside a line",
        "VT, FF, U+0085, U+2028 or U+2029: other tools split the line there; --fix writes a space",
    ),
    "control": Kind("warning", "control characters", "--fix removes the characters"),
    "replacement": Kind(
        "warning",
        "replacement characters U+FFFD",
        "text was lost when the file was decoded: get the original",
    ),
    "few": Kind("warning", "very few pairs", "a model learns little from so few: some thousands are a start"),
    "blank_both": Kind("info", "blank on both sides", "training leaves them out; --fix drops these"),
    "untranslated": Kind("info", "not translated yet", "training leaves them out"),
    "many_targets": Kind("info", "one source, several targets", "normal in most corpora"),
    "shared_source": Kind("info", "sources also in train", "the same source with another target is in train"),
}
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of fault in one part of the corpus."""

    kind: str
    part: str
    count: int
    lines: tuple[int, ...] = ()
    """The first line numbers, counted from 1."""
    example: str = ""
    unit: str = "line"
    """What the numbers count: lines, or rows, units, entries or objects of a file that has these."""

    @property
    def severity(self) -> Severity:
        return KINDS[self.kind].severity

    @property
    def title(self) -> str:
        return KINDS[self.kind].title

    @property
    def advice(self) -> str:
        return KINDS[self.kind].advice

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | asdict(KINDS[self.kind]) | {"lines": list(self.lines)}


class FindingNotes:
    """Findings about one part of a corpus as they come up, line by line."""

    def __init__(self, part: str, unit: str = "line") -> None:
        self.part, self.unit = part, unit
        self.notes: dict[str, tuple[int, list[int], str]] = {}  # number, first lines, first example

    def add(self, kind: str, line: int, example: str) -> None:
        count, lines, first = self.notes.get(kind, (0, [], example))
        if len(lines) < FIRST_LINES:
            lines.append(line)
        self.notes[kind] = (count + 1, lines, first)

    def findings(self) -> list[Finding]:
        return [
            Finding(kind, self.part, count, tuple(lines), example, self.unit)
            for kind, (count, lines, example) in self.notes.items()
        ]
