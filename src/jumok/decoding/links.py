"""From tokens that an aligning head looked at to links between characters, and between words. No torch."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jumok.answers import Answer
from jumok.decoding.results import Hypothesis, TextLink
from jumok.text.sentences import tight
from jumok.text.spans import Span, place_of, tidy_places, token_spans
from jumok.text.tokenizer import Tokenizer, Tokenizers
from jumok.text.word_groups import word_groups

THRESHOLD = 0.1  # the least weight of a link between words


def text_links(
    answer: Answer, source: Sequence[Span], target: Tokenizer, before: int = 0
) -> tuple[TextLink, ...]:
    """The links of an answer to a sentence whose tokens stand at `source`, with so many tags `before` them.

    () where it has no alignment.
    """
    if not answer.alignment or not source:
        return ()
    spans = token_spans(target, answer.ids)
    found = zip(spans, answer.alignment, answer.looks, strict=True)
    last = len(source) - 1
    return tuple(
        TextLink(source[min(max(place - before, 0), last)], span, look)
        for span, place, look in found
        if span[0] < span[1]
    )


@dataclass(frozen=True, slots=True)
class WordAlignment:
    """The words of a text and of its answer, and which belong together: numbers of words, source first."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        """Pharaoh's form: `0-0 3-1 2-3`."""
        return " ".join(f"{source}-{target}" for source, target in self.pairs)


def align_words(source: str, answer: Hypothesis, tokenizers: Tokenizers) -> WordAlignment:
    """Each word of an answer with the source word that most of its weight goes to.

    The weight of a word is the mean of its tokens'; one below `THRESHOLD` has no partner. Words are counted
    through the whole text.
    """
    read = list(word_spans(source, tokenizers.text_source))
    written = list(word_spans(answer.text, tokenizers.target))
    weights, tokens = [dict[int, float]() for _ in written], [0] * len(written)
    left, right = owners(read, len(source)), owners(written, len(answer.text))
    for link in answer.links:
        s, t = left[link.source[0]], right[link.target[0]]
        if s >= 0 and t >= 0:
            tokens[t] += 1
            weights[t][s] = weights[t].get(s, 0.0) + link.weight
    pairs = []
    for t, found in enumerate(weights):
        best = max(found, key=lambda s: found[s], default=-1)
        if best >= 0 and found[best] >= THRESHOLD * tokens[t]:
            pairs.append((best, t))
    words = [tuple(text[a:b] for a, b in spans) for text, spans in ((source, read), (answer.text, written))]
    return WordAlignment(words[0], words[1], tuple(pairs))


def word_spans(text: str, tokenizer: Tokenizer) -> Iterator[Span]:
    """The characters of each word of a text, as its tokens group."""
    tidied, places = tidy_places(text)
    ids = tokenizer.encode(tidied)
    spans = token_spans(tokenizer, ids)
    for group in word_groups(tokenizer.pieces(ids)):
        begin, end = tight(tidied, (spans[group[0]][0], spans[group[-1]][1]))
        if begin < end:
            yield place_of((begin, end), places)


def owners(spans: Iterable[Span], length: int) -> list[int]:
    """The number of the word that each character belongs to; -1: none."""
    found = [-1] * (length + 1)
    for number, (begin, end) in enumerate(spans):
        found[begin:end] = [number] * (end - begin)
    return found
