"""A memory finds the same text again, shows what is nearly the same, and reads every form of a corpus."""

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.errors import ConfigError, DataError
from jumok.terms.memory import MemoryMatch, TranslationMemory, read_memory
from jumok.text.normalize import tidy

PAIRS = [
    ("Press the button to save 12 files.", "Drücken Sie die Taste, um 12 Dateien zu sichern."),
    ("Press the button to print the page.", "Drücken Sie die Taste, um die Seite zu drucken."),
    ("한국어 문장입니다.", "Ein koreanischer Satz."),
]


def test_the_same_text_is_found_whatever_its_white_space() -> None:
    memory = TranslationMemory(PAIRS)
    assert memory.exact("  Press the button\nto save 12 files. ") == MemoryMatch(*PAIRS[0], 1.0)
    for other in ("Press the button to save 13 files.", "press the button to save 12 files.", ""):
        assert memory.exact(other) is None


@settings(max_examples=30, deadline=None)
@given(pairs=st.lists(st.tuples(st.text("ab c", max_size=5), st.text("xy ", max_size=5)), max_size=8))
def test_the_last_translation_counts_and_blank_ones_do_not(pairs: list[tuple[str, str]]) -> None:
    memory = TranslationMemory(pairs)
    expected = {tidy(source): tidy(target) for source, target in pairs if tidy(source) and tidy(target)}
    assert {source: match.target for source, _ in pairs if (match := memory.exact(source))} == {
        source: expected[tidy(source)] for source, _ in pairs if tidy(source) in expected
    }
    assert len(memory) == len(expected)


def test_similar_texts_come_with_their_scores_best_first() -> None:
    memory = TranslationMemory(PAIRS, threshold=0.5)
    first, second = memory.matches("Press the button to save 13 files.", most=2)
    assert first == MemoryMatch(*PAIRS[0], round(1 - 1 / 34, 4))
    assert second.score < first.score
    assert memory.matches("Press the button to save 13 files.", most=1) == [first]
    assert memory.matches("nothing of the kind") == memory.matches("") == []
    assert memory.matches("한국어 문장이다.")[0].target == "Ein koreanischer Satz."


def test_only_the_same_text_has_a_score_of_one() -> None:
    memory = TranslationMemory(PAIRS)
    assert memory.matches(PAIRS[0][0])[0].score == 1
    assert memory.matches(PAIRS[0][0].upper())[0].score == round(1 - 1 / 35, 4)


def test_very_long_texts_are_found_only_as_they_are() -> None:
    long, shorter = "word " * 401, "word " * 399 + "words"
    assert (len(long.strip()), len(shorter)) == (2_004, 2_000)
    memory = TranslationMemory([(long, "lang"), *PAIRS])
    assert memory.exact(long) is not None
    assert memory.matches(long) == []
    assert len(memory.sources) == 3
    assert TranslationMemory([(shorter, "kurz")]).matches(shorter)
    assert TranslationMemory([(shorter, "kurz")]).matches(shorter + "x") == []
    assert TranslationMemory([(shorter + "x", "kurz")]).matches(shorter) == []


def test_a_threshold_that_cannot_work() -> None:
    with pytest.raises(ConfigError, match="threshold=0 cannot work"):
        TranslationMemory([], threshold=0)
    with pytest.raises(ConfigError, match="threshold=1.01 cannot work\n  choose above 0, and at most 1"):
        TranslationMemory([], threshold=1.01)
    assert repr(TranslationMemory(PAIRS)) == "TranslationMemory(3 entries)"


def test_as_similar_as_the_threshold_is_similar_enough_and_three_are_shown() -> None:
    text = PAIRS[0][0].replace("12", "13")
    for threshold, count in ((1 - 1 / 34, 1), (1 - 1 / 35, 0), (1, 0)):
        assert len(TranslationMemory(PAIRS, threshold=threshold).matches(text)) == count
    assert len(TranslationMemory(PAIRS, threshold=1).matches(PAIRS[0][0])) == 1
    many = TranslationMemory((f"Press button {n} to go on", str(n)) for n in range(8))
    assert len(many.matches("Press button 9 to go on")) == 3


def test_a_fingerprint_is_that_of_all_entries() -> None:
    told = TranslationMemory([("ä", "b"), ("c", "d")]).fingerprint
    assert told == sha256('[0.7, ["c", "d"], ["ä", "b"]]'.encode()).hexdigest()
    assert told == TranslationMemory([("c", "d"), ("ä", "b")]).fingerprint
    assert told != TranslationMemory([("ä", "b"), ("c", "d")], threshold=0.8).fingerprint


def tmx(path: Path) -> str:
    tuv = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    units = "".join(
        f"<tu>{tuv.format('en', s)}{tuv.format('de-DE', t)}{tuv.format('fr', 'x')}</tu>" for s, t in PAIRS
    )
    path.write_text(f"<tmx><body>{units}</body></tmx>")
    return str(path)


def test_a_file_is_read_in_the_direction_of_the_model(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    assert read_memory(tmx(path), ("en", "de")).exact(PAIRS[0][0]) == MemoryMatch(*PAIRS[0], 1.0)
    assert len(read_memory(tmx(path), ("en-US", "de-AT"))) == 3
    assert read_memory(tmx(path), ("de", "en")).exact(PAIRS[0][1]).target == PAIRS[0][0]
    with pytest.raises(ConfigError, match="cannot be told: there is en, de-de, fr"):
        read_memory(tmx(path), ("nl", "en"))


def test_a_plain_table_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS))
    assert len(read_memory(tmp_path / "a.tsv", ("en", "de"))) == len(read_memory(tmp_path / "a.tsv")) == 3
    (tmp_path / "a.po").write_text('msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "a"\nmsgstr "b"\n')
    assert read_memory(tmp_path / "a.po", ("en", "de")).exact("a").target == "b"


def test_a_memory_of_other_languages_and_one_without_entries(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("en,de\none,eins\n")
    with pytest.raises(DataError, match="the memory is from en to de, and the model from fr to de") as caught:
        read_memory(tmp_path / "a.csv", ("fr", "de"))
    assert caught.value.hint == "give a memory of the model's languages"
    (tmp_path / "b.po").write_text('msgid "a"\nmsgstr ""\n')
    with pytest.raises(DataError, match="the memory has no entries"):
        read_memory(tmp_path / "b.po")


def test_a_language_that_nobody_knows_is_compared_as_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("en,de\none,eins\n")
    for languages in (("en", "klingon"), ("klingon", "de")):
        with pytest.raises(DataError, match=f"from en to de, and the model from {' to '.join(languages)}\n"):
            read_memory(tmp_path / "a.csv", languages)
