"""Sentences with words lost and moved, which a model learns to put right: denoising.

Three kinds of noise, as in unsupervised translation (Lample et al. 2018) and BART (Lewis et al. 2020):

    a word is dropped          with probability DROP
    a run of words is masked   one mark stands for it; about MASK of all words, runs of 1 to LONGEST
    words are shuffled         none moves by more than NEAR places: sorted by i + u_i, 0 <= u_i < NEAR + 1

What becomes of a sentence follows from the seed and the sentence, so the same corpus gives the same pairs.
"""

from hashlib import blake2b

import numpy as np

DROP, MASK, NEAR, LONGEST = 0.1, 0.2, 3, 3
BLANK = "_"
"""Stands for words that are masked; an ordinary character, which every vocabulary can write."""


def noisy(text: str, seed: int) -> str:
    """A tidied sentence with noise; at least one word is left, and a sentence of one keeps it."""
    words = text.split(" ")
    if len(words) < 2:
        return text
    key = blake2b(f"{seed} {text}".encode(), digest_size=8).digest()
    random = np.random.default_rng(int.from_bytes(key))
    kept: list[str] = []
    place = 0
    while place < len(words):
        draw = random.random()
        if draw < MASK / 2:  # runs are two words long on average
            kept.append(BLANK)
            place += int(random.integers(1, LONGEST + 1))
            continue
        if draw >= MASK / 2 + DROP:
            kept.append(words[place])
        place += 1
    order = np.argsort(np.arange(len(kept)) + random.random(len(kept)) * (NEAR + 1), kind="stable")
    return " ".join(kept[i] for i in order) or words[0]
