"""Where the models differ: test sentences that not all models answer alike, answers beside the reference."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from jumok.comparison.markup import section
from jumok.comparison.svg import esc, tone_of
from jumok.comparison.view import Json, View, at, items, word

MOST, LONGEST = 8, 600


def examples_section(view: View) -> str:
    entries = [one for one in view.lineage if items(one, "quality", "examples")]
    cards = [card(view, *one) for one in telling(entries)]
    lead = "Test sentences that not all models answer alike. What differs from the reference is marked."
    return section("examples", "Where the models differ", lead, *cards)


def telling(entries: Sequence[Json]) -> list[tuple[str, str, list[tuple[Json, str]]]]:
    """(source, reference, answers) where answers differ, or all of a lone entry; the most mixed first."""
    found: dict[tuple[str, str], list[tuple[Json, str]]] = {}
    for entry in entries:
        for one in items(entry, "quality", "examples"):
            asked = (word(one, "source"), word(one, "reference"))
            found.setdefault(asked, []).append((entry, word(one, "hypothesis")))
    mixed = [
        (source, reference, answers)
        for (source, reference), answers in found.items()
        if len({text for _, text in answers}) > 1 or len(entries) == 1
    ]

    def order(one: tuple[str, str, list[tuple[Json, str]]]) -> tuple[int, bool]:
        right = sum(text.strip() == one[1].strip() for _, text in one[2])
        return -len(one[2]), not 0 < right < len(one[2])

    return sorted(mixed, key=order)[:MOST]


def card(view: View, source: str, reference: str, answers: Sequence[tuple[Json, str]]) -> str:
    languages = [word(at(view.report, "data"), f"{side}_language") for side in ("source", "target")]
    from_, to = (f' lang="{esc(one)}"' if one else "" for one in languages)
    rows = [
        f'<dt>source</dt><dd dir="auto"{from_}>{esc(cut(source))}</dd>',
        f'<dt>reference</dt><dd dir="auto"{to}>{esc(cut(reference))}</dd>',
    ]
    for entry, text in answers:
        same = text.strip() == reference.strip()
        sign = '<span class="ok" title="equal to the reference">✓</span>' if same else ""
        rows.append(
            f'<dt class="{tone_of(view.tone(entry))}">{esc(word(entry, "name"))}</dt>'
            f'<dd dir="auto"{to}>{esc(cut(text)) if same else marked(cut(text), cut(reference))}{sign}</dd>'
        )
    return f'<dl class="example">{"".join(rows)}</dl>'


def cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def marked(text: str, reference: str) -> str:
    """The answer with what the reference has not, or has elsewhere, marked; by words, or by letters."""
    by_words = " " in reference.strip() or " " in text.strip()
    ours, theirs = (one.split() if by_words else list(one) for one in (text, reference))
    glue = " " if by_words else ""
    parts = []
    for what, start, end, from_, to in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        piece = esc(glue.join(ours[start:end]))
        if what == "equal":
            parts.append(piece)
        elif what == "insert":
            parts.append(f'<del title="left out: {esc(glue.join(theirs[from_:to]))}">‸</del>')
        else:
            parts.append(f"<mark>{piece}</mark>")
    return glue.join(parts) or "<mark>nothing</mark>"
