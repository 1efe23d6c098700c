import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.terms.matching import TermIndex


def found(terms: dict[str, str], text: str, language: str = "de") -> list[str]:
    index = TermIndex(((source, (target,)) for source, target in terms.items()), language)
    return [match.text for match in index.find(text)]


@pytest.mark.parametrize(
    ("term", "text", "language", "expected"),
    [
        ("Datei", "Die Dateien der DATEI, Dateiname, eine datei.", "de", ["Dateien", "DATEI", "datei"]),
        ("Zelle", "Zellen und Zellen-Format", "de", ["Zellen", "Zellen"]),
        ("Maus", "Mauszeiger, Maus", "de", ["Maus"]),
        ("table", "tables tablet tabled TABLE", "en", ["tables", "TABLE"]),
        ("IT", "it is IT", "en", ["IT"]),
        ("книга", "в книге, книгами, книжный", "ru", ["книге", "книгами"]),
        ("pivot table", "Pivot\u00a0 Tables here", "en", ["Pivot\u00a0 Tables"]),
        ("C++", "in C++, C+", "en", ["C++"]),
        ("파일", "파일을 열고 파일들은 파일럿 파일", "ko", ["파일을", "파일들은", "파일"]),
        ("눈", "눈이 눈 온다", "ko", ["눈"]),
        ("文件", "打开文件夹的文件", "zh", ["文件", "文件"]),
        ("ファイル", "新しいファイルを開く", "ja", ["ファイル"]),
        ("Café", "ein Cafe\u0301 dort", "de", ["Café"]),
        ("Straße", "der STRASSE, der Straße", "de", ["Straße"]),
        ("Maus", "Mause Maus", "de", ["Maus"]),
        ("Tisch", "Tischen, Tischerei, Tisch", "de", ["Tischen", "Tisch"]),
        ("Datei", "Daten Dateien", "de", ["Dateien"]),
        ("роутер", "роутек роутера", "ru", ["роутера"]),
        ("C++", "C++11 und C++", "de", ["C++", "C++"]),
        ("C", "c, C, Ca", "de", ["c", "C"]),
        ("Win10", "Win10er Win10", "de", ["Win10"]),
        ("Abc1e", "Abc1en", "de", ["Abc1en"]),
        ("5abcd", "5abcden", "de", ["5abcden"]),
        ("Datei文", "Datei文en", "de", ["Datei文"]),
        ("A文", "A文件 BA文", "zh", ["A文"]),
        ("文x", "文xy 文x", "zh", ["文x"]),
        ("PC방", "PC방에서 PC방", "ko", ["PC방에서", "PC방"]),
    ],
)
def test_words_are_found_with_their_endings(term, text, language, expected) -> None:
    assert found({term: "x"}, text, language) == expected


def test_the_longest_goes_first_and_none_overlap() -> None:
    terms = {"Datei": "file", "temporäre Datei": "temp file", "Datei öffnen": "open"}
    assert found(terms, "eine temporäre Datei öffnen, die Datei") == ["temporäre Datei", "Datei"]
    assert found({"a bc": "x", "bc defgh": "y"}, "a bc defgh, a bc") == ["bc defgh", "a bc"]
    assert found({"ab cd": "x", "cd ef": "y"}, "ab cd ef") == ["ab cd"]
    assert found({"文件": "x", "夹子具": "y"}, "文件夹子具", "zh") == ["文件", "夹子具"]
    assert found({"文件": "x", "夹子": "y"}, "文件夹子文件", "zh") == ["文件", "夹子", "文件"]


@pytest.mark.parametrize(
    ("text", "targets", "also"),
    [
        ("Die Datei", ("file", "PDF file"), ("File",)),
        ("Datei öffnen", ("file", "PDF file", "File"), ()),
        ("„Dateien“ hier", ("file", "PDF file", "File"), ()),
        ("die DATEI", ("FILE", "PDF FILE"), ()),
    ],
)
def test_the_case_of_the_text_is_carried_over(text, targets, also) -> None:
    [match] = TermIndex([("Datei", ("file", "PDF file"))], "de").find(text)
    assert (match.targets, match.also) == (targets, also)
    assert text[slice(*match.span)] == match.text


def test_a_single_capital_asks_for_none() -> None:
    assert [one.targets for one in TermIndex([("c", ("sea",))], "en").find("the C")] == [("sea",)]
    assert [one.targets for one in TermIndex([("ab", ("sea",))], "en").find("the AB")] == [("SEA",)]
    assert [one.targets for one in TermIndex([("AB", ("sea",))], "en").find("the AB")] == [("sea",)]


TEXTS = st.text(st.sampled_from("Datei dZx가나-.文 "), max_size=30)


@given(text=TEXTS, terms=st.lists(TEXTS.map(str.strip).filter(bool), min_size=1, max_size=4))
def test_matches_stand_in_order_and_apart(text, terms) -> None:
    matches = TermIndex([(term, ("x",)) for term in terms], "de").find(text)
    ends = [place for match in matches for place in match.span]
    assert ends == sorted(ends)
    assert all(match.span[0] < match.span[1] for match in matches)


@given(st.sampled_from(["Datei", "文件", "파일", "C++"]), TEXTS)
def test_a_term_that_stands_by_itself_is_found(term, around) -> None:
    assert term in found({term: "x"}, f"{around} {term} {around}")
