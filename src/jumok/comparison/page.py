"""The report as one HTML file: report.json and the page's own charts inside, and nothing to load.

It opens from disk and draws itself. Without scripts it still has the summary and the main table.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from jumok.explain.page import block, bundle, one_line, policy, to_json

NO_MODELS: Mapping[str, Any] = {"models": [], "traces": [], "answers": {}}
"""Tells the page's parts that there is no server to ask."""
WORDS = ("chart", "figure", "shell")  # the messages that charts and their frames need


def report_page(report: Mapping[str, Any]) -> str:
    """The page of a report of schema compare/1. Equal reports give equal pages."""
    page = bundle("report")
    words = {"en": {name: page.words["en"][name] for name in WORDS}}
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy(page)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="generator" content="jumok">',
            f"<title>{escape(one_line(report['title']))}</title>",
            '<link rel="icon" href="data:,">',
            f"<style>{page.style}</style>",
            "</head>",
            "<body>",
            '<div id="app"></div>',
            f"<noscript>{plain_html(report)}</noscript>",
            block("application/json", "jumok-words", to_json(words)),
            block("application/json", "jumok-data", to_json(NO_MODELS)),
            block("application/json", "jumok-report", to_json(report)),
            f"<script>{page.script}</script>",
            "</body>",
            "</html>",
            "",
        )
    )


def plain_html(report: Mapping[str, Any]) -> str:
    """The summary's sentences and the main table, for browsers that run no scripts."""
    said = "".join(f"<li>{text(sentence)}</li>" for sentence in report["summary"])
    head = ["model", report["metric"]["label"], "95 % interval", "parameters", "steps", "seconds", "status"]
    rows = "".join(f"<tr>{cells('td', main_row(entry))}</tr>" for entry in report["entries"])
    return (
        f"<main><h1>{text(report['title'])}</h1><p>The figures of this report need scripts; "
        f"its numbers are in report.json.</p><ul>{said}</ul>"
        f'<table class="data"><thead><tr>{cells("th", head)}</tr></thead><tbody>{rows}</tbody></table></main>'
    )


def main_row(entry: Mapping[str, Any]) -> list[str]:
    quality = entry["quality"] or {}
    value, ends = quality.get("value"), quality.get("ci95")
    return [
        entry["name"],
        "–" if value is None else f"{value:.1f}",
        "–" if ends is None else f"{ends[0]:.1f} to {ends[1]:.1f}",
        *(f"{entry[key]:,.0f}" if entry.get(key) is not None else "–" for key in ("parameters", "steps")),
        f"{entry['train_s']:.0f}" if entry.get("train_s") is not None else "–",
        entry["status"],
    ]


def cells(tag: str, texts: Sequence[str]) -> str:
    return "".join(f"<{tag}>{text(one)}</{tag}>" for one in texts)


def text(value: str) -> str:
    return escape(one_line(value))
