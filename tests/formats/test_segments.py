from jumok.formats.segments import MarkedText, Tag


def test_a_tag_without_an_end_is_a_point() -> None:
    text = MarkedText("bold break", (Tag(0, 4, "<b>", "</b>"), Tag(4, 4, "<br/>")))
    assert [tag.is_point for tag in text.tags] == [False, True]
