"""A glossary: which terms of a source have a fixed translation. Read from a file or a mapping, and checked.

A file has one term on each line: the term, a tab, what it becomes; further choices stand behind `|` or in
further columns, and any of them will do. `term<TAB>term` keeps a term as it is. Lines that begin with # are
comments.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumok.errors import ConfigError, DataError, LimitError
from jumok.terms.matching import TermIndex, TermMatch
from jumok.text.normalize import tidy

MOST_TERMS, LONGEST_TERM, MOST_CHOICES, LARGEST_FILE = 100_000, 200, 16, 32 << 20
Terms = Mapping[str, str | Sequence[str]]
"""What each term becomes: one text, or several of which any will do."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the source, and what it becomes: any one of the targets."""

    source: str
    targets: tuple[str, ...]


@dataclass(frozen=True)
class Glossary:
    """Terms that were checked. `notes` are what someone may want to know about them."""

    terms: tuple[Term, ...]
    notes: tuple[str, ...] = ()
    _indices: dict[str, TermIndex] = field(default_factory=dict, compare=False, repr=False)

    def __hash__(self) -> int:
        return hash(self.terms)

    def find(self, text: str, language: str = "") -> list[TermMatch]:
        """Where a text of a language has terms, in its order; where two overlap the longer one is taken."""
        if language not in self._indices:
            pairs = [(term.source, term.targets) for term in self.terms]
            self._indices[language] = TermIndex(pairs, language)
        return self._indices[language].find(text)


def glossary_of(given: "Glossary | Terms | str | Path") -> Glossary:
    """A glossary from what a caller has: the path of a file, or a mapping."""
    match given:
        case Glossary():
            return given
        case str() | Path():
            return read_glossary(given)
        case Mapping():
            return check_terms(from_mapping(given))
    raise ConfigError(
        f"a glossary is a file or a mapping, not {type(given).__name__}",
        hint='give the path of a TSV, or {"term": "translation"}',
    )


def read_glossary(path: str | Path) -> Glossary:
    """The glossary of a TSV; a DataError names the line that is wrong."""
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise LimitError(
                f"the glossary has {path.stat().st_size:,} bytes, and {LARGEST_FILE:,} are the most",
                where=str(path),
                hint="is it a glossary? leave out what is no term",
            )
        data = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"the glossary cannot be read: {error.strerror}", where=str(path), hint="check the path"
        ) from None
    return parse_glossary(data, str(path))


def parse_glossary(data: bytes, where: str = "glossary") -> Glossary:
    """The glossary in the bytes of a TSV."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return check_terms(parse_lines(lines, where))


def parse_lines(lines: Iterable[bytes], where: str) -> Iterator[tuple[str, Term]]:
    """Each term of these lines, and where it stands."""
    for number, line in enumerate(lines, start=1):
        place = f"{where}:{number}"
        try:
            text = line.decode().rstrip("\r")
        except UnicodeDecodeError as error:
            raise DataError(
                f"byte {error.start + 1} of the line is not UTF-8",
                where=place,
                hint="save the glossary as UTF-8",
                code="bad_encoding",
            ) from None
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        source, *columns = text.split("\t")
        if not columns:
            raise DataError(
                f"the term {source.strip()!r} has no translation",
                where=place,
                hint="write term, tab, translation; a term that stays as it is stands on both sides",
                code="bad_glossary",
            )
        choices = [choice for column in columns for choice in column.split("|")]
        yield place, checked_term(source, choices if any(map(str.strip, choices)) else [""], place)


def from_mapping(given: Terms) -> Iterator[tuple[str, Term]]:
    """Each term of a mapping, and where it stands."""
    for source, targets in given.items():
        place = f"glossary[{source!r}]"
        choices: list[Any] = list(targets) if isinstance(targets, (list, tuple)) else [targets]
        if not isinstance(source, str) or not all(isinstance(one, str) for one in choices):
            raise ConfigError(
                "a glossary has texts on both sides", where=place, hint='{"term": "translation"}'
            )
        yield place, checked_term(source, choices, place)


def checked_term(source: str, choices: Sequence[str], where: str) -> Term:
    """A term, tidied, if both sides have something that can be written."""
    source, targets = tidy(source), tuple(dict.fromkeys(filter(None, map(tidy, choices))))
    if not source or not targets:
        side = "translation" if source else "term"
        hint = "leave the line out, or write both sides"
        raise DataError(f"the {side} is empty", where=where, hint=hint, code="bad_glossary")
    longest = max((source, *targets), key=len)
    if len(longest) > LONGEST_TERM:
        raise LimitError(
            f"a term has {len(longest)} characters, and {LONGEST_TERM} are the most",
            where=where,
            hint="a glossary has terms, not sentences",
        )
    if len(targets) > MOST_CHOICES:
        raise LimitError(
            f"the term has {len(targets)} translations to choose from, and {MOST_CHOICES} are the most",
            where=where,
            hint="keep the best",
        )
    return Term(source, targets)


def check_terms(found: Iterable[tuple[str, Term]]) -> Glossary:
    """The glossary of these terms; one that says two things about a term is refused."""
    known: dict[str, tuple[str, Term]] = {}
    for place, term in found:
        before, first = known.setdefault(term.source.lower(), (place, term))
        if first.targets != term.targets:
            raise DataError(
                f"{term.source!r} becomes {' or '.join(first.targets)!r} at {before}, and "
                f"{' or '.join(term.targets)!r} here",
                where=place,
                hint="keep one of the lines; if either will do, write both on one line with | between them",
                code="bad_glossary",
            )
        if len(known) > MOST_TERMS:
            raise LimitError(
                f"there are more than {MOST_TERMS:,} terms", where=place, hint="split the glossary"
            )
    if not known:
        raise DataError(
            "the glossary has no terms", hint="write term, tab, translation on each line", code="bad_glossary"
        )
    terms = tuple(term for _, term in known.values())
    return Glossary(terms, tuple(notes_of(known)))


def notes_of(known: Mapping[str, tuple[str, Term]]) -> Iterator[str]:
    """What is allowed and may be meant otherwise."""
    for place, term in known.values():
        for target in term.targets:
            other = known.get(target.lower())
            if other is not None and target.lower() != term.source.lower():
                yield (
                    f"{place}: {target!r} is what {term.source!r} becomes and a term itself ({other[0]}); "
                    "terms are looked for in the source only"
                )
