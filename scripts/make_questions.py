"""Make a data set for question answering: a few facts, a question about one of them, and its answer.

    python scripts/make_questions.py data/questions

Facts are made from the tables that come with jumok: how words are said (cmudict), what Korean means in
English (homeassistant-ko-en), and how things are in the houses of people, who are named by words of the
dictionary. Each split takes its words and strings from the same split of the tables, so no name of valid or
test was seen in training: the answer has to be found in the context. Example number n is a pure function of
its split and n.
"""

import gzip
import io
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random

from jumok.data.builtin import Split, builtin_file

SEED = "questions/1"
SIZES: dict[Split, int] = {"train": 30_000, "valid": 1_000, "test": 2_000}

THINGS = {
    "lamp": ("on", "off"),
    "door": ("open", "closed", "locked"),
    "window": ("open", "closed", "tilted"),
    "heating": ("on", "off", "low"),
    "alarm": ("armed", "silent", "off"),
    "car": ("red", "blue", "green", "white", "black"),
}
ROOMS = ("kitchen", "bedroom", "bathroom", "garage", "garden", "office", "cellar")


@dataclass(frozen=True)
class Wording:
    """How a kind of fact is told, asked for its value, and asked for its subject."""

    told: tuple[str, ...]
    value: tuple[str, ...]
    subject: tuple[str, ...]


SAID = Wording(
    ("The word {subject} is said {value}.", "You say {subject} as {value}."),
    ("How is {subject} said?", "How do you say the word {subject}?"),
    ("Which word is said {value}?",),
)
MEANS = Wording(
    ("{subject} means {value}.", "The Korean for {value} is {subject}."),
    ("What does {subject} mean?", "What is {subject} in English?"),
    ("What is {value} in Korean?", "How do you write {value} in Korean?"),
)
STATE = Wording(
    ("{subject}'s {relation} is {value}.", "The {relation} of {subject} is {value}."),
    ("What is the {relation} of {subject}?", "How is {subject}'s {relation}?"),
    ("Whose {relation} is {value}?", "Who has the {relation} that is {value}?"),
)
WARMTH = Wording(
    ("{subject}'s {relation} has {value} degrees.", "It is {value} degrees in the {relation} of {subject}."),
    ("How warm is {subject}'s {relation}?", "How many degrees has the {relation} of {subject}?"),
    ("Whose {relation} has {value} degrees?",),
)


@dataclass(frozen=True)
class Fact:
    """`relation` of `subject` is `value`."""

    subject: str
    relation: str
    value: str
    wording: Wording


@dataclass(frozen=True)
class Tables:
    """What facts of one split are made of."""

    said: list[tuple[str, str]]  # word, phonemes
    means: list[tuple[str, str]]  # Korean, English

    def fact(self, kind: str, names: list[str], draw: Random) -> Fact:
        """A fact of a kind; people are among these names."""
        if kind == "said":
            word, phonemes = draw.choice(self.said)
            return Fact(word, kind, phonemes, SAID)
        if kind == "means":
            korean, english = draw.choice(self.means)
            return Fact(korean, kind, english, MEANS)
        if kind == "warmth":
            return Fact(draw.choice(names), draw.choice(ROOMS), str(draw.randrange(5, 40)), WARMTH)
        thing = draw.choice(list(THINGS))
        return Fact(draw.choice(names), thing, draw.choice(THINGS[thing]), STATE)


KINDS = ("said", "means", "state", "warmth")


def read_tables(split: Split) -> Tables:
    """The tables of a split: plain words with one pronunciation, short strings in letters."""
    said: dict[str, list[str]] = {}
    for word, *phonemes in rows("cmudict", split):
        if re.fullmatch(r"[a-z]{3,9}", word):
            said.setdefault(word, []).extend(phonemes)
    means: dict[str, set[str]] = {}
    for korean, english in rows("homeassistant-ko-en", split):
        short = max(len(korean.split()), len(english.split())) <= 3
        if short and re.fullmatch(r"[가-힣 ]+", korean) and re.fullmatch(r"[A-Za-z ]+", english):
            means.setdefault(korean, set()).add(english.lower())
    return Tables(
        [(word, phonemes[0]) for word, phonemes in said.items() if len(phonemes) == 1],
        [(korean, next(iter(english))) for korean, english in means.items() if len(english) == 1],
    )


def rows(name: str, split: Split) -> list[list[str]]:
    text = gzip.decompress(builtin_file(name, split).read_bytes()).decode()
    return [line.split("\t") for line in text.splitlines()]


def example(tables: Tables, split: Split, number: int) -> dict[str, str]:
    """Example number `number` of a split; the same for ever."""
    draw = Random(f"{SEED}:{split}:{number}")
    while True:
        names = [draw.choice(tables.said)[0].capitalize() for _ in range(3)]
        asked = draw.choice(KINDS)
        # Facts of the same kind stand beside the one that is asked for: the kind alone gives nothing away.
        kinds = [asked, asked, *draw.choices([*KINDS, asked], k=draw.randrange(1, 5))]
        facts = [tables.fact(kind, names, draw) for kind in kinds]
        known = {(fact.subject, fact.relation) for fact in facts}
        question = ask(facts, draw)
        if question and len(known) == len(facts):
            break
    draw.shuffle(facts)
    context = " ".join(fill(draw.choice(fact.wording.told), fact) for fact in facts)
    return {"context": context, "question": question[0], "answer": question[1]}


def ask(facts: list[Fact], draw: Random) -> tuple[str, str] | None:
    """A question about the first fact and its answer; none if another fact answers it too."""
    about = facts[0]
    if draw.random() < 0.6:
        return fill(draw.choice(about.wording.value), about), about.value
    if sum((one.relation, one.value) == (about.relation, about.value) for one in facts) > 1:
        return None
    return fill(draw.choice(about.wording.subject), about), about.subject


def fill(template: str, fact: Fact) -> str:
    return template.format(subject=fact.subject, relation=fact.relation, value=fact.value)


def compressed(lines: list[str]) -> bytes:
    """Gzip without a time or a name inside, so that equal lines are equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, mtime=0, fileobj=buffer) as stream:
        stream.write("".join(line + "\n" for line in lines).encode())
    return buffer.getvalue()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for split, size in SIZES.items():
        tables = read_tables(split)
        examples = (example(tables, split, number) for number in range(size))
        data = compressed([json.dumps(one, ensure_ascii=False) for one in examples])
        (folder / f"{split}.jsonl.gz").write_bytes(data)
        print(f"{split:5} {size:6,} questions {len(data):9,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "data/questions"))
