"""Make hashes.txt from constraints.txt: each pinned version with the SHA-256 of its files.

    python scripts/make_hashes.py [--index https://pypi.org/simple]

`make setup` installs from it with `pip --require-hashes`, so that an index, a mirror or a cache cannot hand
out anything else under the same version. Files for systems that jumok does not run on are left out.
"""

import argparse
import re
import sys
import urllib.request
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urldefrag

ROOT = Path(__file__).parents[1]
HEADER = """\
# SHA-256 of the files behind constraints.txt; made by scripts/make_hashes.py.
# pip install --no-deps --require-hashes -r hashes.txt
"""
LINK = re.compile(r'<a\s[^>]*?href="([^"]+)"')
FILE = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+?)-(?P<version>[0-9][^-]*?)(?:\.tar\.gz|\.zip|-(?P<tags>.+)\.whl)"
)
PYTHONS = re.compile(r"(cp3[0-9]*-abi3|cp31[1-4]-cp31[1-4]|py3[0-9]*-none|py2\.py3-none)-")
SYSTEMS = re.compile(r"-any$|manylinux[^.]*_(x86_64|aarch64)|macosx[^.]*_(x86_64|arm64|universal2)")
# The CPU build that PyTorch's own index has under the same version, as the tests run with it.
MORE = {"torch": ["6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"]}
ONLY = {"triton": "sys_platform == 'linux' and platform_machine == 'x86_64'"}  # as pyproject.toml says


def pins(text: str) -> list[tuple[str, str]]:
    """Names and versions of a file of constraints."""
    lines = (line.strip() for line in text.splitlines())
    return [(name, version) for name, _, version in (line.partition("==") for line in lines) if version]


def canonical(name: str) -> str:
    """The spelling that indexes compare by."""
    return re.sub(r"[-_.]+", "-", name).lower()


def hashes(page: str, name: str, version: str) -> Iterator[str]:
    """The SHA-256 of each file of this version that an index's page lists, for systems that we run on."""
    for link in LINK.findall(page):
        address, digest = urldefrag(unescape(link))
        match = FILE.fullmatch(unquote(address.rsplit("/", 1)[-1]))
        if not match or canonical(match["name"]) != canonical(name) or match["version"] != version:
            continue
        tags = match["tags"]
        fits = tags is None or (PYTHONS.search(tags) and SYSTEMS.search(tags))
        if fits and (found := re.fullmatch("sha256=([0-9a-f]{64})", digest)):
            yield found[1]


def entry(page: str, name: str, version: str) -> str:
    """One requirement with its hashes."""
    found = sorted({*hashes(page, name, version), *MORE.get(name, [])})
    if not found:
        raise SystemExit(f"the index has no file of {name} {version} with a SHA-256")
    marker = f" ; {ONLY[name]}" if name in ONLY else ""
    return " \\\n    ".join([f"{name}=={version}{marker}", *(f"--hash=sha256:{one}" for one in found)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--index", default="https://pypi.org/simple")
    index = parser.parse_args().index
    entries = []
    for name, version in pins((ROOT / "constraints.txt").read_text(encoding="utf-8")):
        with urllib.request.urlopen(f"{index}/{canonical(name)}/") as answer:
            entries.append(entry(answer.read().decode(), name, version))
    (ROOT / "hashes.txt").write_text(HEADER + "".join(entries), encoding="utf-8")
    print(ROOT / "hashes.txt", file=sys.stderr)


if __name__ == "__main__":
    main()
