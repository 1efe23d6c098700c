"""What is protected, what is not, and that looking for it takes time in proportion to the text."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.text.protected import ProtectedSpan, apart, has_words, overlapping, protected_spans, trimmed

KINDS = {
    "placeholder": (
        "{name} {0} {} {0:.2f} %s %d %(n)d %1$s %.2f %% %n %1 %{count} %PRODUCTNAME %APPDATA% %C3%A4 ${x} "
        "$[officename] $(ARG1) {{x}} #{x} [%key:component::x::y%]"
    ),
    "tag": "<b> </b> <x/> <br> <emph> <ahelp> <text:span> </a>",
    "entity": "&amp; &nbsp; &#160; &#xA0; &accel; &brandShortName;",
    "url": "https://a.com/a_(b)?c=d#e http://192.168.1.1:8123 mailto:a@b.org www.a.de home-assistant.io",
    "email": "ann.b+c@mail.example.org",
    "code": "`sudo_x` configuration.yaml sensor.my_lamp do_it() --no-colour /etc/hosts C:\\Users\\x \\n",
    "number": "123456 1.2.3 10.0.0.255 2024-05-01 2024-05-01T10:30:00Z 0xFF #ff8800 00:1A:2B:3C:4D:5E",
    "emoji": "😀 👩‍👩‍👧 🇰🇷 ✓ ☎️ 👍🏽",
    "mark": "⓵ ⓾",
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_word_is_one_span_of_its_kind(kind: str) -> None:
    text = KINDS[kind]
    assert [(text[one.begin : one.end], one.kind) for one in protected_spans(text)] == [
        (word, kind) for word in text.split()
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hallo {{ user.name }}!", ["{{ user.name }}"]),
        ('Ein <x id="1"/>Wort<a href="a>b" title=\'c\'>', ['<x id="1"/>', "<a href=\"a>b\" title='c'>"]),
        (
            "{n, plural, one {# file} other {# files in {where}}} left",
            ["{n, plural, one {# file} other {# files in {where}}}"],
        ),
        ("{when, date, short} {a}", ["{when, date, short}", "{a}"]),
        ("See https://a.org/b. (Or http://c.de/d)!", ["https://a.org/b", "http://c.de/d"]),
        ("详见https://example.com/路径。联系a.b@c.org吧", ["https://example.com/", "a.b@c.org"]),
        ("파일{name}을 열 수 없습니다", ["{name}"]),
        ("%ds ago, 5%% off", ["%d", "%%"]),
        ("%s%s", ["%s", "%s"]),
        ("5%d of %s", ["%s"]),
        ("&uuml; &amp;", ["&amp;"]),
        ("<Enter> <b>", ["<b>"]),
    ],
)
def test_spans_in_sentences(text: str, found: list[str]) -> None:
    assert [text[one.begin : one.end] for one in protected_spans(text)] == found


@pytest.mark.parametrize(
    "text",
    [
        "Ganz normaler Text, z. B. dieser. Und 3,14 oder 3.14 oder 1.234.567!",
        "100 % sicher und 100%ige Deckung, 50% der Fälle",
        "Drücken Sie <Enter> oder a < b und c > d",
        "f&uuml;r Q&A; R&D",
        "Am 12.10.2024 um 10:30 Uhr kosten 5 Äpfel $5 in 2024",
        "and/or, his/her, {a b}, A4, [1], (x), _kursiv_, U.S.A., e.g. this",
        "그는 3개를 샀다. 他来了。",
    ],
)
def test_language_is_left_alone(text: str) -> None:
    assert protected_spans(text) == []


PIECES = st.sampled_from([*"a {}%s</>`@.$[]&;1,#'_-\n中😀\\()⓵:=", "http://", "{n, plural, one {"])


@given(st.lists(PIECES, max_size=60).map("".join))
def test_spans_lie_apart_inside_the_text_and_are_not_empty(text: str) -> None:
    spans = protected_spans(text)
    edges = [edge for one in spans for edge in (one.begin, one.end)]
    assert edges == sorted(edges)
    assert all(0 <= one.begin < one.end <= len(text) for one in spans)
    assert apart(spans) == spans


@settings(max_examples=25)
@given(st.lists(PIECES, min_size=1, max_size=3).map("".join), st.sampled_from(["", "!", "}", " x", ">"]))
def test_long_lines_take_time_in_proportion(piece: str, end: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece)) + end
        began = time.process_time()
        protected_spans(text)
        return time.process_time() - began

    # Four times the text takes about four times as long: where it is quadratic, sixteen times.
    short = min(seconds(10_000) for _ in range(2)) + 0.01
    assert min(seconds(40_000) for _ in range(2)) < 9 * short


def test_spans_that_share_characters() -> None:
    spans = protected_spans("a {b} c {d}")
    assert overlapping(spans, 0, 2) == []
    assert overlapping(spans, 4, 9) == spans
    assert has_words("a {b} c {d}", 0, 11, spans)
    assert not has_words("{b} - {d}", 0, 9, protected_spans("{b} - {d}"))


@pytest.mark.parametrize(
    ("address", "rest"),
    [
        ("www.a.de", ""),
        ("www.a.de", ".,;:!?'*|"),
        ("www.a.de/b_(c)", ""),
        ("www.a.de/b_(c)", ")"),
        ("www.a.de/b_(c)", ")).)"),
        ("www.a.de/((b)", ""),
        ("www.a.de/[b]{c}", "]}"),
        ("www.a.de/b]c", "]"),
    ],
)
def test_an_address_ends_before_the_signs_around_it(address: str, rest: str) -> None:
    """Of brackets it keeps as many as it opened."""
    text = f"({address}{rest} more"
    assert trimmed(text, 1, 1 + len(address) + len(rest)) == 1 + len(address)


def test_of_signs_alone_nothing_is_left() -> None:
    assert trimmed(".....", 2, 4) == 2


def spans(*places: tuple[int, int]) -> list[ProtectedSpan]:
    return [ProtectedSpan(begin, end, "keep") for begin, end in places]


def test_of_spans_that_overlap_the_first_and_longest_stays() -> None:
    assert apart(spans((4, 6), (0, 2), (0, 4), (3, 5), (6, 6), (6, 7))) == spans((0, 4), (4, 6), (6, 7))
    assert apart([]) == []


def test_a_span_that_only_touches_shares_nothing() -> None:
    three = spans((2, 4), (4, 6), (8, 9))
    for begin, end, found in ((0, 2, ()), (0, 3, (0,)), (3, 5, (0, 1)), (4, 8, (1,)), (5, 9, (1, 2))):
        assert overlapping(three, begin, end) == [three[n] for n in found]


@pytest.mark.parametrize(
    ("text", "begin", "end", "words"),
    [
        ("a{b}", 1, 4, False),
        ("a{b}", 0, 4, True),
        ("{b}a", 0, 4, True),
        ("{b}a", 0, 3, False),
        ("{b}a", 1, 2, False),  # inside the span
        ("{b}_-{b}", 0, 8, False),
        ("{b}5{b}", 0, 7, True),
        ("{b}x{b}", 1, 6, True),
        ("", 0, 0, False),
    ],
)
def test_words_are_what_stands_in_no_span(text: str, begin: int, end: int, *, words: bool) -> None:
    inside = [span for at in range(len(text)) if text.startswith("{b}", at) for span in spans((at, at + 3))]
    assert has_words(text, begin, end, inside) == words


@pytest.mark.parametrize(
    "text",
    [
        *("1234", "1.2", "0x", "#ff880", "10:30", "%ige", "% d", "5%d", "&;", "&a;", "&uuml;", "$5", "$ x"),
        *("a@b", "a@b.c", "@b.de", "a.xyz", "a.b.unknown", "`", "``", "--", "--A", "-x", "()"),
        *(
            "_a",
            "a_",
            "__",
            "a__b",
            "{a b}",
            "{",
            "}",
            "<",
            "<1>",
            "<a",
            "< b>",
            "<Enter>",
            "<P>",
            "/",
            "/a",
            "a/b",
        ),
        *("C:x", "\\", "\\new", "[a]", "[%a b%]", "http:", "http://", "xwww.a.de", "2024-5-1", "1:2:3:4:5:6"),
    ],
)
def test_what_is_nearly_a_span_is_none(text: str) -> None:
    assert protected_spans(text) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((text, "number") for text in ("12345", "1.2.3.4", "0xF", "#ff8800aa", "2024-05-01 10:30")),
        *(
            (text, "placeholder")
            for text in ("%-5d", "%05.2f", "%.*s", "%lld", "%<a>s", "%AB%C3", "$t(a)", "{a,b}")
        ),
        *(
            (text, "code")
            for text in ("a_b", "a.b_c", "x()", "a.b()", "--a-b2", "~/a/b/", "./a/b", "\\u00e4", "`a b`")
        ),
        *((text, "tag") for text in ("<!-- x -->", "<a b=1 c='d' e>", "<BR>", "<BR/>", "</a:b>", "<enter>")),
        *((text, "url") for text in ("mailto:x", "wss://a", "a.local", "a-b.eu/c?d=1")),
        *((text, "entity") for text in ("&#1234567;", "&#xABCDEF;", "&lt;", "&a.b-c_d;")),
    ],
)
def test_what_is_just_a_span_is_one(text: str, kind: str) -> None:
    assert [(one.begin, one.end, one.kind) for one in protected_spans(f"({text}) 가")] == [
        (1, 1 + len(text), kind)
    ]
