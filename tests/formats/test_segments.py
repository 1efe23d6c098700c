from jumok.formats.segments import Languages, MarkedText, Segment, Tag


def test_a_tag_without_an_end_is_a_point() -> None:
    text = MarkedText("bold break", (Tag(0, 4, "<b>", "</b>"), Tag(4, 4, "<br/>")))
    assert [tag.is_point for tag in text.tags] == [False, True]


def test_what_nobody_says_is_translated_as_running_text() -> None:
    assert not Tag(0, 4, "<b>", "</b>").keep
    assert Segment(MarkedText("a"), "line 1") == Segment(
        MarkedText("a", (), None), "line 1", None, sentences=True
    )
    assert Languages() == Languages("", "")
