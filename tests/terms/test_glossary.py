import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import ConfigError, DataError, LimitError
from jumok.terms import glossary as module
from jumok.terms.glossary import (
    Glossary,
    Term,
    check_terms,
    glossary_of,
    parse_glossary,
    read_glossary,
)


def test_a_file_has_terms_choices_and_comments(tmp_path) -> None:
    file = tmp_path / "terms.tsv"
    text = "\ufeff# mine\r\n\r\nDatei\tfile\r\nZelle\tcell|box\tcompartment\r\n Writer \tWriter\r\n"
    file.write_bytes(text.encode())
    assert read_glossary(file).terms == (
        Term("Datei", ("file",)),
        Term("Zelle", ("cell", "box", "compartment")),
        Term("Writer", ("Writer",)),
    )
    assert glossary_of(str(file)) == glossary_of(file) == read_glossary(str(file))


def test_a_mapping_is_a_glossary_and_so_is_a_glossary() -> None:
    made = glossary_of({"Datei": "file", "Zelle": ["cell", "box"]})
    assert made.terms == (Term("Datei", ("file",)), Term("Zelle", ("cell", "box")))
    assert glossary_of(made) is made
    assert hash(made) == hash(glossary_of({"Datei": "file", "Zelle": ["cell", "box"]}))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a\tb\n", ""),
        (
            b"Datei\tfile\n\ndatei\tdocument\n",
            "'datei' becomes 'file' at t.tsv:1, and 'document' here\n  t.tsv:3\n  keep one of the lines; "
            "if either will do, write both on one line with | between them",
        ),
        (b"x\ty\nDatei\n", "the term 'Datei' has no translation\n  t.tsv:2\n  write term, tab, translation;"),
        (b"Datei\t | \n", "the translation is empty\n  t.tsv:1\n  leave the line out, or write both sides"),
        (b"\tfile\n", "the term is empty\n  t.tsv:1\n  leave the line out"),
        (b"a\tb\nD\xff\tfile\n", "byte 2 of the line is not UTF-8\n  t.tsv:2\n  save the glossary as UTF-8"),
        (b"# nothing\n", "the glossary has no terms\n  write term, tab, translation on each line"),
        (
            b"a" * 201 + b"\tb",
            "a term has 201 characters, and 200 are the most\n  t.tsv:1\n  a glossary has terms",
        ),
        (
            b"a\t" + b"|".join(b"%d" % i for i in range(17)),
            "the term has 17 translations to choose from, and 16 are the most\n  t.tsv:1\n  keep the best",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_by_line(data, said) -> None:
    if not said:
        assert parse_glossary(data, "t.tsv").terms == (Term("a", ("b",)),)
        return
    with pytest.raises((DataError, LimitError)) as caught:
        parse_glossary(data, "t.tsv")
    assert str(caught.value).startswith(said)


def test_what_is_just_small_enough_is_taken() -> None:
    made = glossary_of({"a" * 200: [f"{n:0200}" for n in range(16)]})
    assert len(made.terms[0].targets) == 16
    terms = ((f"line {n}", Term(f"t{n}", ("x",))) for n in range(1, 100_002))
    with pytest.raises(LimitError, match="there are more than 100,000 terms\n  line 100001\n  split the"):
        check_terms(terms)


def test_the_same_line_twice_is_no_contradiction() -> None:
    assert len(parse_glossary(b"a\tb\na\tb\n").terms) == 1


def test_a_target_that_is_a_term_is_noted() -> None:
    made = parse_glossary(b"a\tb\nb\ta\nc\tc\n", "t.tsv")
    assert made.notes == (
        "t.tsv:1: 'b' is what 'a' becomes and a term itself (t.tsv:2); "
        "terms are looked for in the source only",
        "t.tsv:2: 'a' is what 'b' becomes and a term itself (t.tsv:1); "
        "terms are looked for in the source only",
    )


def test_a_file_that_is_not_there(tmp_path) -> None:
    with pytest.raises(DataError, match="the glossary cannot be read: No such file or directory"):
        read_glossary(tmp_path / "none.tsv")
    large = tmp_path / "large.tsv"
    with large.open("wb") as file:
        file.truncate(32 * 1024 * 1024 + 1)
    with pytest.raises(LimitError, match="the glossary has 33,554,433 bytes, and 33,554,432 are the most"):
        read_glossary(large)


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        (7, "a glossary is a file or a mapping, not int"),
        ({"a": 7}, "a glossary has texts on both sides"),
        ({"a": ["b", None]}, "a glossary has texts on both sides"),
        ({7: "b"}, "a glossary has texts on both sides"),
    ],
)
def test_what_is_no_glossary(given_, said) -> None:
    with pytest.raises(ConfigError, match=said):
        glossary_of(given_)


def test_a_mapping_may_be_empty_on_no_side() -> None:
    with pytest.raises(DataError, match="the translation is empty"):
        glossary_of({"a": " "})


@given(st.binary(max_size=60))
def test_any_bytes_are_a_glossary_or_an_error_of_ours(data) -> None:
    try:
        made = parse_glossary(data)
    except (DataError, LimitError):
        made = Glossary(())
    assert all(term.source and all(term.targets) for term in made.terms)


def test_a_glossary_finds_its_terms_in_any_language_and_stays_what_it_is() -> None:
    made, same = (
        glossary_of({"книга": "book", "Tisch": "table"}),
        glossary_of({"книга": "book", "Tisch": "table"}),
    )
    for _ in range(2):
        assert [one.text for one in made.find("в книге", "ru")] == ["книге"]
        assert [one.text for one in made.find("в книге", "de")] == []
        assert [one.text for one in made.find("Tischen")] == ["Tischen"]
    assert made == same
    assert repr(made) == repr(same)


def test_a_file_may_be_as_large_as_the_limit(tmp_path, monkeypatch) -> None:
    (tmp_path / "a.tsv").write_bytes(b"a\tb\n")
    monkeypatch.setattr(module, "LARGEST_FILE", 4)
    assert len(read_glossary(tmp_path / "a.tsv").terms) == 1
    monkeypatch.setattr(module, "LARGEST_FILE", 3)
    with pytest.raises(
        LimitError, match="the glossary has 4 bytes, and 3 are the most\n  .*a.tsv\n  is it a"
    ):
        read_glossary(tmp_path / "a.tsv")


def test_a_term_that_becomes_itself_in_capitals_is_not_noted() -> None:
    assert parse_glossary(b"usb\tUSB\nb\tc\n", "t.tsv").notes == ()
