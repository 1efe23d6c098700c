"""Where sentences end, by language; and the laws of a layout, on any text."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.text.marks import CONTEXT_MARK, QUESTION_MARK
from jumok.text.masks import Masked
from jumok.text.protected import ProtectedSpan
from jumok.text.sentences import (
    TextLayout,
    between,
    count_sentences,
    has_sentence,
    is_caseless,
    lay_out,
    lines_of,
    sentences_of,
    whole,
)

ONE = {
    "sv": ["Tåget går den 5 mars kl. 14:30 från Malmö.", "Ta med t.ex. Bröd och bl.a. Ost."],
    "de": [
        "Das gilt z. B. Für Dr. Müller und Prof. Weiß.",
        "Das gilt z. B. Der Frau.",
        "Am 5. März 2020 begann das 21. Jahrhundert nicht.",
        "Sie wohnt in der Langen Str. Nummer 5 und zahlt 3.14 Euro.",
        "„Komm!“, rief er.",
        "Das Bild von Heinrich VIII. Kaiser war er nie.",
        "Siehe No. Vier.",
    ],
    "en": [
        "Mr. J. R. Smith paid $3.14 to the U.S. Army.",
        "See https://example.org/a.b?c=d! or write to a.b@example.org.",
        '"Are you there?" he asked.',
        "It is (see p. 5. Also p. 6.) quite long.",
        "No. 5 is alive.",
        "Yahoo! is a company.",
        "Turn left at No. 5th.",
        "Made by Apple Inc. © 2020.",
        "The name foo!株式 stays.",
        "Go (one. Two [three] four) on.",
        "The (x) and (one. Two [three] four. Five) end.",
        "Ask [one. Two) three. Four] now.",
    ],
    "fr": ["« Viens ! » dit-il.", "M. Dupont connaît Mme. Durand."],
    "ko": [
        "2024. 5. 16. 발표했다.",
        "회의는 15. 5월이다.",
        "조지 W. 부시가 왔다.",
        "그는 “적이 없다.” 고 말했다.",
    ],
    "ja": ["彼は「行く。でも遅れる。」と言った。"],
    "ar": ["وصل د. أحمد اليوم."],
    "zh": ["版本2.0很好。", "他.来"],
    "": ["Version 2.0.1 of node.js is out."],
}
SEVERAL = {
    "en": [
        ["It was 5 p.m. ", "Then he left. ", "Was it I? ", "Yes!"],
        ["He lives in the U.S. ", "She does not."],
        ['He said "no." ', '"Why?" ', "I asked."],
        ["Pens, paper etc. ", "Tom has them."],
        ["He came. ", "3. The end is near."],
        ["He came. ", "100. The end is near."],
        ["He came. ", "1999. ", "It was a year."],
        ["... And then he came. ", "... And he left."],
        ["He (one. Two. Three) left. ", "Then he came."],
        ["I saw Mr . ", "He left."],
        ["I asked Mr... ", "He left."],
        ["You met Mr.? ", "He left."],
        ["You met Mr! ", "He left."],
        ["He said no. ", "Then he left."],
        ["So did I. ", "Tom left."],
        ["It was plan B. ", "He left."],
        ["He met Henry VIII. ", "Kings ruled."],
    ],
    "": [["he came . ", "she left ! ", "why ?"], ["hi. ", "how are you? ", "see e.g. this."]],
    "de": [
        ["Ich bin 30. ", "Er ist 31. ", "Das war 1999. ", "Gut."],
        ["Brot, Milch usw. ", "Das ist alles."],
        ["Das war Heinrich VIII. ", "Er starb."],
        ["Lies Seite 100. ", "Hunde bellen."],
    ],
    "fr": [["Attention ! ", "Il vient. ", "Où ? ", "Là."]],
    "es": [["¿Dónde está? ", "¡Aquí! ", "Bien."]],
    "ko": [
        ["그는 왔다. ", "정말? ", "네."],
        ["안녕하세요. ", "iPhone을 샀다."],
        ["혈액형은 A형. ", "iPhone을 샀다."],
        ["그는 30명 중 29. ", "그리고 끝."],
    ],
    "ja": [["本当？", "はい。", "「行く。」", "帰る。"], ["削除しますか?", "はい。"]],
    "zh": [
        ["他来了。", "“你好”是什么？", "好！"],
        ["真的?！", "“好。”"],
        ["真的?!", "好。"],
        ["“他来了。”", "“好。”"],
    ],
    "ar": [["هل أنت هنا؟ ", "نعم. ", "شكرا!"]],
    "hi": [["यह है। ", "वह है।"]],
    "th": [["สวัสดีครับ ", "ขอบคุณครับ"]],
}


@pytest.mark.parametrize(
    ("language", "text"), [(code, text) for code, texts in ONE.items() for text in texts]
)
def test_a_dot_inside_a_sentence_is_no_end(language: str, text: str) -> None:
    assert [text.rstrip()] == list(lay_out(text, language).sentences)


@pytest.mark.parametrize(
    ("language", "parts"), [(code, one) for code, some in SEVERAL.items() for one in some]
)
def test_sentences_end_where_people_see_it(language: str, parts: list[str]) -> None:
    assert list(lay_out("".join(parts), language).sentences) == [part.strip() for part in parts]


def test_the_region_of_a_language_does_not_matter() -> None:
    assert count_sentences("他来了。好！", "zh-Hans") == count_sentences("他来了。好！", "zh_CN") == 2


def test_lists_blank_lines_and_indentation_are_gaps() -> None:
    text = "# Title\n\n  1. One thing. Two.\n  2. Next\n\n---\n\t- a) Bullet.\n* [x] Done\n\n  https://a.b/c\n🙂\n"
    laid = lay_out(text, "en")
    assert laid.sentences == ("Title", "One thing.", "Two.", "Next", "Bullet.", "Done")
    assert laid.gaps[1:4] == ("\n\n  1. ", " ", "\n  2. ")


def test_a_number_alone_is_part_of_its_sentence() -> None:
    assert lay_out("5. März war gestern.", "de").sentences == ("5. März war gestern.",)
    assert lay_out("1. FC Köln\n\n7. Himmel", "de").sentences == ("1. FC Köln", "7. Himmel")
    assert lay_out("4. Tor\nEnde\n5. März", "de").sentences == ("4. Tor", "Ende", "5. März")
    assert lay_out("4. Tor\n5. März\nEnde", "de").sentences == ("Tor", "März", "Ende")  # neighbours


def test_a_number_is_a_mark_of_a_list_where_no_language_writes_dates_so() -> None:
    assert lay_out("  1. Open the door.", "en").sentences == ("Open the door.",)
    assert lay_out("- 12) Ouvre. Ferme.", "fr").sentences == ("Ouvre.", "Ferme.")
    assert lay_out("- 5. März war gestern.", "de").sentences == ("5. März war gestern.",)
    assert lay_out("1. Open the door.").sentences == ("1. Open the door.",)


def spanned(text: str) -> tuple[str, list[ProtectedSpan]]:
    """A text without the brackets that stand around its spans, and these spans."""
    spans, plain = list[ProtectedSpan](), ""
    for n, part in enumerate(re.split("[⟦⟧]", text)):
        if n % 2:
            spans.append(ProtectedSpan(len(plain), len(plain) + len(part), "keep"))
        plain += part
    return plain, spans


@pytest.mark.parametrize(
    ("language", "parts"),
    [
        ("en", ["Use ⟦x⟧. ", "Then ⟦one. Two⟧ it. ", "Go."]),
        ("en", ["Use ⟦one.⟧ Then."]),
        ("en", ["Use ⟦one. Two⟧ or ⟦three. Four⟧ here. ", "Go."]),
        ("en", ["It (one. Two ⟦three. Four⟧ five. Six) is. ", "Go."]),
        ("en", ["It ⟦one. Two (three. Four) five. Six⟧ is. ", "Go."]),
        ("en", ["It ⟦one. Two (three. Four⟧ five. Six) is. ", "Go."]),
        ("en", ["See ⟦x⟧ (one. ⟦Two) three. Four⟧. ", "Go (one. Two). ", "So."]),
        ("zh", ["好。", "⟦x⟧很大。"]),
        ("zh", ["我⟦。x⟧很大。", "好。"]),
        ("zh", ["我⟦x。⟧很大。", "好。"]),
        ("zh", ["我⟦x⟧。", "好。"]),
        ("en", ["One ⟦a\nb⟧ two\n", "three"]),
        ("en", ["One ⟦a⟧\n", "two ⟦b⟧ ⟦c⟧\n", "three ⟦d\ne⟧\n", "⟦f⟧ four"]),
        ("en", ["⟦- a⟧ b\n", "c"]),
    ],
)
def test_no_sentence_ends_inside_a_span(language: str, parts: list[str]) -> None:
    text, spans = spanned("".join(parts))
    sentences = [text[a:b] for a, b in sentences_of(text, language, spans)]
    assert sentences == [spanned(part)[0].strip() for part in parts]


def test_a_line_goes_on_behind_a_break_inside_a_span_and_no_other() -> None:
    assert list(lines_of("a\n\nb")) == [(0, 1), (3, 4)]
    assert list(lines_of("ab\ncd\nef", [ProtectedSpan(2, 4, "keep")])) == [(0, 5), (6, 8)]
    assert list(lines_of("ab\ncd\nef", [ProtectedSpan(0, 2, "keep")])) == [(0, 2), (3, 5), (6, 8)]


def test_a_bracket_holds_a_sentence_together_over_a_thousand_characters() -> None:
    for before in ("", "so " * 300):
        for apart, count in ((1000, 1), (1001, 2)):
            text = f"{before}It (one. Two"
            text += "o" * (apart - len("(one. Two")) + ") is."
            assert count_sentences(text, "en") == count


def test_scripts_without_capitals() -> None:
    assert [is_caseless(word) for word in ("가1", "1가", "a", "A", "")] == [True, False, False, False, False]


def test_cells_of_a_table_are_sentences() -> None:
    assert lay_out("Name\tValue one.\r\nb\tc\r\n", "en").sentences == ("Name", "Value one.", "b", "c")


def test_a_question_with_its_context_is_left_whole() -> None:
    text = f"{QUESTION_MARK} Who? {CONTEXT_MARK} Tom came. Mary went."
    assert lay_out(text, "en").sentences == (text,)


def test_sentences_follow_one_another_as_the_target_writes_them() -> None:
    assert (
        "".join(lay_out("他来了。好！", "zh").join(["He came.", "Good!"], source="zh", target="en"))
        == "He came. Good!"
    )
    assert (
        "".join(lay_out("He came. Good!", "en").join(["他来了。", "好！"], source="en", target="zh"))
        == "他来了。好！"
    )
    assert between("\n", "en", "ja") == "\n"
    assert [between("", *pair) for pair in (("zh", "en"), ("en", "de"), ("zh", "ja"), ("zh", ""))] == [
        *(" ", "", "", "")
    ]
    assert [between(" ", *pair) for pair in (("en", "ja"), ("zh", "ja"), ("zh", "en"))] == ["", " ", " "]
    assert between(" ", "en", "ko") == " "


def test_a_layout_has_a_place_for_each_sentence_and_no_more() -> None:
    layout = lay_out("One. Two.", "en")
    assert "".join(layout.join(["Eins.", "Zwei."])) == "Eins. Zwei."
    assert "".join(TextLayout(("One.",), ("\t", "\n")).join(["Eins."])) == "\tEins.\n"
    assert layout.read == ("One.", "Two.")
    inner, outer = Masked("b", "⓵b", inner=True), Masked("a{b}c", "a⓵c")
    masked = TextLayout(("b", "a{b}c"), ("-", "", "!"), masks=(inner, outer))
    assert masked.read == ("⓵b", "a⓵c")
    assert list(masked.spans()) == [(1, 1), (1, 6)]
    for sentences in (["Eins."], ["Eins.", "Zwei.", "Drei."]):
        with pytest.raises(ValueError, match="zip\\(\\) argument 2 is"):
            layout.join(sentences)


def test_letters_are_no_sentence_where_there_are_none_but_an_address() -> None:
    for text, found in (
        ("www.example.org/a", False),
        ("x@example.org", False),
        ("3 x", True),
        ("12 + 3", False),
    ):
        assert has_sentence(text, "en") is found


def test_a_whole_text_is_one_sentence() -> None:
    assert whole("  a. B.\nc  ") == TextLayout(("a. B.\nc",), ("  ", "  "), kept=False)
    assert "".join(whole("  a. B.\nc  ").join(["x"])) == "x"
    assert whole(" \n").sentences == ()
    assert whole("a b").sentences == ("a b",)


TEXTS = st.text(
    st.sampled_from("ab Z1.!?…。？「」()\"'“”\n\r\t -*•5é한あ\u00a0\u2028🙂"), max_size=60
) | st.text(max_size=40)
CODES = st.sampled_from(["", "en", "de", "fr", "ko", "ja", "zh", "ar", "th", "hu"])


@given(TEXTS, CODES)
@settings(max_examples=150)
def test_split_then_join_is_the_identity(text: str, language: str) -> None:
    laid = lay_out(text, language)
    assert "".join(laid.join(laid.sentences, source=language, target=language)) == text
    assert len(laid.gaps) == len(laid.sentences) + 1
    assert [text[a:b] for a, b in laid.spans()] == list(laid.sentences)


@given(TEXTS, CODES, CODES)
@settings(max_examples=60)
def test_lines_in_are_lines_out(text: str, source: str, target: str) -> None:
    laid = lay_out(text, source)
    out = "".join(laid.join(["x"] * len(laid.sentences), source=source, target=target))
    assert out.count("\n") == text.count("\n")
    for before, after in zip(text.split("\n"), out.split("\n"), strict=True):
        assert before[: len(before) - len(before.lstrip())] == after[: len(after) - len(after.lstrip())]


@given(TEXTS, CODES)
@settings(max_examples=60)
def test_no_sentence_is_blank_or_has_a_line_break_or_space_at_its_ends(text: str, language: str) -> None:
    for sentence in lay_out(text, language).sentences:
        assert sentence == sentence.strip() != ""
        assert "\n" not in sentence


@pytest.mark.parametrize("unit", ["(", "(.", "Dr. ", "「。", "!"])
def test_a_line_of_many_marks_is_laid_out(unit: str) -> None:
    text = unit * 4_000
    laid = lay_out(text, "en")
    assert "".join(laid.join(laid.sentences)) == text


def test_dates_in_many_languages_stay_whole() -> None:
    lines = ("5. März 2024 kl. 14:30", "24. mars 1998 klo. 7:12", "den 5 mars 2024 kl. 14:30 – 6 mars kl. 9")
    for line in lines:
        assert list(lay_out(line, "mul").sentences) == [line]
