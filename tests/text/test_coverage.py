"""What of a text a vocabulary does not cover."""

from jumok.config import TextConfig
from jumok.text.coverage import Coverage, coverage
from jumok.text.tokenizer import train_tokenizer


def test_bytes_are_counted_and_the_characters_behind_them_named() -> None:
    tokenizer = train_tokenizer(["abc abc"] * 3, TextConfig(vocabulary=300, kind="char"))
    found = coverage(tokenizer, ["ab", "a가가→"])
    assert found == Coverage(tokens=2 + 1 + 9, lost=9, characters=("가", "→"))
    assert str(found) == "75.0% of its tokens are bytes or unknown: 가 →"


def test_the_six_most_frequent_characters_are_named() -> None:
    tokenizer = train_tokenizer(["ab"] * 3, TextConfig(kind="char", vocabulary=300))
    assert coverage(tokenizer, ["ㄱㄴㄷㄹㅁㅂㅅㅅ"]).characters == ("ㅅ", "ㄱ", "ㄴ", "ㄷ", "ㄹ", "ㅁ")


def test_a_text_that_is_covered_loses_nothing() -> None:
    tokenizer = train_tokenizer(["abc abc"] * 3, TextConfig(vocabulary=300))
    assert coverage(tokenizer, ["abc"]).share == 0
    assert str(coverage(tokenizer, ["abc"])) == "0.0% of its tokens are bytes or unknown"
    assert coverage(tokenizer, []).share == 0


def test_unknown_tokens_of_other_vocabularies_are_counted() -> None:
    class Words:
        """A vocabulary without bytes, as other toolkits have them."""

        size, fingerprint = 6, ""

        def encode_many(self, texts: list[str]) -> list[list[int]]:
            return [[{"a": 4, "b": 5}.get(word, 3) for word in text.split()] for text in texts]

        def pieces(self, ids: range) -> list[str]:
            return [["<s>", "<pad>", "</s>", "<unk>", "a", "b"][id] for id in ids]

    assert coverage(Words(), ["a x b", "y"]) == Coverage(4, 2)  # type: ignore[arg-type]
