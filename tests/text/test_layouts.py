"""Texts laid out with what is protected: lines and gaps as they were, spans never cut, nothing lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.text.test_protected import PIECES

from jumok.text.layouts import Protection, TextMasker, all_spans
from jumok.text.protected import ProtectedSpan
from jumok.text.restore import restore_all
from jumok.text.sentences import TextLayout

BOTH = [Protection.SIGNS, Protection.MARKS]


def masker(protect: Protection = Protection.MARKS, *, split: bool = True, language: str = "en") -> TextMasker:
    return TextMasker(language, split=split, protect=protect, count=len)


def copied(laid: TextLayout) -> str:
    """The text that a model gives which copies what it reads."""
    masks = laid.masks
    texts = [one.text for one in restore_all(masks, laid.read)] if masks else laid.sentences
    return "".join(laid.join(texts))


TEXTS = st.lists(
    PIECES | st.sampled_from(["Yes. No! ", "- a. B\n", "https://a.org. ", "{x, select, other {Go. On.}}"])
)


@pytest.mark.parametrize("protect", BOTH)
@given(text=TEXTS.map("".join))
def test_a_model_that_copies_gives_the_text(protect: Protection, text: str) -> None:
    assert copied(masker(protect).lay_out(text)) == text


@given(text=TEXTS.map("".join), a=st.integers(0, 60), b=st.integers(0, 60))
def test_what_a_caller_keeps_is_read_by_no_model(text: str, a: int, b: int) -> None:
    begin, end = sorted((a, b))
    laid = masker().lay_out(text, [(begin, end)])
    assert copied(laid) == text
    assert sum(len(one) for one in laid.read) <= len(text)


@given(text=TEXTS.map("".join))
def test_sentences_do_not_end_inside_spans(text: str) -> None:
    laid, edges = masker(Protection.SIGNS).lay_out(text), set[int]()
    inner = [bool(laid.masks) and laid.masks[n].inner for n in range(len(laid.sentences))]
    for (begin, end), inside in zip(laid.spans(), inner, strict=True):
        edges |= set() if inside else {begin, end}
    for one in all_spans(text):
        if one.kind != "message":  # a message by itself has its texts as sentences
            inside = [edge for edge in edges if one.begin < edge < one.end]
            assert not inside or any(
                m.begin <= one.begin < m.end for m in all_spans(text) if m.kind == "message"
            )


def test_what_is_only_protected_is_no_sentence() -> None:
    for text in ("https://a.org/b", "{name}", "%s: %d", "  <b></b>\n", "😀"):
        assert masker().lay_out(text).sentences == ()
        assert masker(split=False).lay_out(text).sentences == ()


def test_a_message_by_itself_is_laid_out_as_its_texts() -> None:
    laid = masker(split=False).lay_out("{n, plural, =0 {No files} one {# file} other {# files in {x}}}")
    assert laid.read == ("No files", "⓵ file", "⓵ files in ⓶")
    assert laid.gaps == ("{n, plural, =0 {", "} one {", "} other {", "}}")


def test_a_text_in_one_piece_keeps_no_space_around_it() -> None:
    laid = masker(split=False).lay_out(" Hi {x}. Bye. ")
    assert laid.read == ("Hi ⓵. Bye.",)
    assert copied(laid) == "Hi {x}. Bye."
    for text in ("{n, plural, =0 {No files} other {#  files in {x}}}", " {x} "):
        assert copied(masker(split=False).lay_out(text)) == text
    assert masker(split=False).lay_out("A").sentences == ("A",)
    assert masker(Protection.NONE, split=False).lay_out("Hi. Bye.").sentences == ("Hi. Bye.",)


@pytest.mark.parametrize("protect", Protection)
def test_a_question_with_its_context_is_read_as_it_stands(protect: Protection) -> None:
    text = "␞ Who has {x}? ␟ Tom came. Mary went."
    for around in (text, f" {text}"):
        assert masker(protect).lay_out(around).read == (text,)


def test_signs_stand_for_themselves() -> None:
    laid = masker(Protection.SIGNS).lay_out("Hi {name}. Bye.")
    assert laid.read == ("Hi {name}.", "Bye.")
    assert [one.sign for one in laid.masks[0].kept] == ["{name}"]
    assert masker(Protection.SIGNS).lay_out("Hi. Bye.").masks == ()
    assert [one.marks for one in masker().lay_out("Hi. Bye.").masks] == [True, True]


def test_a_number_sign_stands_for_a_number_where_a_message_counts() -> None:
    counting = masker().lay_out("You {n, plural, one {see # file} other {go}}.")
    assert counting.read == ("see ⓵ file", "go", "You ⓵.")
    choosing = masker().lay_out("You {n, select, one {see # file} other {go}}.")
    assert choosing.read == ("see # file", "go", "You ⓵.")


def test_what_a_caller_names_comes_before_what_is_always_protected() -> None:
    assert all_spans("{a} {b}") == [ProtectedSpan(0, 3, "placeholder"), ProtectedSpan(4, 7, "placeholder")]
    assert all_spans("{a} {b} c", [(8, 20), (1, 3)]) == [
        ProtectedSpan(1, 3, "keep"),
        ProtectedSpan(4, 7, "placeholder"),
        ProtectedSpan(8, 9, "keep"),
    ]


def test_a_message_in_a_sentence_is_a_mark_and_its_texts_come_first() -> None:
    laid = masker().lay_out("Hi. You have {n, plural, one {# file} other {# files}}.")
    assert laid.read == ("Hi.", "⓵ file", "⓵ files", "You have ⓵.")
    assert laid.gaps == ("", " ", "", "", "")
    assert list(laid.spans()) == [(0, 3), (4, 4), (4, 4), (4, 55)]


def test_capitals_are_read_small_and_marks_stay() -> None:
    def count(text: str) -> int:
        return sum(2 if one.isupper() else 1 for one in text)

    laid = TextMasker("en", split=True, protect=Protection.MARKS, count=count).lay_out("SAVE {name} AS")
    assert laid.read == ("save ⓵ as",)
    assert copied(laid) == "SAVE {name} AS"
    signs = TextMasker("en", split=True, protect=Protection.SIGNS, count=count)
    assert signs.lay_out("SAVE {NAME} AS. SAVE IT ALL.").read == ("SAVE {NAME} AS.", "save it all.")
    plain = TextMasker("en", split=True, protect=Protection.NONE, count=count)
    assert plain.lay_out("SAVE IT ALL. Bye now.", [(13, 16)]).read == ("SAVE IT ALL.", "Bye now.")


def test_nothing_is_protected_unless_it_is_asked_for() -> None:
    plain = masker(Protection.NONE).lay_out("Hi {name}. Bye.")
    assert plain.sentences == ("Hi {name}.", "Bye.")
    assert plain.masks == ()
    kept = masker(Protection.NONE).lay_out("Hi {name}. Bye.", [(0, 2)])
    assert kept.read == ("Hi {name}.", "Bye.")
    assert [one.text for one in kept.masks[0].kept] == ["Hi"]
