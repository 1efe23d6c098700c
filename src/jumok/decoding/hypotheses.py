"""From the answers of a search to hypotheses: texts with their tokens, scores and links. No torch."""

from collections.abc import Iterable, Sequence

from jumok.answers import Answer
from jumok.decoding.links import text_links
from jumok.decoding.results import Hypothesis, Token, sum_up
from jumok.text.spans import source_spans
from jumok.text.tokenizer import EOS, Tokenizer, Tokenizers


def tokens_of(tokenizer: Tokenizer, ids: Sequence[int], log_probs: Sequence[float]) -> tuple[Token, ...]:
    """Tokens as people see them."""
    return tuple(map(Token, tokenizer.pieces(ids), ids, log_probs))


def hypotheses_of(
    answers: Iterable[Answer], tokenizers: Tokenizers, n_best: int, sentence: str | None = None
) -> list[Hypothesis]:
    """The best answers with different texts; with links into the `sentence` that they answer, if given."""
    target, by_text = tokenizers.target, dict[str, Hypothesis]()
    spans = [] if sentence is None else source_spans(tokenizers.text_source, sentence)
    for answer in answers:
        text = target.decode(answer.ids)
        if text not in by_text and len(by_text) < n_best:
            ids = (*answer.ids, EOS) if answer.finished else answer.ids
            tokens = tokens_of(target, ids, answer.log_probs)
            links = text_links(answer, spans, target, tokenizers.frame.before)
            by_text[text] = Hypothesis(text, *sum_up(tokens), tokens, answer.finished, links=links)
    return list(by_text.values())
