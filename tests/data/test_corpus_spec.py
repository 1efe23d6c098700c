"""A corpus of several is read as it is written, and what means nothing is refused in words."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.corpus_spec import CorpusSpec, parse_spec, parse_specs
from jumok.errors import ConfigError
from jumok.text.frame import Direction


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("a.tsv", {"source": "a.tsv"}),
        ("a.tsv:3", {"source": "a.tsv", "weight": 3.0}),
        ("a.tsv:0.5:de-en", {"source": "a.tsv", "weight": 0.5, "direction": Direction("de", "en")}),
        (
            "a.tsv:deu_Latn-en:both",
            {"source": "a.tsv", "direction": Direction("deu_Latn", "en"), "both": True},
        ),
        ("t.de+t.en:de-en", {"source": "t.de", "target": "t.en", "direction": Direction("de", "en")}),
        ("n.txt:en:copy", {"source": "n.txt", "direction": Direction("", "en"), "alone": "copy"}),
        ("n.txt:denoise", {"source": "n.txt", "alone": "denoise"}),
        ("C:\\a.tsv:2", {"source": "C:\\a.tsv", "weight": 2.0}),
        ("homeassistant-ko-en:both", {"source": "homeassistant-ko-en", "both": True}),
    ],
)
def test_words(given: str, meant: dict[str, object]) -> None:
    assert parse_spec(given) == CorpusSpec(given, **meant)  # type: ignore[arg-type]


@given(st.permutations(["2.5", "de-en", "both"]))
def test_the_order_of_the_words_does_not_matter(words: list[str]) -> None:
    spec = parse_spec(":".join(["a.tsv", *words]))
    assert (spec.weight, spec.direction, spec.both) == (2.5, Direction("de", "en"), True)


def test_a_file_with_colons_in_its_name_is_a_file(tmp_path: Path) -> None:
    odd = tmp_path / "a:3.tsv"
    odd.write_text("a\tb\n")
    assert parse_spec(str(odd)).source == str(odd)
    plus = tmp_path / "c++.tsv"
    plus.write_text("a\tb\n")
    assert parse_spec(f"{plus}:2").source == str(plus)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("", "it names no file"),
        ("a.tsv:0", "0 is no weight"),
        ("a.tsv:-1", "-1 is no weight"),
        ("a.tsv:nan", "nan is no weight"),
        ("a.tsv:inf", "inf is no weight"),
        ("a.tsv:1.2.3", "1.2.3 is no weight"),
        ("a.tsv:heavy", "'heavy' is no word for it"),
        ("a.tsv:2:3", "'3' says again what another word says"),
        ("a.tsv:de-en:de-fr", "'de-fr' says again"),
        ("a.tsv:en", "'en' is one language, and pairs have two"),
        ("a.txt:de-en:copy", "text in one language has no direction de→en"),
        ("a.txt:en:copy:both", "copy is for one file with sentences in one language"),
    ],
)
def test_what_means_nothing_is_refused(given: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=f"the corpus '{given}' cannot be read: {reason}"):
        parse_spec(given)


def test_the_same_corpus_twice() -> None:
    with pytest.raises(ConfigError, match=r"a.tsv is given twice: 'a.tsv:2' and './a.tsv:3'"):
        parse_specs(("a.tsv:2", "./a.tsv:3"))
    assert len(parse_specs(("m.csv:en-de", "m.csv:en-fr"))) == 2, "other columns of one file"
