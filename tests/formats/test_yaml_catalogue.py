from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.laws import check_capitals, check_laws, check_mark, segments, upper, written

from jumok.errors import DataError
from jumok.formats.segments import MarkedText
from jumok.formats.yaml_catalogue import YamlFormat

FULL = """\
# a note
en:
  plain: Hello there   # behind it
  quoted: "Say \\"x\\""
  single: 'it''s so'
  block: |
    Line one
    line two
  folded: >-
    Folded text
    goes on

    here
  list: [a word, "c d", 3]
  named: &n anchored text
  again: *n
  tagged: !!str tagged text
  multi: plain over
    two lines
  yes: yes
  number: 3.5
  nothing: ~
  date: 2020-01-02
"""
STRINGS = st.text(st.sampled_from("ab:#-'\"\n {}[],&*!|>%@`?é "), max_size=12)
STYLES = ["", "'", '"', "|", ">", "|2", ">2"]


def test_values_change_and_all_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(FULL, encoding="utf-8")
    capitals = check_laws(YamlFormat(), path)
    check_capitals(YamlFormat(), path, capitals)
    new = capitals.read_text("utf-8")
    assert "  plain: HELLO THERE   # behind it\n" in new
    assert "  block: |\n    LINE ONE\n    LINE TWO\n" in new
    assert '  list: [A WORD, "C D", 3]\n  named: &n ANCHORED TEXT\n  again: *n\n' in new
    assert "  yes: yes\n  number: 3.5\n  nothing: ~\n  date: 2020-01-02\n" in new
    assert new.startswith("# a note\nen:\n")
    old, other = yaml.safe_load(FULL)["en"], yaml.safe_load(new)["en"]
    assert other == {key: changed(value) for key, value in old.items()}
    assert segments(YamlFormat(), path)[5].where == "en.list.0"
    check_mark(YamlFormat(), path)


def changed(value: Any) -> Any:
    if isinstance(value, list):
        return [changed(one) for one in value]
    return upper(value) if isinstance(value, str) else value


@given(STRINGS, st.sampled_from(STYLES))
def test_any_answer_can_be_written_in_any_style(
    tmp_path_factory: pytest.TempPathFactory, text: str, style: str
) -> None:
    """As the value of a key among others, in a flow or on its own; YAML reads it as this text."""
    path = tmp_path_factory.mktemp("yaml") / "a.yml"
    block = style.startswith(("|", ">"))
    word = f"{style}\n    words" if block else f"{style}words{style}"
    path.write_text(f"a:\n  first: {word}\n  second: 2\n")
    text = text.strip()
    new = yaml.safe_load(written(YamlFormat(), path, iter([MarkedText(text)])))
    assert new["a"]["second"] == 2
    assert new["a"]["first"].rstrip("\n") == text
    if not block:
        path.write_text(f"a: [{word}, {{b: {word}}}]\n")
        assert yaml.safe_load(written(YamlFormat(), path, iter([MarkedText(text)] * 2))) == {
            "a": [text, {"b": text}]
        }


@pytest.mark.parametrize("head", ["|", "|2", "|2-  # a note"])
def test_a_block_stays_a_block(tmp_path: Path, head: str) -> None:
    path = tmp_path / "a.yml"
    path.write_text(f"a: {head}\n  one\n  two\n")
    assert written(YamlFormat(), path, iter([MarkedText("x\ny\n")])).decode() == f"a: {head}\n  x\n  y\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [b\nc: d", "broken YAML: .*\n.*a.yaml, line 2\n  mend it there"),
        ("a: 'b", "broken YAML: found unexpected end of stream\n.*line 1"),
        ("a: \x00", "broken YAML: unacceptable character"),
        ("\tb: c", "broken YAML: found character"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        segments(YamlFormat(), path)


def test_several_documents_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: one word\r\nb: |\r\n  x y\r\n  z\r\n---\r\n- two words\r\n")
    new = check_laws(YamlFormat(), path).read_bytes()
    assert new == b"a: ONE WORD\r\nb: |\r\n  X Y\r\n  Z\r\n---\r\n- TWO WORDS\r\n"


@pytest.mark.parametrize(
    ("old", "answer", "new"),
    [
        ("'a b'", "it's é", "'it''s é'"),
        ("'a b'", "x\ny", '"x\\ny"'),
        ("a b", "c: é", '"c: é"'),
        ("a b", "3", '"3"'),
        ("a b", "yes", '"yes"'),
        ("a b", "c d", "c d"),
        ('"a b"', "é \x07", '"é \\u0007"'),
        ("a b", "é \x85", '"\\u00e9 \\u0085"'),
        (">-\n  a b\n", "c\nd", ">-\n  c\n\n  d\n"),
        ("|-\n  a b\n", "c\nd", "|-\n  c\n  d\n"),
        ("|\n  a b\n", " c", '" c\\n"\n'),
    ],
)
def test_an_answer_has_the_style_that_the_text_had_if_it_can(
    tmp_path: Path, old: str, answer: str, new: str
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"k: {old}", encoding="utf-8")
    assert written(YamlFormat(), path, iter([MarkedText(answer)])).decode() == f"k: {new}"


def test_a_text_alone_is_the_value(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("just words\n")
    assert [(one.source.text, one.where) for one in segments(YamlFormat(), path)] == [
        ("just words", "the value")
    ]
