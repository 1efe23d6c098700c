"""Join five languages of SIGMORPHON 2021 task 1 for one model: each word behind the code of its language.

    python scripts/join_g2p.py data/g2p-sigmorphon2021 data/g2p-five

The first folder holds dut.train.tsv.gz, dut.val.tsv.gz, dut.test.tsv.gz and so on, with a word, a tab and its
phonemes on each line. The second gets train.tsv.gz and val.tsv.gz with all languages, and the validation and
test words of each in files of their own; the same input gives the same bytes.
"""

import argparse
import gzip
import io
import sys
from pathlib import Path

LANGUAGES = ("dut", "eng_us", "fre", "kor", "vie_hanoi")
SPLITS = ("train", "val", "test")


def read_coded(folder: Path, language: str, split: str) -> list[str]:
    """The lines of a file, `aalst` now `dut aalst`."""
    path = folder / f"{language}.{split}.tsv.gz"
    if not path.is_file():
        sys.exit(
            f"{path} is missing: put it there, from github.com/sigmorphon/2021-task1, or name its folder"
        )
    lines = gzip.decompress(path.read_bytes()).decode().removesuffix("\n").split("\n")
    return [f"{language} {line}" for line in lines]


def compressed(lines: list[str]) -> bytes:
    """Gzip without a time or a name inside, so that equal lines are equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, mtime=0, fileobj=buffer) as stream:
        stream.write("".join(line + "\n" for line in lines).encode())
    return buffer.getvalue()


def main(source: Path, folder: Path) -> None:
    if source.resolve() == folder.resolve():
        sys.exit(f"{folder} holds the files to read, some under the names to write: name another folder")
    made: dict[str, list[str]] = {"train": [], "val": []}
    for language in LANGUAGES:
        lines = {split: read_coded(source, language, split) for split in SPLITS}
        for split in ("train", "val"):
            made[split] += lines[split]
        made |= {f"{language}.{split}": lines[split] for split in ("val", "test")}
    folder.mkdir(parents=True, exist_ok=True)
    for name, texts in made.items():
        data = compressed(texts)
        (folder / f"{name}.tsv.gz").write_bytes(data)
        print(f"{name:14} {len(texts):6,} words {len(data):9,} bytes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, help="folder of the languages' files")
    parser.add_argument("folder", type=Path, help="folder to write to")
    options = parser.parse_args()
    main(options.source, options.folder)
