"""Large documents: how much memory their translation takes, and what a killed one loses.

    python benchmarks/document_memory.py [--tmx 10 100] [--pages 50 500] [--json FILE]

Translation memories of so many MB, of which every 20th entry lacks the target, and Word files of so many
pages of 30 paragraphs each, are translated by a model that comes with the package (`demo/de-en-transformer`,
greedy), each in a process of its own. `peak_mb` is the largest resident size of that process, `before_mb` the
same for a document with one entry. The largest of each kind is then translated again and killed when its
journal holds a third of the answers; the same command ends it, and the output is compared byte by byte.
"""

import argparse
import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

MODEL = "demo/de-en-transformer"
EVERY = 20  # entry that lacks a translation
PARAGRAPHS = 30  # of a page
MONTHS = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()  # noqa: SIM905
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)


def written(n: int) -> str:
    return f"{n % 28 + 1}. {MONTHS[n // 28 % 12]} {1900 + n // 336 % 200}"


def entries(size: int) -> Iterator[str]:
    made, n = 0, 0
    while made < size:
        other = "" if n % EVERY == 0 else f'<tuv xml:lang="en"><seg>an answer of its own, {n}</seg></tuv>'
        note = f'<prop type="x-note">entry {n} of a memory as people keep them, with a note</prop>'
        one = f'<tu tuid="{n}">{note}<tuv xml:lang="de"><seg>{written(n)}</seg></tuv>{other}</tu>\n'
        yield one
        made, n = made + len(one.encode()), n + 1


def make_tmx(path: Path, size: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header srclang="de"/><body>\n'
        )
        file.writelines(entries(size))
        file.write("</body></tmx>\n")


def make_docx(path: Path, pages: int) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", TYPES)
        package.writestr("_rels/.rels", RELATIONS)
        with package.open("word/document.xml", "w") as part:
            part.write(f'<?xml version="1.0"?><w:document xmlns:w="{W}"><w:body>'.encode())
            for n in range(pages * PARAGRAPHS):
                end = '<w:br w:type="page"/>' if n % PARAGRAPHS == PARAGRAPHS - 1 else ""
                text = f"<w:p><w:r><w:t>{written(n)}</w:t></w:r><w:r>{end}</w:r></w:p>"
                part.write(text.encode())
            part.write(b"</w:body></w:document>")


def command(source: Path, target: Path) -> list[str]:
    return [sys.executable, "-m", "jumok", "translate", "-m", MODEL, "-i", str(source), "-o", str(target),
            "--beam", "1", "-q"]  # fmt: skip


def measured(source: Path, target: Path) -> dict[str, float]:
    began = time.monotonic()
    process = subprocess.Popen(command(source, target))
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the command failed: {status}")
    return {
        "mb": round(source.stat().st_size / 1e6, 1),
        "peak_mb": round(used.ru_maxrss / 1e3, 1),
        "processor_s": round(used.ru_utime + used.ru_stime, 1),
        "wall_s": round(time.monotonic() - began, 1),
    }


def stopped_and_resumed(source: Path, target: Path, segments: int) -> dict[str, Any]:
    """Killed when a third of the answers is in the journal, then the same command."""
    wanted = digest(target)
    target.unlink()
    journal = target.with_name(target.name + ".jumok")
    process = subprocess.Popen(command(source, target))
    while process.poll() is None and lines_of(journal) < segments // 3:
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = lines_of(journal)
    used = measured(source, target)
    return {
        "kept": kept,
        "of": segments,
        "same": digest(target) == wanted,
        "processor_s": used["processor_s"],
    }


def lines_of(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return max(0, sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")) - 1)


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def series(kind: str, sizes: list[int], folder: Path) -> dict[str, Any]:
    make = make_tmx if kind == "tmx" else make_docx
    small = folder / f"one.{kind}"
    make(small, 1)
    found: dict[str, Any] = {"before_mb": measured(small, folder / f"one.out.{kind}")["peak_mb"], "sizes": {}}
    for size in sizes:
        source, target = folder / f"{size}.{kind}", folder / f"{size}.out.{kind}"
        make(source, size * 1_000_000 if kind == "tmx" else size)
        found["sizes"][str(size)] = measured(source, target)
        print(kind, size, found["sizes"][str(size)], flush=True)
    count = sum(1 for _ in entries(sizes[-1] * 1_000_000)) if kind == "tmx" else sizes[-1] * PARAGRAPHS
    found["killed"] = stopped_and_resumed(source, target, count)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tmx", type=int, nargs="+", default=[10, 100], help="MB")
    parser.add_argument("--pages", type=int, nargs="+", default=[50, 500])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with TemporaryDirectory() as place:
        result = {
            "command": f"python {' '.join(sys.argv)}",
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, in use by others",
            "kept": "all that the command computed",
            "tmx": series("tmx", options.tmx, Path(place)),
            "docx": series("docx", options.pages, Path(place)),
        }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
