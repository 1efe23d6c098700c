from hypothesis import given
from hypothesis import strategies as st

from jumok.formats.html_tokens import attributes_of, html_tokens, with_value

PARTS = st.sampled_from(
    ["<", ">", "<p>", "</p>", "<a href='x>y'>", "<!--", "-->", "<!", "<?x?>", "text ", "&amp;", '"', "'", "=",
     "<script>", "</script>", "<br/>", "<img alt=", "<3"]
)  # fmt: skip


@given(st.lists(PARTS, max_size=20).map("".join))
def test_the_tokens_are_the_page_whatever_it_is(text: str) -> None:
    assert "".join(token.raw for token in html_tokens(text)) == text
    assert all(token.begin == text.index(token.raw, token.begin) for token in html_tokens(text))


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.name or token.raw) for token in html_tokens(text)]


def test_tags_text_and_the_rest() -> None:
    assert kinds("<!doctype html><P class=a>3 < 4<br/></P><!-- <b> -->") == [
        ("other", "<!doctype html>"),
        ("start", "p"),
        ("text", "3 "),
        ("text", "<"),
        ("text", " 4"),
        ("start", "br"),
        ("end", "p"),
        ("other", "<!-- <b> -->"),
    ]


def test_comments_end_as_they_do_in_browsers() -> None:
    """Also at once; and one without an end is all of the rest."""
    assert kinds("<!-->a--><!--->b<!----><!-- - -- > -->c<!-- <p>") == [
        ("other", "<!-->"),
        ("text", "a-->"),
        ("other", "<!--->"),
        ("text", "b"),
        ("other", "<!---->"),
        ("other", "<!-- - -- > -->"),
        ("text", "c"),
        ("other", "<!-- <p>"),
    ]
    assert kinds("<?php\n1 ?>x<!doctype") == [("other", "<?php\n1 ?>"), ("text", "x"), ("other", "<!doctype")]


def test_what_has_no_inside_and_what_has_no_attributes() -> None:
    tokens = {token.raw: token for token in html_tokens('<br><p/><p></p title="x"><P title=y>')}
    assert [token.is_void for token in tokens.values()] == [True, True, False, False, False]
    assert tokens['</p title="x">'].attributes == {}
    assert tokens["<P title=y>"].attributes["title"].text == "y"


def test_scripts_are_no_markup_and_quoted_signs_end_no_tag() -> None:
    assert kinds("<script>a<b></Script>x") == [
        ("start", "script"),
        ("other", "a<b>"),
        ("end", "script"),
        ("text", "x"),
    ]
    assert kinds("<a title='1 > 0' x=\"</a>\">b") == [("start", "a"), ("text", "b")]
    assert kinds("<a it's>b") == [("start", "a"), ("text", "b")]
    assert kinds("a <b c") == [("text", "a "), ("other", "<b c")]
    assert kinds("<b c='d>e") == [("other", "<b c='d>e")]
    assert kinds("<script></script>x<style/>y") == [
        ("start", "script"),
        ("end", "script"),
        ("text", "x"),
        ("start", "style"),
        ("text", "y"),
    ]
    assert kinds("<script>a</scripts>b") == [("start", "script"), ("other", "a</scripts>b")]


def test_attributes_and_their_values() -> None:
    raw = """<img ALT="a &amp; b" src=x.png hidden title='t' alt=second>"""
    assert {name: one.text for name, one in attributes_of(raw).items()} == {
        "alt": "a & b",
        "src": "x.png",
        "hidden": "",
        "title": "t",
    }
    assert with_value(raw, "alt", 'c "d"') == raw.replace('"a &amp; b"', '"c &quot;d&quot;"')
    assert with_value(raw, "src", "y z") == raw.replace("x.png", '"y z"')
    assert with_value(raw, "hidden", "no") == raw.replace("hidden", 'hidden="no"')
    assert with_value("<br/>", "id", "1") == '<br id="1"/>'
    assert with_value("<p>", "id", "1") == '<p id="1">'
