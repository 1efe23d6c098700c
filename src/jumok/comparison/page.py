"""The report as one HTML file: the story from top to bottom, every number in reach, nothing to load.

It opens from disk and needs no script to be read. One small script, known to the content policy by its hash,
saves the JSON that is inside, and each figure as SVG.
"""

from collections.abc import Mapping
from importlib.resources import files
from math import isfinite
from typing import Any

from jumok.comparison.markup import folded, shown
from jumok.comparison.numbers import percent, real, whole
from jumok.comparison.sections.ablations import ablation_section
from jumok.comparison.sections.attention import attention_section
from jumok.comparison.sections.cost import growth_section, speed_section
from jumok.comparison.sections.examples import examples_section
from jumok.comparison.sections.learning import learning_section
from jumok.comparison.sections.lengths import beyond_section, length_section
from jumok.comparison.sections.quality import quality_section
from jumok.comparison.sections.settings import budget_text, settings_section
from jumok.comparison.svg import esc
from jumok.comparison.view import View, at, fields, items, names, word
from jumok.explain.page import block, one_line, sha256, to_json

ROOM = 450_000  # bytes of JSON that the page carries; examples go first where there is more
AT_ONCE = 8  # sentences of the summary
SECTIONS = {
    "table": ("Side by side", quality_section),
    "length": ("Length", length_section),
    "learning": ("Learning", learning_section),
    "speed": ("Speed", speed_section),
    "growth": ("Growth", growth_section),
    "attention": ("Attention", attention_section),
    "beyond": ("Beyond", beyond_section),
    "ablations": ("Ablations", ablation_section),
    "examples": ("Examples", examples_section),
    "settings": ("Settings", settings_section),
}


def report_page(report: Mapping[str, Any]) -> str:
    """The page of a report of schema compare/1. What the report has not is left out of the page."""
    view = View(clean(report))
    style, script = (
        files("jumok.comparison").joinpath(name).read_text("utf-8") for name in ("style.css", "save.js")
    )
    sections = {id: html for id, (_, make) in SECTIONS.items() if (html := make(view))}
    summary = summary_section(view)
    links = {"summary": "In short"} if summary else {}
    links |= {id: SECTIONS[id][0] for id in sections}
    nav = "".join(f'<li><a href="#{id}">{name}</a></li>' for id, name in links.items())
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy(style, script)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="generator" content="jumok">',
            f"<title>{esc(one_line(title_of(view)))}</title>",
            '<link rel="icon" href="data:,">',
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            header(view),
            f'<nav aria-label="Sections"><ol>{nav}</ol></nav>',
            "<main>",
            failures(view),
            summary,
            *sections.values(),
            "</main>",
            footer(view),
            block("application/json", "report", embedded(view.report)),
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        )
    )


def clean(value: Any) -> Any:
    """The report with null where JSON has no number."""
    if isinstance(value, Mapping):
        return {str(key): clean(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [clean(inner) for inner in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def policy(style: str, script: str) -> str:
    """The content policy: this style and this script, and no network."""
    rules = (
        "default-src 'none'",
        f"script-src {sha256(script)}",
        f"style-src {sha256(style)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)


def embedded(report: Mapping[str, Any]) -> str:
    """The report as JSON; a very large one goes without its examples, and says so."""
    text = to_json(report)
    if len(text.encode("utf-8", "replace")) <= ROOM:
        return text
    entries = [
        {**one, "quality": {**fields(one, "quality"), "examples": []}} if at(one, "quality") else one
        for one in items(report, "entries")
    ]
    return to_json({**report, "entries": entries, "left_out": ["examples"]})


def title_of(view: View) -> str:
    return word(view.report, "title") or f"{names(view, view.lineage) or 'Models'} compared"


def header(view: View) -> str:
    """What was compared, on what, under which conditions: one sentence, from the report's own fields."""
    data = fields(view.report, "data")
    sentence = [esc(names(view, view.lineage))] if view.lineage else []
    if real(at(data, "train")) is not None:
        name = word(data, "name")
        pairs = f"{shown(at(data, 'train'), whole)} pairs" + (f" of {esc(name)}" if name else "")
        sentence.append(f"trained on the same {pairs}")
    if budget := budget_text(view):
        sentence.append(f"{esc(budget)} each")
    if real(at(data, "test")) is not None:
        sentence.append(f"tested on {shown(at(data, 'test'), whole)} pairs")
    text = ", ".join(sentence)
    said = f"<p>{text}. {sizes(view)}</p>" if text else ""
    return f'<header><p class="brand">jumok<i></i></p><h1>{esc(title_of(view))}</h1>{said}</header>'


def sizes(view: View) -> str:
    """How near the parameter counts are to each other."""
    spread = real(at(view.report, "budget", "spread"))
    if spread is None or len(view.lineage) < 2:
        return ""
    far = shown(spread, percent)
    if at(view.report, "budget", "matched") is True:
        return f"Parameter counts are matched: the largest is {far} above the smallest."
    return f"Parameter counts are not matched: the largest is {far} above the smallest."


def failures(view: View) -> str:
    """Entries that did not finish, and why: said before any figure."""
    lines = []
    for entry in view.entries:
        status = word(entry, "status")
        if status == "completed":
            continue
        error = fields(entry, "error")
        reason = ": ".join(filter(None, (word(error, "where"), word(error, "message"))))
        hint = word(error, "hint")
        said = (f" — {esc(reason)}" if reason else "") + (f" <span>({esc(hint)})</span>" if hint else "")
        lines.append(f"<li><b>{esc(word(entry, 'name'))}</b> {esc(status or 'unknown')}{said}</li>")
    many = f"{len(lines)} of {len(view.entries)} models did not finish"
    return f'<aside class="banner"><p>{many}</p><ul>{"".join(lines)}</ul></aside>' if lines else ""


def summary_section(view: View) -> str:
    """The sentences of the report, the first ones at once."""
    said = [f"<li>{esc(one)}</li>" for one in items(view.report, "summary") if one]
    if not said:
        return ""
    at_once = said if len(said) <= AT_ONCE + 2 else said[:AT_ONCE]
    rest = said[len(at_once) :]
    more = folded(f"{len(rest)} more", f'<ul class="summary">{"".join(rest)}</ul>') if rest else ""
    return (
        f'<section id="summary"><h2>In short</h2><ul class="summary">{"".join(at_once)}</ul>{more}</section>'
    )


def footer(view: View) -> str:
    version = word(view.report, "version")
    made = f"Made by jumok {esc(version)} with jumok compare" if version else "Made with jumok compare"
    return (
        f"<footer><p>{made}. Every number on this page is in its JSON: "
        '<a id="save" href="report.json" download="report.json">save report.json</a>.</p></footer>'
    )
