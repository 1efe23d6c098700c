"""Answers become texts with tokens, scores and links."""

from jumok.answers import Answer
from jumok.config import TextConfig
from jumok.decoding.hypotheses import hypotheses_of, tokens_of
from jumok.decoding.results import TextLink
from jumok.text.tokenizer import EOS, Tokenizers, train_tokenizer


def test_equal_texts_count_once_and_links_are_those_of_the_sentence() -> None:
    both = train_tokenizer(["a b", "b a"], TextConfig(vocabulary=300))
    tokenizers, ids = Tokenizers(both, both), tuple(both.encode("a b"))
    best = Answer(ids, (-1.0,) * (len(ids) + 1), finished=True, alignment=(1, 0), looks=(0.75, 0.5))
    same = Answer((*ids, 3), (-1.0,) * (len(ids) + 1), finished=False)
    (found,) = hypotheses_of([best, same], tokenizers, 2, " b  a")
    assert (found.text, found.score, found.finished) == ("a b", -3.0, True)
    assert found.links == (TextLink((4, 5), (0, 1), 0.75), TextLink((1, 2), (2, 3), 0.5))
    assert found.tokens == tokens_of(both, (*ids, EOS), (-1.0, -1.0, -1.0))
    assert hypotheses_of([best], tokenizers, 1)[0].links == ()


def test_there_are_as_many_as_are_asked_for_and_the_best_come_first() -> None:
    both = train_tokenizer(["a b", "b a"], TextConfig(vocabulary=300))
    answers = [Answer(tuple(both.encode(text)), (-1.0,), finished=False) for text in ("b", "a", "b", "a b")]
    for n_best, texts in ((1, ["b"]), (2, ["b", "a"]), (3, ["b", "a", "a b"]), (9, ["b", "a", "a b"])):
        found = hypotheses_of(answers, Tokenizers(both, both), n_best)
        assert [one.text for one in found] == texts
