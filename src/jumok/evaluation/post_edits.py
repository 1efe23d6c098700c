"""Which words of an answer a person would change, told from a reference: those that no shortest edit keeps.

As the word-level labels of the shared tasks on quality estimation (Specia et al. 2020) are made: the answer
is turned into the reference with the fewest insertions, deletions and substitutions of words, without moving
any; a word that is kept is right. A reference is one right answer of many, so more words count as changed
than a person who mends an answer would touch.
"""

from collections.abc import Sequence

import numpy as np

from jumok.text.word_spans import words_of


def changed_words(answer: str, references: Sequence[str]) -> tuple[bool, ...]:
    """Whether each word of the answer would be changed; of several references the one counts that needs the
    fewest edits."""
    words = words_of(answer)
    edits = [edit_words(words, words_of(reference)) for reference in references]
    return min(edits, key=lambda one: one[0])[1]


def is_changed(answer: str, references: Sequence[str]) -> bool:
    """Whether anything would be changed, be it that a word is missing."""
    words = words_of(answer)
    return all(words != words_of(reference) for reference in references)


def edit_words(answer: Sequence[str], reference: Sequence[str]) -> tuple[int, tuple[bool, ...]]:
    """The number of edits, and whether each word of the answer is edited (Levenshtein 1966).

        D[i, j] = min(D[i−1, j] + 1, D[i, j−1] + 1, D[i−1, j−1] + [a_i ≠ r_j])

    Of several shortest edits it is the one that keeps the last words first.
    """
    rows, columns = len(answer), len(reference)
    steps = np.zeros((rows + 1, columns + 1), dtype=np.int64)
    steps[0], steps[:, 0] = np.arange(columns + 1), np.arange(rows + 1)
    table = steps.tolist()
    for i in range(1, rows + 1):
        above, here = table[i - 1], table[i]
        for j in range(1, columns + 1):
            differs = answer[i - 1] != reference[j - 1]
            here[j] = min(above[j] + 1, here[j - 1] + 1, above[j - 1] + differs)
    changed, i, j = [True] * rows, rows, columns
    while i and j:
        same = answer[i - 1] == reference[j - 1]
        if table[i][j] == table[i - 1][j - 1] + (not same):
            i, j = i - 1, j - 1
            changed[i] = not same
        elif table[i][j] == table[i - 1][j] + 1:
            i -= 1
        else:
            j -= 1
    return table[rows][columns], tuple(changed)
