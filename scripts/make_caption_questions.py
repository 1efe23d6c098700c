"""Make questions about real text: captions that people wrote for photographs (Multi30k, English).

    python scripts/make_caption_questions.py MULTI30K data/caption-questions

MULTI30K holds train.en.gz, val.en.gz and test_2016_flickr.en.gz. The captions are real and come as they are.
The questions are made from them by rule, as those of COCO-QA were (Ren et al. 2015): who, doing what, where,
what color, how many. A context has three captions of the same split: the one that is asked about, and two
that do not answer. `test-swapped` has the questions of the test with the contexts of others: what is answered
there was guessed.
"""

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

SEED = "caption-questions/1"
SPLITS = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
COLOURS = "red|blue|green|white|black|yellow|orange|pink|purple|brown|gray|grey"
NUMBERS = "two|three|four|five|six|seven|eight"
SINGULAR = (
    "shirt|dog|jacket|hat|dress|coat|ball|uniform|sweater|outfit|top|helmet|car|vest|umbrella|suit|sweatshirt"
    "|horse|jersey|cap|building|bag|wall|skirt|collar|blouse|scarf|apron|truck|backpack|chair|bike|boat|bikini"
    "|hoodie|motorcycle|slide|bench|bicycle|kayak|purse|sign|guitar|blanket|balloon|surfboard|bird|table"
    "|bucket|robe|tie|tent|bus|flower|couch|t-shirt"
)
PLURAL = "pants|shorts|shirts|dogs|jeans|uniforms|vests|shoes|boots|dresses|hats|jackets|gloves|chairs|coats"
ONE = (
    "man|woman|boy|girl|person|child|lady|guy|kid|couple|player|worker|baby|toddler|adult|female|male"
    "|individual"
)
SEVERAL = (
    "people|men|women|children|girls|boys|ladies|guys|kids|players|workers|adults|females|males|individuals"
    "|musicians|teenagers|friends|soldiers|dancers|hikers"
)
PEOPLE = frozenset(f"{ONE}|{SEVERAL}|group|crowd|band|team|musician|teenager|cyclist|biker".split("|"))
CLOTHES = "shirt|jacket|hat|dress|coat|uniform|sweater|outfit|top|helmet|vest|suit|cap|skirt|scarf"
WORN = frozenset(f"{CLOTHES}|{PLURAL}".split("|"))

CLAUSE = re.compile(r"(?P<who>.+?) (?P<be>is|are) (?P<doing>\w+ing\b.*?)\.?")
COLOURED = re.compile(rf"(?<!and )\b({COLOURS}) ({SINGULAR}|{PLURAL})\b(?! and)")
COUNTED = re.compile(rf"\b({NUMBERS}) ({SEVERAL}|dogs|horses|cars)\b", re.IGNORECASE)
PLACE = re.compile(
    r"(?P<before>.+) (?P<place>(?:in front of|next to|near|on|in|across|along|behind|beside|under|outside)"
    r" (?:a|an|the|some|their|his|her) [\w' -]+)"
)
LINKS = re.compile(r"\b(?:and|while|as|with|of|to|at|for|from|by|that|which|who|in|on|\w+ing)\b")


def questions_about(caption: str) -> Iterator[tuple[str, str, str]]:
    """What can be asked about a caption: question, answer, and a word that no other caption may have."""
    for colour, thing in COLOURED.findall(caption):
        yield f"What color {'are' if thing in PLURAL.split('|') else 'is'} the {thing}?", colour, thing
    for number, things in COUNTED.findall(caption):
        yield f"How many {things} are there?", number, things
    clause = CLAUSE.fullmatch(caption)
    if clause is None or not plain_subject(clause["who"]):
        return
    who, be, doing = clause["who"], clause["be"], clause["doing"]
    yield f"Who {be} {doing}?", who, doing
    if len(doing.split()) <= 8:
        yield f"What {be} {lower_first(who)} doing?", doing, who
    place = PLACE.fullmatch(doing)
    if place and plain_place(place["place"]):
        yield f"Where {be} {lower_first(who)} {place['before']}?", place["place"], who


def plain_subject(who: str) -> bool:
    """People, told in at most eight words and without a clause of their own."""
    words = who.lower().split()
    inner = re.search(r",| (?:is|are|who|that|\w+ing|and)\b", who)
    return len(words) <= 8 and not inner and any(word in PEOPLE for word in words[:4])


def plain_place(place: str) -> bool:
    """A short place: nothing hangs on it, and it is nothing to wear."""
    words = place.split()
    inner = LINKS.search(
        " ".join(words[3 if words[0] in ("in", "next") and words[1] in ("front", "to") else 1 :])
    )
    return len(words) <= 6 and not inner and WORN.isdisjoint(words)


def lower_first(text: str) -> str:
    return text[0].lower() + text[1:]


def examples(captions: list[str], split: str) -> Iterator[dict[str, str]]:
    """Every question of a split, each in a context of three captions."""
    draw = Random(f"{SEED}:{split}")
    for caption in captions:
        for question, answer, word in dict.fromkeys(questions_about(caption)):
            if caption.lower().split().count(word) > 1 or caption.count(answer) != 1:
                continue  # two shirts: which one is asked about?
            others = draw.sample(captions, 2)
            if any(word.lower() in other.lower() or other == caption for other in others):
                continue
            context = [caption, *others]
            draw.shuffle(context)
            ended = (one if one.endswith((".", "!", "?")) else f"{one}." for one in context)
            yield {"context": " ".join(ended), "question": question, "answer": answer}


def read_captions(path: Path) -> list[str]:
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    return list(dict.fromkeys(" ".join(line.split()) for line in lines))


def swapped(found: list[dict[str, str]]) -> list[dict[str, str]]:
    """Each question with the context of another one, half the list away."""
    half = len(found) // 2
    return [
        {**one, "context": other["context"]}
        for one, other in zip(found, found[half:] + found[:half], strict=True)
    ]


def main(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        split: list(examples(read_captions(source / f"{file}.en.gz"), split))
        for split, file in SPLITS.items()
    }
    for split, found in {**made, "test-swapped": swapped(made["test"])}.items():
        lines = "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in found)
        data = gzip.compress(lines.encode(), mtime=0)
        (folder / f"{split}.jsonl.gz").write_bytes(data)
        print(f"{split:12} {len(found):6,} questions {len(data):9,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
