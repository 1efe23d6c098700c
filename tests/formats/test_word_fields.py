from jumok.formats.runs import RunItem, RunMark, RunText
from jumok.formats.word_fields import join_fields


def mark(kind: str) -> RunMark:
    return RunMark(f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>')


def code(text: str) -> RunMark:
    return RunMark(f"<w:r><w:instrText>{text}</w:instrText></w:r>")


def joined(items: list[RunItem]) -> list[RunItem]:
    return join_fields(items, lambda text, format: f"[{format}:{text}]")


def test_a_field_is_one_point() -> None:
    field = [mark("begin"), code("PAGE"), mark("separate"), RunText("3", "B"), mark("end")]
    found = joined([RunText("a", ""), *field, RunText("b", "")])
    assert [type(one) for one in found] == [RunText, RunMark, RunText]
    assert "[B:3]" in found[1].raw  # type: ignore[union-attr]


def test_a_link_is_a_tag_around_its_text() -> None:
    found = joined([mark("begin"), code(" HYPERLINK x"), mark("separate"), RunText("here", ""), mark("end")])
    assert found == [
        RunMark(mark("begin").raw + code(" HYPERLINK x").raw + mark("separate").raw, "open"),
        RunText("here", ""),
        RunMark(mark("end").raw, "close"),
    ]
    link: list[RunItem] = [mark("begin"), code("HYPERLINK"), mark("separate"), RunMark("<pic/>"), mark("end")]
    assert joined(link) == [
        RunMark(mark("begin").raw + code("HYPERLINK").raw + mark("separate").raw, "open"),
        RunMark("<pic/>"),
        RunMark(mark("end").raw, "close"),
    ]


def test_a_field_that_only_speaks_of_a_link_is_a_point() -> None:
    link = mark("begin"), code('QUOTE "HYPERLINK"'), mark("separate"), RunText("x", ""), mark("end")
    assert [type(one) for one in joined([*link])] == [RunMark]
    assert [type(one) for one in joined([mark("begin"), code("HYPERLINK x"), mark("end")])] == [RunMark]


def test_halves_of_fields_stay_where_they_are() -> None:
    items: list[RunItem] = [
        mark("end"),
        RunText("a", ""),
        mark("begin"),
        code("TOC"),
        mark("separate"),
        RunText("b", ""),
    ]
    assert joined(items) == items


def test_a_field_that_crosses_a_link_is_left_in_order() -> None:
    items: list[RunItem] = [
        mark("begin"),
        code("REF"),
        RunMark("<l>", "open"),
        mark("end"),
        RunMark("</l>", "close"),
    ]
    assert joined(items) == items
