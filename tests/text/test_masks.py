"""Spans as signs: what the model reads, and which characters of the sentence that is."""

from hypothesis import given
from hypothesis import strategies as st
from tests.text.test_protected import PIECES

from jumok.text.marks import MARKS
from jumok.text.masks import KeptSpan, Masked, mask
from jumok.text.protected import protected_spans


def masked(text: str, *, marks: bool = True) -> Masked:
    return mask(text, protected_spans(text), marks=marks)


def test_marks_stand_in_the_order_of_the_source() -> None:
    one = masked("Hi {name}, see https://a.org.")
    assert one.text == "Hi ⓵, see ⓶."
    assert [kept.text for kept in one.kept] == ["{name}", "https://a.org"]
    assert masked("Hi {name}!", marks=False).text == "Hi {name}!"


def test_what_is_known_of_a_span() -> None:
    kept = KeptSpan("⓵", "{name}", "placeholder", before='"', after='"', place=0.5)
    places = (0, 1, 2, 3, 4, 5, 11, 12, 13, 14, 15, 16)
    assert masked('Say "{name}" now') == Masked(
        'Say "{name}" now', 'Say "⓵" now', (kept,), places, capitals=False, marks=True, inner=False
    )
    first, last = masked("{a} b%s", marks=False).kept
    assert (first.before, first.after, first.place) == ("", " ", 0.0)
    assert (last.before, last.after, last.place, last.sign) == ("b", "", 1.0, "%s")
    assert masked("a{n}").kept[0].place == 1.0


def test_a_sentence_is_plain_if_it_is_read_as_it_stands() -> None:
    assert masked("Hi", marks=False) == Masked("Hi", "Hi", (), (), capitals=False, marks=False, inner=False)
    assert Masked("Hi", "Hi", marks=True).plain is True
    assert masked("Hi {n}", marks=False).plain is False
    assert Masked("HI", "hi", capitals=True).plain is False
    assert Masked("Hi", "Hi", inner=True).plain is False


def test_spans_that_touch_are_one() -> None:
    assert masked("<b>{n}</b> of %s%d").text == "⓵ of ⓶"
    assert [kept.kind for kept in masked("<b>{n} <i><b> %s").kept] == ["placeholder", "tag", "placeholder"]


def test_of_more_spans_than_marks_neighbours_are_one_and_the_last_stay() -> None:
    listed = masked("Use " + ", ".join(f"{{a{n}}}" for n in range(12)) + " here")
    assert listed.text == "Use ⓵ here"
    many = masked(" or ".join(f"{{a{n}}}" for n in range(12)))
    assert [kept.sign for kept in many.kept] == [*MARKS, "{a10}", "{a11}"]
    assert masked(", ".join(f"{{a{n}}}" for n in range(10))).text == ", ".join(MARKS)
    assert masked(" or ".join([*(f"{{a{n}}}" for n in range(9)), "⓶"])).text == " or ".join(MARKS)
    own = masked(" or ".join([*(f"{{a{n}}}" for n in range(11)), "⓶"]))
    assert [kept.sign for kept in own.kept if kept.sign == "⓶"] == ["⓶"]


def test_a_message_has_holes_where_it_has_words() -> None:
    one = masked("{n, plural, =0 {} one { # file } other {#}}")
    assert [one.kept[0].text[slice(*hole)] for hole in one.kept[0].holes] == ["# file"]
    assert (one.holes, masked("{n}").holes) == (1, 0)
    short = masked("<b>{n, plural, one {a} other {b}}").kept[0]
    assert [short.text[slice(*hole)] for hole in short.holes] == ["a", "b"]
    assert one.kept[0].filled(["# Datei"]) == "{n, plural, =0 {} one { # Datei } other {#}}"


def test_a_translation_with_signs() -> None:
    assert masked("Hi {name}, {n}").with_signs("{n}, hallo {name}") == "⓶, hallo ⓵"
    assert masked("Hi {name}").with_signs("{name}, {name}") == "⓵, {name}"


@given(text=st.lists(PIECES, max_size=40).map("".join), marks=st.booleans())
def test_every_character_that_is_read_has_its_place(text: str, *, marks: bool) -> None:
    one = masked(text, marks=marks)
    edges = one.places or range(len(text) + 1)
    assert len(edges) == len(one.text) + 1
    assert list(edges) == sorted(edges)
    signs = {kept.sign: kept.text for kept in one.kept}
    for place, character in enumerate(one.text):
        begin, end = one.source_span((place, place + 1))
        if character not in signs or len(signs[character]) == 1:
            assert text[begin:end] == signs.get(character, character)
        else:
            assert text[begin:end] == signs[character]
