"""Names tell what columns hold; a pair that looks like two names stays a pair."""

import pytest

from jumok.data.headers import is_header, language_of, usual_sides

LONG = [["a sentence of some length", "ein Satz von einiger Länge"]] * 3
SHORT = [["go", "tu"], ["he", "is"], ["an", "un"]]


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("en", "en"),
        (" EN-us ", "en"),
        ("zh_Hans_CN", "zh"),
        ("deu", "deu"),
        ("English", "en"),
        ("한국어", "ko"),
        ("text_de", "de"),
        ("German sentence", "de"),
        ("source", ""),
        ("xx", ""),
        ("row id", ""),
        ("en-de pairs", ""),
    ],
)
def test_languages_by_name(name: str, language: str) -> None:
    assert language_of(name) == language


@pytest.mark.parametrize(
    ("names", "sides"),
    [
        (["id", "Source", "Target", "score"], ("Source", "Target")),
        (["tgt", "src"], ("src", "tgt")),
        (["fr", "en"], ("fr", "en")),
        (["id", "en", "de"], ("en", "de")),
        (["id", "en"], ("id", "en")),
        (["en", "de", "fr"], ()),
        (["body", "subject"], ()),
        ([], ()),
    ],
)
def test_sides_by_name(names: list[str], sides: tuple[str, ...]) -> None:
    assert usual_sides(names) == sides


@pytest.mark.parametrize(
    ("cells", "below", "header"),
    [
        (["source", "target"], LONG, True),
        (["source", "target"], SHORT, True),
        (["en", "de"], LONG, True),
        (["source_de", "target_en"], SHORT, True),
        (["English", "French"], LONG, True),
        (["id", "en", "de"], LONG, True),
        (["no", "so"], SHORT, False),  # of a dictionary of short words
        (["source", "target"], [], False),
        (["source", "source"], LONG, False),
        (["1", "source", "target"], LONG, False),
        (["en", "de"], [["x" * 6] * 2], True),  # three times as long as the names
        (["en", "de"], [["x" * 5] * 2], False),
        (["en", "deu"], [["x" * 9] * 2], True),
        (["en", "deu"], [["x" * 8] * 2], False),
        (["English", "French"], [["x" * 12] * 2], True),  # names count for four letters at most
        (["English", "French"], [["x" * 11] * 2], False),
        (["en", "de"], [["x" * 40] * 2] * 25 + [["x"] * 2] * 75, True),  # 50 lines are looked at
        (["en", "de"], [["x" * 40] * 2] * 24 + [["x"] * 2] * 75, False),
        (["A dog runs.", "Ein Hund läuft."], LONG, False),
        (["hello", "hallo"], SHORT, False),
        ([""], LONG, False),
    ],
)
def test_a_header_is_told_from_a_pair(cells: list[str], below: list[list[str]], *, header: bool) -> None:
    assert is_header(cells, below) is header
