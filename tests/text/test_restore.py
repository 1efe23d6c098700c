"""Spans come back exactly once, whatever the model wrote; and with spaces as in the source."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.text.test_protected import PIECES

from jumok.text.layouts import Protection, TextMasker
from jumok.text.masks import Masked, mask
from jumok.text.protected import ProtectedSpan, protected_spans
from jumok.text.restore import Restored, is_nested, restore, restore_all


def masked(text: str, *, marks: bool = True) -> Masked:
    return mask(text, protected_spans(text), marks=marks)


@given(text=st.lists(PIECES, max_size=40).map("".join), marks=st.booleans())
def test_an_answer_that_is_the_source_gives_the_source(text: str, *, marks: bool) -> None:
    one = masked(text, marks=marks)
    holes = [kept.text[slice(*hole)] for kept in one.kept for hole in kept.holes]
    assert restore(one, one.text, holes).text == text


WORDS = st.sampled_from(
    ["der", "Hund", ".", ",", "{x}", "%d", "⓵", "⓶", "⓷", "</b>", "<b>", "{name}", "%s", " ", "中"]
)
SOURCES = st.lists(
    st.sampled_from(["a", "dog", "{name}", "%s", "{n}", "https://a.org/x", "<b>", "</b>", "😀", "."]),
    max_size=9,
)


@given(
    source=SOURCES,
    answer=st.lists(WORDS, max_size=12),
    marks=st.booleans(),
    language=st.sampled_from(["de", "zh", ""]),
)
def test_every_placeholder_is_there_as_often_as_in_the_source(
    source: list[str], answer: list[str], *, marks: bool, language: str
) -> None:
    text = " ".join(source)
    one = masked(text, marks=marks)
    found = restore(one, " ".join(answer), language=language).text
    for sign in ("{name}", "%s", "{n}", "https://a.org/x", "<b>", "</b>", "😀"):
        assert found.count(sign) == text.count(sign) or not one.kept, (sign, found)
    if marks or one.kept:
        assert not (re.search("[⓵⓶⓷]", found) if marks else re.search("{x}|%d", found)), found


@given(source=SOURCES, answer=st.lists(WORDS, max_size=12), marks=st.booleans())
def test_places_of_an_answer_grow_and_end_inside(
    source: list[str], answer: list[str], *, marks: bool
) -> None:
    written = " ".join(answer)
    found = restore(masked(" ".join(source), marks=marks), written)
    assert len(found.places) == len(written) + 1
    assert list(found.places) == sorted(found.places)
    assert found.places[-1] <= len(found.text)


@pytest.mark.parametrize(
    ("source", "answer", "text"),
    [
        ("Hi {name}!", "Hallo ⓵!", "Hallo {name}!"),
        ("Hi {name}!", "Hallo!", "Hallo {name}!"),
        ("{name} is here", "ist hier", "{name} ist hier"),
        ("Open {name}", "öffnen", "öffnen {name}"),
        ("Hi {name} you", "Hallo ⓵ du ⓵", "Hallo {name} du"),
        ("Hi {name} you", "Hallo⓵du", "Hallo {name} du"),
        ("Version v{n} is", "Version v ⓵ ist", "Version v{n} ist"),
        ('The "{n}" is', 'Das " ⓵ " ist', 'Das "{n}" ist'),
        ("See {a} and {b}", "Siehe ⓶ und ⓵", "Siehe {b} und {a}"),
        ("<b>bold</b> text", "Text ⓶fett⓵", "Text <b>fett</b>"),
        ("a {x} b", "{y} c", "{x} c"),
        ("a {x} b", "⓹ c ⓵", "c {x}"),
        ("{n} files", "⓵ 文件", "{n} 文件"),
        ("a {x} b", "c} ⓵ {{ d", "c {x}  d"),
        ("%PRODUCTNAME-Hilfe", "⓵Help", "%PRODUCTNAME Help"),
        ("Hilfe-%PRODUCTNAME-Hilfe", "Help⓵", "Help%PRODUCTNAME"),
        ("in sensor.a_b(c)", "in⓵ c", "in sensor.a_b c"),
        ("{n} see it", "⓵ siehe ⓵", "{n} siehe"),
        ("ab {n} cd", "⓵ b ⓵", "b {n}"),
        ("a {n} b", "⓵ 12345 c", "{n} 12345 c"),
        ("5%d of {n}", "⓵ von %d 5", "{n} von %d 5"),
        ("{a} {b}", "⓵{x}", "{a} {b}"),
        ("{a} {b}", "{x}⓵", "{b} {a}"),
        ("{a} and {b}", "{b} und {a}", "{b} und {a}"),
        ("See https://a.org and https://b.org", "https://c.org⓵ und ⓶", "https://a.org und https://b.org"),
        ("See https://a.org and https://b.org", "⓵https://c.org und ⓶", "https://a.org und https://b.org"),
        ("See https://a.org now", "⓵ und https://c.org", "https://a.org und"),
        ("https://a.org/%20x is", "100 % ⓵", "100 % https://a.org/%20x"),
        ("<b>x</b>", "⓵x⓶ >", "<b>x</b> "),
        ("{a} {b}", "⓵", "{a} {b}"),
        ("{a} {b}", "⓶", "{a} {b}"),
        ("{n} is.", "x.", "{n} x."),
        ('The "{n}" is', 'Das "x⓵" ist', 'Das "x{n}" ist'),
        ('The "{n}" is', 'Das ⓵" ist', 'Das {n}" ist'),
        ("a {x}", " b ⓵", " b {x}"),
        ("a {x} b", "c ⓹ d ⓵", "c d {x}"),
        ("a {x}", "b ⓵ ", "b {x} "),
        ("a {x}", "b ⓵ ⓹", "b {x}"),
    ],
)
def test_answers(source: str, answer: str, text: str) -> None:
    assert restore(masked(source), answer).text == text


def test_spans_that_an_answer_lacks_stand_as_far_in_as_in_the_source() -> None:
    signs = masked("Copy %s to %s", marks=False)
    assert restore(signs, "Kopiere nach").text == "Kopiere %s nach %s"
    assert restore(signs, "Kopiere nach").put_in == 2
    assert restore(signs, "Kopiere %s nach").text == "Kopiere %s nach %s"
    assert restore(masked("%s files", marks=False), "%sdateien").text == "%s dateien"


@pytest.mark.parametrize(
    ("source", "kept", "answer", "text"),
    [
        ("fooBarbaz is", "Bar", "das fooBarbaz ist", "das fooBarbaz ist"),
        ("Bar is", "Bar", "Barbar ist", "Bar Barbar ist"),
        ("Bar is", "Bar", "xBar ist", "Bar xBar ist"),
        ("B1 is", "B1", "B12 ist", "B1 B12 ist"),
        ("1B is", "1B", "21B ist", "1B 21B ist"),
        ("1B is", "1B", "x1B2 ist", "x 1B 2 ist"),
    ],
)
def test_a_sign_is_no_part_of_a_word_unless_it_is_in_the_source(
    source: str, kept: str, answer: str, text: str
) -> None:
    place = source.index(kept)
    signs = mask(source, [ProtectedSpan(place, place + len(kept), "keep")], marks=False)
    assert restore(signs, answer).text == text


def test_a_span_that_would_become_a_word_with_its_neighbour_has_a_space() -> None:
    one = mask("xBar is", [ProtectedSpan(1, 4, "keep")], marks=True)
    assert restore(one, "foox⓵").text == "fooxBar"
    assert restore(one, 'der "foo⓵').text == 'der "foo Bar'


def test_marks_that_stand_for_nothing_are_taken_out() -> None:
    assert restore(masked("plain text"), "⓵ a ⓶ b ⓵").text == "a b"
    assert restore(masked("plain text", marks=False), "⓵ a").text == "⓵ a"


def test_where_the_characters_of_an_answer_went() -> None:
    found = restore(masked("Hi {name}!"), "Hey ⓵!")
    assert (found.text, found.places, found.put_in) == ("Hey {name}!", (0, 1, 2, 3, 4, 10, 11), 0)
    assert found.span((4, 5)) == (4, 10)
    assert found.span((2, 4)) == (2, 4)
    assert restore(masked("Hi {name}!"), "Hey!").put_in == 1
    assert restore(masked("Hi!"), "Hey") == Restored("Hey", (0, 1, 2, 3))


def test_what_stands_for_itself_is_counted_and_mended() -> None:
    signs = masked("Use %s of %s in {name} now", marks=False)
    assert restore(signs, "Nutze %s von %s in {name} jetzt").text == "Nutze %s von %s in {name} jetzt"
    assert restore(signs, "Nutze %s in {nam} jetzt").text.count("%s") == 2
    assert restore(signs, "Nutze %s von %s in {nam} jetzt").text == "Nutze %s von %s in {name} jetzt"
    assert restore(masked("Code 12345 here", marks=False), "Code 123456 hier").text == "Code 12345 hier"


def test_what_a_model_adds_to_an_address_is_taken_out() -> None:
    signs = masked("Öffnen Sie https://a.org/x jetzt.", marks=False)
    assert restore(signs, "Open https://a.org/x.org/made/up now.").text == "Open https://a.org/x now."
    assert restore(signs, "Open https://a.org/x now.").text == "Open https://a.org/x now."


def test_capitals_come_back_but_not_in_spans() -> None:
    one = Masked("SAVE {name} NOW", "Save ⓵ now", masked("SAVE {name} NOW").kept, capitals=True)
    assert restore(one, "Jetzt ⓵ grüßen").text == "JETZT {name} GRÜSSEN"
    assert restore(one, "şimdi ⓵ bil", language="tr").text == "ŞİMDİ {name} BİL"


def test_a_growing_answer_is_not_mended() -> None:
    assert restore(masked("Hi {name}!"), "Hal", growing=True).text == "Hal"
    assert restore(masked("Hi {name}!"), "Hallo ⓵", growing=True).text == "Hallo {name}"


def test_of_growing_answers_the_last_is_not_mended() -> None:
    masks = [masked("Hi {a}."), masked("Bye {b}.")]
    whole, growing = (restore_all(masks, ["Hallo", "Tschüss"], growing=one) for one in (False, True))
    assert [one.text for one in whole] == ["Hallo {a}", "Tschüss {b}"]
    assert [one.text for one in growing] == ["Hallo {a}", "Tschüss"]
    assert restore_all(masks, ["Hallo", "Tschüss"]) == whole


def test_texts_of_messages_go_into_their_sentence() -> None:
    laid = TextMasker("en", split=True, protect=Protection.MARKS, count=len).lay_out(
        "You have {n, plural, one {# file} other {# files}} in {where, select, a {my {x} folder} other {}}."
    )
    assert laid.read == ("⓵ file", "⓵ files", "my ⓵ folder", "You have ⓵ in ⓶.")
    found = restore_all(laid.masks, ["⓵ Datei", "⓵ Dateien", "mein Ordner", "In ⓶ hast du ⓵."])
    assert found[:3] == [
        Restored("", (0,) * 8),
        Restored("", (0,) * 10),
        Restored("", (0,) * 12, put_in=1),
    ]
    assert found[3].text == (
        "In {where, select, a {mein {x} Ordner} other {}} hast du "
        "{n, plural, one {# Datei} other {# Dateien}}."
    )


def test_nesting() -> None:
    assert is_nested(["<b>", "<br/>", "</b>", "<x>"])
    assert not is_nested(["</b>", "<b>"])
    assert not is_nested(["<b>", "<i>", "</b>", "</i>"])
    assert is_nested(["<b>", "<x>", "</b>"])
    assert not is_nested(["<x>", "</b>", "<b>"])
