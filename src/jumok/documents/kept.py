"""Text inside tags that keep it, put back where a model has changed it."""

from dataclasses import replace

from jumok.formats.segments import MarkedText, Tag


def restored(source: MarkedText, target: MarkedText) -> tuple[MarkedText, list[str]]:
    """The target with the text of the source inside every tag that keeps it, and what had been changed.

    Tags are matched by their markup, in order. Inside such a tag others cover all of it, or nothing.
    """
    waiting: dict[tuple[str, str], list[str]] = {}
    for tag in source.tags:
        if is_kept(tag):
            waiting.setdefault((tag.open, tag.close), []).append(source.text[tag.begin : tag.end].strip())
    changed = list[str]()
    number = 0
    while waiting and number < len(target.tags):
        tag = target.tags[number]
        texts = waiting.get((tag.open, tag.close))
        if is_kept(tag) and texts:
            text = texts.pop(0)
            if target.text[tag.begin : tag.end] != text:
                changed.append(text)
                target = replaced(target, number, text)
        number += 1
    return target, changed


def is_kept(tag: Tag) -> bool:
    """Whether a tag has text that stays."""
    return tag.keep and not tag.is_point


def replaced(marked: MarkedText, number: int, text: str) -> MarkedText:
    """Another text inside the tag of this number. What stood around a part of the old one has all of it."""
    tag = marked.tags[number]
    begin, end, by = tag.begin, tag.end, len(text) - (tag.end - tag.begin)
    tags = list[Tag]()
    for n, one in enumerate(marked.tags):
        if n < number:  # before the tag, or around it
            tags.append(replace(one, end=one.end + by) if one.end > begin else one)
        elif n == number or (begin <= one.begin < end and one.begin < one.end):
            tags.append(replace(one, begin=begin, end=end + by))
        elif one.begin < end:
            tags.append(replace(one, begin=begin, end=begin))
        else:
            tags.append(replace(one, begin=one.begin + by, end=one.end + by))
    return MarkedText(marked.text[:begin] + text + marked.text[end:], tuple(tags))
