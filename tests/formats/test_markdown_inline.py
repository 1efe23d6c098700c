from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token as MarkdownToken

from jumok.formats.markdown_inline import (
    NotFoundError,
    escape,
    escape_block,
    flanked,
    inline_runs,
)
from jumok.formats.segments import MarkedText, Tag

PARTS = st.sampled_from([*"*_`[]()<>!\\&~#a b", "**", "](u)", "[x]", "amp;", "ab"])


def content(text: str) -> str:
    """What a reader sees of one paragraph, if it is plain text."""
    tokens = MarkdownIt("commonmark").enable("strikethrough").parseInline(text)
    assert {one.type for one in tokens[0].children or []} <= {"text"}
    return "".join(one.content for one in tokens[0].children or [])


@given(st.lists(PARTS, max_size=12).map("".join))
@example("[[x]](u)")
@example("![a [b] c](u)")
def test_escaped_text_is_read_as_it_was(text: str) -> None:
    text = " ".join(text.split())
    assert content(escape(text)) == text


@given(st.lists(PARTS, max_size=12).map("".join))
def test_elements_are_found_where_they_stand(text: str) -> None:
    parser = MarkdownIt("commonmark").enable("strikethrough").disable("text_join")
    (token,) = parser.parseInline(text)
    for run in inline_runs(token.content, token.children or [], {}, in_table=False):
        assert run.raw == token.content[run.begin : run.end]
        assert all(0 <= tag.begin <= tag.end <= len(run.marked.text) for tag in run.marked.tags)


def test_the_beginning_of_a_block() -> None:
    assert [escape_block(text) for text in ("# a", "12. b", "- c", "a - b", "#x")] == [
        "\\# a", "12\\. b", "\\- c", "a - b", "#x"
    ]  # fmt: skip


def test_emphasis_inside_a_word_has_stars_and_none_is_empty() -> None:
    tags = (Tag(0, 2, "_", "_"), Tag(3, 3, "**", "**"))
    assert flanked(MarkedText("저장을", tags)).tags == (Tag(0, 2, "*", "*"),)
    assert flanked(MarkedText("ab c", tags[:1])).tags == tags[:1]
    assert flanked(MarkedText("ab", (Tag(0, 0, "**", "**"), Tag(0, 1, "_", "_")))).tags == (
        Tag(0, 1, "*", "*"),
    )
    assert flanked(MarkedText("a.b c", (Tag(2, 3, "_", "_"),))).tags == (Tag(2, 3, "_", "_"),)
    second = Tag(1, 2, "__", "__")
    assert flanked(MarkedText("ab c", (second,))).tags == (Tag(1, 2, "**", "**"),)
    assert flanked(MarkedText(".b c", (second,))).tags == (second,)
    assert flanked(MarkedText(" b", (second, Tag(2, 2, "<br>")))).tags == (second, Tag(2, 2, "<br>"))


def test_signs_are_escaped_only_where_they_would_be_markup() -> None:
    plain = "snake_case 2 * 3 _ a<3 a[b] !x #y a&b"
    assert escape(plain) == plain
    marks = r"*a* _b_ __c__ ~~d~~ `e` <f> &amp; [g](h) [^1] \*"
    assert escape(marks) == r"\*a\* \_b\_ \_\_c\_\_ \~\~d\~\~ \`e\` \<f> \&amp; [g\](h) \[^1] \\\*"


def test_an_element_that_is_not_there() -> None:
    (token,) = MarkdownIt("commonmark").parseInline("a **b** c")
    with pytest.raises(NotFoundError):
        inline_runs("other", token.children or [], {}, in_table=False)
    (token,) = MarkdownIt("commonmark").parseInline("a\nb")
    with pytest.raises(NotFoundError):
        inline_runs("a b", token.children or [], {}, in_table=False)
    with pytest.raises(NotFoundError, match="math_inline"):
        inline_runs("a", [MarkdownToken("math_inline", "", 0)], {}, in_table=False)


def test_a_link_keeps_how_it_is_closed() -> None:
    """By an address, by the name of a reference, by its own text, which is written out then."""
    parser = MarkdownIt("commonmark")
    environment = {"references": {name: {"href": "u", "title": ""} for name in ("ID", "C")}}
    (token,) = parser.parseInline("[a](u) [b][id] [c] [c][]", environment)
    (run,) = inline_runs(token.content, token.children or [], environment, in_table=False)
    assert [tag.close for tag in run.marked.tags] == ["](u)", "][id]", "][c]", "][c]"]


