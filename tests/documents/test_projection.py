"""Laws of moved markup: no tag is lost or doubled, everything is nested, and the text is never touched."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.copying import copied, link

from jumok.decoding.results import TextLink
from jumok.documents.projection import Placing, alike, best_stretch, nodes_of, project, without
from jumok.formats.inline import MarkupBuilder, render
from jumok.formats.segments import MarkedText, Tag

ALPHABET = st.sampled_from("abc de.,!\n1ß한漢字ाあ-_„“")
TEXTS = st.text(ALPHABET, max_size=40)


@st.composite
def marked(draw: st.DrawFn) -> MarkedText:
    """Text with nested tags and points, as a format would read it."""
    builder = MarkupBuilder()
    names: list[str] = []
    for n in range(draw(st.integers(0, 12))):
        match draw(st.sampled_from(["text", "text", "open", "close", "point"])):
            case "text":
                builder.add(draw(st.text(ALPHABET, max_size=8)))
            case "open":
                names.append(f"t{n}")
                builder.open(f"<t{n}>", keep=draw(st.booleans()))
            case "close" if names:
                builder.close(f"</{names.pop()}>")
            case _:
                builder.point(f"<p{n}/>")
    while names:
        builder.close(f"</{names.pop()}>")
    return builder.build()


@st.composite
def linked(draw: st.DrawFn) -> tuple[MarkedText, str, list[TextLink]]:
    """A marked source, any target, and links that may say anything."""
    source, target = draw(marked()), draw(TEXTS)
    span = lambda text: st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(sorted).map(tuple)  # noqa: E731
    weights = st.floats(0, 1)
    links = draw(st.lists(st.builds(TextLink, span(source.text), span(target), weights), max_size=12))
    return source, target, links


def is_nested(tags: tuple[Tag, ...]) -> bool:
    pairs = [(tag.begin, tag.end) for tag in tags if tag.begin < tag.end]
    return all(
        b <= c or d <= a or (a <= c and d <= b) or (c <= a and b <= d) for a, b in pairs for c, d in pairs
    )


def markup(tags: tuple[Tag, ...]) -> Counter[tuple[str, str, bool]]:
    return Counter((tag.open, tag.close, tag.keep) for tag in tags)


def balanced(written: str) -> bool:
    names: list[str] = []
    for slash, name in re.findall(r"<(/?)(t\d+)>", written):
        if not slash:
            names.append(name)
        elif not names or names.pop() != name:
            return False
    return not names


@given(linked())
def test_every_tag_once_nested_and_the_text_as_it_was(case: tuple[MarkedText, str, list[TextLink]]) -> None:
    source, target, links = case
    found = project(source, target, links).target
    assert found.text == target
    assert markup(found.tags) == markup(source.tags)
    assert is_nested(found.tags)
    assert [tag.begin for tag in found.tags] == sorted(tag.begin for tag in found.tags)
    assert balanced(render(found))
    assert re.sub(r"</?[tp]\d+/?>", "", render(found)) == target


@given(linked())
def test_no_tag_begins_or_ends_with_white_space_or_inside_a_word(
    case: tuple[MarkedText, str, list[TextLink]],
) -> None:
    source, target, links = case
    for tag in project(source, target, links).target.tags:
        inside = target[tag.begin : tag.end]
        assert inside == inside.strip()
        for edge in (tag.begin, tag.end) if inside else ():
            around = target[max(0, edge - 1) : edge + 1]
            assert not re.fullmatch(r"[a-z0-9ß]{2}", around)


@given(marked())
def test_a_text_that_is_copied_keeps_its_tags_around_the_same_words(source: MarkedText) -> None:
    """The tags of a copy stand where they stood, up to white space and halves of words."""
    target, links = copied(source.text)
    whole = [tag for tag in project(source, target, links).target.tags if tag.begin < tag.end]
    for tag in source.tags:
        before, inside, after = target[: tag.begin], target[tag.begin : tag.end], target[tag.end :]
        cut = any(re.search(r"\w$", a) and re.match(r"\w", b) for a, b in ((before, inside), (inside, after)))
        if inside.strip() and not cut and not re.search(r"[^a-z ]", source.text):
            (moved,) = [one for one in whole if one.open == tag.open]
            assert target[moved.begin : moved.end] == inside.strip()


@given(marked())
def test_what_covers_all_the_text_covers_all_of_the_translation(source: MarkedText) -> None:
    around = MarkedText(source.text, (Tag(0, len(source.text), "<all>", "</all>"), *source.tags))
    found = project(around, "quite another text", ()).target
    if source.text.strip():
        assert (found.tags[0].open, found.tags[0].begin, found.tags[0].end) == ("<all>", 0, 18)


SOURCE, TARGET = "Klicken Sie auf Speichern, dann warten.", "Click Save, then wait."
LINKS = [
    link((0, 7), (0, 5)),
    link((16, 25), (6, 10)),
    link((25, 26), (10, 11)),
    link((27, 31), (12, 16)),
    link((32, 38), (17, 21)),
    link((38, 39), (21, 22)),
]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Klicken Sie auf <b>Speichern</b>, dann warten.", "Click <b>Save</b>, then wait."),
        ("Klicken Sie auf<b> Speichern</b>, dann warten.", "Click <b>Save</b>, then wait."),
        ("Klicken Sie auf <b>Speichern, </b>dann warten.", "Click <b>Save,</b> then wait."),
        ("<p>Klicken Sie auf <b>Speichern</b>, dann warten.</p>", "<p>Click <b>Save</b>, then wait.</p>"),
        ("<img/>Klicken Sie auf Speichern, dann warten.<br/>", "<img/>Click Save, then wait.<br/>"),
        ("Klicken Sie auf Speichern<sup/>, dann warten.", "Click Save<sup/>, then wait."),
        ("Klicken Sie auf Speichern, <br/>dann warten.", "Click Save, <br/>then wait."),
        ("Klicken Sie auf Speichern, dann<sup/> warten.", "Click Save, then<sup/> wait."),
        ("Klicken Sie auf Speichern, dann <b>warten.</b>", "Click Save, then <b>wait.</b>"),
        ("Klicken Sie auf Speichern, dann <b>warten</b>.", "Click Save, then <b>wait</b>."),
        ("Klicken Sie auf <a><b>Speichern</b></a>, dann warten.", "Click <a><b>Save</b></a>, then wait."),
        ("<i>Klicken Sie auf <b>Speichern</b></i>, dann warten.", "<i>Click <b>Save</b></i>, then wait."),
    ],
)
def test_tags_of_a_sentence(source: str, target: str) -> None:
    assert parse(source).text == SOURCE
    found = project(parse(source), TARGET, LINKS)
    assert render(found.target) == target
    assert found.guesses == ()


def test_a_tag_whose_words_have_no_link_goes_to_its_neighbour_and_is_a_guess() -> None:
    found = project(parse("Klicken Sie <i>auf</i> Speichern, dann warten."), TARGET, LINKS)
    assert render(found.target) == "Click <i>Save</i>, then wait."
    assert [tag.open for tag in found.guesses] == ["<i>"]


def test_the_nearest_neighbour_may_stand_on_the_left_and_far_away() -> None:
    links = [link((0, 2), (0, 2)), link((12, 14), (6, 8))]
    assert render(project(parse("ab <i>cd</i> ef gh ij"), "uv wx yz", links).target) == "<i>uv</i> wx yz"
    found = project(parse("ab cd ef gh <i>ijkl</i>"), "uv wx yz", [link((0, 2), (3, 5))])
    assert render(found.target) == "uv <i>wx</i> yz"


def test_two_words_near_a_point_count_more_than_one_beside_it() -> None:
    links = [link((10, 12), (0, 2)), link((0, 2), (3, 5)), link((3, 5), (6, 8))]
    assert Placing(MarkedText("aa cc     bb"), "vv ww xx", links)._boundary(10, (0, 3), []) == 3


def test_more_tags_than_words_leave_some_without_text() -> None:
    found = project(parse("<a>eins</a> <b>zwei</b> <i>drei</i>"), "one", ())
    assert sorted(tag.end - tag.begin for tag in found.target.tags) == [0, 0, 3]
    assert len(found.guesses) == 3


def test_tags_that_change_places_with_their_words() -> None:
    source = parse("<a>rot</a> und <b>blau</b>")
    links = [link((8, 12), (0, 4)), link((4, 7), (5, 8)), link((0, 3), (9, 12))]
    assert render(project(source, "blue and red", links).target) == "<b>blue</b> and <a>red</a>"


def test_tags_across_one_another_are_made_legal() -> None:
    source = MarkedText("eins zwei drei", (Tag(0, 9, "<a>", "</a>"), Tag(5, 14, "<b>", "</b>")))
    links = [link((0, 4), (0, 3)), link((5, 9), (4, 7)), link((10, 14), (8, 13))]
    found = project(source, "one two three", links).target
    assert render(found) in ("<a>one two</a> <b>three</b>", "<a>one</a> <b>two three</b>")


def test_a_break_between_lines_stays_between_them() -> None:
    source = MarkedText("erste Zeile\nzweite Zeile", (Tag(11, 11, "<br>"),))
    assert render(project(source, "first line\nsecond line", ()).target) == "first line<br>\nsecond line"
    source = MarkedText("\neins\nzwei", (Tag(5, 5, "<br>"), Tag(6, 6, "<img>")))
    assert render(project(source, "\none\ntwo", ()).target) == "\none<br>\n<img>two"


def test_words_without_spaces_are_cut_where_the_tokens_are() -> None:
    source = MarkedText("Press Save now", (Tag(6, 10, "<b>", "</b>"),))
    links = [link((11, 14), (0, 2)), link((6, 10), (2, 4)), link((0, 5), (4, 8))]
    assert render(project(source, "現在保存を押す", links).target) == "現在<b>保存</b>を押す"


def test_a_word_that_stands_on_both_sides_needs_no_link() -> None:
    source = parse("Das Programm <b>LibreOffice</b> ist frei")
    wrong = [link((0, 3), (8, 19))]
    found = project(source, "The app LibreOffice is free", wrong)
    assert render(found.target) == "The app <b>LibreOffice</b> is free"


def test_text_that_is_kept_is_found_as_it_is() -> None:
    source = MarkedText("Die Funktion SUMME rechnet", (Tag(13, 18, "<code>", "</code>", keep=True),))
    links = [link((13, 18), (4, 7)), link((13, 18), (8, 13)), link((13, 18), (14, 22))]
    found = project(source, "The SUM SUMME function", links)
    assert render(found.target) == "The SUM <code>SUMME</code> function"
    source = MarkedText("nimm x SUM", (Tag(5, 10, "<code>", "</code>", keep=True),))
    found = project(source, "x SUMME here", [link((5, 10), (8, 12))])
    assert render(found.target) == "x SUMME <code>here</code>"


def test_quotation_marks_stay_on_their_side_of_a_tag() -> None:
    links = [link((0, 2), (0, 2)), link((3, 8), (3, 7)), link((10, 15), (9, 14)), link((17, 21), (16, 22))]
    for source, target in (
        ("Er sagte <b>„Hallo“</b> laut", "He said <b>“Hello”</b> loudly"),
        ("Er sagte „<b>Hallo</b>“ laut", "He said “<b>Hello</b>” loudly"),
        ("Er sagte <b>„Hallo</b>“ laut", "He said <b>“Hello</b>” loudly"),
        ("Er sagte „<b>Hallo“</b> laut", "He said “<b>Hello”</b> loudly"),
    ):
        assert render(project(parse(source), "He said “Hello” loudly", links).target) == target


def test_two_marks_at_the_end_of_a_tag_are_looked_at_one_by_one() -> None:
    found = project(parse("<b>v.2</b> cd"), "uv. yz", [link((0, 3), (0, 3)), link((4, 6), (4, 6))])
    assert render(found.target) == "<b>uv</b>. yz"
    links = [link((0, 2), (0, 2)), link((0, 3), (2, 3)), link((0, 3), (3, 4)), link((5, 7), (5, 7))]
    for source, target in (
        ("<b>ab.“</b> cd", "<b>uv.”</b> wx"),
        ("<b>ab.</b>“ cd", "<b>uv.</b>” wx"),
        ("<b>ab</b>.“ cd", "<b>uv</b>.” wx"),
    ):
        assert render(project(parse(source), "uv.” wx", links).target) == target


def test_a_tag_whose_word_became_a_mark_is_around_that() -> None:
    source = parse("Das <b>gilt</b> hier")
    found = project(
        source, "This : here", [link((0, 3), (0, 4)), link((4, 8), (5, 6)), link((9, 13), (7, 11))]
    )
    assert render(found.target) == "This <b>:</b> here"


def test_marks_that_do_the_same() -> None:
    assert alike("“", "„")
    assert alike("。", ".")
    assert not alike(",", ".")


SHARES = st.dictionaries(st.integers(0, 7), st.integers(1, 8).map(lambda part: part / 8), max_size=6)
ROOMS = st.sampled_from([[(0, 8)], [(0, 3), (3, 8)], [(1, 4), (6, 8)], [(5, 5)], []])


@settings(max_examples=50)
@given(shares=SHARES, known=st.sets(st.integers(0, 7)), free=ROOMS)
def test_the_best_stretch_is_the_best_of_all(
    shares: dict[int, float], known: set[int], free: list[tuple[int, int]]
) -> None:
    """The slow twin looks at every stretch; without any share there is none."""

    def score(begin: int, end: int) -> float:
        return sum(
            shares[n] - 0.5 if n in shares else -0.5 if n in known else -0.1 for n in range(begin, end)
        )

    every = [
        (begin, end)
        for least, most in free
        for begin in range(least, most)
        for end in range(begin + 1, most + 1)
        if begin in shares and end - 1 in shares
    ]
    best, words = best_stretch(shares, known, free)
    if not every:
        assert (best, words) == (-0.5, None)
    else:
        assert words in every
        assert best == pytest.approx(score(*words)) == pytest.approx(max(score(*one) for one in every))


def test_of_stretches_that_are_as_good_the_first_and_the_shorter() -> None:
    assert best_stretch({0: 0.75, 2: 0.75}, {1}, [(0, 3)]) == (0.25, (0, 1))
    assert best_stretch({0: 0.5, 1: 1.0}, (), [(0, 2)]) == (0.5, (1, 2))
    assert best_stretch({0: 1.0, 1: 0.5}, (), [(0, 2)]) == (0.5, (0, 1))


@settings(max_examples=40)
@given(linked(), st.data())
def test_a_point_goes_where_least_speaks_against_it(case: tuple, data: st.DataObject) -> None:  # type: ignore[type-arg]
    """Against a place before a word speaks what lies on the other side of the point, half as much 10 away.

    Between the words of a tag beside it there is no place.
    """
    source, target, links = case
    placing = Placing(source, target, links)
    mentions, count = placing.evidence.mentions, len(placing.evidence.words)
    room = data.draw(st.tuples(st.integers(0, count), st.integers(0, count)).map(sorted).map(tuple))
    place = data.draw(st.integers(0, len(source.text)))
    a, b = data.draw(st.tuples(st.integers(*room), st.integers(*room)).map(sorted))
    inside = [one for one in mentions if room[0] <= one.word < room[1]]

    def against(word: int) -> float:
        left = [one for one in inside if one.end <= place and one.word >= word]
        right = [one for one in inside if one.end > place and one.word < word]
        found = [one.share * 10 / (10 + place - one.end) for one in left]
        return sum(found + [one.share * 10 / (10 + max(0, one.begin - place)) for one in right])

    found = placing._boundary(place, room, [(a, b)])
    if not inside:
        assert found is None
    else:
        costs = {word: against(word) for word in range(room[0], room[1] + 1) if not a < word < b}
        assert found in costs
        assert costs[found] == pytest.approx(min(costs.values()), abs=1e-8)
        assert all(costs[word] > costs[found] for word in costs if word < found)


def test_a_word_of_which_a_quarter_comes_from_a_tag_is_sure() -> None:
    source = parse("<b>ab</b> cd")
    for quarter, guesses in ((0.25, []), (0.24, ["<b>"])):
        links = [link((0, 2), (0, 2), quarter), link((3, 5), (0, 2), 1 - quarter)]
        found = project(source, "xy", links)
        assert render(found.target) == "<b>xy</b>"
        assert [tag.open for tag in found.guesses] == guesses


def test_a_word_without_a_link_between_two_of_a_tag_is_in_it_and_no_guess() -> None:
    links = [link((0, 2), (0, 2)), link((3, 5), (6, 8)), link((6, 8), (9, 11))]
    found = project(parse("<b>ab cd</b> ef"), "uv wx yz st", links)
    assert render(found.target) == "<b>uv wx yz</b> st"
    assert found.guesses == ()


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("<b>eins</b> zwei drei vier", "<b>one</b> two three four"),
        ("eins zwei <b>drei</b> vier", "one two <b>three</b> four"),
        ("eins <b>zwei</b> <i>drei</i> vier", "one <b>two</b> <i>three</i> four"),
        ("<u>eins zwei</u> <u>drei <b>vier</b></u>", "<u>one</u> two <u><b>three</b></u> four"),
        ("eins zwei<br/> drei vier", "one two three four<br/>"),
    ],
)
def test_without_links_a_tag_goes_as_far_into_the_text_as_it_was(source: str, target: str) -> None:
    marked = parse(source)
    found = project(marked, "one two three four", ())
    assert render(found.target) == target
    assert found.guesses == marked.tags


def test_tags_are_trees_and_what_crosses_stands_behind() -> None:
    def tree(nodes: list) -> list:  # type: ignore[type-arg]
        return [(node.tag.open, node.is_empty, tree(node.inner)) for node in nodes]

    marked = MarkedText(
        "ab cd ef",
        (
            Tag(0, 5, "<a>", "</a>"),
            Tag(0, 2, "<b>", "</b>"),
            Tag(2, 3, "<blank>", "</blank>"),
            Tag(3, 5, "<c>", "</c>"),
            Tag(4, 4, "<in>"),
            Tag(5, 5, "<behind>"),
            Tag(6, 8, "<d>", "</d>"),
            Tag(7, 7, "<last>"),
        ),
    )
    assert tree(nodes_of(marked)) == [
        ("<a>", False, [("<b>", False, []), ("<blank>", True, []), ("<c>", False, [("<in>", True, [])])]),
        ("<behind>", True, []),
        ("<d>", False, [("<last>", True, [])]),
    ]


def test_what_is_left_when_words_are_taken() -> None:
    parts = {(3, 5): [(2, 3), (5, 6)], (2, 5): [(5, 6)], (4, 6): [(2, 4)], (2, 6): []}
    parts |= dict.fromkeys(((0, 1), (0, 2), (6, 7), (7, 9), (4, 4)), [(2, 6)])
    assert {taken: without((2, 6), taken) for taken in parts} == parts


def parse(written: str) -> MarkedText:
    builder = MarkupBuilder()
    for tag, text in re.findall(r"(<[^>]*>)|([^<]+)", written):
        if text:
            builder.add(text)
        elif tag.endswith("/>"):
            builder.point(tag)
        elif tag.startswith("</"):
            builder.close(tag)
        else:
            builder.open(tag)
    return builder.build()
