"""From the answers of a search to hypotheses: ids become text, and each token is shown with its score."""

from collections.abc import Iterable, Sequence

from jumok.answers import Answer
from jumok.decoding.results import Hypothesis, Token, sum_up
from jumok.text.tokenizer import EOS, Tokenizer, Tokenizers


def hypotheses_of(answers: Iterable[Answer], tokenizers: Tokenizers, n_best: int) -> list[Hypothesis]:
    """The best answers with different texts."""
    tokenizer, by_text = tokenizers.target, dict[str, Hypothesis]()
    for answer in answers:
        text = tokenizer.decode(answer.ids)
        if text not in by_text and len(by_text) < n_best:
            ids = (*answer.ids, EOS) if answer.finished else answer.ids
            tokens = tokens_of(tokenizer, ids, answer.log_probs)
            by_text[text] = Hypothesis(text, *sum_up(tokens), tokens, answer.finished)
    return list(by_text.values())


def tokens_of(tokenizer: Tokenizer, ids: Sequence[int], log_probs: Sequence[float]) -> tuple[Token, ...]:
    """Each token as people see it, with its log-probability."""
    return tuple(map(Token, tokenizer.pieces(ids), ids, log_probs))
