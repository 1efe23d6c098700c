"""Which words of an answer a person would change, told from a reference: those that no shortest edit keeps.

As the word-level labels of the shared tasks on quality estimation (Specia et al. 2020) are made: the answer
is turned into the reference with the fewest insertions, deletions and substitutions of words, without moving
any; a word that is kept is right. A reference is one right answer of many, so more words count as changed
than a person who mends an answer would touch.
"""

from collections.abc import Sequence

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
    """The number of edits, and whether each word of the answer is edited."""
    steps = edit_steps(answer, reference)
    kept = {i for i, j in steps if i is not None and j is not None and answer[i] == reference[j]}
    return len(steps) - len(kept), tuple(i not in kept for i in range(len(answer)))


def edit_steps(answer: Sequence[str], reference: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """A shortest edit as pairs of places in order; None: a word of one side has none (Levenshtein 1966).

        D[i, j] = min(D[i−1, j] + 1, D[i, j−1] + 1, D[i−1, j−1] + [a_i ≠ r_j])

    Of several shortest edits it is the one that keeps the last words first.
    """
    rows, columns = len(answer), len(reference)
    table = [list(range(i, i + columns + 1)) for i in range(rows + 1)]
    for i in range(1, rows + 1):
        above, here, word = table[i - 1], table[i], answer[i - 1]
        for j in range(1, columns + 1):
            here[j] = min(above[j] + 1, here[j - 1] + 1, above[j - 1] + (word != reference[j - 1]))
    steps: list[tuple[int | None, int | None]] = []
    i, j = rows, columns
    while i or j:
        cost, differs = table[i][j], bool(i and j) and answer[i - 1] != reference[j - 1]
        if i and j and cost == table[i - 1][j - 1] + differs:
            i, j = i - 1, j - 1
            steps.append((i, j))
        elif i and cost == table[i - 1][j] + 1:
            i -= 1
            steps.append((i, None))
        else:
            j -= 1
            steps.append((None, j))
    return steps[::-1]
