"""Settings: where the entries differ, what they share, and how the report was made."""

import json
from typing import Any

from jumok.comparison.markup import Table, folded, section, table_html
from jumok.comparison.numbers import NONE, seconds, short, text_of, whole
from jumok.comparison.svg import esc
from jumok.comparison.view import View, at, fields, word


def settings_section(view: View) -> str:
    entries = [one for one in view.entries if fields(one, "settings")]
    names = sorted({name for one in entries for name in fields(one, "settings")})
    same, different = [], []
    for name in names:
        values = [written(fields(one, "settings").get(name)) for one in entries]
        if len(set(values)) == 1:
            same.append([name, values[0]])
        else:
            different.append([name, *values])
    parts = [made(view)]
    if different:
        head = ["setting", *(word(one, "name") for one in entries)]
        parts.append(folded("Where the entries differ", table_html(Table(head, different))))
    if same:
        parts.append(folded("Settings that all entries share", table_html(Table(["setting", "value"], same))))
    return section("settings", "Settings", "All that is needed to run this again.", *parts)


def written(value: Any) -> str:
    if value is None:
        return NONE
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def made(view: View) -> str:
    """The command, the data, the machine and the budget."""
    report = view.report
    facts = {
        "command": code(word(report, "command")),
        "data": esc(data_text(view)),
        "SHA-256 of the data": code(word(report, "data", "sha256")),
        "metric": code(word(report, "metric", "signature")),
        "budget of each model": esc(budget_text(view)),
        "machine": esc(machine_text(view)),
        "made": esc(" ".join(filter(None, (word(report, "made"), version_text(view))))),
    }
    rows = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts.items() if text)
    return f'<dl class="facts">{rows}</dl>' if rows else ""


def code(text: str) -> str:
    return f"<code>{esc(text)}</code>" if text else ""


def version_text(view: View) -> str:
    version = word(view.report, "version")
    return f"with jumok {version}" if version else ""


def machine_text(view: View) -> str:
    machine = fields(view.report, "machine")
    cores = at(machine, "cores")
    return ", ".join(
        filter(None, (word(machine, "name"), f"{cores} cores" if cores else "", word(machine, "device")))
    )


def data_text(view: View) -> str:
    data = fields(view.report, "data")
    counts = [
        f"{text_of(at(data, name), whole)} {what} pairs"
        for name, what in (("train", "training"), ("valid", "validation"), ("test", "test"))
        if at(data, name) is not None
    ]
    tested = word(data, "test_name")
    parts = [word(data, "name"), *counts, f"test set: {tested}" if tested else ""]
    if at(data, "vocabulary") is not None:
        parts.append(f"{text_of(at(data, 'vocabulary'), whole)} pieces of vocabulary")
    return ", ".join(filter(None, parts))


def budget_text(view: View) -> str:
    """The budget in words: 70 s of training, 1,000 steps."""
    budget = fields(view.report, "budget")
    value = at(budget, "value")
    match word(budget, "kind"):
        case "time":
            return f"{text_of(value, seconds)} of training"
        case "steps":
            return f"{text_of(value, whole)} steps"
        case "flops":
            return f"{text_of(value, short)} FLOPs"
    return ""
