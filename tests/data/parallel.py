"""A corpus of an invented language and its translation: every word has its own, in another order."""

from random import Random


def parallel(lines: int, seed: int = 0, words: int = 400) -> tuple[list[str], list[str]]:
    """Sources and targets, 4 to 9 words each; one word in ten has no translation."""
    random = Random(seed)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    names = ["".join(random.choices(syllables, k=random.choice((2, 3)))) for _ in range(2 * words)]
    sources, targets = [], []
    for _ in range(lines):
        ids = random.sample(range(words), random.randint(4, 9))
        partners = [names[words + i] for i in ids if random.random() > 0.1] or [names[words]]
        random.shuffle(partners)
        sources.append(" ".join(names[i] for i in ids) + ".")
        targets.append(" ".join(partners) + ".")
    return sources, targets
