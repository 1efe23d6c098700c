"""How many faults `jumok check` finds in corpora that were damaged on purpose, and how many in sound ones.

    python benchmarks/faults_found.py DATA [--pairs 10000] [--json FILE]

DATA is a folder of corpora: `NAME/train.XX.gz` and `NAME/train.en.gz`, or `NAME/train.tsv.gz` (two columns).
Of each the first pairs are taken. One line is printed for each corpus and damage, and a table in the end.
"""

import argparse
import gzip
import json
import random
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from jumok.data.alignment import Alignment, PairSample, judge
from jumok.data.builtin import builtin_corpus
from jumok.data.checks import learn_profile, noted_pairs, odd_pairs
from jumok.text.normalize import tidy

Sides = tuple[list[str], list[str]]
Damage = Callable[[Sides, random.Random], Sides]
LINES = 50  # that are spoilt
COLUMNS = {"scitldr": (0, 2), "emoji-captions": (2, 3)}
PICTURES = ("flickr8k-80px",)


def shift(part: float, by: int, *, back: bool = False) -> Damage:
    """From a part of the corpus on, targets are so many lines behind (or ahead), or for a tenth of it."""

    def damage(sides: Sides, rng: random.Random) -> Sides:
        sources, targets = sides[0], list(sides[1])
        at = int(len(targets) * part)
        if by > 0:
            targets[at:at] = rng.sample(targets, by)
        else:
            del targets[at : at - by]
        if back:
            del targets[at + len(sources) // 10]
        lines = min(len(sources), len(targets))
        return sources[:lines], targets[:lines]

    return damage


def shuffle(share: float) -> Damage:
    def damage(sides: Sides, rng: random.Random) -> Sides:
        targets = list(sides[1])
        places = rng.sample(range(len(targets)), int(share * len(targets)))
        for place, text in zip(places, [targets[i] for i in rng.sample(places, len(places))], strict=True):
            targets[place] = text
        return sides[0], targets

    return damage


def is_shift(part: float, by: int) -> Callable[[Alignment, int], bool]:
    """One stretch, the right number of lines, and its beginning within ten lines of the truth."""

    def found(seen: Alignment, lines: int) -> bool:
        at = int(lines * part)
        return (
            len(seen.stretches) == 1
            and seen.stretches[0].shift == by
            and abs(seen.stretches[0].first - at) <= 10 - min(by, 0)
        )

    return found


def sound(seen: Alignment, lines: int) -> bool:
    return seen.stretches == () and seen.strangers == 0


def strangers(share: float) -> Callable[[Alignment, int], bool]:
    return lambda seen, lines: seen.strangers >= share / 2 or any(one.shift is None for one in seen.stretches)


DAMAGES: dict[str, tuple[Damage, Callable[[Alignment, int], bool]]] = {
    "none (a finding is a false alarm)": (
        lambda sides, rng: sides,
        lambda seen, lines: not sound(seen, lines),
    ),
    "target 1 line behind, from 25 %": (shift(0.25, 1), is_shift(0.25, 1)),
    "target 1 line ahead, from 25 %": (shift(0.25, -1), is_shift(0.25, -1)),
    "target 3 lines behind, from 90 %": (shift(0.9, 3), is_shift(0.9, 3)),
    "target 2 lines ahead, from line 1": (shift(0, -2), is_shift(0, -2)),
    "1 line behind for a tenth of the lines": (shift(0.3, 1, back=True), is_shift(0.3, 1)),
    "40 targets missing at 50 %": (shift(0.5, -40), is_shift(0.5, -40)),
    "10 % of the targets exchanged": (shuffle(0.1), strangers(0.1)),
    "30 %": (shuffle(0.3), strangers(0.3)),
    "50 %": (shuffle(0.5), strangers(0.5)),
    "all": (shuffle(1.0), strangers(1.0)),
    "targets in reverse order": (lambda sides, rng: (sides[0], sides[1][::-1]), strangers(1.0)),
    "the first 8 targets at the end": (
        lambda sides, rng: (sides[0], sides[1][8:] + sides[1][:8]),
        strangers(1.0),
    ),
    "targets sorted": (
        lambda sides, rng: (sides[0], sorted(sides[1])),
        lambda seen, lines: seen.ordered == "target",
    ),
}


def misread(text: str) -> str:
    return text.encode().decode("latin-1")


SPOILERS: dict[str, Callable[[str, list[str]], str]] = {
    "html": lambda text, other: f"<p>{text}&nbsp;</p>",
    "misread": lambda text, other: misread(f"é{text}"),
    "capitals": lambda text, other: text.upper(),
    "long_line": lambda text, other: " ".join([text] * (1_200 // len(text.split()) + 1)),
    "foreign": lambda text, other: other.pop(),
}


def corpora(folder: Path, most: int) -> Iterator[tuple[str, Sides]]:
    for path in sorted(folder.iterdir()):
        if path.name in PICTURES:
            continue
        split = "train" if list(path.glob("*train.*")) else "test"
        for file in sorted(path.glob(f"*{split}.tsv.gz")):
            rows = [line.split("\t") for line in lines_of(file, most)]
            left, right = COLUMNS.get(path.name, (0, 1))
            kept = [row for row in rows if len(row) > right]
            name = "-".join(filter(None, (path.name, file.name.removesuffix(f"{split}.tsv.gz").rstrip("."))))
            yield name, ([tidy(row[left]) for row in kept], [tidy(row[right]) for row in kept])
        sides = sorted(file for file in path.glob(f"{split}*.gz") if ".tsv." not in file.name)
        for other in [side for side in sides if ".en." not in side.name] if sides else []:
            english = next(side for side in sides if ".en." in side.name)
            yield (
                f"{path.name}-{other.name.split('.')[-2]}",
                (
                    [*map(tidy, lines_of(other, most))],
                    [*map(tidy, lines_of(english, most))],
                ),
            )


def builtin(most: int) -> Iterator[tuple[str, Sides]]:
    pairs = list(islice(builtin_corpus("homeassistant-ko-en", "train").pairs(), most))
    yield "homeassistant-ko-en", ([tidy(pair[0]) for pair in pairs], [tidy(pair[1]) for pair in pairs])


def lines_of(path: Path, most: int) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in islice(file, most)]


def look(sides: Sides) -> Alignment:
    sample = PairSample()
    sample.add(range(1, len(sides[0]) + 1), *sides)
    return judge(sample)


def kinds_of(sides: Sides) -> dict[str, set[int]]:
    """The places of each kind of finding about single lines."""
    profile = learn_profile(*sides)
    found: dict[str, set[int]] = {kind: set() for kind in SPOILERS}
    for place, kinds in noted_pairs(sides, sides, profile).items():
        for kind in kinds & found.keys():
            found[kind].add(place)
    for place, kind in odd_pairs(*sides, profile).items():
        if kind in found or kind == "odd_length":
            found["long_line" if kind == "odd_length" else kind].add(place)
    return found


def spoil(sides: Sides, kind: str, other: list[str], rng: random.Random) -> tuple[Sides, set[int]]:
    targets = list(sides[1])
    long = [
        place for place, text in enumerate(targets) if len(text.split()) >= 6 and text.lower() != text.upper()
    ]
    places = set(rng.sample(long, LINES)) if len(long) >= 20 * LINES else set()
    for place in places:
        targets[place] = SPOILERS[kind](targets[place], other)
    return (sides[0], targets), places


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--smoke", action="store_true", help="a few pairs of a built-in corpus")
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows: list[dict[str, object]] = []
    if not args.smoke and args.data is None:
        parser.error("name the folder of the corpora, or give --smoke")
    all_corpora = list(builtin(600) if args.smoke else corpora(args.data, args.pairs))
    german = next((sides[0] for name, sides in all_corpora if name.endswith("-de")), [])
    french = next((sides[0] for name, sides in all_corpora if name.endswith("-fr")), german)
    for name, sides in all_corpora:
        clean = kinds_of(sides)
        for kind in SPOILERS if german else ():
            rng = random.Random(1)
            other = [
                text
                for text in (french if name.endswith(("-de", "enja-ja")) else german)
                if len(text.split()) >= 6
            ]
            spoilt, places = spoil(sides, kind, rng.sample(other, len(other)), rng)
            if places:
                found = len(kinds_of(spoilt)[kind] & places)
                rows.append(
                    {
                        "corpus": name,
                        "pairs": len(sides[0]),
                        "kind": kind,
                        "found": found,
                        "of": len(places),
                        "sound": len(clean[kind]),
                    }
                )
                print(rows[-1], flush=True)
        for damage, (spoiler, right) in DAMAGES.items():
            given = spoiler(sides, random.Random(1))
            seen = look(given)
            rows.append(
                {
                    "corpus": name,
                    "pairs": len(given[0]),
                    "damage": damage,
                    "found": right(seen, len(given[0])),
                    "said": [str(one) for one in seen.stretches[:3]],
                    "strangers": round(seen.strangers, 2),
                }
            )
            print(rows[-1], flush=True)
    for damage in DAMAGES:
        mine = [row for row in rows if row.get("damage") == damage]
        missed = ", ".join(
            str(row["corpus"]) for row in mine if row["found"] == (damage == next(iter(DAMAGES)))
        )
        print(f"| {damage} | {sum(bool(row['found']) for row in mine)} of {len(mine)} | {missed} |")
    for kind in SPOILERS:
        mine = [row for row in rows if row.get("kind") == kind]
        found, of, pairs = (sum(int(str(row[key])) for row in mine) for key in ("found", "of", "pairs"))
        print(f"| {kind} | {found} of {of} | {sum(int(str(row['sound'])) for row in mine)} in {pairs:,} |")
    if args.json:
        args.json.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
