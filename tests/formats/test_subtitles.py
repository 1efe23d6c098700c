import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.laws import check_capitals, check_laws, segments, texts, written

from jumok.errors import DataError
from jumok.formats.segments import MarkedText, Tag
from jumok.formats.subtitles import Cue, SrtFormat, VttFormat, clock, cues, goes_on, seconds

SRT = r"""1
00:00:01,000 --> 00:00:02,000
<i>This is a sentence
that goes</i>

2
00:00:02,100 --> 00:00:04,000
{\an8}over two cues.

3
00:00:05,000 --> 00:00:06,000
- Hi there!
- Hello.

4
00:00:07,000 --> 00:00:08,000
♪ ♪
"""
VTT = """WEBVTT - a title

STYLE
::cue { color: red }

NOTE do not translate

intro
00:01.000 --> 00:02.000 align:start
<v Roger>Salt &amp; pepper.

00:03.000 --> 00:04.000
Second <c.loud>one</c>
here.
"""


def file(tmp_path: Path, text: str, name: str = "a.srt") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


def test_a_sentence_over_two_cues_is_one_and_is_divided_again(tmp_path: Path) -> None:
    path = file(tmp_path, SRT)
    capitals = check_laws(SrtFormat(), path)
    check_capitals(SrtFormat(), path, capitals)
    assert segments(SrtFormat(), path)[0].source == MarkedText(
        "This is a sentence that goes over two cues.", (Tag(0, 28, "<i>", "</i>"), Tag(29, 29, "{\\an8}"))
    )
    assert texts(SrtFormat(), path)[1:] == ["- Hi there!", "- Hello."]
    assert capitals.read_text("utf-8") == re.sub(
        r"(?<![\\{<])(?<!</)\b[a-z]+\b(?![>])", lambda found: found[0].upper(), SRT
    ).replace("This", "THIS").replace("Hi", "HI").replace("Hello", "HELLO")


def test_notes_styles_places_and_entities_stay(tmp_path: Path) -> None:
    path = file(tmp_path, VTT, "a.vtt")
    capitals = check_laws(VttFormat(), path)
    check_capitals(VttFormat(), path, capitals)
    assert texts(VttFormat(), path) == ["Salt & pepper.", "Second one here."]
    new = capitals.read_text("utf-8")
    assert new.startswith(VTT[: VTT.index("Salt")])
    assert "<v Roger>SALT &amp; PEPPER.\n\n00:03.000 --> 00:04.000\nSECOND <c.loud>ONE</c>\nHERE.\n" in new


@pytest.mark.parametrize("point", ["{\\an8}", "<00:01.500>"])
def test_places_and_times_have_no_end(tmp_path: Path, point: str) -> None:
    path = file(tmp_path, f"WEBVTT\n\n00:01.000 --> 00:02.000\n<i>Over {point}there.</i>\n", "a.vtt")
    (segment,) = segments(VttFormat(), path)
    assert segment.source == MarkedText("Over there.", (Tag(0, 11, "<i>", "</i>"), Tag(5, 5, point)))


def test_a_short_answer_leaves_later_cues_without_text(tmp_path: Path) -> None:
    path = file(tmp_path, SRT)
    new = written(SrtFormat(), path, iter([MarkedText("Short"), None, None])).decode()
    assert "02,000\nSh\nort\n" not in new
    assert new.count("-->") == SRT.count("-->")


WORDS = st.lists(st.sampled_from(["word", "a", "longer,", "<i>so</i>", "é"]), min_size=1, max_size=4)
CUES = st.lists(st.lists(WORDS, min_size=1, max_size=3), min_size=1, max_size=5)


@given(
    CUES,
    st.lists(st.sampled_from(["das", "ist", "ein", "Wort"]), min_size=1, max_size=12),
    st.sampled_from(["\n", "\r\n"]),
)
def test_cues_keep_their_times_and_never_get_more_lines(
    tmp_path_factory: pytest.TempPathFactory, cues: list[list[list[str]]], answer: list[str], end: str
) -> None:
    blocks = [
        f"{n}{end}00:00:{n:02},000 --> 00:00:{n:02},900{end}" + "".join(" ".join(line) + end for line in cue)
        for n, cue in enumerate(cues)
    ]
    path = file(tmp_path_factory.mktemp("srt"), end.join(blocks))
    check_laws(SrtFormat(), path)
    count = len(segments(SrtFormat(), path))
    new = written(SrtFormat(), path, iter([MarkedText(" ".join(answer))] * count)).decode()
    assert re.findall("^.*-->.*$", new, re.MULTILINE) == re.findall(
        "^.*-->.*$", path.read_bytes().decode(), re.MULTILINE
    )
    assert re.findall("das|ist|ein|Wort", new) == answer * count
    for old, other in zip(blocks, re.split(rf"{end}{end}(?=\d+{end})", new), strict=True):
        assert other.count(end) <= old.count(end)


def test_scripts_without_capitals_are_one_cue_each(tmp_path: Path) -> None:
    path = file(
        tmp_path, "1\n00:01:00,0 --> 00:01:01,0\n今日は\n\n2\n00:01:01,1 --> 00:01:02,0\nいい天気です\nね\n"
    )
    assert texts(SrtFormat(), path) == ["今日は", "いい天気ですね"]
    new = written(SrtFormat(), path, iter([MarkedText("오늘은"), MarkedText("날씨가 좋네요")])).decode()
    assert new.endswith("날씨가\n좋네요\n")


def test_lines_end_as_they_did(tmp_path: Path) -> None:
    """Those inside a cue too."""
    path = file(tmp_path, "1\r\n00:01:00,0 --> 00:01:01,0\r\nThis is\r\none of them.\r\n")
    new = written(SrtFormat(), path, iter([MarkedText("Das ist davon eines")]))
    assert new.endswith(b"Das ist\r\ndavon eines\r\n")
    assert new.count(b"\n") == new.count(b"\r\n") == 4


