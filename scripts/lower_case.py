"""Write compressed text files in lower case: fewer ways to spell a word, where the metric does not mind.

    python scripts/lower_case.py data/aeslc data/aeslc-lower

Every .gz file of the first folder is written to the second; the same input gives the same bytes.
"""

import argparse
import gzip
import io
import sys
from pathlib import Path


def compressed(lines: list[str]) -> bytes:
    """Gzip without a time or a name inside, so that equal lines are equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, mtime=0, fileobj=buffer) as stream:
        stream.write("".join(line + "\n" for line in lines).encode())
    return buffer.getvalue()


def main(source: Path, folder: Path) -> None:
    if source.resolve() == folder.resolve():
        sys.exit(f"{folder} holds the files to read: name another folder to write to")
    files = sorted(source.glob("*.gz"))
    if not files:
        sys.exit(f"{source} has no .gz file: name the folder of the data")
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        lines = gzip.decompress(file.read_bytes()).decode().lower().removesuffix("\n").split("\n")
        data = compressed(lines)
        (folder / file.name).write_bytes(data)
        print(f"{file.name:16} {len(lines):6,} lines {len(data):9,} bytes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, help="folder of the files")
    parser.add_argument("folder", type=Path, help="folder to write to")
    options = parser.parse_args()
    main(options.source, options.folder)
