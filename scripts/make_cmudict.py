"""Make the built-in data set `cmudict`: English words and their phonemes, without stress digits.

    python scripts/make_cmudict.py FOLDER src/jumok/data/sets/cmudict

FOLDER holds the dictionary's LICENSE.txt, and train.tsv.gz, val.tsv.gz and test.tsv.gz with a word, a tab and
a pronunciation on each line. A training word has a line for each pronunciation; a word of valid or test has
one line with all of them: the first is the target, the others are further references.
"""

import gzip
import io
import sys
from pathlib import Path

SPLITS = {"train": "train", "val": "valid", "test": "test"}


def without_stress(phonemes: str) -> str:
    """`AH0 B AE1 N` to `AH B AE N`."""
    return " ".join(one.rstrip("012") for one in phonemes.split())


def read_words(text: str) -> dict[str, list[str]]:
    """Every word and its pronunciations, those that differ in stress alone taken as one."""
    words: dict[str, list[str]] = {}
    for line in text.splitlines():
        word, phonemes = line.split("\t")
        said, plain = words.setdefault(word, []), without_stress(phonemes)
        if plain not in said:
            said.append(plain)
    return words


def lines_of(words: dict[str, list[str]], split: str) -> list[str]:
    """A line for each pair in training, one for each word elsewhere."""
    if split == "train":
        return [f"{word}\t{phonemes}" for word, said in words.items() for phonemes in said]
    return ["\t".join([word, *said]) for word, said in words.items()]


def compressed(lines: list[str]) -> bytes:
    """Gzip without a time or a name inside, so that equal lines are equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, mtime=0, fileobj=buffer) as stream:
        stream.write("".join(line + "\n" for line in lines).encode())
    return buffer.getvalue()


def main(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for theirs, ours in SPLITS.items():
        text = gzip.decompress((source / f"{theirs}.tsv.gz").read_bytes()).decode()
        lines = lines_of(read_words(text), ours)
        data = compressed(lines)
        (folder / f"{ours}.tsv.gz").write_bytes(data)
        print(f"{ours:5} {len(lines):7,} lines {len(data):9,} bytes")
    (folder / "LICENSE").write_text((source / "LICENSE.txt").read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "src/jumok/data/sets/cmudict"))