def test_html_around_markup_ends_where_it_ends() -> None:
    (token,) = MarkdownIt("commonmark").parseInline("<b>**x** y</b> z")
    (run,) = inline_runs(token.content, token.children or [], {}, in_table=False)
    assert run.marked == MarkedText("x y z", (Tag(0, 3, "<b>", "</b>"), Tag(0, 1, "**", "**")))


def test_html_across_markup_is_points() -> None:
    (token,) = MarkdownIt("commonmark").parseInline("*a <b>c* d</b> <i>e</i> </u>f")
    (run,) = inline_runs(token.content, token.children or [], {}, in_table=False)
    assert run.marked.text == "a c d e f"
    assert [(tag.begin, tag.end, tag.open, tag.close) for tag in run.marked.tags] == [
        (0, 3, "*", "*"),
        (2, 2, "<b>", ""),
        (5, 5, "</b>", ""),
        (6, 7, "<i>", "</i>"),
        (8, 8, "</u>", ""),
    ]


def test_addresses_and_marks_are_points_and_lines_are_runs() -> None:
    (token,) = MarkdownIt("commonmark").parseInline("[x] a[^1] <https://b.c>  \nd\\\ne\nf [!TIP] g")
    runs = inline_runs(token.content, token.children or [], {}, in_table=False)
    assert [(run.raw, run.marked.text, [tag.open for tag in run.marked.tags]) for run in runs] == [
        ("[x] a[^1] <https://b.c>", " a ", ["[x]", "[^1]", "<https://b.c>"]),
        ("d", "d", []),
        ("e\nf [!TIP] g", "e f  g", ["[!TIP]"]),
    ]


def test_html_in_html_is_pairs_and_a_mark_with_a_definition_is_a_point() -> None:
    environment = {"references": {"^1": {"href": "u", "title": ""}}}
    (token,) = MarkdownIt("commonmark").parseInline("<b>x <i>y</i></b> [^1] z", environment)
    (run,) = inline_runs(token.content, token.children or [], environment, in_table=False)
    assert run.marked == MarkedText(
        "x y  z", (Tag(0, 3, "<b>", "</b>"), Tag(2, 3, "<i>", "</i>"), Tag(4, 4, "[^1]"))
    )


def test_a_run_is_written_with_its_tags_and_other_words_for_its_pictures() -> None:
    (token,) = MarkdownIt("commonmark").parseInline("a **b** [![c](d)](e) ![f](g)")
    (run,) = inline_runs(token.content, token.children or [], {}, in_table=False)
    answer = replace(run.marked, text=run.marked.text.upper())
    assert run.written(answer, ["x", None]) == "A **B** [![x](d)](e) ![f](g)"
    assert run.written(None, [None, "y"]) == "a **b** [![c](d)](e) ![y](g)"


@pytest.mark.parametrize(("written", "text"), [("a `b` c", "a b c"), ("`` `b` ``", "`b`"), ("`a\nb`", "a b")])
def test_code_is_text_in_a_tag_that_keeps_it(written: str, text: str) -> None:
    (token,) = MarkdownIt("commonmark").parseInline(written)
    (run,) = inline_runs(token.content, token.children or [], {}, in_table=False)
    assert run.marked.text == text
    assert [tag.keep for tag in run.marked.tags] == [True]
    assert run.written(run.marked, []) == written.replace("\n", " ")


def test_only_the_beginning_of_a_block_can_be_another_block_and_only_tables_have_bars() -> None:
    assert [escape_block(text) for text in ("- - a", "# # a", "1. 2. a")] == [
        "\\- - a",
        "\\# # a",
        "1\\. 2. a",
    ]
    (token,) = MarkdownIt("commonmark").parseInline("x  \ny")
    for in_table, bar in ((True, "\\|"), (False, "|")):
        first, second = inline_runs(token.content, token.children or [], {}, in_table=in_table)
        assert first.written(MarkedText("- a | b"), []) == f"\\- a {bar} b"
        assert second.written(MarkedText("- a | b"), []) == f"- a {bar} b"


def test_signs_that_are_escaped_are_text_and_spaces_of_code_stay() -> None:
    (token,) = MarkdownIt("commonmark").disable("text_join").parseInline("a \\* &amp; ` b` `` c ``")
    (run,) = inline_runs(token.content, token.children or [], {}, in_table=False)
    assert run.marked.text == "a * &  b c"
    assert [(tag.open, tag.close) for tag in run.marked.tags] == [("`", "`"), ("`` ", " ``")]
    (token,) = MarkdownIt("commonmark").parseInline("`a`")
    with pytest.raises(NotFoundError):
        inline_runs("`a", token.children or [], {}, in_table=False)
