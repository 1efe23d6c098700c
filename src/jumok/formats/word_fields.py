"""Fields of Word, which lie between runs from their beginning to their end: page numbers, links."""

import re

from jumok.formats.runs import RunItem, RunMark, WriteRun

FIELD = re.compile(
    r"<(?:[\w.-]+:)?(?:fldChar\b[^>]*fldCharType=[\"'](begin|separate|end)|(instrText)\b[^>]*>([^<]*))"
)


def join_fields(items: list[RunItem], run: WriteRun) -> list[RunItem]:
    """Fields of Word from their beginning to their end: a link is a tag around its text, others points."""
    done: list[RunItem] = []
    starts: list[int] = []
    for item in items:
        found = FIELD.search(item.raw) if isinstance(item, RunMark) and item.side == "point" else None
        kind = found[1] if found else None
        if kind == "begin":
            starts.append(len(done))
        done.append(item)
        if kind == "end" and starts:
            begun = starts.pop()
            done[begun:] = _one_field(done[begun:], run)
    return done


def _one_field(items: list[RunItem], run: WriteRun) -> list[RunItem]:
    """All items of one field, from `begin` to `end`."""
    kinds = [FIELD.search(one.raw) if isinstance(one, RunMark) else None for one in items]
    code = "".join(found[3] for found in kinds if found and found[2])
    middle = next((place for place, found in enumerate(kinds) if found and found[1] == "separate"), None)
    if any(isinstance(one, RunMark) and one.side != "point" for one in items) and not code.strip().startswith(
        "HYPERLINK"
    ):
        return items  # it holds a link or a half of one: leave the order of things to the reader
    if middle is not None and code.strip().startswith("HYPERLINK"):
        before = "".join(one.raw for one in items[: middle + 1] if isinstance(one, RunMark))
        return [RunMark(before, "open"), *items[middle + 1 : -1], RunMark(_raw(items[-1], run), "close")]
    return [RunMark("".join(_raw(one, run) for one in items))]


def _raw(item: RunItem, run: WriteRun) -> str:
    return item.raw if isinstance(item, RunMark) else run(item.text, item.format)