def test_a_pause_ends_a_sentence(tmp_path: Path) -> None:
    path = file(
        tmp_path, "1\n00:01:00,0 --> 00:01:01,0\nThis is\n\n2\n00:01:05,0 --> 00:01:06,0\nanother one\n"
    )
    assert texts(SrtFormat(), path) == ["This is", "another one"]


def test_cues_without_a_blank_line_between_them(tmp_path: Path) -> None:
    path = file(tmp_path, "1\n00:00:01,0 --> 00:00:02,0\nOne.\n2\n00:00:03,0 --> 00:00:04,0\nTwo.\n")
    assert texts(SrtFormat(), path) == ["One.", "Two."]
    assert check_laws(SrtFormat(), path).read_bytes().count(b"\n2\n") == 1


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        (
            SrtFormat(),
            "1\n00:00:01 -> 2\n0:0 --> x\nHi\n",
            "not a time: '0:0 --> x'\n.*line 3\n  a time is 00:01:02,500",
        ),
        (VttFormat(), "1\n00:01.000 --> 00:02.000\nHi\n", "not WebVTT\n.*line 1\n  it begins with WEBVTT"),
        (SrtFormat(), "word " * 20_000, "no cues here"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, format: SrtFormat, text: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        segments(format, file(tmp_path, text))


def test_times() -> None:
    assert seconds("1:02:03,500") == 3723.5
    assert seconds("02:03.5") == 123.5
    assert clock(3723.5) == "1:02:03"
    assert clock(59.9) == "0:00:59"
    assert clock(36061) == "10:01:01"


@pytest.mark.parametrize(
    ("here", "there", "pause", "goes"),
    [
        ("and then we", "left.", 0.0, True),
        ("and then we", "left.", 1.0, True),
        ("and then we", "left.", 1.25, False),
        ("and then we", "left.", -0.25, False),
        ("and then we.", "Left.", 0.0, False),
        ("she said “no”", "and left", 0.0, True),
        ("she said “no.”", "and left", 0.0, False),
        ("<i>and then?</i>", "we left", 0.0, False),
        ("<i>and then", "we</i> left", 0.0, True),
        ("and then we", "- Left!", 0.0, False),
        ("and then we", "ANN: left", 0.0, False),
        ("and then we", "[laughs]", 0.0, False),
        ("그리고 우리는", "떠났다", 0.0, False),
        ("and then", "떠났다", 0.0, False),
        ("그리고", "we left", 0.0, False),
        ("- and then\n- we", "left", 0.0, False),
        ("- and then\nwe", "left", 0.0, True),
        ("<i>- and then</i>\n – we", "left", 0.0, False),
    ],
)
def test_where_a_sentence_goes_on(here: str, there: str, pause: float, *, goes: bool) -> None:
    first = Cue("", 1, 2, here.splitlines(keepends=True))
    assert goes_on(first, Cue("", 2 + pause, 4, [there])) == goes


def test_a_sentence_has_at_most_six_cues_and_places_are_its_times(tmp_path: Path) -> None:
    blocks = [f"{n}\n00:59:{n:02},0 --> 00:59:{n:02},9\nword {n} and\n" for n in range(10, 18)]
    found = segments(SrtFormat(), file(tmp_path, "\n".join(blocks)))
    assert [(one.where, one.source.text.count("word")) for one in found] == [("0:59:10", 6), ("0:59:16", 2)]


def test_cues_with_what_stands_before_them(tmp_path: Path) -> None:
    text = "NOTE x\n\n1\n00:01:00,0 --> 00:01:02,5 X1:0\none\ntwo\n\n\n00:01:03,0 --> 00:01:04,0\nthree\n7\n"
    text += "00:01:05,0 --> 00:01:06,0\n\nlater\n"
    found = list(cues(tmp_path / "a.srt", iter(text.splitlines(keepends=True))))
    assert "".join(one.raw for one in found) == text
    assert [(one.head, one.begin, one.end, one.text) for one in found] == [
        ("NOTE x\n\n1\n00:01:00,0 --> 00:01:02,5 X1:0\n", 60, 62.5, "one two"),
        ("\n\n00:01:03,0 --> 00:01:04,0\n", 63, 64, "three"),
        ("7\n00:01:05,0 --> 00:01:06,0\n", 65, 66, ""),
        ("\nlater\n", 0, 0, ""),
    ]


def test_what_is_too_long_for_subtitles_is_another_format(tmp_path: Path) -> None:
    time, half = "00:01:00,0 --> 00:01:01,0\n", "a" * 32_767 + "\n"
    list(cues(tmp_path / "a.srt", iter([half, half])))
    list(cues(tmp_path / "a.srt", iter([time, *[half] * 4])))
    for lines, number in (([half, half, "\n"], 3), ([time, half, half, "a" + half], 4)):
        with pytest.raises(DataError, match=f"no cues here\n.*a.srt, line {number}\n  name another --format"):
            list(cues(tmp_path / "a.srt", iter(lines)))


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("two words\n한국어\n", "two words 한국어"),
        ("한국어\n문장\n", "한국어 문장"),
        ("漢字\nword\n", "漢字 word"),
        ("漢字\nかな\n", "漢字かな"),
        ("  a\n\tb  \n", "a b"),
    ],
)
def test_a_space_stands_between_lines_but_not_in_scripts_without(
    tmp_path: Path, lines: str, text: str
) -> None:
    assert texts(SrtFormat(), file(tmp_path, f"1\n00:01:00,0 --> 00:01:01,0\n{lines}")) == [text]
