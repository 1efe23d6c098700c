"""Markup that need not move: what stands around a whole text, and equal neighbours that are one."""

from dataclasses import replace

from jumok.formats.segments import MarkedText, Tag


def peeled(marked: MarkedText) -> tuple[str, MarkedText, str]:
    """Markup around the whole text is taken off, and is what stands before and behind it."""
    before, after, tags, size = "", "", list(marked.tags), len(marked.text)
    while tags:
        first, last = tags[0], tags[-1]
        if first.is_point and first.begin == 0:
            before += tags.pop(0).open
        elif (
            last.is_point and last.begin == size
        ):  # outside of every tag: what is inside is part of its close
            after = tags.pop().open + after
        elif not first.is_point and (first.begin, first.end) == (0, size):
            before, after = before + first.open, first.close + after
            tags.pop(0)
        else:
            break
    return before, MarkedText(marked.text, tuple(tags)), after


def joined(marked: MarkedText) -> MarkedText:
    """Equal tags that follow each other with nothing between them become one."""
    tags: list[Tag] = []
    for tag in marked.tags:
        if tags and not tag.is_point and _same(tags[-1], tag) and not _held(tags):
            tags[-1] = replace(tags[-1], end=tag.end)
        else:
            tags.append(tag)
    return MarkedText(marked.text, tuple(tags))


def _same(one: Tag, other: Tag) -> bool:
    return (one.end, one.open, one.close, one.keep) == (other.begin, other.open, other.close, other.keep)


def _held(tags: list[Tag]) -> bool:
    """Whether the last tag ends with a tag around it: it cannot go on behind that."""
    last = tags[-1]
    return any(one.begin <= last.begin and one.end == last.end and not one.is_point for one in tags[:-1])
